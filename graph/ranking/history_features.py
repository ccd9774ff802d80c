"""What past runs say of a tool, given an intent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.ranking.calls import CLOSE, WIDER, Calls

HISTORY: Final = (
    "krr",  # how much like intents wanted the tool, by ridge regression
    "krrt",  # its logarithm
    "knn05",  # share of the nearest runs that called it
    "knn10",  # the same, farther around
    "nearT",  # similarity of the nearest run that called it
    "top1T",  # whether the nearest run called it
    "nearest",  # similarity of the nearest run
    "pop",  # logarithm of the runs that called it
    "cooc",  # called beside tools that are wanted
    "clnear",  # sum over the clauses of the votes of like clauses
    "clknn",  # highest of them
    "krrmax",  # share of the highest `krr`
    "krrrank",  # 1 / (1 + rank by it)
)

LEAST_WANTED: Final = 0.003
MOST_WANTED: Final = 1.5
ALIKE: Final = 1e-4
"""Tools wanted within this of each other rank alike: rounding shall not put them in order."""

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """What n past intents say of one intent; of the u tools they called.

    Attributes:
        similarity: With each of them, shape (n,); -1 for itself.
        wanted: By ridge regression, shape (u,); -inf for a tool that none of the others called.
        counts: Runs that called each tool, shape (u,).
        size: Tools expected.
        votes: Of like clauses, shape (c, u).
        own: Which of them the intent is; None: none. It has no part in anything here.
    """

    similarity: Floats
    wanted: Floats
    counts: Doubles
    size: float
    votes: Floats
    own: int | None


def history_features(evidence: Evidence, calls: Calls, columns: Positions) -> Floats:
    """Return `HISTORY` of tools, shape (len(columns), len(HISTORY)).

    Args:
        evidence: Of the intent.
        calls: Of all past runs.
        columns: Place of each tool among the u, or -1 for one that no run called.
    """
    similarity, own = evidence.similarity, evidence.own
    wanted = evidence.wanted.astype(np.float64)
    nearest = int(similarity.argmax())
    votes = evidence.votes
    by_tool = {
        "krr": wanted,
        "krrt": np.log(np.clip(wanted, LEAST_WANTED, MOST_WANTED)),
        "knn05": calls.voted(similarity, width=CLOSE, own=own),
        "knn10": calls.voted(similarity, width=WIDER, own=own),
        "nearT": calls.nearest(similarity),
        "top1T": _marked(calls, nearest, own),
        "pop": np.log(evidence.counts + 0.5),
        "cooc": calls.together(np.clip(wanted, 0, 1), own=own),
        "clnear": votes.sum(axis=0),
        "clknn": votes.max(axis=0, initial=0),
        "krrmax": wanted / max(float(wanted.max(initial=0)), 0.05),
        "krrrank": 1 / (1 + _places(wanted)),
    }
    by_tool["nearest"] = np.full(calls.width, similarity[nearest])
    seen = columns.copy()
    seen[np.isin(columns, np.flatnonzero(evidence.counts == 0))] = -1
    return _of_columns(by_tool, seen, float(similarity[nearest]))


def _of_columns(by_tool: dict[str, Doubles], columns: Positions, nearest: float) -> Floats:
    unseen = {"krrt": np.log(LEAST_WANTED), "pop": np.log(0.5), "nearest": nearest}
    positive = int((by_tool["krr"] > ALIKE).sum())
    unseen["krrrank"] = 1 / (1 + positive)
    found = np.zeros((len(columns), len(HISTORY)), dtype=np.float32)
    is_seen = columns >= 0
    for place, name in enumerate(HISTORY):
        found[:, place] = unseen.get(name, 0)
        found[is_seen, place] = by_tool[name][columns[is_seen]]
    return found


def _marked(calls: Calls, run: int, own: int | None) -> Doubles:
    called = np.zeros(calls.width)
    if run != own:
        called[calls.of_run(run)] = 1
    return called


def _places(values: Doubles) -> Doubles:
    """Return how many values are clearly higher, for each."""
    ascending = np.sort(values)
    return len(values) - np.searchsorted(ascending, values + ALIKE, "right").astype(np.float64)
