"""Simple ways to suggest: copy the nearest past workflow, take the best tool of each clause."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graph.intent.encoded import Encoded


def copy_nearest(
    intent: Encoded, past: Sequence[Encoded], chains: Sequence[Sequence[int]]
) -> list[int]:
    """Return the workflow of the past intent with the highest cosine."""
    nearest = int(np.argmax(np.stack([one.whole for one in past]) @ intent.whole))
    return list(chains[nearest])


def best_of_clauses(
    intent: Encoded, vectors: NDArray[np.float32], tools: Sequence[int]
) -> list[int]:
    """Return for each clause the tool with the highest cosine, in the order of the text."""
    best = np.argmax(vectors @ intent.clauses.T, axis=0)
    return list(dict.fromkeys(tools[at] for at in best))
