"""Builds what a process remembers of its callers, and opens the spool of its events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from execution.early_calls import NO_SPECULATION, Speculation
from execution.speculation_rules import AdmissibilityRules
from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config
from gateway_project.foundation.sealing import Sealer
from gateway_project.foundation.task_group import TaskGroup
from learning.direct_use import DirectUse
from learning.event_loader import EventLoader
from learning.memory import spool
from learning.memory.capture import Capture
from learning.memory.spool import Spool
from learning.memory_keeper import MemoryKeeper
from learning.sessions.analyst import SessionAnalyst
from learning.sessions.memory import NO_MEMORY, SessionMemory
from learning.sessions.registry import SessionRegistry
from learning.sessions.team_models import NextCallModels
from learning.sessions.word_vectors import WordVectors
from tools.embed.cache import CachedEmbedder

BYTES_PER_MB = 1_000_000


@dataclass(frozen=True, kw_only=True)
class ProcessMemory:
    """What a process remembers, and the tasks that keep it.

    Attributes:
        sessions: Records what callers do.
        loader: Loads recorded events into the database, also those of processes that ended.
        keeper: Deletes events that are no longer kept, and reports their size.
        analyst: Analyses sessions; None: nothing is remembered.
        models: What past sessions taught.
        direct_use: Collects what is called without a workflow, to learn from it.
    """

    sessions: SessionMemory
    loader: EventLoader
    keeper: MemoryKeeper
    analyst: SessionAnalyst | None = None
    models: NextCallModels | None = None
    direct_use: DirectUse | None = None

    def estimate_p95_ms(self, team: int | None, tool: int) -> float | None:
        """Return the 95th percentile of a tool's duration; see `NextCallModels`."""
        return None if self.models is None else self.models.estimate_p95_ms(team, tool)

    async def run(self) -> None:
        """Load events, analyse sessions and keep models current until cancelled."""
        async with TaskGroup() as group:
            group.create_task(self.loader.run(), name="events")
            group.create_task(self.keeper.run(), name="event limits")
            if self.analyst is not None:
                group.create_task(self.analyst.run(), name="sessions")
            if self.models is not None:
                group.create_task(self.models.run(), name="next-call models")
            if self.direct_use is not None:
                group.create_task(self.direct_use.run(), name="direct use")


def make_memory(  # noqa: PLR0913 - its collaborators
    config: Config,
    capture: Capture,
    *,
    sealer: Sealer,
    embedder: CachedEmbedder,
    rules: Callable[[], AdmissibilityRules],
    on_episode: Callable[[UUID], Awaitable[None]],
    speculation: Speculation = NO_SPECULATION,
    deletes: bool = True,
) -> ProcessMemory:
    """Return what this process remembers of its callers: nothing, if the setting is off.

    Args:
        config: Of the installation.
        capture: Records events.
        sealer: Makes keyed digests, and seals vectors.
        embedder: Remembers the vectors of recent queries.
        rules: Returns the current catalogue and grants.
        on_episode: Called with the id of each episode of direct use that can be learned from.
        speculation: Makes predicted calls ahead.
        deletes: Whether this process deletes events that are no longer kept.
    """
    loader, keeper = EventLoader(capture), MemoryKeeper(config, deletes=deletes)
    if not config.memory:
        return ProcessMemory(sessions=NO_MEMORY, loader=loader, keeper=keeper)
    registry = SessionRegistry(record=capture.record, digest=sealer.digest)
    models = NextCallModels()
    vectors = WordVectors(capture, embedder=embedder, sealer=sealer)
    payloads = sealing.load_or_create_sealer(config.home, name=sealing.PAYLOADS)
    direct_use = DirectUse(payloads, on_stored=on_episode)
    analyst = SessionAnalyst(
        registry,
        models=models,
        rules=rules,
        record=capture.record,
        record_words=vectors.record,
        direct_use=direct_use,
        speculation=speculation,
    )
    return ProcessMemory(
        sessions=registry,
        loader=loader,
        keeper=keeper,
        analyst=analyst,
        models=models,
        direct_use=direct_use,
    )


@asynccontextmanager
async def open_capture(config: Config) -> AsyncIterator[Capture]:
    """Yield what records the events of this process, and release its spool file afterwards.

    What is recorded after that goes to a new file and is loaded by another process.
    """
    capture = Capture(Spool(config.home / spool.FOLDER, max_bytes=config.spool_mb * BYTES_PER_MB))
    try:
        yield capture
    finally:
        capture.close()
