"""Features of a tool from the intent and the catalogue alone: meaning, words, clauses, servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.intent.encoded import EncodedIntent
from graph.suggestion.ranking.tool_view import ToolView

STATIC_FEATURES: Final = (
    "whole_cosine",  # cosine of the tool and the whole intent
    "clause_cosine",  # highest cosine with a clause
    "part_cosine",  # highest cosine with the whole or a sentence
    "word_score",  # BM25 with the whole, log(1 + x)
    "relative_word_score",  # BM25 as a share of the highest
    "clause_word_score",  # highest over the clauses of the BM25 as a share of the highest
    "whole_rank",  # 1 / (1 + rank by the whole)
    "clause_rank",  # 1 / (1 + best rank by a clause)
    "clauses_led",  # number of clauses in which it ranks first
    "clause_top_share",  # share of clauses in which it ranks among the first three
    "clause_lead",  # largest lead over every other tool in a clause
    "clause_share",  # highest share in a clause, by a softmax over the tools
    "name_cover",  # share of its name covered by the intent's words
    "whole_deviations",  # cosine in standard deviations of the catalogue
    "clause_deviations",  # the same, highest over the clauses
    "server_cosine",  # similarity of its server's centroid, less the mean over servers
    "server_rival",  # cosine of the best other tool of its server, less the best of all
)

SOFT_WIDTH: Final = 0.05
SHARE_WIDTH: Final = 0.08
MAX_RANK: Final = 100
"""Ranks beyond count as this one: with very many tools only the first are sorted."""

_EPSILON = np.float32(1e-6)

Floats = NDArray[np.float32]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class IntentComparison:
    """An intent compared with all m tools; made by `compare_intent`.

    Attributes:
        encoded: The intent.
        view: The tools.
        whole: Cosines with the whole intent, shape (m,).
        masked: Cosines with the masked form, shape (m,).
        clauses: Cosines with each clause, shape (c, m).
        nearest_clause: Highest cosine with a clause, shape (m,).
        by_vector: Cosines with each vector that was compared, by its bytes.
    """

    encoded: EncodedIntent
    view: ToolView
    whole: Floats
    masked: Floats
    clauses: Floats
    nearest_clause: Floats
    by_vector: Mapping[bytes, Floats]

    def find_cosines(self, vectors: Floats) -> Floats:
        """Return the cosines of compared vectors with every tool, shape (len(vectors), m)."""
        return np.stack([self.by_vector[vector.tobytes()] for vector in vectors])

    def compute_features(self, positions: Positions) -> Floats:
        """Return `STATIC_FEATURES` of tools, shape (len(positions), len(STATIC_FEATURES))."""
        near, ranks = _similarity_features(self, positions), _rank_features(self, positions)
        words, spread = _word_features(self, positions), _standardized_features(self, positions)
        clause, servers = _clause_features(self, positions), _server_features(self, positions)
        columns = near | ranks | words | spread | clause | servers
        return np.stack([columns[name] for name in STATIC_FEATURES], axis=1).astype(np.float32)

    def compute_clause_shares(self, positions: Positions) -> Floats:
        """Return tools' fit to each clause relative to the best, shape (len(positions), c)."""
        best = self.clauses.max(axis=1, initial=-np.inf, keepdims=True)
        return np.asarray(np.exp((self.clauses[:, positions] - best) / np.float32(SHARE_WIDTH)).T)


def compare_intent(
    encoded: EncodedIntent, view: ToolView, *, with_requests: bool = False
) -> IntentComparison:
    """Compare an intent with every tool, in one matrix product.

    Sentences are compared with the candidates only.

    Args:
        encoded: The intent.
        view: The tools.
        with_requests: Whether its requests and their masked forms are compared as well.

    Raises:
        ValueError: If its vectors and the tools' differ in dimension.
    """
    if len(view) and len(encoded.whole) != view.dimensions:
        raise ValueError(
            f"an intent of {len(encoded.whole)} dimensions cannot be compared with tools of "
            f"{view.dimensions}: they were embedded by different models"
        )
    rows = [encoded.whole, encoded.masked, *encoded.clauses]
    if with_requests:
        rows += [*encoded.requests, *encoded.masked_requests]
    vectors = {row.tobytes(): row for row in rows}  # all equal for a short intent
    cosines = dict(
        zip(vectors, view.compute_cosines(np.stack(list(vectors.values()))), strict=True)
    )
    clauses = np.stack([cosines[row.tobytes()] for row in encoded.clauses])
    return IntentComparison(
        encoded=encoded,
        view=view,
        whole=cosines[encoded.whole.tobytes()],
        masked=cosines[encoded.masked.tobytes()],
        clauses=clauses,
        nearest_clause=clauses.max(axis=0),
        by_vector=cosines,
    )


