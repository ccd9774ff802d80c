"""Intents and past runs drawn at random, as the model of single tools would score them."""

from __future__ import annotations

import numpy as np

from graph.ranking.scored import Scored

TOOLS = tuple(range(100, 112))
DIMENSIONS = 8


def drawn_scored(
    seed: int = 0,
    *,
    tools: tuple[int, ...] = TOOLS,
    clauses: int = 3,
    past: int = 0,
    own: int | None = None,
    **fields: object,
) -> Scored:
    """Draw what is known of an intent; fields given replace what is drawn."""
    draw = np.random.default_rng(seed)
    vectors = draw.standard_normal((len(tools), DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = draw.uniform(-0.2, 0.9, (len(tools), clauses)).astype(np.float32)
    similarity = draw.uniform(0, 1, past).astype(np.float32)
    if own is not None:
        similarity[own] = -1
    drawn = {
        "tools": np.array(tools, dtype=np.int64),
        "logits": draw.normal(-1, 2, len(tools)),
        "vectors": vectors,
        "servers": draw.integers(1, 4, len(tools)),
        "clause_cosines": cosines,
        "shares": np.exp((cosines - cosines.max(axis=0)) / 0.08),
        "votes": draw.uniform(0, 0.2, (len(tools), clauses)).astype(np.float32),
        "similarity": similarity,
        "size": None if not past else 2.3,
        "sentences": 1,
        "clauses": clauses,
        "length": 80,
        "own": own,
    }
    return Scored(**(drawn | fields))


def drawn_runs(count: int, seed: int = 0, *, largest: int = 4) -> list[tuple[int, ...]]:
    """Draw what past runs called: few sets, so that some recur; tools may recur in a run."""
    draw = np.random.default_rng(seed)
    kinds = [
        tuple(draw.choice(TOOLS, size=draw.integers(1, largest + 1)).tolist())
        for _ in range(max(1, count // 2))
    ]
    runs = [kinds[at] for at in draw.integers(0, len(kinds), count)]
    return [tuple(draw.permutation(run).tolist()) for run in runs]


def without_run(scored: Scored, runs: list[tuple[int, ...]]) -> tuple[Scored, list]:
    """Return the same intent as a new one, and the history without its own run."""
    own = scored.own
    fields = dict(vars(scored))
    fields |= {"own": None, "similarity": np.delete(scored.similarity, own)}
    return Scored(**fields), runs[:own] + runs[own + 1 :]
