"""One task per server: started when needed, watched, started again, left alone when hopeless."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog
from mcp.shared.dispatcher import ProgressFnT

from tools.upstream import breaker
from tools.upstream.breaker import Circuit, RetryPolicy
from tools.upstream.connect import Connection, Peer, connect
from tools.upstream.errors import (
    CallTimedOut,
    CircuitOpen,
    ConnectTimedOut,
    ServerExited,
    ServerStopped,
    SpawnFailed,
    UnsetVariable,
    UpstreamError,
    UpstreamRefused,
)
from tools.upstream.limits import Limits
from tools.upstream.listing import ToolListing, gather_tools
from tools.upstream.negotiate import Era
from tools.upstream.result import UpstreamResult
from tools.upstream.slots import StartSlots
from tools.upstream.spec import ServerSpec
from tools.upstream.status import ServerStatus, State
from tools.upstream.surroundings import Surroundings
from tools.upstream.transport import UpstreamTransport

# A burst of changes of the list of tools is reported once, and the next not soon after: each
# report makes the gateway list, compare and embed.
CHANGES_SETTLE_S, CHANGES_APART_S = 0.1, 5.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What all supervisors of a pool have in common.

    Attributes:
        limits: Caps on what a server may send and cost.
        policy: When to try a failing server again.
        surroundings: Clocks, randomness, environment.
        slots: Limits concurrent starts.
        transport: Makes the transport of one start; may raise `UpstreamError`.
        on_status: Called with each new state.
        on_tools_changed: Called with the server's name when its tools have changed.
    """

    limits: Limits
    policy: RetryPolicy
    surroundings: Surroundings
    slots: StartSlots
    transport: Callable[[ServerSpec], UpstreamTransport]
    on_status: Callable[[ServerStatus], None]
    on_tools_changed: Callable[[str], None]


class _Crashed(Exception):
    """The server ended after it had been ready."""

    def __init__(self, error: UpstreamError) -> None:
        self.error = error


