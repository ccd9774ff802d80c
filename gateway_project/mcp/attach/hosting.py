"""A gateway that takes in others: each attached client is a connection like the first one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp.server import Server

from gateway_project.mcp import server as mcp_server
from gateway_project.mcp import stdio, who
from gateway_project.mcp.attach.host import Host, Refused, Serve, SocketLines, SocketWriter
from gateway_project.mcp.runtime import Runtime
from gateway_project.mcp.server import InFlight
from gateway_project.readiness import NotReady

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller


@dataclass(frozen=True, kw_only=True)
class Offered:
    """What other gateways may attach to.

    Attributes:
        home: Folder of the installation.
        exposure: What clients are shown.
    """

    home: Path
    exposure: str


class Hosting:
    """Takes in other gateways of the same home while this one serves.

    Args:
        runtime: What calls are served with.
        server: Serves all connections.
        in_flight: Requests being handled.
        offered: What others may attach to.
    """

    def __init__(
        self,
        runtime: Runtime,
        server: Server[Any],
        *,
        in_flight: InFlight,
        offered: Offered,
    ) -> None:
        self._runtime = runtime
        self._server = server
        self._in_flight = in_flight
        self._host = Host(
            offered.home,
            exposure=offered.exposure,
            variables=self._variables,
            admit=self._admit,
        )

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Take in others while inside, as soon as there is something to serve them with."""
        async with asyncio.TaskGroup() as group:
            listening = group.create_task(self._listen(), name="attachments")
            try:
                yield
            finally:
                listening.cancel()

    async def _listen(self) -> None:
        with suppress(NotReady):
            await self._runtime.prepared()
            async with self._host.listening():
                await asyncio.Event().wait()

    def _variables(self) -> frozenset[str]:
        """Return the names that the entries of servers refer to.

        Raises:
            Refused: If this gateway does not serve yet.
        """
        gateway = self._runtime.readiness.current
        if gateway is None:
            raise Refused("it does not serve yet")
        return gateway.variables

    async def _admit(self, user: str) -> Serve:
        prepared = await self._runtime.prepared()
        if prepared.caller_of is None:
            raise Refused("it serves no other")
        try:
            caller = await prepared.caller_of(user)
        except LookupError as error:
            raise Refused(str(error)) from None
        return _Attachment(self._server, caller, self._in_flight)


class _Attachment:
    """One attached client."""

    def __init__(self, server: Server[Any], caller: Caller, in_flight: InFlight) -> None:
        self._server = server
        self._caller = caller
        self._in_flight = in_flight

    async def __call__(self, lines: SocketLines, writer: SocketWriter) -> None:
        options = mcp_server.initialization_options(self._server)
        idle = self._in_flight.idle
        with who.connection_of(self._caller):
            async with stdio.joined(lines, writer, idle=idle) as (received, sent):
                await self._server.run(received, sent, options)
