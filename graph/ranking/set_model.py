"""Which set of tools an intent asks for: a conditional logit over candidate sets."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.ranking import set_candidates
from graph.ranking.choice import fit_choice, probabilities
from graph.ranking.set_candidates import NEAR_SETS, Candidates
from graph.ranking.set_features import FEATURES, set_features
from graph.ranking.set_history import Floats, SetHistory

if TYPE_CHECKING:
    from graph.ranking.prior import LinearPrior
    from graph.ranking.scored import Scored

PRECISIONS: Final = ((10, 300.0), (30, 100.0))
PRECISION: Final = 30.0
"""How strongly the prior holds: with less than so many runs, and with more."""

F1_SHARES: Final = ((20, 1.0), (50, 0.8))
F1_SHARE: Final = 0.6
"""Share of expected F1, against the probability of being exactly right, in what the choice
maximises: with less than so many runs, and with more."""

LIKELIEST: Final = 40
"""So many sets are weighed against each other."""

FOLDS: Final = 5
_PATTERNS: Final = "hasP"  # the feature whose family takes sets of past runs out of the candidates


@dataclass(frozen=True, kw_only=True, eq=False)
class SetModel:
    """A fitted conditional logit over candidate sets.

    Attributes:
        scales: What each of `FEATURES` is divided by, shape (f,).
        coefficients: Per scaled feature, shape (f,); 0 for features left out.
        near_sets: Sets of similar runs among the candidates at most.
        f1_share: Weight of expected F1 in the choice, in [0, 1].
    """

    scales: Floats
    coefficients: Floats
    near_sets: int
    f1_share: float

    def without(self, features: AbstractSet[str]) -> SetModel:
        """Return the same model to which some features say nothing; it is not fitted anew."""
        kept = np.array([name not in features for name in FEATURES])
        return SetModel(
            scales=self.scales,
            coefficients=self.coefficients * kept,
            near_sets=0 if _PATTERNS in features else self.near_sets,
            f1_share=self.f1_share,
        )

    def choices(self, scored: Scored, history: SetHistory | None) -> Choices:
        """List the sets that an intent may ask for, with the probability of each."""
        found = set_candidates.candidates(scored, history, near_sets=self.near_sets)
        rows = set_features(scored, found, history)
        likely = probabilities(rows, self.coefficients, self.scales)
        return Choices(candidates=found, probabilities=likely, f1_share=self.f1_share)


@dataclass(frozen=True, kw_only=True, eq=False)
class Choices:
    """Candidate sets and how likely each is what the intent asks for.

    Attributes:
        candidates: m sets.
        probabilities: Shape (m,), sum 1.
        f1_share: Weight of expected F1 in the choice.
    """

    candidates: Candidates
    probabilities: Floats
    f1_share: float

    def best_first(self, limit: int) -> list[int]:
        """Return the set to choose and then the likeliest others, `limit` in all at most.

        The choice maximises share · E[F1] + (1 - share) · p among the likeliest sets: where no
        set is sure, one that overlaps with many likely ones is of more use than the likeliest.
        """
        order = np.argsort(-self.probabilities, kind="stable")[:LIKELIEST]
        likely = self.probabilities[order] / self.probabilities[order].sum()
        members, sizes = self.candidates.members[order], self.candidates.sizes[order]
        f1 = 2 * (members @ members.T) / (sizes[:, None] + sizes[None])
        worth = self.f1_share * (f1 @ likely) + (1 - self.f1_share) * likely
        best = int(order[int(worth.argmax())])
        others = [int(which) for which in order if which != best]
        return [best, *others][:limit]


@dataclass(frozen=True, kw_only=True, eq=False)
class SetExample:
    """A past run to learn from.

    Attributes:
        candidates: m sets.
        rows: What speaks for each, shape (m, f).
        right: Which of them the run called, or None if it is not among them.
    """

    candidates: Candidates
    rows: NDArray[np.float32]
    right: int | None

    def group(self) -> tuple[NDArray[np.float32], Floats]:
        """Return it as a choice; `right` must be known."""
        target = np.zeros(len(self.rows))
        target[self.right] = 1
        return self.rows, target


def example(
    scored: Scored,
    history: SetHistory | None,
    tools: frozenset[int],
    *,
    without: AbstractSet[str] = frozenset(),
) -> SetExample:
    """Make an example of a scored past run that called these tools."""
    near_sets = 0 if _PATTERNS in without else NEAR_SETS
    found = set_candidates.candidates(scored, history, near_sets=near_sets)
    return SetExample(
        candidates=found,
        rows=set_features(scored, found, history),
        right=found.find(tools, scored),
    )


def fit_set_model(
    examples: Sequence[SetExample],
    *,
    prior: LinearPrior,
    runs: int,
    without: AbstractSet[str] = frozenset(),
) -> SetModel:
    """Fit the model on past runs; examples whose set is not a candidate teach nothing.

    Args:
        examples: Of past runs.
        prior: Where the coefficients lie before any run.
        runs: Size of the history: decides the prior and how strongly it holds.
        without: Features left out.
    """
    known = prior.of(FEATURES)
    kept = np.array([name not in without for name in FEATURES])
    groups = [one.group() for one in examples if one.right is not None]
    if not kept.all():
        groups = [(rows * kept, target) for rows, target in groups]
    found = fit_choice(
        groups, prior=known.at(runs), scale=known.scales, l2=_of_size(runs, PRECISIONS, PRECISION)
    )
    return SetModel(
        scales=known.scales,
        coefficients=found * kept,
        near_sets=0 if _PATTERNS in without else NEAR_SETS,
        f1_share=_of_size(runs, F1_SHARES, F1_SHARE),
    )


def judge_held_out(
    examples: Sequence[SetExample],
    *,
    prior: LinearPrior,
    runs: int,
    seed: int,
    without: AbstractSet[str] = frozenset(),
) -> tuple[Floats, Floats]:
    """Choose for each past run with a model fitted on the other folds.

    Returns:
        The probability of each choice, and whether it was right, shape (len(examples),) each.
    """
    folds = np.random.default_rng(seed).permutation(len(examples)) % FOLDS
    likely, right = np.zeros(len(examples)), np.zeros(len(examples))
    for fold in range(min(FOLDS, len(examples))):
        rest = [one for one, at in zip(examples, folds, strict=True) if at != fold]
        model = fit_set_model(rest, prior=prior, runs=runs, without=without)
        for at in np.flatnonzero(folds == fold).tolist():
            likely[at], right[at] = choose(examples[at], model)
    return likely, right


def choose(one: SetExample, model: SetModel) -> tuple[float, bool]:
    """Return the probability of the set chosen for an example, and whether it is right."""
    likely = probabilities(one.rows, model.coefficients, model.scales)
    choices = Choices(candidates=one.candidates, probabilities=likely, f1_share=model.f1_share)
    (best,) = choices.best_first(1)
    return float(likely[best]), best == one.right


def _of_size(runs: int, steps: Sequence[tuple[int, float]], otherwise: float) -> float:
    """Return the value for a history of so many runs."""
    return next((value for below, value in steps if runs < below), otherwise)
