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
_NEAREST: Final = FEATURES.index("simP")
_PATTERNS: Final = "hasP"  # the feature whose family takes sets of past runs out of the candidates


@dataclass(frozen=True, kw_only=True, eq=False)
class SetModel:
    """A fitted conditional logit over candidate sets.

    Attributes:
        scales: What each of `FEATURES` is divided by, shape (f,).
        coefficients: Per scaled feature, shape (f,); 0 for features left out.
        near_sets: Sets of similar runs among the candidates at most.
        f1_share: Weight of expected F1 in the choice, in [0, 1].
        alone: Coefficients of the text alone, for what history says nothing of, shape (f,).
    """

    scales: Floats
    coefficients: Floats
    near_sets: int
    f1_share: float
    alone: Floats

    def without(self, features: AbstractSet[str]) -> SetModel:
        """Return the same model to which some features say nothing; it is not fitted anew."""
        kept = np.array([name not in features for name in FEATURES])
        return SetModel(
            scales=self.scales,
            coefficients=self.coefficients * kept,
            near_sets=0 if _PATTERNS in features else self.near_sets,
            f1_share=self.f1_share,
            alone=self.alone * kept,
        )

    def choices(self, scored: Scored, history: SetHistory | None) -> Choices:
        """List the sets that an intent may ask for, with the probability of each."""
        found = set_candidates.candidates(scored, history, near_sets=self.near_sets)
        rows = set_features(scored, found, history)
        return self.weighed(found, rows, familiarity=scored.familiarity)

    def weighed(
        self, found: Candidates, rows: NDArray[np.float32], *, familiarity: float
    ) -> Choices:
        """Return candidates with the probability of each.

        Args:
            found: m sets.
            rows: What speaks for each, shape (m, f).
            familiarity: How far to follow history, in [0, 1].
        """
        mixed = familiarity * self.coefficients + (1 - familiarity) * self.alone
        return Choices(
            candidates=found,
            probabilities=probabilities(rows, mixed, self.scales),
            similarities=rows[:, _NEAREST] * (self.coefficients[_NEAREST] != 0),
            f1_share=familiarity * self.f1_share + (1 - familiarity) * F1_SHARES[0][1],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Choices:
    """Candidate sets and how likely each is what the intent asks for.

    Attributes:
        candidates: m sets.
        probabilities: Shape (m,), sum 1.
        similarities: Of the intent and the nearest past one with exactly this set; 0 without
            any, or where nothing shall be made of it; shape (m,).
        f1_share: Weight of expected F1 in the choice.
    """

    candidates: Candidates
    probabilities: Floats
    similarities: NDArray[np.float32]
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
        intent: Which past intent it is of.
        repeats: 0 for the first run of an intent, judged as if it had never been asked for;
            else for how many of its further runs this stands, judged with the first one known.
        familiarity: How far history is followed, in [0, 1].
    """

    candidates: Candidates
    rows: NDArray[np.float32]
    right: int | None
    intent: int = 0
    repeats: int = 0
    familiarity: float = 1.0

    def group(self) -> tuple[NDArray[np.float32], Floats]:
        """Return it as a choice; `right` must be known."""
        target = np.zeros(len(self.rows))
        target[self.right] = 1
        return self.rows, target


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """How the choices for past runs turned out.

    Attributes:
        likely: Probability of each choice, shape (N,).
        similarities: Of the intent and the nearest past one with the set chosen, shape (N,).
        right: Whether the choice is what the run called, 0 or 1, shape (N,).
        repeats: 0 for a first run, else for how many repeats it stands, shape (N,).
    """

    likely: Floats
    similarities: Floats
    right: Floats
    repeats: Floats


def example(
    scored: Scored,
    history: SetHistory | None,
    tools: frozenset[int],
    *,
    intent: int | None = None,
    repeats: int = 0,
    without: AbstractSet[str] = frozenset(),
) -> SetExample:
    """Make an example of a scored past run that called these tools.

    Args:
        scored: The intent: of the first run without it (`Scored.own`), of repeats with it.
        history: None without past runs.
        tools: What the run called.
        intent: Which past intent it is of; None: what `scored` says.
        repeats: For how many repeats it stands; 0: for the first run.
        without: Features left out.
    """
    near_sets = 0 if _PATTERNS in without else NEAR_SETS
    found = set_candidates.candidates(scored, history, near_sets=near_sets)
    return SetExample(
        candidates=found,
        rows=set_features(scored, found, history),
        right=found.find(tools, scored),
        intent=(scored.own or 0) if intent is None else intent,
        repeats=repeats,
        familiarity=scored.familiarity,
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
    reached = [one for one in examples if one.right is not None]
    groups = [one.group() for one in reached]
    if not kept.all():
        groups = [(rows * kept, target) for rows, target in groups]
    found = fit_choice(
        groups,
        prior=known.at(runs),
        scale=known.scales,
        l2=_of_size(runs, PRECISIONS, PRECISION),
        weights=[max(one.repeats, 1) for one in reached],
    )
    return SetModel(
        scales=known.scales,
        coefficients=found * kept,
        near_sets=0 if _PATTERNS in without else NEAR_SETS,
        f1_share=_of_size(runs, F1_SHARES, F1_SHARE),
        alone=known.at(0) * kept,
    )


def judge_held_out(
    examples: Sequence[SetExample],
    *,
    prior: LinearPrior,
    runs: int,
    seed: int,
    without: AbstractSet[str] = frozenset(),
) -> Judged:
    """Choose for each past run with a model fitted on the other folds.

    All runs of an intent are in one fold.
    """
    intents, intent_of = np.unique([one.intent for one in examples], return_inverse=True)
    folds = np.random.default_rng(seed).permutation(len(intents))[intent_of] % FOLDS
    judged = np.zeros((len(examples), 3))
    for fold in range(min(FOLDS, len(intents))):
        rest = [one for one, at in zip(examples, folds, strict=True) if at != fold]
        model = fit_set_model(rest, prior=prior, runs=runs, without=without)
        for at in np.flatnonzero(folds == fold).tolist():
            judged[at] = choose(examples[at], model)
    likely, similarities, right = judged.T
    repeats = np.array([one.repeats for one in examples], dtype=np.float64)
    return Judged(likely=likely, similarities=similarities, right=right, repeats=repeats)


def choose(one: SetExample, model: SetModel) -> tuple[float, float, bool]:
    """Return what `Judged` says of the set chosen for an example."""
    choices = model.weighed(one.candidates, one.rows, familiarity=one.familiarity)
    (best,) = choices.best_first(1)
    return (
        float(choices.probabilities[best]),
        float(choices.similarities[best]),
        best == one.right,
    )


def _of_size(runs: int, steps: Sequence[tuple[int, float]], otherwise: float) -> float:
    """Return the value for a history of so many runs."""
    return next((value for below, value in steps if runs < below), otherwise)
