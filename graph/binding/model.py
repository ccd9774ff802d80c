"""The model that picks, for a parameter, one of the values that an intent states, or none.

A conditional logit: utilities are linear in the features of parameter and value, the probability
of each value is its share among all values and "not stated".
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

from graph.binding import arguments
from graph.binding.features import NAMES, Grid, grid
from graph.binding.values import same
from graph.ranking.choice import Group, fit_choice

if TYPE_CHECKING:
    from graph.binding.schemas import Parameter
    from graph.binding.stated import Stated
    from graph.binding.steps import Step
    from graph.intent.reading import Reading

Floats = NDArray[np.float64]

RIVALS = 20
"""Values kept of a choice to refit with, beside the right ones: the likeliest."""
MAX_CHOICES = 40
"""Choices kept of one run."""
PULL = 10.0
"""How strongly a fit is drawn to what was known before (precision of a coefficient)."""
MAX_GROUPS = 40_000
"""Choices that a fit reads; the newest runs come first."""
SPREAD = 0.05
"""Added to a feature's standard deviation: a rare feature must not weigh without bound."""
_FEATURES: Final = hashlib.sha256(" ".join(NAMES).encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True, eq=False)
class BindingModel:
    """A conditional logit over what an intent states, and "not stated".

    Attributes:
        coefficients: `(f,)` float64, per scaled feature, in the order of `features.NAMES`.
        scale: `(f,)` float64, what each feature is divided by; positive.
    """

    coefficients: Floats
    scale: Floats

    def probabilities(self, compared: Grid) -> Floats:
        """Return `(p, n + 1)`: per parameter, how likely each value is; last, "not stated"."""
        weights = (self.coefficients / self.scale).astype(np.float32)
        utilities = (compared.features @ weights).astype(np.float64)
        utilities[:, :-1][~compared.possible] = -np.inf
        worth = np.exp(utilities - utilities.max(axis=1, keepdims=True, initial=-1e9))
        return np.asarray(worth / worth.sum(axis=1, keepdims=True))

    def to_bytes(self) -> bytes:
        """Return the model as it is kept."""
        return _packed(coefficients=self.coefficients, scale=self.scale)

    @classmethod
    def from_bytes(cls, content: bytes) -> BindingModel:
        """Return the model that `to_bytes` wrote.

        Raises:
            ValueError: If it was written for other features, or is damaged.
        """
        arrays = _unpacked(content)
        if arrays is None or not {"coefficients", "scale"} <= arrays.keys():
            raise ValueError("the binding model was fitted for other features: fit it again")
        return cls(
            coefficients=np.asarray(arrays["coefficients"], dtype=np.float64),
            scale=np.asarray(arrays["scale"], dtype=np.float64),
        )


@lru_cache(maxsize=1)
def shipped() -> BindingModel:
    """Return the model that was fitted on public sets: what is known without history."""
    text = resources.files("graph.binding").joinpath("prior.json").read_text("utf-8")
    return from_json(json.loads(text))


def from_json(document: Mapping[str, Any]) -> BindingModel:
    """Return the model of a document such as `as_json` makes; unknown features count nothing."""
    known = document["features"]
    values = [known.get(name, {"coefficient": 0.0, "scale": 1.0}) for name in NAMES]
    return BindingModel(
        coefficients=np.array([value["coefficient"] for value in values]),
        scale=np.array([value["scale"] for value in values]),
    )


def as_json(model: BindingModel) -> dict[str, Any]:
    """Return a model as a document that a person can read."""
    rows = zip(NAMES, model.coefficients, model.scale, strict=True)
    return {
        "features": {
            name: {"coefficient": round(float(coefficient), 4), "scale": round(float(scale), 4)}
            for name, coefficient, scale in rows
        }
    }


def sample(
    steps: Sequence[Step],
    *,
    given: Mapping[str, Mapping[str, Any]],
    reading: Reading,
    model: BindingModel | None = None,
) -> bytes:
    """Return what a run shows of which stated value goes where: rows to refit the model with.

    Nothing of the intent or the arguments can be read from them.

    Args:
        steps: Of the run, in the order they ran.
        given: By step's id, the arguments it was called with; references count as not stated.
        reading: Of its intent.
        model: Picks the rivals; None: as shipped.
    """
    groups = choices(steps, given=given, reading=reading, model=model)
    rows = [features.astype(np.float16) for features, _ in groups]
    targets = [target.astype(np.float16) for _, target in groups]
    return _packed(
        rows=np.concatenate(rows) if rows else np.zeros((0, len(NAMES)), dtype=np.float16),
        targets=np.concatenate(targets) if targets else np.zeros(0, dtype=np.float16),
        sizes=np.array([len(target) for target in targets], dtype=np.uint16),
    )


