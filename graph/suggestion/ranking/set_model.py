"""Conditional logit over the candidate tool sets of an intent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking import set_candidates
from graph.suggestion.ranking.choice import choice_probabilities, fit_choice
from graph.suggestion.ranking.set_candidates import CandidateSets
from graph.suggestion.ranking.set_features import SET_FEATURES, compute_set_features
from graph.suggestion.ranking.set_history import Floats, SetHistory

if TYPE_CHECKING:
    from graph.suggestion.ranking.candidates import Candidates
    from graph.suggestion.ranking.prior import LinearPrior

PRECISION_BY_RUNS: Final = ((10, 300.0), (30, 100.0))
DEFAULT_PRECISION: Final = 30.0
"""Precision of the prior below each number of runs, and above the last."""

F1_SHARE_BY_RUNS: Final = ((20, 1.0), (50, 0.8))
DEFAULT_F1_SHARE: Final = 0.6
"""Share of expected F1, against the probability of being exactly right, in the objective of the
choice: below each number of runs, and above the last."""

MAX_COMPARED_SETS: Final = 40
"""Limit of sets compared with each other in the choice."""

FOLDS: Final = 5
_NEAREST_COLUMN: Final = SET_FEATURES.index("set_similarity")


@dataclass(frozen=True, kw_only=True, eq=False)
class SetModel:
    """A fitted conditional logit over candidate sets.

    Attributes:
        scales: Divisor of each of `SET_FEATURES`, shape (f,).
        coefficients: Per scaled feature, shape (f,).
        f1_share: Weight of expected F1 in the choice, in [0, 1].
        text_only_coefficients: Coefficients without history, for intents that history does not
            cover, shape (f,).
    """

    scales: Floats
    coefficients: Floats
    f1_share: float
    text_only_coefficients: Floats

    def list_choices(self, scored: Candidates, history: SetHistory | None) -> SetChoices:
        """List the candidate sets of an intent with their probabilities."""
        candidates = set_candidates.list_candidate_sets(scored, history)
        rows = compute_set_features(scored, candidates, history)
        return self.weigh_candidates(candidates, rows, familiarity=scored.familiarity)

    def weigh_candidates(
        self, candidates: CandidateSets, rows: NDArray[np.float32], *, familiarity: float
    ) -> SetChoices:
        """Return the candidates with their probabilities.

        Args:
            candidates: m sets.
            rows: `SET_FEATURES` of each, shape (m, f).
            familiarity: Weight of history, in [0, 1].
        """
        mixed = familiarity * self.coefficients + (1 - familiarity) * self.text_only_coefficients
        return SetChoices(
            candidates=candidates,
            probabilities=choice_probabilities(rows, mixed, self.scales),
            similarities=rows[:, _NEAREST_COLUMN],
            f1_share=familiarity * self.f1_share + (1 - familiarity) * F1_SHARE_BY_RUNS[0][1],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SetChoices:
    """Candidate sets with their probabilities.

    Attributes:
        candidates: m sets.
        probabilities: Probability that the intent asks for each set, shape (m,), sum 1.
        similarities: Similarity to the nearest past intent with exactly this set, shape (m,); 0
            without one.
        f1_share: Weight of expected F1 in the choice.
    """

    candidates: CandidateSets
    probabilities: Floats
    similarities: NDArray[np.float32]
    f1_share: float

    def select_best_first(self, limit: int) -> list[int]:
        """Return the chosen set, then the likeliest others, at most `limit` in total.

        The choice maximises share · E[F1] + (1 - share) · p among the likeliest sets: if no set
        is certain, one that overlaps with many likely sets is more useful than the likeliest.
        """
        order = np.argsort(-self.probabilities, kind="stable")[:MAX_COMPARED_SETS]
        probabilities = self.probabilities[order] / self.probabilities[order].sum()
        members, sizes = self.candidates.members[order], self.candidates.sizes[order]
        f1 = 2 * (members @ members.T) / (sizes[:, None] + sizes[None])
        scores = self.f1_share * (f1 @ probabilities) + (1 - self.f1_share) * probabilities
        best = int(order[int(scores.argmax())])
        rest = [int(which) for which in order if which != best]
        return [best, *rest][:limit]


@dataclass(frozen=True, kw_only=True, eq=False)
class SetExample:
    """A past run to learn from.

    Attributes:
        candidates: m sets.
        rows: `SET_FEATURES` of each, shape (m, f).
        chosen_index: Index of the set the run called; None if it is no candidate.
        intent: Index of its past intent.
        repeats: 0 for the first run of an intent, scored as if the intent were new; otherwise the
            number of repeated runs it represents, scored with the first run known.
        familiarity: Weight of history, in [0, 1].
    """

    candidates: CandidateSets
    rows: NDArray[np.float32]
    chosen_index: int | None
    intent: int = 0
    repeats: int = 0
    familiarity: float = 1.0

    def to_choice_group(self) -> tuple[NDArray[np.float32], Floats]:
        """Return the features and the one-hot target; requires `chosen_index`."""
        target = np.zeros(len(self.rows))
        target[self.chosen_index] = 1
        return self.rows, target


@dataclass(frozen=True, kw_only=True, eq=False)
class SetChoiceOutcomes:
    """Outcomes of the choices for N past runs.

    Attributes:
        probabilities: Probability of each choice, shape (N,).
        similarities: Similarity to the nearest past intent with the chosen set, shape (N,).
        was_right: 1 if the run called exactly the chosen set, else 0, shape (N,).
        repeats: 0 for a first run, else the repeats it represents, shape (N,).
    """

    probabilities: Floats
    similarities: Floats
    was_right: Floats
    repeats: Floats


def make_example(
    scored: Candidates,
    history: SetHistory | None,
    tools: frozenset[int],
    *,
    intent: int | None = None,
    repeats: int = 0,
) -> SetExample:
    """Make an example from a scored past run.

    Args:
        scored: The intent; for a first run scored without its own evidence
            (`Candidates.own_run`), for repeats with it.
        history: None without past runs.
        tools: Tools that the run called.
        intent: Index of its past intent; None: `scored.own_run`.
        repeats: Repeats it represents; 0 for the first run.
    """
    candidates = set_candidates.list_candidate_sets(scored, history)
    return SetExample(
        candidates=candidates,
        rows=compute_set_features(scored, candidates, history),
        chosen_index=candidates.find_set(tools, scored),
        intent=(scored.own_run or 0) if intent is None else intent,
        repeats=repeats,
        familiarity=scored.familiarity,
    )


def fit_set_model(
    examples: Sequence[SetExample],
    *,
    prior: LinearPrior,
    runs: int,
) -> SetModel:
    """Fit the model on past runs; examples whose set is no candidate are ignored.

    Args:
        examples: Past runs.
        prior: Mean of the coefficients without any run.
        runs: Size of the history; selects the prior and its precision.
    """
    selected = prior.select_features(SET_FEATURES)
    usable = [example for example in examples if example.chosen_index is not None]
    groups = [example.to_choice_group() for example in usable]
    coefficients = fit_choice(
        groups,
        prior=selected.coefficients_at(runs),
        scale=selected.scales,
        l2=_value_for_size(runs, PRECISION_BY_RUNS, DEFAULT_PRECISION),
        weights=[max(example.repeats, 1) for example in usable],
    )
    return SetModel(
        scales=selected.scales,
        coefficients=coefficients,
        f1_share=_value_for_size(runs, F1_SHARE_BY_RUNS, DEFAULT_F1_SHARE),
        text_only_coefficients=selected.coefficients_at(0),
    )


def cross_validate_choices(
    examples: Sequence[SetExample],
    *,
    prior: LinearPrior,
    runs: int,
    seed: int,
) -> SetChoiceOutcomes:
    """Choose a set for each past run with a model fitted on the other folds.

    All runs of an intent are in the same fold.
    """
    intents, intent_of = np.unique([example.intent for example in examples], return_inverse=True)
    folds = np.random.default_rng(seed).permutation(len(intents))[intent_of] % FOLDS
    outcomes = np.zeros((len(examples), 3))
    for fold in range(min(FOLDS, len(intents))):
        training = [example for example, own in zip(examples, folds, strict=True) if own != fold]
        model = fit_set_model(training, prior=prior, runs=runs)
        for at in np.flatnonzero(folds == fold).tolist():
            outcomes[at] = judge_choice(examples[at], model)
    probabilities, similarities, was_right = outcomes.T
    repeats = np.array([example.repeats for example in examples], dtype=np.float64)
    return SetChoiceOutcomes(
        probabilities=probabilities,
        similarities=similarities,
        was_right=was_right,
        repeats=repeats,
    )


def judge_choice(example: SetExample, model: SetModel) -> tuple[float, float, bool]:
    """Return probability, similarity and correctness of the set chosen for an example."""
    choices = model.weigh_candidates(
        example.candidates, example.rows, familiarity=example.familiarity
    )
    (best,) = choices.select_best_first(1)
    return (
        float(choices.probabilities[best]),
        float(choices.similarities[best]),
        best == example.chosen_index,
    )


def _value_for_size(runs: int, steps: Sequence[tuple[int, float]], otherwise: float) -> float:
    """Return the value for a history of `runs` runs."""
    return next((value for below, value in steps if runs < below), otherwise)
