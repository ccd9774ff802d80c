"""Learns the familiarity gate from histories of the same work and of other work.

Three kinds of history are drawn from each set: random runs, evaluated by other queries; runs that
share no tool with the queries, which are similar to each other; and runs similar to each other,
evaluated by similar queries, by random ones, and by queries that share no tool with the runs. Each
query is answered with several mixtures of the logits with and without history; the gate with the
best answers is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmarks.fit_prior.gather import TrainingSet
from graph.suggestion.ranking.candidates import describe_candidates
from graph.suggestion.ranking.familiarity import FamiliarityGate, compute_signals
from graph.suggestion.ranking.fit import fit_ranker
from graph.suggestion.ranking.history_features import measure_repetition
from graph.suggestion.ranking.logistic import compute_sigmoid
from graph.suggestion.ranking.prior import HISTORY_SIZES, Prior
from graph.suggestion.ranking.static_features import compare_intent

if TYPE_CHECKING:
    from graph.suggestion.ranking.past_intents import PastIntent
    from graph.suggestion.ranking.ranker import Ranker
    from graph.suggestion.ranking.tool_view import ToolView

Floats = NDArray[np.float64]

ALWAYS = FamiliarityGate(level=50.0, wanted=0.0, known=0.0)

SHARES = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
"""Weights of the history that each query is answered with; F1 is interpolated between them."""
SAME_WORK_WEIGHT = 2.0
"""Weight of histories of the same work, relative to those of each other kind."""
ASKED, NEAR, DRAWS = 30, 12, 2
MAX_SHARE = 0.7
"""Maximum share of a set that is used as a history."""
PRECISION = 2e-5
SEED = 11
STARTS = ((-1.0, 1.0), (0.0, 3.0), (-2.0, 4.0))


@dataclass(frozen=True, kw_only=True, eq=False)
class QueryGroup:
    """Queries answered after histories of one size and kind, of one set.

    Attributes:
        weight: Weight of the whole group.
        signals: Signals of each query, shape (n, 3).
        worth: F1 of the answer by weight of the history, shape (n, len(SHARES)).
    """

    weight: float
    signals: Floats
    worth: Floats


def learn(sets: Sequence[TrainingSet], priors: Sequence[Prior]) -> FamiliarityGate:
    """Learn a gate; deterministic.

    Args:
        sets: Sets that histories and queries are drawn from.
        priors: For each set, a prior learned on the others.
    """
    kinds = [
        kind
        for one, prior in zip(sets, priors, strict=True)
        for size in HISTORY_SIZES[1:]
        if size <= MAX_SHARE * len(one.intents)
        for kind in _group_queries(one, prior, size)
    ]
    rows = np.concatenate([kind.signals for kind in kinds])
    worth = np.concatenate([kind.worth for kind in kinds])
    weights = np.concatenate(
        [np.full(len(kind.worth), kind.weight / len(kind.worth)) for kind in kinds]
    )
    level, wanted, known = _fit_gate(rows, worth, weights / weights.sum())
    return FamiliarityGate(level=level, wanted=wanted, known=known)


def _fit_gate(rows: Floats, worth: Floats, weights: Floats) -> list[float]:
    """Return the level and the weights of the gate with the highest F1."""
    from scipy.optimize import minimize

    again = measure_repetition(rows[:, 0])
    rows = np.column_stack((np.ones(len(rows)), rows[:, 1:]))
    each = np.arange(len(rows))
    slopes = np.diff(worth, axis=1) / np.diff(SHARES)

    def loss(at: Floats) -> tuple[float, Floats]:
        gated = compute_sigmoid(rows @ at)
        share = again + (1 - again) * gated
        step = np.clip(np.searchsorted(SHARES, share, side="right") - 1, 0, len(SHARES) - 2)
        slope = slopes[each, step]
        found = worth[each, step] + slope * (share - SHARES[step])
        change = rows.T @ (weights * slope * (1 - again) * gated * (1 - gated))
        held = np.array([0.0, *at[1:]])
        return float(-weights @ found + PRECISION * held @ held), -change + 2 * PRECISION * held

    bounds = [(None, None), (0.0, None), (0.0, None)]
    tried = [
        minimize(
            loss,
            np.array([level, weight, weight]),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
        )
        for level, weight in STARTS
    ]
    return [float(value) for value in min(tried, key=lambda one: one.fun).x]


def _group_queries(one: TrainingSet, prior: Prior, size: int) -> Iterator[QueryGroup]:
    """Draw histories of a size and answer the queries of each."""
    judged: dict[str, list[tuple[Floats, Floats]]] = {}
    for draw in range(DRAWS):
        for history, asked in _draw_histories(one, size, draw):
            ranker = fit_ranker(history, one.view, prior=prior)
            for name, intents in asked.items():
                judged.setdefault(name, []).extend(
                    _answer_query(intent, one.view, ranker) for intent in intents
                )
    for name, rows in judged.items():
        if rows:
            yield QueryGroup(
                weight=SAME_WORK_WEIGHT if name == "same" else 1.0,
                signals=np.stack([told for told, _ in rows]),
                worth=np.stack([worth for _, worth in rows]),
            )


Drawn = tuple[list["PastIntent"], dict[str, list["PastIntent"]]]


def _draw_histories(one: TrainingSet, size: int, draw: int) -> Iterator[Drawn]:
    random = np.random.default_rng([SEED, size, draw])
    mixed = [one.intents[at] for at in random.permutation(len(one.intents))]
    yield mixed[:size], {"same": mixed[size : size + ASKED]}
    near = _sort_by_similarity(mixed[0], mixed)
    asked = near[:ASKED]
    others = _filter_disjoint(mixed, asked)
    if len(others) >= size:
        yield others[:size], {"apart": asked}
    pool, rest = near[: size + NEAR], _in_order(mixed, near[size + NEAR :])
    pool = _in_order(mixed, pool)
    history = pool[:size]
    far = _filter_disjoint(rest, history)
    yield history, {"near": pool[size:], "any": rest[:NEAR], "far": far[:NEAR]}


def _in_order(order: Sequence[PastIntent], some: Sequence[PastIntent]) -> list[PastIntent]:
    held = {intent.pattern for intent in some}
    return [intent for intent in order if intent.pattern in held]


def _sort_by_similarity(to: PastIntent, intents: Sequence[PastIntent]) -> list[PastIntent]:
    cosines = np.stack([one.encoded.whole for one in intents]) @ to.encoded.whole
    return [intents[at] for at in np.argsort(-cosines, kind="stable")]


def _filter_disjoint(
    intents: Sequence[PastIntent], others: Sequence[PastIntent]
) -> list[PastIntent]:
    """Return the intents that share no tool with any of `others`."""
    called = {tool for other in others for tool in other.tools}
    return [intent for intent in intents if called.isdisjoint(intent.tools)]


def _answer_query(intent: PastIntent, view: ToolView, ranker: Ranker) -> tuple[Floats, Floats]:
    """Return the signals of an intent, and the F1 at each weight of the history."""
    past, history = ranker.past, ranker.set_history
    assert past is not None
    told = past.gather_evidence(intent.encoded)
    described = describe_candidates(compare_intent(intent.encoded, view), past, told)
    known = ranker.tool_model.compute_logits(described.features)
    alone = ranker.tool_model.compute_text_only_logits(described.features)
    gold = set(intent.tools)
    worth = []
    for share in SHARES.tolist():
        mixed = share * known + (1 - share) * alone
        scored = replace(described, logits=mixed, familiarity=share)
        choices = ranker.set_model.list_choices(scored, history)
        chosen = set(
            choices.candidates.tools_of_set(choices.select_best_first(1)[0], scored).tolist()
        )
        worth.append(2 * len(chosen & gold) / (len(chosen) + len(gold)))
    return compute_signals(described, compute_sigmoid(alone)), np.array(worth)