def choices(
    steps: Sequence[Step],
    *,
    given: Mapping[str, Mapping[str, Any]],
    reading: Reading,
    model: BindingModel | None = None,
) -> list[Group]:
    """Return, for each parameter of a run that a value may stand for, what it was chosen from.

    Where the run has more than `MAX_CHOICES`, parameters that were given or are required go
    first. What was given and the intent does not state counts as not stated.

    Args:
        steps: Of the run, in the order they ran.
        given: By step's id, the arguments it was called with.
        reading: Of its intent.
        model: Picks the rivals; None: as shipped. To judge on a public set, one that has not
            seen it.
    """
    compared = grid(steps, reading=reading)
    likely = (model or shipped()).probabilities(compared)
    found: list[tuple[bool, Group]] = []
    for row, parameter in enumerate(compared.parameters):
        known = given.get(steps[compared.owners[row]].id, {})
        is_given = parameter.name in known
        right = np.zeros(len(compared.stated.values), dtype=bool)
        if is_given:
            argument = known[parameter.name]
            right = _states(compared.stated, compared.possible[row], parameter, argument)
        kept = _rivals(likely[row, :-1], right, compared.possible[row])
        target = right[kept] / max(right.sum(), 1)
        features = compared.features[row, [*kept, -1]]
        group = (features, np.append(target, 0.0 if right.any() else 1.0))
        found.append((is_given or parameter.is_required, group))
    found.sort(key=lambda item: not item[0])
    return [group for _, group in found[:MAX_CHOICES]]


def _states(
    stated: Stated, possible: NDArray[np.bool_], parameter: Parameter, argument: object
) -> NDArray[np.bool_]:
    """Return `(n,)`: which of the possible values would become the argument."""
    single = argument[0] if isinstance(argument, list) and len(argument) == 1 else argument
    right = np.zeros(len(possible), dtype=bool)
    for place in np.flatnonzero(possible):
        right[place] = _is(arguments.as_argument(parameter, stated.values[place]), single)
    return right


def _is(value: Any, argument: object) -> bool:
    single = value[0] if isinstance(value, list) and len(value) == 1 else value
    return value is not arguments.NOTHING and same(single, argument)


def _rivals(
    likely: Floats, right: NDArray[np.bool_], possible: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Return the places of the right values and of their likeliest rivals."""
    worth = np.where(possible, likely, -1.0)
    best = np.argsort(-worth, kind="stable")[:RIVALS]
    rivals = best[possible[best]]
    return np.union1d(rivals, np.flatnonzero(right))


def fit_binding(samples: Sequence[bytes], *, prior: BindingModel) -> BindingModel:
    """Fit the model to what runs have shown, drawn to what was known before.

    Args:
        samples: One `sample` per run, the newest first; those of other features are left out.
        prior: Where the coefficients start from and are drawn to.
    """
    groups: list[Group] = []
    for content in samples:
        groups += _groups(content)
        if len(groups) >= MAX_GROUPS:
            break
    fitted = fit_choice(groups, prior=prior.coefficients, scale=prior.scale, l2=PULL)
    return BindingModel(coefficients=fitted, scale=prior.scale)


def fit_prior(sets: Iterable[Sequence[Group]], *, l2: float, largest: int) -> BindingModel:
    """Fit a model to `choices` of several sets of queries, without any prior knowledge.

    Args:
        sets: The choices of each set.
        l2: Precision of each coefficient around zero.
        largest: Choices that a set counts as at most, whatever its size.
    """
    groups: list[Group] = []
    weights: list[float] = []
    for one in sets:
        groups += one
        weights += [min(1.0, largest / max(len(one), 1))] * len(one)
    scale = np.concatenate([features for features, _ in groups]).std(axis=0) + SPREAD
    zeros = np.zeros(len(NAMES))
    fitted = fit_choice(groups, prior=zeros, scale=scale, l2=l2, weights=weights)
    return BindingModel(coefficients=fitted, scale=np.asarray(scale, dtype=np.float64))


def _groups(content: bytes) -> list[Group]:
    arrays = _unpacked(content)
    if arrays is None or not len(arrays["sizes"]):
        return []
    cuts = np.cumsum(arrays["sizes"].astype(int))[:-1]
    rows = np.split(arrays["rows"].astype(np.float32), cuts)
    targets = np.split(arrays["targets"].astype(np.float32), cuts)
    return list(zip(rows, targets, strict=True))


def _packed(**arrays: NDArray[np.generic]) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, features=np.array(_FEATURES), **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def _unpacked(content: bytes) -> dict[str, NDArray[np.generic]] | None:
    """Return the arrays of what `_packed` wrote; None if it was for other features."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    return arrays if str(arrays.get("features")) == _FEATURES else None
