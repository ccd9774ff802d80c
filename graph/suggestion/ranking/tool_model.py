"""Logistic model of the probability that a tool is in the workflow for an intent."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.candidates import FEATURES, Candidates, describe_candidates
from graph.suggestion.ranking.familiarity import compute_signals
from graph.suggestion.ranking.history_features import HISTORY_FEATURES
from graph.suggestion.ranking.logistic import compute_sigmoid, fit_logistic
from graph.suggestion.ranking.static_features import compare_intent

if TYPE_CHECKING:
    from graph.suggestion.intent.encoded import EncodedIntent
    from graph.suggestion.ranking.familiarity import FamiliarityGate
    from graph.suggestion.ranking.past_intents import PastIntents
    from graph.suggestion.ranking.prior import LinearPrior
    from graph.suggestion.ranking.tool_view import ToolView

MAX_CROSS_FITTED: Final = 1_000
"""Up to this many intents, the logits passed on are cross-fitted, i.e. from models that did not
see the intent; with more, a single intent has too little weight to matter."""

FOLDS: Final = 5
PENALTY_BY_INTENTS: Final = ((10, 100.0), (30, 30.0), (100, 10.0))
MIN_PENALTY: Final = 5.0
"""Precision of the prior below each number of intents, and above the last: chosen by
cross-validation on ultratool."""

HISTORY_COLUMNS: Final = np.array([name in HISTORY_FEATURES for name in FEATURES])
"""Mask of the `FEATURES` that come from past runs."""

BLOCK_INTENTS: Final = 64
"""Past intents compared with all others at a time."""

_SEED = 3

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, eq=False)
class ToolModel:
    """A fitted model.

    Attributes:
        means: Subtracted from each of `FEATURES`, shape (f,).
        scales: Divisor of each feature after that, shape (f,).
        coefficients: Per scaled feature, shape (f,).
        intercept: Added to the logits.
        text_only_coefficients: Coefficients without history, for intents that history does not
            cover, shape (f,); 0 for `HISTORY_FEATURES`.
        text_only_intercept: Intercept without history.
        gate: Computes the weight of history; None: always 1.
    """

    means: Doubles
    scales: Doubles
    coefficients: Doubles
    intercept: float
    text_only_coefficients: Doubles
    text_only_intercept: float
    gate: FamiliarityGate | None = None

    @classmethod
    def from_prior(
        cls, prior: LinearPrior, *, runs: int = 0, gate: FamiliarityGate | None = None
    ) -> ToolModel:
        """Return the unfitted prior for a history of `runs` runs."""
        selected = prior.select_features(FEATURES)
        return cls(
            means=selected.means,
            scales=selected.scales,
            coefficients=selected.coefficients_at(runs),
            intercept=selected.intercept_at(runs),
            text_only_coefficients=selected.coefficients_at(0) * ~HISTORY_COLUMNS,
            text_only_intercept=selected.intercept_at(0),
            gate=gate,
        )

    def score(self, candidates: Candidates, *, logits: Doubles | None = None) -> Candidates:
        """Return candidates with their logits and the familiarity of the intent.

        Without history the logits are those of the text alone; with it, both are interpolated,
        and the familiarity is the weight of history.

        Args:
            candidates: The candidates of an intent.
            logits: Logits with history; None: those of this model.
        """
        text_only = self.compute_text_only_logits(candidates.features)
        if candidates.predicted_size is None:
            return dataclasses.replace(candidates, logits=text_only)
        if logits is None:
            logits = self.compute_logits(candidates.features)
        share = 1.0
        if self.gate is not None:
            share = self.gate.compute_familiarity(
                compute_signals(candidates, compute_sigmoid(text_only))
            )
        mixed = share * logits + (1 - share) * text_only
        return dataclasses.replace(candidates, logits=mixed, familiarity=share)

    def compute_logits(self, rows: Floats) -> Doubles:
        """Return the log-odds of rows of `FEATURES`, shape (n, f), as if all were familiar."""
        return self.scale_rows(rows) @ self.coefficients + self.intercept

    def compute_text_only_logits(self, rows: Floats) -> Doubles:
        """Return the log-odds of rows of `FEATURES`, shape (n, f), without history."""
        return self.scale_rows(rows) @ self.text_only_coefficients + self.text_only_intercept

    def scale_rows(self, rows: Floats) -> Doubles:
        """Centre and scale rows of `FEATURES`."""
        return np.asarray((rows - self.means) / self.scales)


def score_candidates(
    encoded: EncodedIntent, view: ToolView, past: PastIntents | None, *, model: ToolModel
) -> Candidates:
    """Score the candidates of an intent.

    Complexity: one product of the intent's vectors with those of the m tools, and one of its
    whole and clause vectors with those of the past.

    Args:
        encoded: The intent.
        view: The tools visible to the caller.
        past: None without history.
        model: Fitted, or the prior.

    Raises:
        ValueError: If intent, tools and past were embedded by different models.
    """
    evidence = None if past is None else past.gather_evidence(encoded)
    return model.score(describe_candidates(compare_intent(encoded, view), past, evidence))


def score_by_history(
    encoded: EncodedIntent,
    view: ToolView,
    past: PastIntents,
    *,
    model: ToolModel,
    considered: Sequence[int] = (),
) -> Candidates:
    """Score the candidates of an intent as if past intents were familiar with it.

    Args:
        encoded: As in `score_candidates`.
        view: Likewise.
        past: Likewise.
        model: Likewise.
        considered: Primary keys of tools to score in any case; invisible ones are left out.

    Returns:
        Logits with history alone; the familiarity tells how far to follow them.

    Raises:
        ValueError: As in `score_candidates`.
    """
    evidence = past.gather_evidence(encoded)
    described = describe_candidates(
        compare_intent(encoded, view), past, evidence, considered=considered
    )
    return dataclasses.replace(
        model.score(described), logits=model.compute_logits(described.features)
    )


def prior_penalty(intents: int) -> float:
    """Return the precision of the prior for a history of this many intents.

    Example:
        >>> prior_penalty(5), prior_penalty(50), prior_penalty(5000)
        (100.0, 10.0, 5.0)
    """
    return next((value for below, value in PENALTY_BY_INTENTS if intents < below), MIN_PENALTY)


class FittedIntents(Sequence[Candidates]):
    """The r intents of `PastIntents.fitted`, described without their own run, and scored.

    Similarities and vectors are computed on access: all at once would take hundreds of megabytes.
    Sequential access is fast.

    Args:
        past: The past intents.
        view: The tools visible to the callers.

    Raises:
        ValueError: If `past` was read from bytes.
    """

    def __init__(self, past: PastIntents, view: ToolView) -> None:
        self._past, self._view = past, view
        self._begin, self._similarities = 0, np.zeros((0, 0), dtype=np.float32)
        self._logits: list[Doubles] = []
        nothing = np.zeros(0, dtype=np.float32)
        self._rows = [
            dataclasses.replace(row, vectors=nothing, similarity=nothing)
            for row in _describe_past_intents(past, view)
        ]

    def __len__(self) -> int:
        """Number of intents, r."""
        return len(self._rows)

    def __getitem__(self, row: int) -> Candidates:  # type: ignore[override]  # no slices
        """Return one intent."""
        at = range(len(self))[row]
        candidates = self._rows[at]
        return dataclasses.replace(
            candidates,
            vectors=self._view.vectors_at(self._view.find_positions(candidates.tools)),
            similarity=self._find_similarity(at),
        )

    def _find_similarity(self, row: int) -> Floats:
        """Return an intent's similarity to all past ones, -1 to itself, shape (n,)."""
        if not 0 <= row - self._begin < len(self._similarities):
            self._begin = row - row % BLOCK_INTENTS
            rows = np.arange(self._begin, min(self._begin + BLOCK_INTENTS, len(self)))
            self._similarities = self._past.compare_fitted(rows)
        return np.asarray(self._similarities[row - self._begin])

    @property
    def candidate_counts(self) -> list[int]:
        """Number of candidates of each intent."""
        return [len(row.tools) for row in self._rows]

    def stack_candidates(self) -> tuple[Floats, Doubles]:
        """Return the features of all candidates, and 1 for each that its run called, else 0."""
        called = [
            np.isin(row.tools, self._past.runs[int(own)])
            for row, own in zip(self._rows, self._past.fitted, strict=True)
        ]
        features = np.concatenate([row.features for row in self._rows])
        return features, np.concatenate(called).astype(np.float64)

    def score(self, model: ToolModel, logits: Doubles) -> None:
        """Score all intents.

        Args:
            model: Mixes the logits with those of the text alone.
            logits: Logits with history, in the order of `stack_candidates`.
        """
        self._logits = np.split(logits, np.cumsum(self.candidate_counts)[:-1])
        self.mix(model)

    def mix(self, model: ToolModel) -> None:
        """Mix the logits with history anew with those of the text alone, as a model does."""
        self._rows = [
            model.score(row, logits=part)
            for row, part in zip(self._rows, self._logits, strict=True)
        ]


