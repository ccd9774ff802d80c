"""What the model of single tools says of one intent: the candidates and how likely each is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Scored:
    """The k candidate tools of one intent, ascending by primary key.

    Attributes:
        tools: Primary keys, shape (k,).
        logits: Log-odds that a tool is in the workflow, shape (k,), float64.
        vectors: Of the tools, shape (k, d); zeros where a tool has none.
        servers: Primary keys of their servers, shape (k,).
        clause_cosines: Cosine of each tool and each clause of the intent, shape (k, c).
        shares: How well a clause fits a tool beside the tool that fits that clause best of the
            whole catalogue: exp((cosine - best) / `SHARE_WIDTH`), shape (k, c).
        votes: Share of like clauses of past intents that spoke of the tool, in [0, 1], shape
            (k, c); zeros without history.
        similarity: Of the intent and each past intent (`Past`, n of them), in [-1, 1], shape
            (n,); -1 for the intent itself where it is one of them.
        size: How many tools the workflow is expected to have; None without history.
        sentences: How many the intent has.
        clauses: How many it has.
        length: Its characters.
        own: Which of the past intents this is; None for a new one. Everything here leaves out
            what that run itself did.
        familiarity: How much past runs are followed against the text alone, in [0, 1].
    """

    tools: Ints
    logits: NDArray[np.float64]
    vectors: Floats
    servers: Ints
    clause_cosines: Floats
    shares: Floats
    votes: Floats
    similarity: Floats
    size: float | None
    sentences: int
    clauses: int
    length: int
    own: int | None
    familiarity: float = 1.0
