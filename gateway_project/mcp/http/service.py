"""Assembles the gateway over HTTP: runtime, sessions and the gate in front of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from gateway_project.access.bearers import BearerTokenCache
from gateway_project.foundation import telemetry
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.mcp import server as mcp_server
from gateway_project.mcp.attach.hosting import AttachOffer, host_attachments
from gateway_project.mcp.http.access_log import AccessLog
from gateway_project.mcp.http.answers import RequestRejected
from gateway_project.mcp.http.authenticate import answer_unavailable
from gateway_project.mcp.http.gate import DescribeResource, EndpointGate
from gateway_project.mcp.http.names import AllowedNames
from gateway_project.mcp.http.sessions import Sessions
from gateway_project.mcp.runtime import PreparedRuntime, Runtime
from gateway_project.readiness import NotReady

CLEAN_UP_INTERVAL_S: Final = 3_600.0


class HttpService:
    """Serves clients over HTTP, for one event loop.

    Attributes:
        runtime: Serves the requests.
        gate: ASGI application of the endpoint.
        sessions: Serve what has passed the gate.

    Args:
        prepare: Loads the runtime; called in a thread.
        names: Host names and origins that are accepted.
        access_log: Records each request.
        open_to_all: Whether requests need no token and act for the local user; only where nobody
            but this machine can connect.
        describe_resource: Returns the address of the metadata by which clients get tokens; None:
            they get none here.
        offered: Offer to gateways over stdio to attach; None if they may not.
    """

    def __init__(
        self,
        prepare: Callable[[], PreparedRuntime],
        *,
        names: AllowedNames,
        access_log: AccessLog,
        open_to_all: bool = False,
        offered: AttachOffer | None = None,
        describe_resource: DescribeResource | None = None,
    ) -> None:
        self.runtime = Runtime(prepare)
        in_flight = mcp_server.InFlightCounter()
        server = mcp_server.build_server(self.runtime, in_flight=in_flight)
        self._host_attachments = partial(
            host_attachments, self.runtime, server, in_flight=in_flight, offered=offered
        )
        self.sessions = Sessions(server, self.runtime)
        self._bearers: BearerTokenCache | None = None
        self._access_log = access_log
        self.gate = EndpointGate(
            names=names,
            get_tokens=None if open_to_all else self.get_token_cache,
            serve=self.sessions.serve,
            has_group=self._has_group,
            access_log=access_log,
            describe_resource=describe_resource,
        )

    @asynccontextmanager
    async def run_service(self) -> AsyncIterator[None]:
        """Serve while the context is open; it must be entered and left in one task."""
        telemetry.http_sessions.set_function(lambda: len(self.sessions))
        telemetry.ready.set_function(lambda: self.runtime.readiness.find_obstacle() is None)
        async with TaskGroup() as group, self.sessions.run(), self._host_attachments():
            tasks = [
                group.create_task(self.runtime.run(), name="runtime"),
                group.create_task(self._recheck_tokens(), name="tokens"),
                group.create_task(self._clean_up(), name="clean-up"),
                group.create_task(self._access_log.run(), name="access log"),
            ]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()

    async def get_token_cache(self) -> BearerTokenCache:
        """Return the cache that authenticates tokens, once the runtime is loaded.

        Raises:
            RequestRejected: If tokens cannot be checked.
        """
        if self._bearers is None:
            try:
                prepared = await self.runtime.get_prepared()
            except NotReady as error:
                raise answer_unavailable(str(error)) from None
            if prepared.look_up_tokens is None:
                raise answer_unavailable("this gateway knows no tokens")
            if self._bearers is None:  # another request may have come first
                self._bearers = BearerTokenCache(
                    prepared.look_up_tokens, record_use=prepared.record_token_use
                )
        return self._bearers

    def _has_group(self, name: str, caller: Caller | None) -> bool:
        """See `HasGroup`; until the catalogue is loaded, any group might exist."""
        gateway = self.runtime.readiness.current
        if gateway is None:
            return True
        return gateway.effects.catalogue().has_group(name, caller or gateway.caller)

    async def _recheck_tokens(self) -> None:
        """Keep noticing tokens that expire or are revoked while in use."""
        try:
            bearers = await self.get_token_cache()
        except RequestRejected:
            return
        await bearers.run()

    async def _clean_up(self) -> None:
        """Delete old rows of access once an hour."""
        try:
            prepared = await self.runtime.get_prepared()
        except NotReady:
            return
        while prepared.clean_up is not None:
            await asyncio.sleep(CLEAN_UP_INTERVAL_S)
            await prepared.clean_up()