def _describe_past_intents(past: PastIntents, view: ToolView) -> Iterator[Candidates]:
    encoded = past.required_training.encoded
    for start in range(0, len(encoded), BLOCK_INTENTS):
        block = np.arange(start, min(start + BLOCK_INTENTS, len(encoded)))
        evidence = past.iterate_left_out_evidence(block)
        for row, of_others in zip(block.tolist(), evidence, strict=True):
            yield describe_candidates(compare_intent(encoded[row], view), past, of_others)


def fit_tool_model(
    past: PastIntents,
    view: ToolView,
    *,
    prior: LinearPrior,
    gate: FamiliarityGate | None = None,
) -> tuple[ToolModel, FittedIntents]:
    """Fit the model on past intents, each described by the evidence of the others.

    Args:
        past: Made by `PastIntents.from_intents`, not read from bytes.
        view: The tools visible to the callers.
        prior: Coefficients by size of the history.
        gate: Computes the weight of history in an intent; None: always 1.

    Returns:
        The model, and one `Candidates` for each of `past.fitted`, in that order. With at
        most `MAX_CROSS_FITTED` intents, each one's logits come from a model fitted without a
        fifth of the intents that includes it.

    Raises:
        ValueError: If `past` was read from bytes.
        PriorError: If the prior lacks a feature.
    """
    intents = FittedIntents(past, view)
    start = ToolModel.from_prior(prior, runs=len(intents), gate=gate)
    rows, targets = intents.stack_candidates()
    scaled = start.scale_rows(rows)
    del rows
    strength = prior_penalty(len(intents))
    model = _fit_text_only(
        _fit_towards(start, scaled, targets, strength), scaled, targets, strength
    )
    logits = scaled @ model.coefficients + model.intercept
    if len(intents) <= MAX_CROSS_FITTED:
        fold = np.random.default_rng(_SEED).permutation(len(intents)) % FOLDS
        row_folds = np.repeat(fold, intents.candidate_counts)
        for fold_number in range(FOLDS):
            is_held_out = row_folds == fold_number
            fold_model = _fit_towards(start, scaled[~is_held_out], targets[~is_held_out], strength)
            logits[is_held_out] = (
                scaled[is_held_out] @ fold_model.coefficients + fold_model.intercept
            )
    intents.score(model, logits)
    return model, intents


def _fit_text_only(
    model: ToolModel, scaled: Doubles, targets: Doubles, strength: float
) -> ToolModel:
    """Fit the text-only coefficients too: they differ between catalogues."""
    start = dataclasses.replace(
        model, coefficients=model.text_only_coefficients, intercept=model.text_only_intercept
    )
    text_only = scaled * ~HISTORY_COLUMNS
    fitted = _fit_towards(start, text_only, targets, strength)
    return dataclasses.replace(
        model, text_only_coefficients=fitted.coefficients, text_only_intercept=fitted.intercept
    )


def _fit_towards(
    start: ToolModel, scaled: Doubles, targets: Doubles, strength: float
) -> ToolModel:
    """Fit coefficients on scaled rows, with those of `start` as the prior."""
    coefficients = fit_logistic(
        np.column_stack((scaled, np.ones(len(scaled)))),
        targets,
        prior=np.append(start.coefficients, start.intercept),
        l2=strength,
    )
    return dataclasses.replace(
        start, coefficients=coefficients[:-1], intercept=float(coefficients[-1])
    )
