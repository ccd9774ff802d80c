"""A fitted ranker, the state for ranking intents besides the catalogue, and its serialization."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking import candidates, order, set_features
from graph.suggestion.ranking.calibrate import Calibrator
from graph.suggestion.ranking.familiarity import FamiliarityGate
from graph.suggestion.ranking.order import OrderModel
from graph.suggestion.ranking.past_intents import PastIntents
from graph.suggestion.ranking.set_history import SetHistory
from graph.suggestion.ranking.set_model import SetModel
from graph.suggestion.ranking.tool_model import ToolModel

FORMAT: Final = 4
FEATURES: Final = (*candidates.FEATURES, *set_features.SET_FEATURES, *order.ORDER_FEATURES)

_PAST_PREFIX: Final = "past."
_METADATA_KEY: Final = "about"


class RankerError(ValueError):
    """Stored bytes are no ranker of this version; the message says what to do."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranker:
    """Models fitted on past intents.

    Attributes:
        tool_model: Scores single tools.
        set_model: Scores sets of tools.
        order_model: Orders the tools of a set.
        calibrator: Maps probabilities of sets to confidences.
        past: The past intents; None without history.
        embedding_model: Name of the model that made all vectors.
    """

    tool_model: ToolModel
    set_model: SetModel
    order_model: OrderModel
    calibrator: Calibrator
    past: PastIntents | None
    embedding_model: str

    @property
    def past_intent_count(self) -> int:
        """Number of past intents."""
        return 0 if self.past is None else len(self.past)

    @property
    def counted_runs(self) -> int:
        """Number of successful runs, at most `past_intents.MAX_COUNTED_RUNS` per intent."""
        return 0 if self.past is None else self.past.counted_runs

    @cached_property
    def set_history(self) -> SetHistory | None:
        """Counts of the sets and sequences of the past runs."""
        return None if self.past is None else SetHistory.from_runs(self.past.runs)

    def to_bytes(self) -> bytes:
        """Serialize as a compressed archive of arrays, vectors in half precision."""
        metadata = {
            "format": FORMAT,
            "features": FEATURES,
            "intercept": self.tool_model.intercept,
            "alone_intercept": self.tool_model.text_only_intercept,
            "gate": None if self.tool_model.gate is None else asdict(self.tool_model.gate),
            "f1_share": self.set_model.f1_share,
            "calibrator": asdict(self.calibrator),
            "runs": self.past_intent_count,
            "embedding_model": self.embedding_model,
        }
        arrays: dict[str, NDArray[Any]] = {
            _METADATA_KEY: np.frombuffer(json.dumps(metadata).encode(), dtype=np.uint8),
            "tools.means": self.tool_model.means,
            "tools.scales": self.tool_model.scales,
            "tools.coefficients": self.tool_model.coefficients,
            "tools.alone": self.tool_model.text_only_coefficients,
            "sets.scales": self.set_model.scales,
            "sets.coefficients": self.set_model.coefficients,
            "sets.alone": self.set_model.text_only_coefficients,
            "order.scales": self.order_model.scales,
            "order.coefficients": self.order_model.coefficients,
        }
        if self.past is not None:
            arrays |= {_PAST_PREFIX + name: array for name, array in self.past.to_arrays().items()}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Ranker:
        """Read the output of `to_bytes`.

        Raises:
            RankerError: If the bytes are damaged, or of a version with different features.
        """
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            return _read_ranker(arrays)
        except (KeyError, TypeError, ValueError, OSError, EOFError) as error:
            raise RankerError(
                f"the stored ranker cannot be read ({error}); fit it again"
            ) from error
        except (zipfile.BadZipFile, zlib.error) as error:
            raise RankerError("the stored ranker is damaged; fit it again") from error


def _read_ranker(arrays: Mapping[str, NDArray[Any]]) -> Ranker:
    metadata = json.loads(arrays[_METADATA_KEY].tobytes())
    if metadata["format"] != FORMAT or tuple(metadata["features"]) != FEATURES:
        raise ValueError("it is of another version")
    past = {
        name.removeprefix(_PAST_PREFIX): array
        for name, array in arrays.items()
        if name.startswith(_PAST_PREFIX)
    }
    return Ranker(
        tool_model=ToolModel(
            means=arrays["tools.means"],
            scales=arrays["tools.scales"],
            coefficients=arrays["tools.coefficients"],
            intercept=float(metadata["intercept"]),
            text_only_coefficients=arrays["tools.alone"],
            text_only_intercept=float(metadata["alone_intercept"]),
            gate=FamiliarityGate(**metadata["gate"]) if metadata["gate"] else None,
        ),
        set_model=SetModel(
            scales=arrays["sets.scales"],
            coefficients=arrays["sets.coefficients"],
            f1_share=float(metadata["f1_share"]),
            text_only_coefficients=arrays["sets.alone"],
        ),
        order_model=OrderModel(
            scales=arrays["order.scales"], coefficients=arrays["order.coefficients"]
        ),
        calibrator=Calibrator(**metadata["calibrator"]),
        past=PastIntents.from_arrays(past) if past else None,
        embedding_model=str(metadata["embedding_model"]),
    )
