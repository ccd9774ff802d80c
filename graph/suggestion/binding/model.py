"""The model that chooses one of the stated values for a parameter, or none.

A conditional logit: utilities are linear in the features of parameter and value; probabilities are
a softmax over all values and "not stated".
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.binding import arguments
from graph.suggestion.binding.features import FEATURE_NAMES, FeatureGrid, compute_grid
from graph.suggestion.binding.values import is_same_value
from graph.suggestion.ranking.choice import ChoiceGroup, fit_choice

if TYPE_CHECKING:
    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.stated_values import StatedValues
    from graph.suggestion.binding.steps import BindingStep
    from graph.suggestion.intent.reading import IntentReading

Floats = NDArray[np.float64]

MAX_RIVALS = 20
"""Limit of wrong values stored per training choice, the likeliest."""
MAX_CHOICES = 40
"""Limit of training choices stored per run."""
PRIOR_STRENGTH = 10.0
"""Precision of each coefficient's prior in a refit."""
MAX_RUN_WEIGHT = 3.0
"""Weight of all choices of a run together, in choices: most are optional parameters that it did
not give, and alike. Nine runs of up to twelve choices each cost the belief in a stated number."""
MAX_GROUPS = 40_000
"""Limit of choices in a fit; the newest runs come first."""
PRIOR_SPREAD = 0.05
"""Added to each feature's standard deviation, to bound the weight of rare features."""
_FEATURES_DIGEST: Final = hashlib.sha256(" ".join(FEATURE_NAMES).encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True, eq=False)
class BindingModel:
    """A conditional logit over stated values and "not stated".

    Attributes:
        coefficients: `(f,)` float64, per scaled feature, in the order of `features.FEATURE_NAMES`.
        scale: `(f,)` float64, divisor of each feature; positive.
    """

    coefficients: Floats
    scale: Floats

    def predict_probabilities(self, grid: FeatureGrid) -> Floats:
        """Return `(p, n + 1)`: probabilities of the values per parameter; last, "not stated"."""
        weights = (self.coefficients / self.scale).astype(np.float32)
        utilities = (grid.features @ weights).astype(np.float64)
        utilities[:, :-1][~grid.possible] = -np.inf
        exponentials = np.exp(utilities - utilities.max(axis=1, keepdims=True, initial=-1e9))
        return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))

    def to_bytes(self) -> bytes:
        """Serialize the model."""
        return _pack_arrays(coefficients=self.coefficients, scale=self.scale)

    @classmethod
    def from_bytes(cls, content: bytes) -> BindingModel:
        """Read the output of `to_bytes`.

        Raises:
            ValueError: If it was fitted for other features, or is damaged.
        """
        arrays = _unpack_arrays(content)
        if arrays is None or not {"coefficients", "scale"} <= arrays.keys():
            raise ValueError("the binding model was fitted for other features: fit it again")
        return cls(
            coefficients=np.asarray(arrays["coefficients"], dtype=np.float64),
            scale=np.asarray(arrays["scale"], dtype=np.float64),
        )


@lru_cache(maxsize=1)
def load_shipped_model() -> BindingModel:
    """Return the shipped model, fitted on public data sets: the prior without history."""
    text = resources.files("graph.suggestion.binding").joinpath("prior.json").read_text("utf-8")
    return from_json(json.loads(text))


def from_json(document: Mapping[str, Any]) -> BindingModel:
    """Read the output of `to_json`; features missing from it get a coefficient of 0."""
    features = document["features"]
    values = [features.get(name, {"coefficient": 0.0, "scale": 1.0}) for name in FEATURE_NAMES]
    return BindingModel(
        coefficients=np.array([value["coefficient"] for value in values]),
        scale=np.array([value["scale"] for value in values]),
    )


def to_json(model: BindingModel) -> dict[str, Any]:
    """Serialize a model to a readable document."""
    rows = zip(FEATURE_NAMES, model.coefficients, model.scale, strict=True)
    return {
        "features": {
            name: {"coefficient": round(float(coefficient), 4), "scale": round(float(scale), 4)}
            for name, coefficient, scale in rows
        }
    }


def sample_training_rows(
    steps: Sequence[BindingStep],
    *,
    given: Mapping[str, Mapping[str, Any]],
    reading: IntentReading,
    model: BindingModel | None = None,
) -> bytes:
    """Return a run's training rows for refitting the model, serialized.

    They reveal nothing of the intent's text or the arguments.

    Args:
        steps: Steps of the run, in run order.
        given: The arguments of each call, by step id; references count as not stated.
        reading: The run's intent.
        model: Selects the wrong values to keep; None: the shipped one.
    """
    groups = collect_choices(steps, given=given, reading=reading, model=model)
    rows = [features.astype(np.float16) for features, _ in groups]
    targets = [target.astype(np.float16) for _, target in groups]
    return _pack_arrays(
        rows=np.concatenate(rows) if rows else np.zeros((0, len(FEATURE_NAMES)), dtype=np.float16),
        targets=np.concatenate(targets) if targets else np.zeros(0, dtype=np.float16),
        sizes=np.array([len(target) for target in targets], dtype=np.uint16),
    )


