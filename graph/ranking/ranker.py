"""A fitted ranker: all that ranking an intent needs beside the catalogue, and its bytes."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.ranking import described, order, set_features
from graph.ranking.calibrate import Calibrator
from graph.ranking.familiarity import Gate
from graph.ranking.order import OrderModel
from graph.ranking.past import Past
from graph.ranking.set_history import SetHistory
from graph.ranking.set_model import SetModel
from graph.ranking.tool_model import ToolModel

FORMAT: Final = 3
FEATURES: Final = (*described.FEATURES, *set_features.FEATURES, *order.FEATURES)

_PAST: Final = "past."
_ABOUT: Final = "about"


class RankerError(ValueError):
    """Bytes that are no ranker of this version; the message says what to do."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranker:
    """Models fitted on past intents.

    Attributes:
        tool_model: How likely a tool is in the workflow.
        set_model: Which set of tools it is.
        order_model: Which tool comes first.
        calibrator: How sure to be of the best set.
        past: The past intents; None without any.
        runs: How many past intents there are.
        embedding_model: Name of the model of all vectors.
    """

    tool_model: ToolModel
    set_model: SetModel
    order_model: OrderModel
    calibrator: Calibrator
    past: Past | None
    runs: int
    embedding_model: str

    @property
    def counted(self) -> int:
        """Runs of the past intents that succeeded, at most `past.COUNTED` of each."""
        return 0 if self.past is None else self.past.counted

    @cached_property
    def history(self) -> SetHistory | None:
        """The sets and sequences of the past runs, counted."""
        return None if self.past is None else SetHistory.of(self.past.runs)

    def without(self, features: AbstractSet[str]) -> Ranker:
        """Return the same ranker to whose models of sets and order some features say nothing."""
        if not features:
            return self
        return replace(
            self,
            set_model=self.set_model.without(features),
            order_model=self.order_model.without(features),
        )

    def to_bytes(self) -> bytes:
        """Write the ranker: a compressed archive of arrays, vectors in half precision."""
        about = {
            "format": FORMAT,
            "features": FEATURES,
            "intercept": self.tool_model.intercept,
            "alone_intercept": self.tool_model.alone_intercept,
            "gate": None if self.tool_model.gate is None else asdict(self.tool_model.gate),
            "near_sets": self.set_model.near_sets,
            "f1_share": self.set_model.f1_share,
            "calibrator": asdict(self.calibrator),
            "runs": self.runs,
            "embedding_model": self.embedding_model,
        }
        arrays: dict[str, NDArray[Any]] = {
            _ABOUT: np.frombuffer(json.dumps(about).encode(), dtype=np.uint8),
            "tools.means": self.tool_model.means,
            "tools.scales": self.tool_model.scales,
            "tools.coefficients": self.tool_model.coefficients,
            "tools.alone": self.tool_model.alone,
            "sets.scales": self.set_model.scales,
            "sets.coefficients": self.set_model.coefficients,
            "sets.alone": self.set_model.alone,
            "order.scales": self.order_model.scales,
            "order.coefficients": self.order_model.coefficients,
        }
        if self.past is not None:
            arrays |= {_PAST + name: array for name, array in self.past.to_arrays().items()}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Ranker:
        """Read a ranker.

        Raises:
            RankerError: If the bytes are damaged, or of a version with other features.
        """
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            return _read(arrays)
        except (KeyError, TypeError, ValueError, OSError, EOFError) as error:
            raise RankerError(f"the kept ranker cannot be read ({error}); fit it anew") from error
        except (zipfile.BadZipFile, zlib.error) as error:
            raise RankerError("the kept ranker is damaged; fit it anew") from error


def _read(arrays: Mapping[str, NDArray[Any]]) -> Ranker:
    about = json.loads(arrays[_ABOUT].tobytes())
    if about["format"] != FORMAT or tuple(about["features"]) != FEATURES:
        raise ValueError("it is of another version")
    past = {
        name.removeprefix(_PAST): array for name, array in arrays.items() if name.startswith(_PAST)
    }
    return Ranker(
        tool_model=ToolModel(
            means=arrays["tools.means"],
            scales=arrays["tools.scales"],
            coefficients=arrays["tools.coefficients"],
            intercept=float(about["intercept"]),
            alone=arrays["tools.alone"],
            alone_intercept=float(about["alone_intercept"]),
            gate=Gate(**about["gate"]) if about["gate"] else None,
        ),
        set_model=SetModel(
            scales=arrays["sets.scales"],
            coefficients=arrays["sets.coefficients"],
            near_sets=int(about["near_sets"]),
            f1_share=float(about["f1_share"]),
            alone=arrays["sets.alone"],
        ),
        order_model=OrderModel(
            scales=arrays["order.scales"], coefficients=arrays["order.coefficients"]
        ),
        calibrator=Calibrator(**about["calibrator"]),
        past=Past.from_arrays(past) if past else None,
        runs=int(about["runs"]),
        embedding_model=str(about["embedding_model"]),
    )
