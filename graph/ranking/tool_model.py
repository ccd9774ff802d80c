"""How likely a tool is in the workflow that an intent asks for: a logistic model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.ranking.described import FEATURES, describe
from graph.ranking.familiarity import signals
from graph.ranking.fitted_intents import FittedIntents, describe_past
from graph.ranking.history_features import HISTORY
from graph.ranking.logistic import fit_logistic, sigmoid

if TYPE_CHECKING:
    from graph.intent.encoded import Encoded
    from graph.ranking.familiarity import Gate
    from graph.ranking.past import Past, PastIntent
    from graph.ranking.prior import LinearPrior
    from graph.ranking.scored import Scored
    from graph.ranking.tool_view import ToolView

CROSS_FITTED: Final = 1_000
"""With at most so many intents the logits handed on are of models that did not see the intent;
with more a single one weighs too little to matter."""

FOLDS: Final = 5
PENALTIES: Final = ((10, 100.0), (30, 30.0), (100, 10.0))
LEAST_PENALTY: Final = 5.0
"""Precision of the prior with fewer intents than so many, and with more: chosen by
cross-validation on ultratool."""

_SEED = 3

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, eq=False)
class ToolModel:
    """A fitted model.

    Attributes:
        means: What is subtracted from each of `FEATURES`, shape (f,).
        scales: What each is then divided by, shape (f,).
        coefficients: Per scaled feature, shape (f,).
        intercept: What is added.
        alone: Coefficients of the text alone, for what history says nothing of, shape (f,); 0
            for `HISTORY`.
        alone_intercept: Likewise.
        gate: How far to follow history; None: always.
    """

    means: Doubles
    scales: Doubles
    coefficients: Doubles
    intercept: float
    alone: Doubles
    alone_intercept: float
    gate: Gate | None = None

    @classmethod
    def of_prior(cls, prior: LinearPrior, *, runs: int = 0, gate: Gate | None = None) -> ToolModel:
        """Take the prior for a history of so many runs as it is."""
        known = prior.of(FEATURES)
        return cls(
            means=known.means,
            scales=known.scales,
            coefficients=known.at(runs),
            intercept=known.intercept_at(runs),
            alone=known.at(0) * ~silent(frozenset(), is_new=True),
            alone_intercept=known.intercept_at(0),
            gate=gate,
        )

    def judge(
        self, rows: Floats, *, silent: NDArray[np.bool_], logits: Doubles | None = None
    ) -> tuple[Doubles, float]:
        """Judge the candidates of an intent with a history.

        Args:
            rows: `FEATURES`, shape (k, f).
            silent: Which of them say nothing.
            logits: With history; None: those of this model.

        Returns:
            Their log-odds, shape (k,), between those with history and those of the text alone;
            and the familiarity that decided where between, in [0, 1].
        """
        known, alone = self.both(rows, silent=silent)
        known = known if logits is None else logits
        if self.gate is None:
            return known, 1.0
        share = self.gate.familiarity(signals(rows, sigmoid(alone)))
        return share * known + (1 - share) * alone, share

    def both(self, rows: Floats, *, silent: NDArray[np.bool_]) -> tuple[Doubles, Doubles]:
        """Return the log-odds with history and those of the text alone, shape (k,) each."""
        scaled = self.scaled(rows, silent=silent)
        return (
            scaled @ self.coefficients + self.intercept,
            scaled @ self.alone + self.alone_intercept,
        )

    def logits(self, rows: Floats, *, silent: NDArray[np.bool_]) -> Doubles:
        """Return the log-odds of rows of `FEATURES`, shape (n, f), without the silent ones."""
        return self.scaled(rows, silent=silent) @ self.coefficients + self.intercept

    def scaled(self, rows: Floats, *, silent: NDArray[np.bool_]) -> Doubles:
        """Scale rows; a silent feature is everywhere at its mean."""
        scaled = (rows - self.means) / self.scales
        scaled[:, silent] = 0
        return np.asarray(scaled)


def silent(without: AbstractSet[str], *, is_new: bool) -> NDArray[np.bool_]:
    """Tell which of `FEATURES` say nothing: those left out, and all of history without any."""
    return np.array(
        [name in without or (is_new and name in HISTORY) for name in FEATURES], dtype=np.bool_
    )


def score(
    encoded: Encoded,
    view: ToolView,
    past: Past | None,
    *,
    model: ToolModel,
    considered: Sequence[int] = (),
    without: AbstractSet[str] = frozenset(),
) -> Scored:
    """Score the candidates of an intent.

    Candidates are the tools that history says most for, those nearest to the whole, masked and
    in parts, and those to be considered in any case.

    Complexity: one product of the intent's vectors with those of the m tools, and of its whole
    and its clauses with those of the past.

    Args:
        encoded: The intent.
        view: The tools that the caller sees.
        past: None: no history.
        model: Fitted, or the prior.
        considered: Primary keys of tools to score in any case; those not seen are left out.
        without: Names of `FEATURES` that shall say nothing.

    Raises:
        ValueError: If intent, tools and past were embedded by different models.
    """
    evidence = None if past is None else past.evidence(encoded)
    described = describe(encoded, view, past, evidence, considered=considered)
    quiet = silent(without, is_new=past is None)
    if past is None:
        return described.scored(model.logits(described.rows, silent=quiet))
    logits, familiarity = model.judge(described.rows, silent=quiet)
    return described.scored(logits, familiarity=familiarity)


def penalty(intents: int) -> float:
    """Return how firmly the prior holds against so many intents.

    Example:
        >>> penalty(5), penalty(50), penalty(5000)
        (100.0, 10.0, 5.0)
    """
    return next((value for below, value in PENALTIES if intents < below), LEAST_PENALTY)


def fit_tool_model(
    past: Past,
    view: ToolView,
    *,
    prior: LinearPrior,
    gate: Gate | None = None,
    without: AbstractSet[str] = frozenset(),
) -> tuple[ToolModel, FittedIntents]:
    """Fit the model on past intents, each described without what it did itself.

    Args:
        past: Made by `Past.of`, not read from bytes.
        view: The tools that the callers see.
        prior: By size of the history.
        gate: How far to follow history in an intent; None: always.
        without: Names of `FEATURES` that shall say nothing.

    Returns:
        The model, and one `Scored` for each of `past.fitted`, in that order; with at most
        `CROSS_FITTED` of them, the logits are of models fitted without a fifth of the intents,
        this one among them.

    Raises:
        ValueError: If `past` was read from bytes.
        PriorError: If the prior was made for other features.
    """
    intents = describe_past(past, view)
    start = ToolModel.of_prior(prior, runs=len(intents), gate=gate)
    quiet = silent(without, is_new=False)
    rows, targets = intents.stacked()
    scaled = start.scaled(rows, silent=quiet)
    del rows
    strength = penalty(len(intents))
    model = _with_text_alone(_fitted(start, scaled, targets, strength), scaled, targets, strength)
    logits = scaled @ model.coefficients + model.intercept
    if len(intents) <= CROSS_FITTED:
        fold = np.random.default_rng(_SEED).permutation(len(intents)) % FOLDS
        of_row = np.repeat(fold, intents.lengths)
        for held in range(FOLDS):
            mine = of_row == held
            other = _fitted(start, scaled[~mine], targets[~mine], strength)
            logits[mine] = scaled[mine] @ other.coefficients + other.intercept
    return model, intents.judged(partial(_judge, model, quiet), logits)


def _with_text_alone(
    model: ToolModel, scaled: Doubles, targets: Doubles, strength: float
) -> ToolModel:
    """Fit what the text alone says, too: it differs from catalogue to catalogue."""
    start = dataclasses.replace(model, coefficients=model.alone, intercept=model.alone_intercept)
    told = scaled * ~silent(frozenset(), is_new=True)
    found = _fitted(start, told, targets, strength)
    return dataclasses.replace(model, alone=found.coefficients, alone_intercept=found.intercept)


def _judge(
    model: ToolModel, quiet: NDArray[np.bool_], rows: Floats, logits: Doubles
) -> tuple[Doubles, float]:
    return model.judge(rows, silent=quiet, logits=logits)


def prior_rows(
    past: Sequence[PastIntent], view: ToolView, *, with_history: bool = True
) -> tuple[Floats, Doubles]:
    """Make the rows that the model is fitted on: for the prior's own fitting.

    Args:
        past: Intents whose tools are known.
        view: The tools.
        with_history: Whether each intent is told of by the others; without, `HISTORY` is 0 and
            candidates are those of no history.

    Returns:
        Features, not scaled, of all candidates, shape (m, len(FEATURES)); and 1 where the run
        called the tool, else 0, shape (m,).
    """
    if with_history:
        from graph.ranking.past import Past  # noqa: PLC0415 - only the prior's fitting needs it

        return describe_past(Past.of(past, view), view).stacked()
    described = [describe(intent.encoded, view, None, None) for intent in past]
    called = [
        np.isin(view.tools[one.at], intent.tools)
        for one, intent in zip(described, past, strict=True)
    ]
    none = np.zeros((0, len(FEATURES)), dtype=np.float32)
    rows = np.concatenate([none, *(one.rows for one in described)])
    return rows, np.concatenate([np.zeros(0), *called]).astype(np.float64)


def _fitted(start: ToolModel, scaled: Doubles, targets: Doubles, strength: float) -> ToolModel:
    """Fit on scaled rows towards a model."""
    found = fit_logistic(
        np.column_stack((scaled, np.ones(len(scaled)))),
        targets,
        prior=np.append(start.coefficients, start.intercept),
        l2=strength,
    )
    return dataclasses.replace(start, coefficients=found[:-1], intercept=float(found[-1]))