def collect_choices(
    steps: Sequence[BindingStep],
    *,
    given: Mapping[str, Mapping[str, Any]],
    reading: IntentReading,
    model: BindingModel | None = None,
) -> list[ChoiceGroup]:
    """Return a run's training choices: per parameter, the alternatives and the right ones.

    At most `MAX_CHOICES`; given and required parameters first. An argument that the intent does
    not state counts as "not stated".

    Args:
        steps: Steps of the run, in run order.
        given: The arguments of each call, by step id.
        reading: The run's intent.
        model: Selects the wrong values to keep; None: the shipped one. To evaluate on a public
            set, one not fitted on it.
    """
    grid = compute_grid(steps, reading=reading)
    probabilities = (model or load_shipped_model()).predict_probabilities(grid)
    found: list[tuple[bool, ChoiceGroup]] = []
    for row, parameter in enumerate(grid.parameters):
        given_arguments = given.get(steps[grid.owners[row]].id, {})
        is_given = parameter.name in given_arguments
        right = np.zeros(len(grid.stated.values), dtype=bool)
        if is_given:
            argument = given_arguments[parameter.name]
            right = _mark_matching_values(grid.stated, grid.possible[row], parameter, argument)
        kept = _select_rivals(probabilities[row, :-1], right, grid.possible[row])
        target = right[kept] / max(right.sum(), 1)
        features = grid.features[row, [*kept, -1]]
        group = (features, np.append(target, 0.0 if right.any() else 1.0))
        found.append((is_given or parameter.is_required, group))
    found.sort(key=lambda item: not item[0])
    return [group for _, group in found[:MAX_CHOICES]]


def _mark_matching_values(
    stated: StatedValues, possible: NDArray[np.bool_], parameter: ToolParameter, argument: object
) -> NDArray[np.bool_]:
    """Return `(n,)`: which of the possible values convert to the argument."""
    single = argument[0] if isinstance(argument, list) and len(argument) == 1 else argument
    right = np.zeros(len(possible), dtype=bool)
    for column in np.flatnonzero(possible):
        right[column] = _is_argument(
            arguments.convert_value(parameter, stated.values[column]), single
        )
    return right


def _is_argument(value: Any, argument: object) -> bool:
    single = value[0] if isinstance(value, list) and len(value) == 1 else value
    return value is not arguments.NOT_CONVERTIBLE and is_same_value(single, argument)


def _select_rivals(
    probabilities: Floats, right: NDArray[np.bool_], possible: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Return the indices of the right values and of the likeliest wrong ones."""
    scores = np.where(possible, probabilities, -1.0)
    best = np.argsort(-scores, kind="stable")[:MAX_RIVALS]
    rivals = best[possible[best]]
    return np.union1d(rivals, np.flatnonzero(right))


def fit_binding(samples: Sequence[bytes], *, prior: BindingModel) -> BindingModel:
    """Fit the model to past runs, with a prior.

    Args:
        samples: One `sample_training_rows` per run, the newest first; those of other features are
            ignored.
        prior: Prior mean and starting point of the coefficients.
    """
    groups: list[ChoiceGroup] = []
    weights: list[float] = []
    for content in samples:
        own = _unpack_groups(content)
        groups += own
        weights += [min(1.0, MAX_RUN_WEIGHT / max(len(own), 1))] * len(own)
        if len(groups) >= MAX_GROUPS:
            break
    fitted = fit_choice(
        groups,
        prior=prior.coefficients,
        scale=prior.scale,
        l2=PRIOR_STRENGTH,
        weights=weights,
    )
    return BindingModel(coefficients=fitted, scale=prior.scale)


def fit_prior(sets: Iterable[Sequence[ChoiceGroup]], *, l2: float, largest: int) -> BindingModel:
    """Fit a model to the `collect_choices` of several data sets, without a prior.

    Args:
        sets: The choices of each data set.
        l2: Precision of each coefficient around zero.
        largest: Limit of the total weight of a data set, in choices.
    """
    groups: list[ChoiceGroup] = []
    weights: list[float] = []
    for choices in sets:
        groups += choices
        weights += [min(1.0, largest / max(len(choices), 1))] * len(choices)
    scale = np.concatenate([features for features, _ in groups]).std(axis=0) + PRIOR_SPREAD
    zeros = np.zeros(len(FEATURE_NAMES))
    fitted = fit_choice(groups, prior=zeros, scale=scale, l2=l2, weights=weights)
    return BindingModel(coefficients=fitted, scale=np.asarray(scale, dtype=np.float64))


def _unpack_groups(content: bytes) -> list[ChoiceGroup]:
    arrays = _unpack_arrays(content)
    if arrays is None or not len(arrays["sizes"]):
        return []
    cuts = np.cumsum(arrays["sizes"].astype(int))[:-1]
    rows = np.split(arrays["rows"].astype(np.float32), cuts)
    targets = np.split(arrays["targets"].astype(np.float32), cuts)
    return list(zip(rows, targets, strict=True))


def _pack_arrays(**arrays: NDArray[np.generic]) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, features=np.array(_FEATURES_DIGEST), **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def _unpack_arrays(content: bytes) -> dict[str, NDArray[np.generic]] | None:
    """Read the output of `_pack_arrays`; None if damaged or made for other features."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    return arrays if str(arrays.get("features")) == _FEATURES_DIGEST else None
