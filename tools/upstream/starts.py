"""Starts a server with the transport, protocol era and version that worked last time."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final, Literal

from gateway_project.foundation.caller import Caller, SessionKey
from gateway_project.foundation.redaction import Redactor
from tools.upstream.breaker import RetryPolicy, UpstreamEnvironment
from tools.upstream.connection import Connection, connect
from tools.upstream.errors import (
    ConnectTimedOut,
    HttpRefused,
    ProtocolViolation,
    ServerExited,
    SignInRequired,
    UpstreamError,
    UpstreamRefused,
)
from tools.upstream.handshake import HANDSHAKE_VERSIONS
from tools.upstream.in_flight import ClientProfile
from tools.upstream.limits import UpstreamLimits
from tools.upstream.output import ConnectionOrigin
from tools.upstream.spec import ServerSpec
from tools.upstream.status import Era, ListName, ServerPeer, ServerStatus
from tools.upstream.transport import UpstreamTransport

_NAMES_VERSION: Final = re.compile(r"protocol.?version|unsupported.*version", re.IGNORECASE)
"""Output of servers that exit when asked for a protocol version they do not know."""

_OTHER_TRANSPORT: Final[Mapping[str, Literal["http", "sse"]]] = {"http": "sse", "sse": "http"}
_NO_SUCH_TRANSPORT: Final = frozenset({400, 404, 405, 406, 415, 501})
"""HTTP statuses of servers that expect the other transport."""


class StartSlots:
    """Limits concurrent starts; a hanging server blocks the others only briefly.

    Args:
        count: Maximum concurrent starts.
        hold_s: Seconds after which a start still in progress no longer counts.
    """

    def __init__(self, *, count: int, hold_s: float) -> None:
        self._free = asyncio.Semaphore(count)
        self._hold_s = hold_s

    @asynccontextmanager
    async def hold_slot(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it for the block, at most `hold_s` seconds."""
        await self._free.acquire()
        timer = asyncio.get_running_loop().call_later(self._hold_s, self._free.release)
        try:
            yield
        finally:
            if timer.when() > asyncio.get_running_loop().time():
                timer.cancel()
                self._free.release()


@dataclass(frozen=True, kw_only=True)
class SupervisorContext:
    """Dependencies shared by all supervisors of a pool.

    Attributes:
        limits: Caps on what a server may send and consume.
        policy: When to retry a failing server.
        environment: Clocks, randomness, environment variables.
        slots: Limits concurrent starts.
        transport: Makes the transport of one start, for requests that carry a caller's rights;
            may raise `UpstreamError`.
        on_status: Called with each new status.
        on_changed: Called with the server's name and the list that changed.
        on_updated: Called with the server's name, the URI of a changed resource, and the clients
            that follow it on the reporting connection.
        idle_stop_s: Seconds without a request after which a server that is stateless by protocol
            is stopped; 0: never.
        session_idle_s: The same for a connection that belongs to one caller.
    """

    limits: UpstreamLimits
    policy: RetryPolicy
    environment: UpstreamEnvironment
    slots: StartSlots
    transport: Callable[[ServerSpec, Caller], UpstreamTransport]
    on_status: Callable[[ServerStatus], None]
    on_changed: Callable[[str, ListName], None]
    on_updated: Callable[[str, str, Collection[SessionKey]], None]
    idle_stop_s: float = 0.0
    session_idle_s: float = 0.0


