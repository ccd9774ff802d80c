"""The tool model's output for one intent: the candidates and their scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Positions = NDArray[np.intp]

MAX_NEAREST: Final = 60
"""Limit of past intents that are looked at one by one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredCandidates:
    """The k candidate tools of one intent, ascending by primary key.

    Attributes:
        tools: Primary keys, shape (k,).
        logits: Log-odds that a tool is in the workflow, shape (k,), float64.
        vectors: Vectors of the tools, shape (k, d); zeros if a tool has none.
        servers: Primary keys of their servers, shape (k,).
        clause_cosines: Cosine of each tool and each clause of the intent, shape (k, c).
        clause_shares: Fit of a tool to a clause relative to the best tool of the whole catalogue:
            exp((cosine - best) / `SHARE_WIDTH`), shape (k, c).
        clause_votes: Share of similar clauses of past intents whose runs called the tool, in
            [0, 1], shape (k, c); zeros without history.
        similarity: Similarity to each of the n `PastIntents`, in [-1, 1], shape (n,); -1 to
            itself if the intent is one of them.
        predicted_size: Expected number of tools in the workflow; None without history.
        sentence_count: Sentences of the intent.
        clause_count: Clauses of the intent.
        length: Characters of the intent.
        own_run: Index among the past intents; None for a new intent. All values here leave out
            the evidence of that run itself.
        familiarity: Weight of past runs against the text alone, in [0, 1].
    """

    tools: Ints
    logits: NDArray[np.float64]
    vectors: Floats
    servers: Ints
    clause_cosines: Floats
    clause_shares: Floats
    clause_votes: Floats
    similarity: Floats
    predicted_size: float | None
    sentence_count: int
    clause_count: int
    length: int
    own_run: int | None
    familiarity: float = 1.0

    @cached_property
    def nearest_past(self) -> Positions:
        """The past intents nearest to this one, at most `MAX_NEAREST`, nearest first."""
        distance = -self.similarity
        nearest = np.argpartition(distance, min(MAX_NEAREST, len(distance)) - 1)[:MAX_NEAREST]
        return nearest[np.argsort(distance[nearest], kind="stable")]
