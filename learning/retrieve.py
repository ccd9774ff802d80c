"""Retrieves past events like a new intent: those of its context, then those of similar texts."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from learning.memory import intent_vectors
from learning.memory.event import Event
from learning.store import events

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

ENOUGH_EVENTS: Final = 10
"""Events of the same context with which no similar texts are searched for."""
MIN_SIMILARITY: Final = 0.6
"""Cosine from which on two texts mean something similar, by the default embedding model."""
MAX_SIMILAR_TEXTS: Final = 20
MAX_VECTORS: Final = 2_000
"""Newest vectors that are compared for a team: 3 MB of 384 dimensions."""
MAX_TEAMS: Final = 16
"""Teams whose vectors are held in memory."""
MAX_AGE_S: Final = 60.0
"""Age at which vectors in memory are loaded again."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True, eq=False)
class _TeamVectors:
    """Vectors of a team's texts: `hashes[i]` has row i of `matrix`."""

    hashes: tuple[int, ...]
    matrix: Vectors | None
    loaded_at: float


class EventRetriever:
    """Retrieves a team's past events; for database threads.

    Args:
        model: Embedding model whose vectors are compared.
        sealer: Opens stored vectors.
        clock: Returns seconds that never go back.
    """

    def __init__(
        self, *, model: str, sealer: Sealer, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._model = model
        self._sealer = sealer
        self._clock = clock
        self._vectors: OrderedDict[int | None, _TeamVectors] = OrderedDict()

    def retrieve(
        self,
        team: int | None,
        *,
        context_hash: int | None,
        vector: Vectors | None = None,
        limit: int = ENOUGH_EVENTS,
    ) -> tuple[Event, ...]:
        """Return events of the same context, newest first, then events of similar texts.

        Args:
            team: Primary key; None: callers without a team. Nothing of other teams is returned.
            context_hash: Hash of the context; None: not known.
            vector: Of the text, shape (d,), float32, norm 1; None: no search by meaning.
            limit: Maximum number of events.

        Raises:
            django.db.Error: If the database is unavailable.
        """
        found = (
            []
            if context_hash is None
            else events.load_events_of_context(team, context_hash, limit=limit)
        )
        if vector is None or len(found) >= min(limit, ENOUGH_EVENTS):
            return tuple(found)
        similar = self._find_similar_texts(team, vector)
        if similar:
            more = events.load_events_of_intents(team, similar, limit=limit)
            found += [
                event
                for event in more
                if context_hash is None or event.context_hash != context_hash
            ]
        return tuple(found[:limit])

    def _find_similar_texts(self, team: int | None, vector: Vectors) -> list[int]:
        """Return the hashes of the most similar texts, best first."""
        import numpy as np

        known = self._load_vectors(team, dimensions=len(vector))
        if known.matrix is None:
            return []
        similarities = known.matrix @ vector
        best = np.argsort(-similarities, kind="stable")[:MAX_SIMILAR_TEXTS]
        return [known.hashes[place] for place in best if similarities[place] >= MIN_SIMILARITY]

    def _load_vectors(self, team: int | None, *, dimensions: int) -> _TeamVectors:
        now = self._clock()
        known = self._vectors.get(team)
        if known is None or now - known.loaded_at >= MAX_AGE_S:
            known = self._read_vectors(team, dimensions, now)
            self._vectors[team] = known
            while len(self._vectors) > MAX_TEAMS:
                self._vectors.popitem(last=False)
        self._vectors.move_to_end(team)
        return known

    def _read_vectors(self, team: int | None, dimensions: int, now: float) -> _TeamVectors:
        import numpy as np

        rows = []
        for intent_hash, sealed in events.load_sealed_vectors(
            team, self._model, limit=MAX_VECTORS
        ):
            try:
                vector = intent_vectors.unseal_vector(sealed, self._sealer)
            except (UnsealingFailed, ValueError) as error:
                log.warning("events.vector_unreadable", team=team, reason=str(error))
                break  # the others were sealed with the same key
            if len(vector) == dimensions:
                rows.append((intent_hash, vector))
        return _TeamVectors(
            hashes=tuple(intent_hash for intent_hash, _ in rows),
            matrix=np.stack([vector for _, vector in rows]) if rows else None,
            loaded_at=now,
        )
