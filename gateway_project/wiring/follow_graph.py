"""Keeps the tool graph current beside a gateway: relations, metrics, usage, shapes of results."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

import django.db
import structlog
from django.conf import settings
from django.db import connection

from gateway_project.foundation import notify
from gateway_project.foundation.database import in_database
from gateway_project.foundation.reasons import first_line
from gateway_project.readiness import Readiness
from graph.__main__ import BUSY
from graph.kept_graph import KeptGraph
from graph.kept_shapes import KeptShapes
from graph.kept_usage import KeptUsage
from graph.store import fitted, metrics, patterns
from tools.catalogue import CatalogueTool

QUIET_S: Final = 2.0
"""What changes in one go is over once nothing has changed for so long."""
LONGEST_QUIET_S: Final = 30.0
"""Changes that never stop are taken up all the same."""
LEAST_INTERVAL_S: Final = 30.0
IDLE_SHARE: Final = 20.0
"""After a refresh, or a look whether one is due, comes a rest of so many times as long."""
LOOK_S: Final = 3_600.0
"""Age changes what observations weigh, and a snapshot is due each day, without any change."""
RETRY_S: Final = 5.0
WORK_TIMEOUT_S: Final = 900.0

Work = Callable[[], Awaitable[bool]]
log = structlog.get_logger(__name__)


class NotRefreshed(RuntimeError):
    """A refresh failed: it is tried again after a rest, as nothing else would ask for it."""


class Refresher:
    """Has the graph refreshed once what it comes from has changed and come to rest.

    Args:
        work: Refreshes the graph; says whether it did, or another process is at it, and raises
            `NotRefreshed` where it could not.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._changed = asyncio.Event()
        self._changes = 0

    def note(self) -> None:
        """Take note that something has changed; call it on the event loop."""
        self._changes += 1
        self._changed.set()

    async def run(self) -> None:
        """Refresh whenever it is due, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._changed.wait()
            await self._quiet()
            self._changed.clear()
            try:
                rest_s = await self._refresh()
            except django.db.Error as error:
                log.warning("graph.not_refreshed", reason=first_line(error))
                rest_s = RETRY_S
                self.note()
            await asyncio.sleep(rest_s)

    async def _quiet(self) -> None:
        """Wait until nothing has changed for a while, or for long enough."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_QUIET_S):
                seen = -1
                while seen != self._changes:
                    seen = self._changes
                    await asyncio.sleep(QUIET_S)

    async def _refresh(self) -> float:
        """Refresh if it is due; return how long to rest from it."""
        clock = asyncio.get_running_loop().time
        started = clock()
        if not await in_database(_is_due):
            return IDLE_SHARE * (clock() - started)
        try:
            if not await self._work():
                self.note()
                return RETRY_S
        except NotRefreshed as error:
            log.warning("graph.not_refreshed", reason=str(error))
            self.note()
        return max(LEAST_INTERVAL_S, IDLE_SHARE * (clock() - started))


def _is_due() -> bool:
    from graph import fit_models, refresh  # noqa: PLC0415 - not before a client is there to stay

    terms = fit_models.terms(settings.FOREGATE)
    return refresh.is_due(now=datetime.now(UTC)) or (
        terms is not None and fit_models.is_due(terms)
    )


async def in_own_process() -> bool:
    """Refresh and fit in a process of low priority; say whether it was not busy already.

    What computes on thousands of tools would hold up the event loop, and its libraries take
    more memory than all the rest of a gateway.

    Raises:
        NotRefreshed: If it fails, or takes too long.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "graph",
        str(connection.settings_dict["NAME"]),
        cwd=settings.BASE_DIR,
        env=os.environ | {"FOREGATE_HOME": str(settings.FOREGATE.home)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(WORK_TIMEOUT_S):
            _, complaint = await process.communicate()
    except TimeoutError:
        raise NotRefreshed(f"it took more than {WORK_TIMEOUT_S:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode not in (0, BUSY):
        *_, reason = complaint.decode(errors="replace").strip().splitlines() or [""]
        raise NotRefreshed(reason or f"its process ended with code {process.returncode}")
    return process.returncode != BUSY


class GraphKeeper:
    """All that is kept of the graph in a gateway.

    Attributes:
        graph: Relations and metrics.
        usage: Calls of tools.
        shapes: Shapes of what tools answer.
        refresher: Has the graph refreshed.
    """

    def __init__(self, work: Work | None = None) -> None:
        self.graph = KeptGraph()
        self.usage = KeptUsage()
        self.refresher = Refresher(in_own_process if work is None else work)
        self.shapes = KeptShapes(on_changed=self.refresher.note)

    def told(self, event: notify.Event | None = None) -> None:
        """Take note of a notification; None: of a gap, in which anything may have changed."""
        if event is None:
            self.graph.outdate()
        elif event.channel == notify.GRAPH and event.payload == fitted.NOTICE:
            return
        elif event.channel == notify.GRAPH and event.payload != patterns.NOTICE:
            self.graph.notice(event.payload)
            if event.payload == metrics.NOTICE:
                return
        self.refresher.note()

    def saw(self, tool: CatalogueTool, team: int | None, result: Mapping[str, Any]) -> None:
        """Take note of what a tool answered."""
        self.shapes.saw(tool.pk, team, tool.definition_hash, result)

    async def run(self, readiness: Readiness) -> None:
        """Keep all of it current until cancelled; what is heavy waits for a client to stay."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._kept(self.usage.run), name="usage")
            group.create_task(self._kept(self.shapes.run), name="shapes")
            await readiness.listed.wait()
            self.graph.want()
            group.create_task(self._kept(self.graph.run), name="relations")
            group.create_task(self._kept(self.refresher.run), name="graph refresh")
            await self.usage.load()

    async def _kept(self, run: Callable[[], Awaitable[None]]) -> None:
        """Run a task until cancelled; where it fails, calls go on and it begins again."""
        while True:
            try:
                await run()
            except Exception:
                log.exception("graph.task_failed", task=run.__qualname__)
                self.graph.outdate()
                await asyncio.sleep(RETRY_S)