class ServerStarter:
    """Starts one server repeatedly, and remembers how, its era and its description.

    Args:
        spec: The server's entry.
        shared: Dependencies shared by all supervisors of the pool.
        client: The client side of the connections.
        caller: Whose rights the connections carry.
        predecessor: The previous starter of the same server, whose state is carried over.

    Attributes:
        count: Starts so far.
        peer: The server's last description of itself.
        transport: Transport of the current run, if any.
        origin: Redactor, limits and output of the current or last run.
    """

    def __init__(
        self,
        spec: ServerSpec,
        shared: SupervisorContext,
        *,
        client: ClientProfile,
        caller: Caller,
        predecessor: ServerStarter | None = None,
    ) -> None:
        self._spec: ServerSpec = predecessor._spec if predecessor else spec
        self._shared = shared
        self._client = client
        self._caller = caller
        self._era: Era | None = predecessor._era if predecessor else None
        self._versions: list[str] = (
            predecessor._versions if predecessor else list(HANDSHAKE_VERSIONS)
        )
        self._dropped = 0
        self.count: int = predecessor.count if predecessor else 0
        self.peer: ServerPeer | None = predecessor.peer if predecessor else None
        self.transport: UpstreamTransport | None = None
        self.origin: ConnectionOrigin | None = None

    @property
    def messages_dropped(self) -> int:
        """Messages that were unusable or over the rate limit, in all runs."""
        return self._dropped + (self.transport.wire.dropped if self.transport else 0)

    @property
    def redactor(self) -> Redactor | None:
        """Removes the server's secrets from texts; None before its first start."""
        return self.origin.redactor if self.origin else None

    def redact(self, error: UpstreamError) -> None:
        """Remove the server's secrets from an error; every error passes through here."""
        if self.origin is not None:
            error.redact(self.origin.redactor)

    def attach_output(self, error: UpstreamError) -> None:
        """Redact the error of a failed run and attach the server's last output to it."""
        self.redact(error)
        if self.origin is not None:
            error.output = self.origin.last_lines

    @asynccontextmanager
    async def start(self, *, begun: Callable[[], None]) -> AsyncIterator[Connection]:
        """Start the server once a start slot is free, and stop it on exit.

        Args:
            begun: Called when the start begins.

        Raises:
            UpstreamError: If it cannot be started.
        """
        async with AsyncExitStack() as stack:
            async with self._shared.slots.hold_slot():
                begun()
                self.count += 1
                try:
                    connection = await self._connect(stack)
                except UpstreamError:
                    self._versions = list(HANDSHAKE_VERSIONS)
                    raise
            yield connection

    async def _connect(self, stack: AsyncExitStack) -> Connection:
        """Connect over the transport that worked last time, else over the other one for HTTP."""
        try:
            return await self._connect_in_any_era(stack)
        except (HttpRefused, ProtocolViolation) as error:
            if not self._may_speak_other_transport(error):
                raise
            refusal, refused_spec = error, self._spec
        self._spec = replace(self._spec, transport=_OTHER_TRANSPORT[self._spec.transport])
        try:
            return await self._connect_in_any_era(stack)
        except SignInRequired:
            raise
        except UpstreamError:
            self._spec = refused_spec
            raise refusal from None

    def _may_speak_other_transport(self, error: HttpRefused | ProtocolViolation) -> bool:
        if self._spec.transport == "stdio":
            return False
        return isinstance(error, ProtocolViolation) or error.status in _NO_SUCH_TRANSPORT

    async def _connect_in_any_era(self, stack: AsyncExitStack) -> Connection:
        """Connect with the era that worked last time; if none is known, try both if necessary."""
        try:
            return await self._connect_in_era(stack, self._era)
        except UpstreamRefused:
            if self._era is not None and self.peer is not None:
                raise
        except ServerExited:
            if self._era is not None:
                if self.peer is None:
                    self._era = None
                raise
            # The probe may have ended it, whatever it said.
        except ConnectTimedOut:
            # An immediate restart would take as long. The next start uses the other era, since
            # the probe may have hung the server.
            self._era = None if self._era or self.peer else "legacy"
            raise
        # One only presumed to be legacy may be modern.
        return await self._connect_in_era(stack, None if self._era else "legacy")

    async def _connect_in_era(self, stack: AsyncExitStack, era: Era | None) -> Connection:
        """Connect, starting a server again that exits when it refuses a protocol version."""
        while True:
            asked = self._versions[0]
            try:
                return await stack.enter_async_context(self._connect_once(era))
            except ServerExited:
                if self._versions[0] == asked and (era != "legacy" or not self._names_version()):
                    raise
                if self._versions[0] == asked:
                    del self._versions[0]
                if not self._versions:
                    raise

    def _names_version(self) -> bool:
        lines = self.origin.last_lines if self.origin else ()
        return any(_NAMES_VERSION.search(line) for line in lines)

    @asynccontextmanager
    async def _connect_once(self, era: Era | None) -> AsyncIterator[Connection]:
        self.transport = self._shared.transport(self._spec, self._caller)
        self.origin = self.transport.origin
        try:
            async with connect(
                self._spec,
                self.transport,
                era=era,
                versions=self._versions,
                client=self._client,
            ) as connection:
                self.peer = connection.peer
                self._era = connection.peer.era
                yield connection
        finally:
            self._dropped += self.transport.wire.dropped
            self.transport = None
