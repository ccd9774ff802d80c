"""Keeps a gateway's tool graph current: relations, metrics, usage and result shapes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any, Final

import django.db
import structlog
from django.conf import settings
from django.db import connection

from gateway_project.foundation import notify
from gateway_project.foundation.caller import Contributor
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.fair_share import ShareCounter
from gateway_project.foundation.module_process import ModuleFailed, run_module
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.readiness import Readiness
from graph.__main__ import BUSY_EXIT_CODE
from graph.graph_cache import GraphCache
from graph.shape_recorder import ShapeRecorder
from graph.store import fitted_models, metrics, patterns
from graph.usage_counter import UsageCounter
from tools.catalogue import CatalogueTool

DEBOUNCE_S: Final = 2.0
"""A burst of changes is over after this long without another."""
MAX_DEBOUNCE_S: Final = 30.0
"""Longest wait for a burst to end."""
MIN_INTERVAL_S: Final = 30.0
REST_FACTOR: Final = 20.0
"""Rest after a refresh or a check, as a multiple of its duration."""
CHECK_INTERVAL_S: Final = 3_600.0
"""Checks without any change: observations lose weight with age, and a snapshot is due daily."""
RETRY_S: Final = 5.0
WORK_TIMEOUT_S: Final = 900.0

RefreshWork = Callable[[], Awaitable[bool]]
log = structlog.get_logger(__name__)


class GraphRefresher:
    """Refreshes the graph once a burst of changes to its sources is over.

    Args:
        work: Refreshes the graph; returns False if another process is doing so, and raises
            `ModuleFailed` if it fails.
    """

    def __init__(self, work: RefreshWork) -> None:
        self._work = work
        self._changed = asyncio.Event()
        self._changes = 0

    def note_change(self) -> None:
        """Request a refresh; call it on the event loop."""
        self._changes += 1
        self._changed.set()

    async def run(self) -> None:
        """Refresh whenever it is due, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(CHECK_INTERVAL_S):
                    await self._changed.wait()
            await self._wait_until_quiet()
            self._changed.clear()
            try:
                rest_s = await self._refresh_if_due()
            except django.db.Error as error:
                log.warning("graph.refresh_failed", reason=summarize_error(error))
                rest_s = RETRY_S
                self.note_change()
            await asyncio.sleep(rest_s)

    async def _wait_until_quiet(self) -> None:
        """Wait until a burst of changes is over, at most `MAX_DEBOUNCE_S`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_DEBOUNCE_S):
                seen = -1
                while seen != self._changes:
                    seen = self._changes
                    await asyncio.sleep(DEBOUNCE_S)

    async def _refresh_if_due(self) -> float:
        """Refresh if it is due; return the seconds to rest afterwards."""
        clock = asyncio.get_running_loop().time
        started = clock()
        if not await run_in_database_thread(_is_refresh_due):
            return REST_FACTOR * (clock() - started)
        try:
            if not await self._work():
                self.note_change()
                return RETRY_S
        except ModuleFailed as error:  # retried after a rest: nothing else would trigger it
            log.warning("graph.refresh_failed", reason=str(error))
            self.note_change()
        return max(MIN_INTERVAL_S, REST_FACTOR * (clock() - started))


def _is_refresh_due() -> bool:
    from graph import fit_models, refresh  # noqa: PLC0415 - heavy; not before a client lists tools

    fitting = fit_models.load_settings(settings.FOREGATE)
    return refresh.is_due(now=datetime.now(UTC)) or (
        fitting is not None and fit_models.is_due(fitting)
    )


async def refresh_in_subprocess() -> bool:
    """Refresh and fit in a low-priority process; return False if another one is already at it.

    Computing on thousands of tools would block the event loop, and the libraries take more memory
    than the rest of a gateway.

    Raises:
        ModuleFailed: If it fails or takes too long.
    """
    code, _ = await run_module(
        "graph",
        str(connection.settings_dict["NAME"]),
        timeout_s=WORK_TIMEOUT_S,
        env=os.environ | {"FOREGATE_HOME": str(settings.FOREGATE.home)},
        accepted=(0, BUSY_EXIT_CODE),
    )
    return code != BUSY_EXIT_CODE


class GraphKeeper:
    """Holds a gateway's graph state and runs the tasks that keep it current.

    Args:
        work: Refreshes the graph; None: in a process of its own.
        learns: Whether calls and results change it.
    """

    def __init__(self, work: RefreshWork | None = None, *, learns: bool = True) -> None:
        self._learns = learns
        self.graph = GraphCache()
        self.usage = UsageCounter()
        self._shares, self._shared_on = ShareCounter(), date.min
        self.refresher = GraphRefresher(refresh_in_subprocess if work is None else work)
        self.shapes = ShapeRecorder(on_changed=self.refresher.note_change)

    def handle_notification(self, event: notify.Notification | None = None) -> None:
        """Handle a notification; None: a gap, in which anything may have changed."""
        if event is None:
            self.graph.invalidate()
        elif event.channel == notify.GRAPH and event.payload == fitted_models.CHANGE_NOTICE:
            return
        elif event.channel == notify.GRAPH and event.payload != patterns.CHANGE_NOTICE:
            self.graph.handle_notification(event.payload)
            if event.payload == metrics.CHANGE_NOTICE:
                return
        self.refresher.note_change()

    def count_call(self, tool: int, contributor: Contributor, failed: bool) -> None:
        """Count a call as far as the share of its person reaches; see `UsageCounter`."""
        today = datetime.now(UTC).date()
        if today != self._shared_on:
            self._shares, self._shared_on = ShareCounter(), today
        is_alone = contributor.owner == contributor.person
        if self._learns and (is_alone or self._shares.admit(contributor.person, today, tool)):
            self.usage.count_call(tool, contributor.owner, failed)

    def observe_result(
        self, tool: CatalogueTool, team: int | None, result: Mapping[str, Any]
    ) -> None:
        """Record the shape of a tool's result."""
        if not self._learns:
            return
        self.shapes.enqueue_result(tool.pk, team, tool.definition_hash, result)

    async def run(self, readiness: Readiness) -> None:
        """Keep it current until cancelled; heavy work waits for a client."""
        async with TaskGroup() as group:
            group.create_task(self._run_supervised(self.usage.run), name="usage")
            group.create_task(self._run_supervised(self.shapes.run), name="shapes")
            await readiness.in_use.wait()
            self.graph.request_loading()
            group.create_task(self._run_supervised(self.graph.run), name="relations")
            group.create_task(self._run_supervised(self.refresher.run), name="graph refresh")
            await self.usage.load()

    async def _run_supervised(self, run: Callable[[], Awaitable[None]]) -> None:
        """Run a task until cancelled; restart it if it fails."""
        while True:
            try:
                await run()
            except Exception:
                log.exception("graph.task_failed", task=run.__qualname__)
                self.graph.invalidate()
                await asyncio.sleep(RETRY_S)
