"""Keeps the episodic memory within its limits in the background, and warns when it is large."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Final

import django.db
import structlog

from gateway_project.foundation import telemetry
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from learning.memory import spool

FIRST_CHECK_S: Final = 60.0
"""Delay of the first check, while a gateway starts."""
CHECK_INTERVAL_S: Final = 3_600.0
SPOOL_ALERT_SHARE: Final = 0.5
"""Share of its maximum size above which the spool is reported."""
COLLISION_ALERT_SHARE: Final = 0.05
"""Share of collided context hashes above which they are reported."""
BYTES_PER_MB: Final = 1_000_000

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class MemoryState:
    """Size and health of the episodic memory.

    Attributes:
        bytes: Bytes of events and vectors in the database.
        spool_bytes: Bytes of spool files in the home folder.
        contexts: Different hashes of contexts.
        collided_contexts: Of these, the ones that several contexts share.
        problems: What is wrong, and what to do about it.
    """

    events: int
    bytes: int
    spool_bytes: int
    contexts: int
    collided_contexts: int
    problems: tuple[str, ...]


class MemoryKeeper:
    """Deletes events that are no longer kept, and reports when something is too large."""

    def __init__(self, config: Config, *, deletes: bool = True) -> None:
        self._config = config
        self._deletes = deletes
        self._problems: tuple[str, ...] = ()

    async def run(self) -> None:
        """Check until cancelled."""
        wait_s = FIRST_CHECK_S
        while True:
            await asyncio.sleep(wait_s)
            wait_s = CHECK_INTERVAL_S
            try:
                await run_in_database_thread(self.check)
            except django.db.Error as error:
                log.warning("events.check_failed", reason=summarize_error(error))
            except Exception:  # top of a task: the next check may succeed
                log.exception("events.check_failed")

    def check(self) -> None:
        """Delete what is no longer kept, and report what is wrong.

        Raises:
            django.db.Error: If the database is unavailable.
        """
        from learning.store import retention  # noqa: PLC0415 - not before a gateway serves

        if self._deletes:
            counts = retention.delete_expired(self._config)
            if any(asdict(counts).values()):
                log.info("events.expired", **asdict(counts))
        state = load_state(self._config)
        telemetry.memory_bytes.labels("database").set(state.bytes)
        telemetry.memory_bytes.labels("spool").set(state.spool_bytes)
        for problem in state.problems:
            if problem not in self._problems:
                log.warning("events.problem", problem=problem)
        self._problems = state.problems


def load_state(config: Config) -> MemoryState:
    """Return size and health of the episodic memory.

    Raises:
        django.db.Error: If the database is unavailable.
    """
    from learning.store import retention  # noqa: PLC0415 - not before a gateway serves

    events, size = retention.measure_memory()
    contexts, collided = retention.count_collisions()
    spool_bytes = spool.measure_folder(config.home / spool.FOLDER)
    return MemoryState(
        events=events,
        bytes=size,
        spool_bytes=spool_bytes,
        contexts=contexts,
        collided_contexts=collided,
        problems=tuple(_list_problems(config, size, spool_bytes, collided / max(contexts, 1))),
    )


def _list_problems(
    config: Config, database_bytes: int, spool_bytes: int, collided_share: float
) -> Iterator[str]:
    if database_bytes > config.memory_alert_mb * BYTES_PER_MB:
        yield (
            f"events take more than {config.memory_alert_mb:,} MB of the database; lower "
            "FOREGATE_EVENTS_PER_TEAM or FOREGATE_EVENT_DAYS, or raise FOREGATE_MEMORY_ALERT_MB"
        )
    if spool_bytes > SPOOL_ALERT_SHARE * config.spool_mb * BYTES_PER_MB:
        yield (
            f"more than {SPOOL_ALERT_SHARE:.0%} of FOREGATE_SPOOL_MB wait in the spool; events "
            "are dropped once it is full: check that the database can be reached"
        )
    if collided_share > COLLISION_ALERT_SHARE:
        yield (
            f"more than {COLLISION_ALERT_SHARE:.0%} of the hashes of contexts stand for several "
            "contexts, so that these share thresholds and memory; please report this as a defect"
        )
