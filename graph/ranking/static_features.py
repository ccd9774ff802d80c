"""What an intent and the catalogue alone say of a tool: meaning, words, clauses, servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.intent.encoded import Encoded
from graph.ranking.tool_view import ToolView

STATIC: Final = (
    "cos",  # cosine of the tool and the whole intent
    "clmax",  # highest with a clause
    "semax",  # highest with the whole or a sentence
    "bm",  # BM25 of the whole, log(1 + x)
    "bmrel",  # BM25 as a share of the highest
    "clbm",  # highest share of the highest BM25 in a clause
    "rank",  # 1 / (1 + rank by the whole)
    "clrank",  # 1 / (1 + best rank in a clause)
    "cltop1",  # clauses in which it is first
    "cltop3",  # share of clauses in which it is among three
    "clmargin",  # most it is ahead of every other tool in a clause
    "clsoft",  # highest share of a clause, by a softmax over the tools
    "namecov",  # how much of its name the intent says
    "cosz",  # cosine in standard deviations of the catalogue
    "clzmax",  # the same, highest of the clauses
    "mcos",  # cosine with the masked intent
    "clpow",  # sum of the clauses it is near to, few near ones before many far ones
    "srvcent",  # how much nearer its server's tools are than those of the mean server
    "srvmax",  # how near the next best tool of its server is to the best of all
    "mcosz",  # masked cosine in standard deviations
)

SOFT_WIDTH: Final = 0.05
SHARE_WIDTH: Final = 0.08
LAST_RANK: Final = 100
"""Ranks beyond count as this one: with very many tools only the first are put in order."""

_TINY = np.float32(1e-6)

Floats = NDArray[np.float32]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class Compared:
    """An intent beside all m tools; make it with `compare`.

    Attributes:
        encoded: The intent.
        view: The tools.
        whole: Cosines with the whole, shape (m,).
        masked: With the masked form, shape (m,).
        clauses: With each clause, shape (c, m).
        nearest_clause: Highest cosine with a clause, shape (m,).
    """

    encoded: Encoded
    view: ToolView
    whole: Floats
    masked: Floats
    clauses: Floats
    nearest_clause: Floats

    def features(self, at: Positions) -> Floats:
        """Return `STATIC` of the tools at `at`, shape (len(at), len(STATIC))."""
        near, ranks = _nearness(self, at), _ranks(self, at)
        words, spread = _words(self, at), _spread(self, at)
        clause, servers = _clause_contest(self, at), _servers(self, at)
        columns = near | ranks | words | spread | clause | servers
        return np.stack([columns[name] for name in STATIC], axis=1).astype(np.float32)

    def shares(self, at: Positions) -> Floats:
        """Return how well tools fit each clause beside the best of all, shape (len(at), c)."""
        best = self.clauses.max(axis=1, initial=-np.inf, keepdims=True)
        return np.asarray(np.exp((self.clauses[:, at] - best) / np.float32(SHARE_WIDTH)).T)


def compare(encoded: Encoded, view: ToolView) -> Compared:
    """Compare an intent with every tool, in one matrix product.

    Sentences and masked clauses are left to the candidates: nothing of them is asked of all.

    Raises:
        ValueError: If its vectors are of another length than the tools'.
    """
    if len(view) and len(encoded.whole) != view.dimensions:
        raise ValueError(
            f"an intent of {len(encoded.whole)} dimensions cannot be compared with tools of "
            f"{view.dimensions}: they were embedded by different models"
        )
    rows = (encoded.whole, encoded.masked, *encoded.clauses)
    place = {row.tobytes(): row for row in rows}  # of a short intent all are the same
    cosines = dict(zip(place, view.cosines(np.stack(list(place.values()))), strict=True))
    clauses = np.stack([cosines[row.tobytes()] for row in encoded.clauses])
    return Compared(
        encoded=encoded,
        view=view,
        whole=cosines[encoded.whole.tobytes()],
        masked=cosines[encoded.masked.tobytes()],
        clauses=clauses,
        nearest_clause=clauses.max(axis=0),
    )


def _nearness(compared: Compared, at: Positions) -> dict[str, Floats]:
    encoded, view, whole = compared.encoded, compared.view, compared.whole[at]
    vectors = view.vectors(at).T
    masked_clauses = encoded.masked_clauses @ vectors
    above = masked_clauses - (encoded.masked_clauses @ view.mean)[:, None]
    return {
        "cos": whole,
        "clmax": compared.nearest_clause[at],
        "semax": np.maximum((encoded.sentences @ vectors).max(axis=0), whole),
        "mcos": compared.masked[at],
        "clpow": (np.maximum(above, 0) ** 4).sum(axis=0) ** np.float32(0.25),
    }


def _ranks(compared: Compared, at: Positions) -> dict[str, Floats]:
    whole = ranks(compared.whole, at)
    clauses = np.stack([ranks(row, at) for row in compared.clauses])
    return {
        "rank": 1 / (1 + whole),
        "clrank": 1 / (1 + clauses.min(axis=0)),
        "cltop1": (clauses == 0).sum(axis=0),
        "cltop3": (clauses < 3).mean(axis=0),
    }


def ranks(values: Floats, at: Positions) -> Floats:
    """Return how many values come before those at `at`, at most `LAST_RANK`; ties by position.

    Complexity: O(m), and O(`LAST_RANK` log `LAST_RANK`).
    """
    first = highest(values, LAST_RANK)
    place = np.full(len(values), LAST_RANK, dtype=np.float32)
    place[first] = np.arange(len(first))
    return np.asarray(place[at])


def highest(values: Floats, count: int) -> Positions:
    """Return the positions of the highest values, in descending order; ties by position."""
    if len(values) <= count:
        return np.argsort(-values, kind="stable")
    least = np.partition(values, len(values) - count)[-count]
    near = np.flatnonzero(values >= least)
    return np.asarray(near[np.argsort(-values[near], kind="stable")][:count])


def _words(compared: Compared, at: Positions) -> dict[str, Floats]:
    encoded, words = compared.encoded, compared.view.words
    lexemes = list(dict.fromkeys((*encoded.words, *sum(encoded.clause_words, ()))))
    scores = words.matrix(lexemes)
    place = {lexeme: row for row, lexeme in enumerate(lexemes)}
    held = np.zeros((1 + len(encoded.clause_words), len(lexemes)), dtype=np.float32)
    for row, part in zip(held, (encoded.words, *encoded.clause_words), strict=True):
        row[[place[lexeme] for lexeme in part]] = 1
    sums = held @ scores
    share = sums[:, at] / (sums.max(axis=1, keepdims=True) + np.float32(1e-9))
    return {
        "bm": np.log1p(sums[0, at]),
        "bmrel": share[0],
        "clbm": share[1:].max(axis=0),
        "namecov": words.name_cover(lexemes, at),
    }


def _spread(compared: Compared, at: Positions) -> dict[str, Floats]:
    rows = np.concatenate((compared.whole[None], compared.masked[None], compared.clauses))
    sample = compared.view.sampled(rows)
    means, deviations = sample.mean(axis=1, keepdims=True), sample.std(axis=1, keepdims=True)
    above = (rows[:, at] - means) / (deviations + _TINY)
    return {"cosz": above[0], "mcosz": above[1], "clzmax": above[2:].max(axis=0)}


def _clause_contest(compared: Compared, at: Positions) -> dict[str, Floats]:
    clauses = compared.clauses
    if clauses.shape[1] > 1:
        second, best = np.partition(clauses, clauses.shape[1] - 2, axis=1)[:, -2:].T
    else:
        second, best = np.zeros(len(clauses), np.float32), clauses[:, 0]
    mine = clauses[:, at]
    other = np.where(mine == best[:, None], second[:, None], best[:, None])
    weights = np.exp((clauses - best[:, None]) / np.float32(SOFT_WIDTH))
    soft = weights[:, at] / weights.sum(axis=1, keepdims=True)
    return {"clmargin": (mine - other).max(axis=0), "clsoft": soft.max(axis=0)}


def _servers(compared: Compared, at: Positions) -> dict[str, Floats]:
    groups, masked = compared.view.groups, compared.masked
    near = groups.centroids @ compared.encoded.masked
    best = groups.highest(masked)
    without_best = masked.copy()
    server = groups.of
    without_best[masked == best[server]] = -np.inf
    second = groups.highest(without_best)
    mine, alone = server[at], np.float32(masked.mean())
    other = np.where(masked[at] == best[mine], second[mine], best[mine])
    other = np.where(np.isfinite(other), other, alone)
    return {"srvcent": near[mine] - near.mean(), "srvmax": other - masked.max()}
