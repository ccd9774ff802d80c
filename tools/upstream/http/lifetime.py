"""The lifetime of a session with a remote server, and the work its end interrupts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
import structlog

from gateway_project.foundation.task_group import TaskGroup
from tools.upstream.errors import ConnectionLost, ServerStopped, SessionExpired, UpstreamError
from tools.upstream.origin import ConnectionOrigin

log = structlog.get_logger(__name__)


class RemoteSession:
    """A session with a remote server, and its background work; base of the HTTP transports.

    Open and close it in one task. Sending a request returns only after its answer. So cancelling
    the sender closes the request's stream, which is how the protocol cancels over HTTP.

    Args:
        origin: The server's name, secrets and limits.
        on_end: Called once, when the session ends.

    Attributes:
        origin: As passed in.
        ended: Set once no answer can arrive any more.
        fault: Why it ended; None while it is open or if the gateway ended it.
    """

    def __init__(self, origin: ConnectionOrigin, *, on_end: Callable[[], None]) -> None:
        self.origin = origin
        self._server = origin.server
        self._on_end = on_end
        self._scopes: set[asyncio.Timeout] = set()
        self._group = TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()
        self.ended = asyncio.Event()
        self.fault: UpstreamError | None = None

    @property
    def has_ended_cleanly(self) -> bool:
        """Whether the server merely ended the session."""
        return isinstance(self.fault, SessionExpired)

    @property
    def unsent_bytes(self) -> int:
        """Always 0: each message has its own connection."""
        return 0

    @property
    def pid(self) -> int | None:
        """Always None: the server has no local process."""
        return None

    async def wait_for_room(self) -> None:
        """Return at once: each request has a connection of its own."""

    def make_end_error(self, *, while_doing: str) -> UpstreamError:  # noqa: ARG002 - the protocol's
        """Return the error for work interrupted by the end of the session."""
        if isinstance(self.fault, SessionExpired):
            return ConnectionLost(
                "ended the session before it had answered; the request may still have been "
                "carried out",
                server=self._server,
            )
        return self.fault or ServerStopped(self._server)

    async def open(self) -> None:
        """Start accepting background work."""
        await self._group.__aenter__()

    async def close(self) -> None:
        """End the session if necessary, and wait for its background work to end."""
        self.end(None)
        for task in self._tasks:
            task.cancel()
        # The tasks raise nothing; given an exception, the group would only wrap it.
        await self._group.__aexit__(None, None, None)

    def end(self, fault: UpstreamError | None) -> None:
        """End the session; later calls have no effect.

        Args:
            fault: The reason; None if the gateway itself ends it.
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
    async def interrupt_at_end(self) -> AsyncIterator[None]:
        """Interrupt the block when the session ends.

        Raises:
            anyio.BrokenResourceError: If the session has ended, or ends meanwhile.
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
        """Run background work until it is done or the session ends."""
        if self.ended.is_set():
            work.close()
            return
        task = self._group.create_task(self._run_guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:
            # Top of a task: its failure must not end the session's other tasks.
            log.exception("server.background_task_failed", server=self._server)
