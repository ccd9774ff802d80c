"""Starts a server with the protocol era that worked last time."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from gateway_project.foundation.caller import Caller
from gateway_project.foundation.redaction import Redactor
from tools.upstream.client import ClientProfile
from tools.upstream.connect import connect
from tools.upstream.connection import Connection
from tools.upstream.errors import (
    ConnectTimedOut,
    ServerExited,
    UpstreamError,
    UpstreamRefused,
)
from tools.upstream.origin import ConnectionOrigin
from tools.upstream.peer import Era, ServerPeer
from tools.upstream.spec import ServerSpec
from tools.upstream.supervisor_context import SupervisorContext
from tools.upstream.transport import UpstreamTransport

_NAMES_PROBE: Final = re.compile(
    r"server/discover|expect\w*\s*initiali[sz]ed?\s*request|before initiali[sz]ation",
    re.IGNORECASE,
)
"""Output of servers that exit when the first request is not a handshake."""


class ServerStarter:
    """Starts one server repeatedly, and remembers its era and its description.

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
        self._spec = spec
        self._shared = shared
        self._client = client
        self._caller = caller
        self._era: Era | None = predecessor._era if predecessor else None
        self._dropped = 0
        self.count: int = predecessor.count if predecessor else 0
        self.peer: ServerPeer | None = predecessor.peer if predecessor else None
        self.transport: UpstreamTransport | None = None
        self.origin: ConnectionOrigin | None = None

    @property
    def messages_dropped(self) -> int:
        """Messages that were unusable or over the rate limit, in all runs."""
        return self._dropped + (self.transport.messages_dropped if self.transport else 0)

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
                connection = await self._connect(stack)
            yield connection

    async def _connect(self, stack: AsyncExitStack) -> Connection:
        """Connect with the era that worked last time; if none is known, try both if necessary."""
        try:
            return await stack.enter_async_context(self._connect_once(self._era))
        except UpstreamRefused:
            if self._era is not None and self.peer is not None:
                raise
        except (ConnectTimedOut, ServerExited) as error:
            if self._era is not None or not self._is_ended_by_probe(error):
                # An immediate restart would only fail again. The next start uses the other era,
                # since the probe may have hung the server or made it exit silently.
                if self.peer is None or isinstance(error, ConnectTimedOut):
                    self._era = None if self._era or self.peer else "legacy"
                raise
        # A legacy server may exit when probed. One only presumed to be legacy may be modern.
        return await stack.enter_async_context(self._connect_once(None if self._era else "legacy"))

    def _is_ended_by_probe(self, error: UpstreamError) -> bool:
        """Whether a server exited because of the probe, not because of a failure of its own.

        True if its output names the probe, or if it exited with code 0 and without output.
        """
        if not isinstance(error, ServerExited):
            return False
        lines = self.origin.last_lines if self.origin else ()
        return any(_NAMES_PROBE.search(line) for line in lines) or (
            not error.exit_code and not lines
        )

    @asynccontextmanager
    async def _connect_once(self, era: Era | None) -> AsyncIterator[Connection]:
        self.transport = self._shared.transport(self._spec, self._caller)
        self.origin = self.transport.origin
        try:
            async with connect(
                self._spec, self.transport, era=era, client=self._client
            ) as connection:
                self.peer = connection.peer
                self._era = connection.peer.era
                yield connection
        finally:
            self._dropped += self.transport.messages_dropped
            self.transport = None