class Supervisor:
    """Keeps one server. `run` is its task; everything else may be called from any task.

    Args:
        spec: The server's entry.
        shared: What it has in common with the others.
        predecessor: Who kept the same entry before; what it learned stays known.
    """

    def __init__(
        self, spec: ServerSpec, shared: Shared, *, predecessor: Supervisor | None = None
    ) -> None:
        self.spec = spec
        self._shared = shared
        self._state: State = "idle"
        self._last_error = ""
        self._last_error_at: datetime | None = None
        self._connected_at: datetime | None = None
        self._circuit = Circuit()
        self._peer: Peer | None = None
        self._starts: int = predecessor._starts if predecessor else 0
        self._era: Era | None = predecessor._era if predecessor else None
        self._news_due = False
        self._transport: UpstreamTransport | None = None
        self._live: Connection | None = None
        self._dropped = 0
        self._in_flight = 0
        self._drained = asyncio.Event()
        self._drained.set()
        self._wanted = asyncio.Event()
        self._attempt: asyncio.Future[Connection | UpstreamError] | None = None
        self._change: asyncio.TimerHandle | None = None
        self._next_change_at = 0.0

    async def run(self, *, after: asyncio.Task[None] | None = None) -> None:
        """Serve until cancelled.

        Args:
            after: The predecessor's task, to be over before this one starts anything.
        """
        try:
            if after is not None:
                await asyncio.wait({after})
            while True:
                await self._wanted.wait()
                await asyncio.sleep(breaker.delay_s(self._circuit, now=self._monotonic()))
                await self._live_guarded()
        finally:
            self.close()

    def close(self) -> None:
        """Take no more calls. Ending the server is left to the end of `run`."""
        if self._change is not None:
            self._change.cancel()
        if self._state != "stopped":
            self._enter("stopped")
        self._settle(ServerStopped(self.spec.name))

    async def connection(self) -> Connection:
        """Return the live connection, starting the server if need be.

        Raises:
            CircuitOpen: At once, if the server is left alone for now.
            UpstreamError: If it cannot be started.
        """
        if self._state == "stopped":
            raise ServerStopped(self.spec.name)
        if self._live is not None and not self._live.is_over:
            return self._live
        if breaker.position(self._circuit, now=self._monotonic()) == "open":
            raise self._circuit_open()
        if self._attempt is None:
            self._attempt = asyncio.get_running_loop().create_future()
            self._wanted.set()
        outcome = await asyncio.shield(self._attempt)
        if isinstance(outcome, UpstreamError):
            raise outcome
        return outcome

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_s: float | None,
        progress: ProgressFnT | None,
        meta: Mapping[str, Any] | None,
    ) -> UpstreamResult:
        """Call a tool once; what a crash or a timeout interrupts is not tried again."""
        with self._flight():
            connection = await self.connection()
            return await connection.call_tool(
                tool,
                arguments,
                timeout_s=self.spec.call_timeout_s if timeout_s is None else timeout_s,
                progress=progress,
                meta=meta,
            )

    async def list_tools(self) -> ToolListing:
        """Fetch all tools with what the server says of itself."""
        limit_s = self._shared.limits.list_timeout_s
        with self._flight():
            connection = await self.connection()
            page = partial(connection.list_page, timeout_s=self.spec.call_timeout_s)
            try:
                async with asyncio.timeout(limit_s):
                    listing = await gather_tools(page, limits=self._shared.limits)
            except TimeoutError:
                raise CallTimedOut(
                    server=self.spec.name, what="the list of tools", timeout_s=limit_s
                ) from None
        return replace(
            listing,
            instructions=connection.peer.instructions,
            server_info=connection.peer.info,
            protocol_version=connection.peer.protocol_version,
        )

    async def drained(self) -> None:
        """Wait until no call is in flight."""
        await self._drained.wait()

    def status(self) -> ServerStatus:
        """Say how the server fares."""
        return ServerStatus(
            name=self.spec.name,
            state=self._state,
            last_error=self._last_error,
            last_error_at=self._last_error_at,
            retry_at=self._retry_at() if self._state in ("backoff", "open") else None,
            connected_at=self._connected_at,
            protocol_version=self._peer.protocol_version if self._peer else "",
            server_info=self._peer.info if self._peer else None,
            pid=self._transport.pid if self._transport else None,
            restarts=max(0, self._starts - 1),
            calls_in_flight=self._in_flight,
            messages_dropped=self._dropped
            + (self._transport.messages_dropped if self._transport else 0),
        )

    async def _live_guarded(self) -> None:
        """Live one life of the server and judge its end."""
        try:
            await self._live_once()
        except _Crashed as crash:
            # Whoever waits now, waits for the next life.
            self._count_failure(crash.error)
            if self._circuit.openings:
                self._settle(self._circuit_open())
        except (SpawnFailed, UnsetVariable) as error:
            # Costs nothing to try again, and may be repaired at any time.
            self._note_failure(error, state="failed")
            self._settle(error)
        except UpstreamError as error:
            self._count_failure(error)
            self._settle(error)
        except Exception as error:
            # The top of a task: whatever this server has done, the others must live on.
            log.exception("connection to a server broke down", server=self.spec.name)
            broken = UpstreamError(
                f"the connection broke down ({type(error).__name__}); see the gateway's log",
                server=self.spec.name,
            )
            self._count_failure(broken)
            self._settle(broken)

    async def _live_once(self) -> None:
        async with self._started() as connection:
            self._live = connection
            self._peer = connection.peer
            self._news_due = self._starts > 1
            self._connected_at = self._shared.surroundings.wall()
            self._enter("ready")
            self._settle(connection)
            try:
                await connection.ended.wait()
            finally:
                self._live = None
                self._connected_at = None
                if self._state == "ready":
                    self._state = "idle"  # until its end has been judged
        # By now every call that the end interrupted has been told so.
        if connection.transport.ended_well and not connection.interrupted:
            self._enter("idle")
        else:
            raise _Crashed(connection.transport.why_ended(while_doing="while it was running"))

    @asynccontextmanager
    async def _started(self) -> AsyncIterator[Connection]:
        async with AsyncExitStack() as stack:
            async with self._shared.slots.slot():
                self._enter("connecting")
                self._starts += 1
                connection = await self._connect(stack)
            yield connection

    async def _connect(self, stack: AsyncExitStack) -> Connection:
        """Connect the way it worked last time; if it never did, both ways."""
        try:
            return await stack.enter_async_context(self._one_start(self._era))
        except (ServerExited, UpstreamRefused):
            if self._era is not None:
                raise
        except ConnectTimedOut:
            # The probe may have wedged it. The next start tries the other way.
            self._era = None if self._era or self._peer else "legacy"
            raise
        # A legacy server may dislike being probed so much that it gives up.
        return await stack.enter_async_context(self._one_start("legacy"))

    @asynccontextmanager
    async def _one_start(self, era: Era | None) -> AsyncIterator[Connection]:
        self._transport = self._shared.transport(self.spec)
        try:
            async with connect(
                self.spec, self._transport, era=era, tools_changed=self._tools_changed
            ) as connection:
                self._era = connection.peer.era
                yield connection
        finally:
            self._dropped += self._transport.messages_dropped
            self._transport = None

    @contextmanager
    def _flight(self) -> Iterator[None]:
        """Count a call, and take any answer as a sign of health."""
        self._in_flight += 1
        self._drained.clear()
        try:
            yield
        except UpstreamRefused:
            self._answered()
            raise
        else:
            self._answered()
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._drained.set()

    def _answered(self) -> None:
        self._circuit = breaker.after_success()
        if self._news_due:
            # What changed while it was down, nobody told.
            self._news_due = False
            self._tools_changed()

    def _count_failure(self, error: UpstreamError) -> None:
        self._circuit = breaker.after_failure(
            self._circuit,
            now=self._monotonic(),
            policy=self._shared.policy,
            draw=self._shared.surroundings.rng.random(),
        )
        self._note_failure(error, state="open" if self._circuit.openings else "backoff")

    def _note_failure(self, error: UpstreamError, *, state: State) -> None:
        self._last_error = str(error)
        self._last_error_at = self._shared.surroundings.wall()
        log.warning("server failed", server=self.spec.name, state=state, error=str(error))
        self._enter(state)

    def _circuit_open(self) -> CircuitOpen:
        return CircuitOpen(
            server=self.spec.name, last_error=self._last_error, retry_at=self._retry_at()
        )

    def _settle(self, outcome: Connection | UpstreamError) -> None:
        """Tell all who wait for the current attempt how it ended."""
        attempt, self._attempt = self._attempt, None
        self._wanted.clear()
        if attempt is not None and not attempt.done():
            attempt.set_result(outcome)

    def _enter(self, state: State) -> None:
        self._state = state
        asyncio.get_running_loop().call_soon(self._shared.on_status, self.status())

    def _tools_changed(self) -> None:
        if self._change is None:
            wait_s = max(CHANGES_SETTLE_S, self._next_change_at - self._monotonic())
            self._change = asyncio.get_running_loop().call_later(wait_s, self._report_change)

    def _report_change(self) -> None:
        self._change = None
        self._next_change_at = self._monotonic() + CHANGES_APART_S
        self._shared.on_tools_changed(self.spec.name)

    def _monotonic(self) -> float:
        return self._shared.surroundings.monotonic()

    def _retry_at(self) -> datetime:
        wait_s = breaker.delay_s(self._circuit, now=self._monotonic())
        return self._shared.surroundings.wall() + timedelta(seconds=wait_s)
