"""One task per server: started when needed, watched, started again, left alone when hopeless."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import structlog

from tools.upstream.changes import Changes
from tools.upstream.client import SHARED_CAPABILITIES, Client, Listeners
from tools.upstream.connection import Connection
from tools.upstream.downstream import NOBODY, Downstream
from tools.upstream.errors import (
    BadAddress,
    ForbiddenAddress,
    ServerStopped,
    SessionExpired,
    SignInRequired,
    SpawnFailed,
    UnsetVariable,
    UpstreamError,
    UpstreamRefused,
)
from tools.upstream.flights import Flight, Flights, Request
from tools.upstream.followed import Followed
from tools.upstream.health import Health
from tools.upstream.kinds import ITEMS, TOOLS, ItemKind
from tools.upstream.listing import Listing, ToolListing
from tools.upstream.peer import Peer
from tools.upstream.shared import Shared
from tools.upstream.spec import ServerSpec
from tools.upstream.starts import Starts
from tools.upstream.status import Kind, ServerStatus, State

log = structlog.get_logger(__name__)

T = TypeVar("T")

Work = Callable[[Connection], Awaitable[T]]

Admit = Callable[[Connection], Awaitable[None]]
"""Awaited with the connection that a request is about to go out on; raises to prevent it."""


class _Crashed(Exception):
    """The server ended after it had been ready."""

    def __init__(self, error: UpstreamError) -> None:
        self.error = error


class Supervisor:
    """Keeps one connection to a server. `run` is its task; the rest may be called from any task.

    Args:
        spec: The server's entry.
        shared: What it has in common with the others.
        caller: Whose own connection it is; nobody's is shared by all.
        predecessor: Who kept the server before; what it learned stays known.
    """

    def __init__(
        self,
        spec: ServerSpec,
        shared: Shared,
        *,
        caller: Downstream = NOBODY,
        predecessor: Supervisor | None = None,
    ) -> None:
        self.spec = spec
        self._shared = shared
        self._state: State = "idle"
        self._connected_at: datetime | None = None
        self._health = Health(spec.name, policy=shared.policy, surroundings=shared.surroundings)
        self._changes = Changes(self._changed, monotonic=shared.surroundings.monotonic)
        same = predecessor if predecessor and predecessor.spec == spec else None
        self._flights = Flights(caller)
        client = Client(
            capabilities=_announced(caller),
            flights=self._flights,
            listeners=Listeners(changed=self._changes.note, updated=self._resource_updated),
            limits=shared.limits,
        )
        self._starts: Starts = Starts(
            spec, shared, client=client, user=caller.user, before=same._starts if same else None
        )
        self._followed: Followed = Followed(
            spec.name,
            before=predecessor._followed if predecessor else (),
            limit=shared.limits.max_subscriptions,
        )
        self._was_ready = False
        self._news_due = False
        self._live: Connection | None = None
        self._drained = asyncio.Event()
        self._drained.set()
        self._wanted = asyncio.Event()
        self._attempt: asyncio.Future[Connection | UpstreamError] | None = None
        self.last_used_at = self._monotonic()

    @property
    def in_use(self) -> bool:
        """Whether a request is under way, or somebody waits for news of a resource."""
        return bool(self._flights) or bool(self._followed)

    @property
    def capabilities(self) -> Mapping[str, Any] | None:
        """What the server last said it can do."""
        peer = self._starts.peer
        return peer.capabilities if peer else None

    async def run(self, *, after: Iterable[asyncio.Task[None]] = ()) -> None:
        """Serve until cancelled.

        Args:
            after: The predecessor's tasks, to be over before this one starts anything.
        """
        try:
            if predecessors := set(after):
                await asyncio.wait(predecessors)
            while True:
                await self._wanted.wait()
                await asyncio.sleep(self._health.delay_s)
                await self._live_guarded()
                if self._followed and self._state in ("backoff", "open"):
                    self._wanted.set()  # who waits for news does not ask for it
        finally:
            self.close()

    def close(self) -> None:
        """Take no more calls. Ending the server is left to the end of `run`."""
        self._changes.close()
        if self._state != "stopped":
            self._enter("stopped")
        self._settle(ServerStopped(self.spec.name))

    async def connection(self) -> Connection:
        """Return the live connection, starting the server if need be.

        Raises:
            CircuitOpen: At once, if the server is left alone for now.
            UpstreamError: If it cannot be started.
        """
        if self._live is not None and not self._live.is_over:
            return self._live
        if self._state == "stopped":
            raise ServerStopped(self.spec.name)
        if self._health.position == "open":
            raise self._health.refusal()
        if self._attempt is None:
            self._attempt = asyncio.get_running_loop().create_future()
            self._wanted.set()
        outcome = await asyncio.shield(self._attempt)
        if isinstance(outcome, UpstreamError):
            raise outcome
        return outcome

    async def request(self, request: Request, *, admit: Admit | None = None) -> dict[str, Any]:
        """Send a request once; what a crash or a timeout interrupts is not tried again."""
        with self._flight(request) as flight:
            return await self._do(lambda connection: connection.request(flight), admit=admit)

    async def list_tools(self) -> ToolListing:
        """Fetch all tools with what the server says of itself."""
        with self._flight(self._own(TOOLS.method)):
            return await self._do(_tools_and_more)

    async def list_items(self, kind: ItemKind) -> Listing:
        """Fetch all resources, templates or prompts."""
        with self._flight(self._own(ITEMS[kind].method)):
            return await self._do(lambda connection: connection.list_items(kind))

    async def follow(self, uri: str, *, on: bool, follower: str) -> dict[str, Any]:
        """Begin or stop to hear of changes of a resource on behalf of a client."""
        with self._flight(self._own("resources/subscribe" if on else "resources/unsubscribe")):
            if on:
                add = partial(self._followed.add, uri, follower=follower)
                return await self._do(lambda connection: add(connection=connection))
            return await self._followed.remove(uri, follower=follower, connection=self._live)

    async def drained(self) -> None:
        """Wait until no call is in flight."""
        await self._drained.wait()

    def status(self) -> ServerStatus:
        """Say how the server fares."""
        starts, health = self._starts, self._health
        peer, transport = starts.peer, starts.transport
        return ServerStatus(
            name=self.spec.name,
            state=self._state,
            last_error=health.last_error,
            last_error_at=health.last_error_at,
            retry_at=health.retry_at if self._state in ("backoff", "open") else None,
            connected_at=self._connected_at,
            protocol_version=peer.protocol_version if peer else "",
            server_info=peer.info if peer else None,
            pid=transport.pid if transport else None,
            restarts=max(0, starts.count - 1),
            calls_in_flight=len(self._flights),
            messages_dropped=starts.messages_dropped,
        )

    async def _do(self, work: Work[T], *, admit: Admit | None = None) -> T:
        """Do something on the live connection; anew if the server had forgotten the session.

        That is safe, for then it has carried out nothing.
        """
        connection = await self._admitted(admit)
        try:
            return await work(connection)
        except SessionExpired:
            if not connection.is_over:
                raise
        return await work(await self._admitted(admit))

    async def _admitted(self, admit: Admit | None) -> Connection:
        connection = await self.connection()
        while admit is not None:
            await admit(connection)
            if not connection.is_over:
                break
            connection = await self.connection()  # another life, to be admitted anew
        return connection

    async def _live_guarded(self) -> None:
        """Live one life of the server and judge its end."""
        try:
            await self._live_once()
        except _Crashed as crash:
            # Whoever waits now, waits for the next life.
            self._enter(self._health.failed(crash.error))
            if self._health.is_broken:
                self._settle(self._health.refusal())
        except (SpawnFailed, UnsetVariable, BadAddress, ForbiddenAddress, SignInRequired) as error:
            # Costs nothing to try again, and may be repaired at any time.
            self._health.note(error, state="failed")
            self._enter("failed")
            self._settle(error)
        except UpstreamError as error:
            self._enter(self._health.failed(error))
            self._settle(error)
        except Exception as error:
            # The top of a task: whatever this server has done, the others must live on.
            log.exception("connection to a server broke down", server=self.spec.name)
            broken = UpstreamError(
                f"the connection broke down ({type(error).__name__}); see the gateway's log",
                server=self.spec.name,
            )
            self._enter(self._health.failed(broken))
            self._settle(broken)

    async def _live_once(self) -> None:
        async with self._starts.start(begun=lambda: self._enter("connecting")) as connection:
            self._live = connection
            self._news_due, self._was_ready = self._was_ready, True
            self._connected_at = self._shared.surroundings.wall()
            self._enter("ready")
            self._settle(connection)
            try:
                is_idle = await self._until_over(connection)
            finally:
                self._live = None
                self._connected_at = None
                if self._state == "ready":
                    self._state = "idle"  # until its end has been judged
        # By now every call that the end interrupted has been told so.
        if is_idle:
            self._starts.count -= 1
        if is_idle or (connection.transport.ended_well and not connection.interrupted):
            self._enter("idle")
        else:
            raise _Crashed(connection.transport.why_ended(while_doing="while it was running"))

    async def _until_over(self, connection: Connection) -> bool:
        """Wait until the server has ended, or is to be stopped because nobody uses it.

        Returns:
            Whether it is to be stopped.
        """
        async with asyncio.TaskGroup() as group:
            again = group.create_task(
                self._followed.again(connection, updated=self._resource_updated)
            )
            is_idle = await self._ended_or_idle(connection)
            again.cancel()
        return is_idle

    async def _ended_or_idle(self, connection: Connection) -> bool:
        idle_s = self._idle_s(connection.peer)
        while not connection.ended.is_set():
            unused_s = 0.0 if self.in_use else self._monotonic() - self.last_used_at
            if idle_s and unused_s >= idle_s:
                connection.ended.set()  # from now on, a call waits for the next life
                return True
            with suppress(TimeoutError):
                async with asyncio.timeout(idle_s - unused_s if idle_s else None):
                    await connection.ended.wait()
        return False

    def _idle_s(self, peer: Peer) -> float:
        """Return after how long without use the server is stopped; 0: never."""
        spec, shared = self.spec, self._shared
        if spec.is_personal:
            return shared.session_idle_s
        if spec.idle_stop_s is not None:
            return spec.idle_stop_s
        return shared.idle_stop_s if spec.transport == "stdio" and peer.era == "modern" else 0.0

    @contextmanager
    def _flight(self, request: Request) -> Iterator[Flight]:
        """Count a request, and take any answer as a sign of health."""
        flight = Flight(request=request)
        self._flights.begin(flight)
        self._drained.clear()
        try:
            yield flight
        except UpstreamRefused:
            self._answered()
            raise
        else:
            self._answered()
        finally:
            self.last_used_at = self._monotonic()
            self._flights.end(flight)
            if not self._flights:
                self._drained.set()

    def _answered(self) -> None:
        self._health.answered()
        if self._news_due:
            # What changed while it was down, nobody told.
            self._news_due = False
            for kind in self._starts.peer.offers() if self._starts.peer else ():
                self._changes.note(kind)

    def _own(self, method: str) -> Request:
        return Request(method=method, params={}, timeout_s=self.spec.call_timeout_s)

    def _settle(self, outcome: Connection | UpstreamError) -> None:
        """Tell all who wait for the current attempt how it ended."""
        attempt, self._attempt = self._attempt, None
        self._wanted.clear()
        if attempt is not None and not attempt.done():
            attempt.set_result(outcome)

    def _enter(self, state: State) -> None:
        self._state = state
        asyncio.get_running_loop().call_soon(self._shared.on_status, self.status())

    def _changed(self, kind: Kind) -> None:
        if kind == "tools" and self._live is not None:
            self._live.tools_changed += 1
        self._shared.on_changed(self.spec.name, kind)

    def _resource_updated(self, uri: str) -> None:
        if sessions := self._followed.followers(uri):
            self._shared.on_updated(self.spec.name, uri, sessions)

    def _monotonic(self) -> float:
        return self._shared.surroundings.monotonic()


async def _tools_and_more(connection: Connection) -> ToolListing:
    listing, peer = await connection.list_tools(), connection.peer
    return replace(
        listing,
        instructions=peer.instructions,
        server_info=peer.info,
        protocol_version=peer.protocol_version,
        capabilities=frozenset(peer.capabilities),
    )


def _announced(caller: Downstream) -> Mapping[str, Any]:
    """Return what a server of the old era is told that it may ask."""
    if not caller.session:
        return SHARED_CAPABILITIES
    can = caller.capabilities
    return {name: can[name] for name in SHARED_CAPABILITIES if name in can}