def _similarity_features(compared: IntentComparison, positions: Positions) -> dict[str, Floats]:
    encoded, view, whole = compared.encoded, compared.view, compared.whole[positions]
    vectors = view.vectors_at(positions).T
    return {
        "whole_cosine": whole,
        "clause_cosine": compared.nearest_clause[positions],
        "part_cosine": np.maximum((encoded.sentences @ vectors).max(axis=0), whole),
    }


def _rank_features(compared: IntentComparison, positions: Positions) -> dict[str, Floats]:
    whole = count_better(compared.whole, positions)
    clauses = np.stack([count_better(row, positions) for row in compared.clauses])
    return {
        "whole_rank": 1 / (1 + whole),
        "clause_rank": 1 / (1 + clauses.min(axis=0)),
        "clauses_led": (clauses == 0).sum(axis=0),
        "clause_top_share": (clauses < 3).mean(axis=0),
    }


def count_better(values: Floats, positions: Positions) -> Floats:
    """Count the values ranked before each position, at most `MAX_RANK`; ties by position.

    Complexity: O(m), and O(`MAX_RANK` log `MAX_RANK`).
    """
    first = top_positions(values, MAX_RANK)
    rank = np.full(len(values), MAX_RANK, dtype=np.float32)
    rank[first] = np.arange(len(first))
    return np.asarray(rank[positions])


def top_positions(values: Floats, count: int) -> Positions:
    """Return the positions of the highest values, in descending order; ties by position."""
    if len(values) <= count:
        return np.argsort(-values, kind="stable")
    threshold = np.partition(values, len(values) - count)[-count]
    candidates = np.flatnonzero(values >= threshold)
    return np.asarray(candidates[np.argsort(-values[candidates], kind="stable")][:count])


def _word_features(compared: IntentComparison, positions: Positions) -> dict[str, Floats]:
    encoded, words = compared.encoded, compared.view.words
    lexemes = list(dict.fromkeys((*encoded.words, *sum(encoded.clause_words, ()))))
    scores = words.score_lexemes(lexemes)
    row_of = {lexeme: row for row, lexeme in enumerate(lexemes)}
    incidence = np.zeros((1 + len(encoded.clause_words), len(lexemes)), dtype=np.float32)
    for row, part in zip(incidence, (encoded.words, *encoded.clause_words), strict=True):
        row[[row_of[lexeme] for lexeme in part]] = 1
    sums = incidence @ scores
    share = sums[:, positions] / (sums.max(axis=1, keepdims=True) + np.float32(1e-9))
    return {
        "word_score": np.log1p(sums[0, positions]),
        "relative_word_score": share[0],
        "clause_word_score": share[1:].max(axis=0),
        "name_cover": words.score_name_cover(lexemes, positions),
    }


def _standardized_features(compared: IntentComparison, positions: Positions) -> dict[str, Floats]:
    rows = np.concatenate((compared.whole[None], compared.clauses))
    sample = compared.view.sample_columns(rows)
    means, deviations = sample.mean(axis=1, keepdims=True), sample.std(axis=1, keepdims=True)
    above = (rows[:, positions] - means) / (deviations + _EPSILON)
    return {
        "whole_deviations": above[0],
        "clause_deviations": above[1:].max(axis=0),
    }


def _clause_features(compared: IntentComparison, positions: Positions) -> dict[str, Floats]:
    clauses = compared.clauses
    if clauses.shape[1] > 1:
        second, best = np.partition(clauses, clauses.shape[1] - 2, axis=1)[:, -2:].T
    else:
        second, best = np.zeros(len(clauses), np.float32), clauses[:, 0]
    own = clauses[:, positions]
    runner_up = np.where(own == best[:, None], second[:, None], best[:, None])
    weights = np.exp((clauses - best[:, None]) / np.float32(SOFT_WIDTH))
    soft = weights[:, positions] / weights.sum(axis=1, keepdims=True)
    return {"clause_lead": (own - runner_up).max(axis=0), "clause_share": soft.max(axis=0)}


def _server_features(compared: IntentComparison, positions: Positions) -> dict[str, Floats]:
    groups, masked = compared.view.groups, compared.masked
    affinity = groups.centroids @ compared.encoded.masked
    best = groups.max_by_server(masked)
    without_best = masked.copy()
    server = groups.group_of
    without_best[masked == best[server]] = -np.inf
    second = groups.max_by_server(without_best)
    own_server, fallback = server[positions], np.float32(masked.mean())
    rival = np.where(masked[positions] == best[own_server], second[own_server], best[own_server])
    rival = np.where(np.isfinite(rival), rival, fallback)
    return {
        "server_cosine": affinity[own_server] - affinity.mean(),
        "server_rival": rival - masked.max(),
    }
