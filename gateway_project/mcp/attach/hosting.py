"""Hosts attached gateways: each attached client is another connection of the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from mcp.server import Server

from gateway_project.foundation.task_group import TaskGroup
from gateway_project.mcp import callers, stdio
from gateway_project.mcp import server as mcp_server
from gateway_project.mcp.attach.host import (
    AttachHost,
    AttachRefused,
    ServeClient,
    SocketLines,
    SocketWriter,
)
from gateway_project.mcp.runtime import Runtime
from gateway_project.mcp.server import InFlightCounter
from gateway_project.readiness import NotReady, Readiness

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class AttachOffer:
    """Offer to other gateways to attach.

    Attributes:
        home: Folder of the installation.
        exposure: Which tools clients are shown.
    """

    home: Path
    exposure: str


class AttachHosting:
    """Accepts other gateways of the same home while this one serves.

    Args:
        runtime: Serves the requests.
        server: Serves all connections.
        in_flight: Counts the requests being handled.
        offered: What others may attach to.
    """

    def __init__(
        self,
        runtime: Runtime,
        server: Server[Any],
        *,
        in_flight: InFlightCounter,
        offered: AttachOffer,
    ) -> None:
        self._runtime = runtime
        self._server = server
        self._in_flight = in_flight
        self._host = AttachHost(
            offered.home,
            exposure=offered.exposure,
            variables=self._list_variables,
            admit=self._admit_user,
        )

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Accept attachments while the context is open, once the runtime is loaded."""
        async with TaskGroup() as group:
            listening = group.create_task(self._run_host(), name="attachments")
            try:
                yield
            finally:
                listening.cancel()

    async def _run_host(self) -> None:
        with suppress(NotReady):
            await self._runtime.get_prepared()
            async with self._host.listen():
                await asyncio.Event().wait()

    def _list_variables(self) -> frozenset[str]:
        """Return the variables that server entries refer to.

        Raises:
            AttachRefused: If this gateway does not serve yet.
        """
        gateway = self._runtime.readiness.current
        if gateway is None:
            raise AttachRefused("it does not serve yet")
        return gateway.variables

    async def _admit_user(self, user: str, group: str | None, folder: str) -> ServeClient:
        prepared = await self._runtime.get_prepared()
        if prepared.find_caller is None:
            raise AttachRefused("it serves no other")
        find_caller = partial(prepared.find_caller, user, group)
        try:
            caller = await find_caller()
        except (LookupError, NotReady) as error:
            raise AttachRefused(str(error)) from None
        rights = AttachedRights(caller, find_caller, self._runtime.readiness)
        return _Attachment(self._server, rights, folder, self._runtime.readiness, self._in_flight)


class AttachedRights:
    """The rights of an attached client's user, as they are now.

    Args:
        caller: As admitted.
        find_caller: Finds the caller again.
        readiness: Of the host, which changes with the database.
    """

    def __init__(
        self, caller: Caller, find_caller: Callable[[], Awaitable[Caller]], readiness: Readiness
    ) -> None:
        self._caller: Caller | NotReady = caller
        self._find_caller = find_caller
        self._readiness = readiness

    def get_caller(self) -> Caller:
        """Return the caller.

        Raises:
            NotReady: If there is no such user any more.
        """
        if isinstance(self._caller, NotReady):
            raise self._caller
        return self._caller

    async def follow(self) -> None:
        """Follow changes until cancelled; while the database is away, rights stay as they were."""
        change = self._readiness.next_change
        while True:
            await change.wait()
            change = self._readiness.next_change  # before the rights are read
            try:
                self._caller = await self._find_caller()
            except LookupError as error:
                self._caller = NotReady("unknown_user", str(error))
            except NotReady as unavailable:
                log.warning("attach.rights_not_refreshed", reason=str(unavailable))


class _Attachment:
    """One attached client."""

    def __init__(
        self,
        server: Server[Any],
        rights: AttachedRights,
        folder: str,
        readiness: Readiness,
        in_flight: InFlightCounter,
    ) -> None:
        self._server = server
        self._rights = rights
        self._folder = folder
        self._readiness = readiness
        self._in_flight = in_flight

    async def __call__(self, lines: SocketLines, writer: SocketWriter) -> None:
        options = mcp_server.make_initialization_options(self._server)
        idle = self._in_flight.wait_until_idle
        async with TaskGroup() as group:
            following = group.create_task(self._rights.follow())
            with callers.bind_connection_caller(
                self._rights.get_caller, folder=self._folder
            ) as find_caller:
                async with stdio.open_streams(lines, writer, idle=idle) as (received, sent):
                    await self._server.run(received, sent, options)
                self._record_end(find_caller)
            following.cancel()

    def _record_end(self, find_caller: Callable[[], Caller]) -> None:
        """Record the end of a client without a handshake, whose session is the attachment."""
        gateway = self._readiness.current
        with suppress(NotReady):
            if gateway is not None:
                gateway.effects.memory.record_session_end(find_caller())
