"""Finds past events about texts similar to a new one, by the vectors of those texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import structlog

from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from learning.memory.event import Event
from learning.sessions import word_vectors
from learning.store import events

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]

MAX_EVENTS: Final = 10
MIN_SIMILARITY: Final = 0.6
"""Cosine from which on two texts mean something similar, by the default embedding model."""
MAX_SIMILAR_TEXTS: Final = 20
MAX_VECTORS: Final = 2_000
"""Newest vectors that are compared for a team."""

log = structlog.get_logger(__name__)


def find_similar_events(
    team: int | None, vector: Vector, *, model: str, sealer: Sealer
) -> list[Event]:
    """Return the newest events about texts similar to one.

    Args:
        team: Primary key; None: callers without a team. Nothing of other teams is returned.
        vector: Of the text, shape (d,), float32, norm 1.
        model: Embedding model whose vectors are compared.
        sealer: Opens stored vectors.

    Raises:
        django.db.Error: If the database is unavailable.
    """
    similar: list[tuple[float, int]] = []
    for intent_hash, sealed in events.load_sealed_vectors(team, model, limit=MAX_VECTORS):
        try:
            known = word_vectors.unseal_vector(sealed, sealer)
        except (UnsealingFailed, ValueError) as error:
            log.warning("events.vector_unreadable", team=team, reason=str(error))
            break  # the others were sealed with the same key
        if len(known) == len(vector) and (cosine := float(known @ vector)) >= MIN_SIMILARITY:
            similar.append((cosine, intent_hash))
    best = [intent_hash for _, intent_hash in sorted(similar, reverse=True)[:MAX_SIMILAR_TEXTS]]
    return events.load_events_of_intents(team, best, limit=MAX_EVENTS) if best else []
