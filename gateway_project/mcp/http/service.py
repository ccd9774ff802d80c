"""The gateway over HTTP: what stands behind the protocol, its sessions, the gate in front."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext

from gateway_project.access.bearers import Bearers
from gateway_project.foundation import telemetry
from gateway_project.mcp import server as mcp_server
from gateway_project.mcp.attach.hosting import Hosting, Offered
from gateway_project.mcp.http.access_log import AccessLog
from gateway_project.mcp.http.answers import Rejected
from gateway_project.mcp.http.authenticate import Authenticate, ByToken, Local, unavailable
from gateway_project.mcp.http.gate import Gate
from gateway_project.mcp.http.names import Names
from gateway_project.mcp.http.sessions import Sessions
from gateway_project.mcp.runtime import Prepared, Runtime
from gateway_project.readiness import NotReady


class Service:
    """Serves clients over HTTP, for one event loop.

    Attributes:
        runtime: What stands behind the protocol.
        gate: ASGI application of the endpoint.

    Args:
        prepare: Loads what calls are served with, in a thread.
        names: What requests may name.
        access_log: Takes down each request.
        open_to_all: Whether requests need no token and stand for the local user; only where
            nobody but this machine can connect.
        offered: What gateways over stdio may attach to; None: nothing.
    """

    def __init__(
        self,
        prepare: Callable[[], Prepared],
        *,
        names: Names,
        access_log: AccessLog,
        open_to_all: bool = False,
        offered: Offered | None = None,
    ) -> None:
        self.runtime = Runtime(prepare)
        in_flight = mcp_server.InFlight()
        server = mcp_server.build(self.runtime, in_flight=in_flight)
        self._hosting = (
            Hosting(self.runtime, server, in_flight=in_flight, offered=offered)
            if offered
            else None
        )
        announced = mcp_server.initialization_options(server)
        server.create_initialization_options = lambda *_, **__: announced  # type: ignore[method-assign]
        if server.get_tool_input_schema is None:
            # Otherwise the SDK lists all tools before each call, to look for headers to check.
            server.get_tool_input_schema = lambda _: None
        self._sessions = Sessions(server)
        self._bearers: Bearers | None = None
        authenticate: Authenticate = Local() if open_to_all else ByToken(self.bearers)
        self._access_log = access_log
        self.gate = Gate(
            names=names,
            authenticate=authenticate,
            serve=self._sessions.serve,
            access_log=access_log,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve while inside; entered and left in one task."""
        telemetry.http_sessions.set_function(lambda: self._sessions.count)
        attachable = self._hosting.open() if self._hosting else nullcontext()
        async with asyncio.TaskGroup() as group, self._sessions.run(), attachable:
            tasks = [
                group.create_task(self.runtime.run(), name="runtime"),
                group.create_task(self._check_tokens(), name="tokens"),
                group.create_task(self._access_log.run(), name="access log"),
            ]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()

    async def bearers(self) -> Bearers:
        """Return what judges tokens.

        Raises:
            Rejected: If there is nothing to judge them with.
        """
        if self._bearers is None:
            try:
                prepared = await self.runtime.prepared()
            except NotReady as trouble:
                raise unavailable(str(trouble)) from None
            if prepared.look_up is None:
                raise unavailable("this gateway knows no tokens")
            if self._bearers is None:  # another request may have come first
                self._bearers = Bearers(prepared.look_up, note_use=prepared.note_use)
        return self._bearers

    async def _check_tokens(self) -> None:
        """Take notice of tokens that end while they are in use."""
        try:
            bearers = await self.bearers()
        except Rejected:
            return
        await bearers.run()
