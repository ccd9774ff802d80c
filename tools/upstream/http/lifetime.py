"""How long a session with a remote server lasts, and what its end interrupts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
import structlog

from tools.upstream.errors import ConnectionLost, ServerStopped, SessionExpired, UpstreamError

log = structlog.get_logger(__name__)


class Lifetime:
    """Runs a session's background work and ends it all at once.

    Open and close it in one task.

    Args:
        server: Whose session it is.
        on_end: Called once, when the session ends.

    Attributes:
        ended: Set as soon as no answer can come any more.
        fault: Why it ended; None while it lasts, and if the gateway itself ended it.
    """

    def __init__(self, server: str, *, on_end: Callable[[], None]) -> None:
        self._server = server
        self._on_end = on_end
        self._scopes: set[asyncio.Timeout] = set()
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()
        self.ended = asyncio.Event()
        self.fault: UpstreamError | None = None

    @property
    def ended_well(self) -> bool:
        """Whether the server merely ended the session."""
        return isinstance(self.fault, SessionExpired)

    def why_ended(self) -> UpstreamError:
        """Return the error for what was under way."""
        if isinstance(self.fault, SessionExpired):
            return ConnectionLost(
                "ended the session before it had answered; the request may have been carried out "
                "all the same",
                server=self._server,
            )
        return self.fault or ServerStopped(self._server)

    async def open(self) -> None:
        """Be ready to run work."""
        await self._group.__aenter__()

    async def close(self) -> None:
        """End the session if it has not ended, and wait for its work to be over."""
        self.end(None)
        for task in self._tasks:
            task.cancel()
        # The tasks report nothing; told of an exception, the group would wrap it.
        await self._group.__aexit__(None, None, None)

    def end(self, fault: UpstreamError | None) -> None:
        """End the session, once.

        Args:
            fault: Why, None if the gateway itself ends it.
        """
        if self.ended.is_set():
            return
        self.fault = fault
        self.ended.set()
        self._on_end()
        now = asyncio.get_running_loop().time()
        for scope in self._scopes:
            scope.reschedule(now)

    @asynccontextmanager
    async def interruptible(self) -> AsyncIterator[None]:
        """Let the end of the session interrupt what is done inside.

        Raises:
            anyio.BrokenResourceError: If it has ended, or ends meanwhile.
        """
        if self.ended.is_set():
            raise anyio.BrokenResourceError
        try:
            async with asyncio.timeout(None) as scope:
                self._scopes.add(scope)
                try:
                    yield
                finally:
                    self._scopes.discard(scope)
        except TimeoutError:
            raise anyio.BrokenResourceError from None

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something beside the session until it is done or the session ends."""
        if self.ended.is_set():
            work.close()
            return
        task = self._group.create_task(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:
            # The top of a task: its failure must not end the session's other tasks.
            log.exception("work for a remote server broke down", server=self._server)
