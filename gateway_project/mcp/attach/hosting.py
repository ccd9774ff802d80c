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


@asynccontextmanager
async def host_attachments(
    runtime: Runtime,
    server: Server[Any],
    *,
    in_flight: InFlightCounter,
    offered: AttachOffer | None,
) -> AsyncIterator[None]:
    """Accept other gateways of the same home while the context is open.

    Args:
        runtime: Serves the requests; nobody can attach before it is loaded.
        server: Serves all connections.
        in_flight: Counts the requests being handled.
        offered: What others may attach to; None: they may not.
    """
    if offered is None:
        yield
        return

    def list_variables() -> frozenset[str]:
        gateway = runtime.readiness.current
        if gateway is None:
            raise AttachRefused("it does not serve yet")
        return gateway.variables

    async def admit_user(user: str, group: str | None, folder: str) -> ServeClient:
        prepared = await runtime.get_prepared()
        if prepared.find_caller is None:
            raise AttachRefused("it serves no other")
        find_caller = partial(prepared.find_caller, user, group)
        try:
            caller = await find_caller()
        except (LookupError, NotReady) as error:
            raise AttachRefused(str(error)) from None
        rights = AttachedRights(caller, find_caller, runtime.readiness)
        return partial(_serve_client, server, rights, folder, in_flight.wait_until_idle)

    host = AttachHost(
        offered.home, exposure=offered.exposure, variables=list_variables, admit=admit_user
    )

    async def run_host() -> None:
        with suppress(NotReady):
            await runtime.get_prepared()
            async with host.listen():
                await asyncio.Event().wait()

    async with TaskGroup() as group:
        listening = group.create_task(run_host(), name="attachments")
        try:
            yield
        finally:
            listening.cancel()


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
        self.readiness = readiness

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
        change = self.readiness.next_change
        while True:
            await change.wait()
            change = self.readiness.next_change  # before the rights are read
            try:
                self._caller = await self._find_caller()
            except LookupError as error:
                self._caller = NotReady("unknown_user", str(error))
            except NotReady as unavailable:
                log.warning("attach.rights_not_refreshed", reason=str(unavailable))


async def _serve_client(
    server: Server[Any],
    rights: AttachedRights,
    folder: str,
    idle: Callable[[], Awaitable[None]],
    lines: SocketLines,
    writer: SocketWriter,
) -> None:
    """Serve one attached client until it has gone."""
    async with TaskGroup() as group:
        following = group.create_task(rights.follow())
        with callers.bind_connection_caller(rights.get_caller, folder=folder) as find_caller:
            async with stdio.open_streams(lines, writer, idle=idle) as (received, sent):
                options = mcp_server.make_initialization_options(server)
                await server.run(received, sent, options)
            # A client without a handshake has no session but the attachment.
            with suppress(NotReady):
                if (gateway := rights.readiness.current) is not None:
                    gateway.effects.memory.record_session_end(find_caller())
        following.cancel()
