"""Learn how far to follow a history, from histories of the same work and of other work.

Three kinds are drawn from each set: any runs, judged by other queries; runs that share no tool
with the queries, which are near to each other; and runs near to each other, judged by queries as
near, by any, and by those that share no tool with the runs. Each query is answered with several
shares of what history and what the text alone say; the gate is the one with the best answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmarks.fit_prior.gather import Gathered
from graph.ranking.calibrate import repetition
from graph.ranking.described import FEATURES, describe
from graph.ranking.familiarity import Gate, signals
from graph.ranking.fit import fit
from graph.ranking.logistic import sigmoid
from graph.ranking.prior import SIZES, Prior

if TYPE_CHECKING:
    from graph.ranking.past import PastIntent
    from graph.ranking.ranker import Ranker
    from graph.ranking.tool_view import ToolView

Floats = NDArray[np.float64]

ALWAYS = Gate(level=50.0, wanted=0.0, known=0.0)

SHARES = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
"""Shares of history that each query is answered with; between them, worth is interpolated."""
ALIKE = 2.0
"""Histories of the same work count so much, against those of each other kind."""
ASKED, NEAR, DRAWS = 30, 12, 2
MOST = 0.7
"""Share of a set that a history has at most."""
PRECISION = 2e-5
SEED = 11
STARTS = ((-1.0, 1.0), (0.0, 3.0), (-2.0, 4.0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Kind:
    """Queries asked after histories of one size and kind, of one set.

    Attributes:
        weight: Of all of them together.
        signals: Shape (n, 3).
        worth: F1 of the answer by share of history, shape (n, len(SHARES)).
    """

    weight: float
    signals: Floats
    worth: Floats


def learn(sets: Sequence[Gathered], priors: Sequence[Prior]) -> Gate:
    """Learn a gate; deterministic.

    Args:
        sets: Where histories and queries are from.
        priors: For each set, one that was learned on the others.
    """
    kinds = [
        kind
        for one, prior in zip(sets, priors, strict=True)
        for size in SIZES[1:]
        if size <= MOST * len(one.intents)
        for kind in _kinds(one, prior, size)
    ]
    rows = np.concatenate([kind.signals for kind in kinds])
    worth = np.concatenate([kind.worth for kind in kinds])
    weights = np.concatenate(
        [np.full(len(kind.worth), kind.weight / len(kind.worth)) for kind in kinds]
    )
    level, wanted, known = _best(rows, worth, weights / weights.sum())
    return Gate(level=level, wanted=wanted, known=known)


def _best(rows: Floats, worth: Floats, weights: Floats) -> list[float]:
    """Return level and weights of the gate whose answers are worth most."""
    from scipy.optimize import minimize

    again = repetition(rows[:, 0])
    rows = np.column_stack((np.ones(len(rows)), rows[:, 1:]))
    each = np.arange(len(rows))
    slopes = np.diff(worth, axis=1) / np.diff(SHARES)

    def loss(at: Floats) -> tuple[float, Floats]:
        gated = sigmoid(rows @ at)
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


def _kinds(one: Gathered, prior: Prior, size: int) -> Iterator[Kind]:
    """Draw histories of a size and ask each its queries."""
    judged: dict[str, list[tuple[Floats, Floats]]] = {}
    for draw in range(DRAWS):
        for history, asked in _draws(one, size, draw):
            ranker = fit(history, one.view, prior=prior)
            for name, intents in asked.items():
                judged.setdefault(name, []).extend(
                    _answered(intent, one.view, ranker) for intent in intents
                )
    for name, rows in judged.items():
        if rows:
            yield Kind(
                weight=ALIKE if name == "same" else 1.0,
                signals=np.stack([told for told, _ in rows]),
                worth=np.stack([worth for _, worth in rows]),
            )


Drawn = tuple[list["PastIntent"], dict[str, list["PastIntent"]]]


def _draws(one: Gathered, size: int, draw: int) -> Iterator[Drawn]:
    random = np.random.default_rng([SEED, size, draw])
    mixed = [one.intents[at] for at in random.permutation(len(one.intents))]
    yield mixed[:size], {"same": mixed[size : size + ASKED]}
    near = _near_first(mixed[0], mixed)
    asked = near[:ASKED]
    others = _apart(mixed, asked)
    if len(others) >= size:
        yield others[:size], {"apart": asked}
    pool, rest = near[: size + NEAR], _in_order(mixed, near[size + NEAR :])
    pool = _in_order(mixed, pool)
    history = pool[:size]
    far = _apart(rest, history)
    yield history, {"near": pool[size:], "any": rest[:NEAR], "far": far[:NEAR]}


def _in_order(order: Sequence[PastIntent], some: Sequence[PastIntent]) -> list[PastIntent]:
    held = {intent.pattern for intent in some}
    return [intent for intent in order if intent.pattern in held]


def _near_first(to: PastIntent, intents: Sequence[PastIntent]) -> list[PastIntent]:
    cosines = np.stack([one.encoded.whole for one in intents]) @ to.encoded.whole
    return [intents[at] for at in np.argsort(-cosines, kind="stable")]


def _apart(intents: Sequence[PastIntent], others: Sequence[PastIntent]) -> list[PastIntent]:
    """Return the intents that share no tool with any of the others."""
    called = {tool for other in others for tool in other.tools}
    return [intent for intent in intents if called.isdisjoint(intent.tools)]


def _answered(intent: PastIntent, view: ToolView, ranker: Ranker) -> tuple[Floats, Floats]:
    """Return the signals of an intent, and what each share of history is worth."""
    past, history = ranker.past, ranker.history
    assert past is not None
    told = past.evidence(intent.encoded)
    described = describe(intent.encoded, view, past, told)
    all_speak = np.zeros(len(FEATURES), dtype=np.bool_)
    known, alone = ranker.tool_model.both(described.rows, silent=all_speak)
    gold = set(intent.tools)
    worth = []
    for share in SHARES.tolist():
        scored = described.scored(share * known + (1 - share) * alone, familiarity=share)
        choices = ranker.set_model.choices(scored, history)
        chosen = set(choices.candidates.tools(choices.best_first(1)[0], scored).tolist())
        worth.append(2 * len(chosen & gold) / (len(chosen) + len(gold)))
    return signals(described.rows, sigmoid(alone)), np.array(worth)
