"""Starting a server, in the way that worked last time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from tools.upstream.client import Client
from tools.upstream.connect import connect
from tools.upstream.connection import Connection
from tools.upstream.errors import ConnectTimedOut, ServerExited, UpstreamRefused
from tools.upstream.peer import Era, Peer
from tools.upstream.shared import Shared
from tools.upstream.spec import ServerSpec
from tools.upstream.transport import UpstreamTransport


class Starts:
    """Starts one server again and again, and remembers what it learned of it.

    Args:
        spec: The server's entry.
        shared: What it has in common with the others.
        client: Who connects.
        user: By whose sign-in, if that matters.
        before: Who started the same server before.

    Attributes:
        count: Starts so far.
        peer: The server as it described itself last.
        transport: Under the current start.
    """

    def __init__(
        self,
        spec: ServerSpec,
        shared: Shared,
        *,
        client: Client,
        user: str,
        before: Starts | None = None,
    ) -> None:
        self._spec = spec
        self._shared = shared
        self._client = client
        self._user = user
        self._era: Era | None = before._era if before else None
        self._dropped = 0
        self.count: int = before.count if before else 0
        self.peer: Peer | None = before.peer if before else None
        self.transport: UpstreamTransport | None = None

    @property
    def messages_dropped(self) -> int:
        """Messages that were unusable or too many, in all lives."""
        return self._dropped + (self.transport.messages_dropped if self.transport else 0)

    @asynccontextmanager
    async def start(self, *, begun: Callable[[], None]) -> AsyncIterator[Connection]:
        """Start the server when it is its turn, and end it on leaving.

        Raises:
            UpstreamError: If it cannot be started.
        """
        async with AsyncExitStack() as stack:
            async with self._shared.slots.slot():
                begun()
                self.count += 1
                connection = await self._connect(stack)
            yield connection

    async def _connect(self, stack: AsyncExitStack) -> Connection:
        """Connect the way it worked last time; if it never did, both ways."""
        try:
            return await stack.enter_async_context(self._once(self._era))
        except (ServerExited, UpstreamRefused):
            if self._era is not None:
                raise
        except ConnectTimedOut:
            # The probe may have wedged it. The next start tries the other way.
            self._era = None if self._era or self.peer else "legacy"
            raise
        # A legacy server may dislike being probed so much that it gives up.
        return await stack.enter_async_context(self._once("legacy"))

    @asynccontextmanager
    async def _once(self, era: Era | None) -> AsyncIterator[Connection]:
        self.transport = self._shared.transport(self._spec, self._user)
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
