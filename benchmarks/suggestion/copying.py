"""Simple baselines: copy the nearest past workflow, or pick the best tool of each clause."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.intent.encoded import EncodedIntent


def copy_nearest(
    intent: EncodedIntent, past: Sequence[EncodedIntent], chains: Sequence[Sequence[int]]
) -> list[int]:
    """Return the workflow of the past intent with the highest cosine."""
    nearest = int(np.argmax(np.stack([one.whole for one in past]) @ intent.whole))
    return list(chains[nearest])


def pick_best_per_clause(
    intent: EncodedIntent, vectors: NDArray[np.float32], tools: Sequence[int]
) -> list[int]:
    """Return for each clause the tool with the highest cosine, in the order of the text."""
    best = np.argmax(vectors @ intent.clauses.T, axis=0)
    return list(dict.fromkeys(tools[at] for at in best))
