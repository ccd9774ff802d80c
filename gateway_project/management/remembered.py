"""Past events like an intent, for commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config
from learning import retrieve
from learning.memory.event import Event
from learning.store import events
from tools.embed.load import make_embedder
from tools.query_text import read_query


def find_similar_events(intent: str, *, team: int | None, config: Config) -> tuple[Event, ...]:
    """Return the newest events about texts similar to an intent; none if the memory has no texts.

    Args:
        intent: The intent in words.
        team: Primary key of the team whose memory is searched; None: callers without a team.
        config: Of the installation.

    Raises:
        QueryError: If the intent contains no words.
        EmbeddingUnavailable: If the model cannot be loaded.
    """
    embedder = make_embedder(config)
    if not events.load_sealed_vectors(team, embedder.model, limit=1):
        return ()
    [vector] = embedder.embed([read_query(intent).text], kind="query")
    retriever = retrieve.EventRetriever(
        model=embedder.model, sealer=sealing.load_or_create_sealer(config.home)
    )
    return retriever.retrieve(team, context_hash=None, vector=vector)


def event_to_json(event: Event) -> dict[str, Any]:
    """Return what may be shown of an event."""
    return {
        "kind": event.kind.value,
        "at": datetime.fromtimestamp(event.at, UTC).isoformat(timespec="seconds"),
        "outcome": event.outcome.name.lower() if event.outcome else None,
    }


def render_events(found: Sequence[Event]) -> Iterator[str]:
    """Write events as lines."""
    if found:
        yield "[bold]Similar searches and intents[/bold]"
    for event in found:
        at = datetime.fromtimestamp(event.at, UTC)
        outcome = event.outcome.name.lower() if event.outcome else ""
        yield f"  {at:%Y-%m-%d %H:%M}  {event.kind.value}  {outcome}".rstrip()
