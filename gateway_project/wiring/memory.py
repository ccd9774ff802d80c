"""Builds what a process remembers of its callers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway_project.foundation.config import Config
from gateway_project.foundation.sealing import Sealer
from gateway_project.foundation.task_group import TaskGroup
from learning.event_loader import EventLoader
from learning.memory.capture import Capture
from learning.sessions.analyst import SessionAnalyst
from learning.sessions.memory import NO_MEMORY, SessionMemory
from learning.sessions.registry import SessionRegistry
from learning.sessions.team_models import TeamModels
from tools.catalogue import Catalogue


@dataclass(frozen=True, kw_only=True)
class ProcessMemory:
    """What a process remembers, and the tasks that keep it.

    Attributes:
        sessions: Records what callers do.
        loader: Loads recorded events into the database, also those of processes that ended.
        analyst: Analyses sessions; None: nothing is remembered.
        models: What past sessions taught.
    """

    sessions: SessionMemory
    loader: EventLoader
    analyst: SessionAnalyst | None = None
    models: TeamModels | None = None

    async def run(self) -> None:
        """Load events, analyse sessions and keep models current until cancelled."""
        async with TaskGroup() as group:
            group.create_task(self.loader.run(), name="events")
            if self.analyst is not None:
                group.create_task(self.analyst.run(), name="sessions")
            if self.models is not None:
                group.create_task(self.models.run(), name="next-call models")


def make_memory(
    config: Config, capture: Capture, *, sealer: Sealer, catalogue: Callable[[], Catalogue]
) -> ProcessMemory:
    """Return what this process remembers of its callers: nothing, if the setting is off.

    Args:
        config: Of the installation.
        capture: Records events.
        sealer: Makes keyed digests.
        catalogue: Returns the current servers and tools.
    """
    loader = EventLoader(capture)
    if not config.memory:
        return ProcessMemory(sessions=NO_MEMORY, loader=loader)
    registry = SessionRegistry(record=capture.record, digest=sealer.digest)
    models = TeamModels()
    analyst = SessionAnalyst(registry, models=models, catalogue=catalogue, record=capture.record)
    return ProcessMemory(sessions=registry, loader=loader, analyst=analyst, models=models)
