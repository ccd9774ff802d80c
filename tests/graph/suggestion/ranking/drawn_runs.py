"""Random intents and past runs, as scored by the tool model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graph.suggestion.ranking.candidates import FEATURES, Candidates

TOOLS = tuple(range(100, 112))
DIMENSIONS = 8


def drawn_scored(
    seed: int = 0,
    *,
    tools: tuple[int, ...] = TOOLS,
    clause_count: int = 3,
    past: int = 0,
    own_run: int | None = None,
    **fields: object,
) -> Candidates:
    """Draw a scored intent; `fields` override drawn values."""
    draw = np.random.default_rng(seed)
    vectors = draw.standard_normal((len(tools), DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = draw.uniform(-0.2, 0.9, (len(tools), clause_count)).astype(np.float32)
    similarity = draw.uniform(0, 1, past).astype(np.float32)
    if own_run is not None:
        similarity[own_run] = -1
    drawn = {
        "tools": np.array(tools, dtype=np.int64),
        "features": np.zeros((len(tools), len(FEATURES)), dtype=np.float32),
        "logits": draw.normal(-1, 2, len(tools)),
        "vectors": vectors,
        "servers": draw.integers(1, 4, len(tools)),
        "clause_cosines": cosines,
        "clause_shares": np.exp((cosines - cosines.max(axis=0)) / 0.08),
        "was_called": np.zeros(len(tools), dtype=np.bool_),
        "nearest_similarity": float(similarity.max(initial=0)),
        "similarity": similarity,
        "predicted_size": None if not past else 2.3,
        "sentence_count": 1,
        "clause_count": clause_count,
        "length": 80,
        "own_run": own_run,
    }
    return Candidates(**(drawn | fields))


def drawn_runs(count: int, seed: int = 0, *, largest: int = 4) -> list[tuple[int, ...]]:
    """Draw what past runs called: few sets, so that some recur; tools may recur in a run."""
    draw = np.random.default_rng(seed)
    kinds = [
        tuple(draw.choice(TOOLS, size=draw.integers(1, largest + 1)).tolist())
        for _ in range(max(1, count // 2))
    ]
    runs = [kinds[at] for at in draw.integers(0, len(kinds), count)]
    return [tuple(draw.permutation(run).tolist()) for run in runs]


def without_run(scored: Candidates, runs: list[tuple[int, ...]]) -> tuple[Candidates, list]:
    """Return the same intent as a new one, and the history without its own run."""
    own = scored.own_run
    similarity = np.delete(scored.similarity, own)
    return replace(scored, own_run=None, similarity=similarity), runs[:own] + runs[own + 1 :]
