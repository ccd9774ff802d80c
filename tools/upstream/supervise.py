"""One task per server: starts it on demand, watches it, restarts it, and opens its circuit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import structlog

from gateway_project.foundation.caller import GATEWAY, Caller
from gateway_project.foundation.redaction import Redactor
from gateway_project.foundation.task_group import TaskGroup
from tools.upstream.breaker import ServerHealth
from tools.upstream.changes import ChangeReporter, SharedSubscriptions
from tools.upstream.connection import Connection
from tools.upstream.errors import (
    ForbiddenAddress,
    InvalidAddress,
    SecretsUnreadable,
    ServerStopped,
    SessionExpired,
    SignInRequired,
    SpawnFailed,
    UnsetVariable,
    UpstreamError,
    UpstreamRefused,
)
from tools.upstream.in_flight import (
    LISTING_EXTENSIONS,
    SHARED_CAPABILITIES,
    ClientProfile,
    InFlightRequest,
    InFlightRequests,
)
from tools.upstream.kinds import ITEMS, TOOLS, ItemKind
from tools.upstream.listing import ItemListing, ToolListing
from tools.upstream.request import CALL_METHOD, Downstream, UpstreamRequest
from tools.upstream.spec import ServerSpec
from tools.upstream.starts import ServerStarter, SupervisorContext
from tools.upstream.status import ListName, ServerPeer, ServerState, ServerStatus

log = structlog.get_logger(__name__)

T = TypeVar("T")

Work = Callable[[Connection], Awaitable[T]]

Admit = Callable[[Connection], Awaitable[None]]
"""Awaited with the connection before a request is sent on it; raises to prevent the request."""


class _ServerCrashed(Exception):
    """The server ended unexpectedly after it had been ready."""

    def __init__(self, error: UpstreamError) -> None:
        self.error = error


class Supervisor:
    """Maintains one connection to a server, in a task of its own.

    Args:
        spec: The server's entry.
        shared: Dependencies shared by all supervisors of the pool.
        group: Runs the task.
        caller: Whose rights the connection carries.
        owner: The client that owns the connection; None: several share it.
        on_roots_asked: As in `ClientProfile`.
        predecessor: The server's previous supervisor, whose state is carried over.
        after: Tasks that must end before anything is started.

    Attributes:
        spec: As above.
        task: Its task.
        subscriptions: Resources that clients follow on this connection.
        last_used_at: When the last request ended, by the monotonic clock.
        has_served: Whether a caller has used it for more than its lists.
        drained: Set while no request is in flight.
    """

    def __init__(  # noqa: PLR0913 - of one caller alone
        self,
        spec: ServerSpec,
        shared: SupervisorContext,
        *,
        group: TaskGroup,
        caller: Caller,
        owner: Downstream | None,
        on_roots_asked: Callable[[InFlightRequest | None], bool],
        predecessor: Supervisor | None = None,
        after: Iterable[asyncio.Task[None]] = (),
    ) -> None:
        self.spec = spec
        self._shared = shared
        self._state: ServerState = "idle"
        self._connected_at: datetime | None = None
        self._health = ServerHealth(
            spec.name, policy=shared.policy, environment=shared.environment
        )
        self._changes = ChangeReporter(
            self._report_list_changed, monotonic=shared.environment.monotonic
        )
        same = predecessor if predecessor and predecessor.spec == spec else None
        self._flights = InFlightRequests(caller, owner=owner)
        client = ClientProfile(
            capabilities=_announced_capabilities(owner),
            flights=self._flights,
            on_list_changed=self._changes.note_change,
            on_resource_updated=self._report_resource_updated,
            on_roots_asked=on_roots_asked,
        )
        self._starter: ServerStarter = ServerStarter(
            spec,
            shared,
            client=client,
            caller=caller,
            predecessor=same._starter if same else None,
        )
        self.subscriptions: SharedSubscriptions = SharedSubscriptions(
            spec.name,
            before=predecessor.subscriptions if predecessor and not spec.is_personal else (),
            limit=shared.limits.max_subscriptions,
        )
        self._was_ready = False
        self._are_lists_outdated = False
        self._live: Connection | None = None
        self._stopped_idle: Connection | None = None
        self.drained = asyncio.Event()
        self.drained.set()
        self._wanted = asyncio.Event()
        self._attempt: asyncio.Future[Connection | UpstreamError] | None = None
        self.last_used_at = self._monotonic()
        self.has_served = False
        self.task: asyncio.Task[None] = group.create_task(
            self._run(after), name=f"upstream {spec.name}"
        )

    @property
    def is_in_use(self) -> bool:
        """Whether a request is in flight or a resource is subscribed to."""
        return bool(self._flights) or bool(self.subscriptions)

    @property
    def announces_tools(self) -> bool:
        """Whether the server has said that its tools changed, and this is not reported yet."""
        return self._changes.is_due("tools")

    @property
    def capabilities(self) -> Mapping[str, Any] | None:
        """Capabilities the server last declared."""
        peer = self._starter.peer
        return peer.capabilities if peer else None

    @property
    def redactor(self) -> Redactor | None:
        """Removes the server's secrets from texts; None before its first start."""
        return self._starter.redactor

    async def _run(self, after: Iterable[asyncio.Task[None]]) -> None:
        """Serve until cancelled."""
        try:
            if predecessors := set(after):
                await asyncio.wait(predecessors)
            if self.spec.unreadable:  # told at once, not only when somebody calls it
                unreadable = SecretsUnreadable(self.spec.unreadable, server=self.spec.name)
                self._health.record_error(unreadable, state="failed")
                self._enter_state("failed")
            while True:
                await self._wanted.wait()
                await asyncio.sleep(self._health.retry_delay_s)
                await self._serve_guarded()
                if self.subscriptions and self._state in ("backoff", "open"):
                    self._wanted.set()  # subscribers wait without sending requests
        finally:
            self._close()

    def end(self) -> None:
        """Accept no more calls, and have the task stop the server."""
        self._close()
        self.task.cancel()

    def _close(self) -> None:
        self._changes.close()
        if self._state != "stopped":
            self._enter_state("stopped")
        self._resolve_attempt(ServerStopped(self.spec.name))

    async def get_connection(self) -> Connection:
        """Return the live connection, starting the server if necessary.

        Raises:
            CircuitOpen: Immediately, while the circuit is open.
            UpstreamError: If it cannot be started.
        """
        if self._live is not None and not self._live.is_over:
            return self._live
        if self._state == "stopped":
            raise ServerStopped(self.spec.name)
        if self._health.is_suspended:
            raise self._health.make_circuit_open_error()
        if self._attempt is None:
            self._attempt = asyncio.get_running_loop().create_future()
            self._wanted.set()
        outcome = await asyncio.shield(self._attempt)
        if isinstance(outcome, UpstreamError):
            raise outcome
        return outcome

    async def request(
        self, request: UpstreamRequest, *, caller: Caller, admit: Admit
    ) -> dict[str, Any]:
        """Send a request once; it is not retried after a crash or a timeout."""
        self.has_served = self.has_served or caller != GATEWAY
        with self._track_request(request, caller) as flight:
            return await self._run_on_connection(
                lambda connection: connection.request(flight),
                admit=admit,
                is_read=request.method != CALL_METHOD,
            )

    async def list_tools(self) -> ToolListing:
        """Fetch all tools together with the server's description of itself."""
        with self._track_request(UpstreamRequest(method=TOOLS.method, params={}), GATEWAY):
            return await self._run_on_connection(lambda connection: connection.list_tools())

    async def list_items(self, kind: ItemKind, *, caller: Caller) -> ItemListing:
        """Fetch all resources, templates or prompts."""
        with self._track_request(UpstreamRequest(method=ITEMS[kind].method, params={}), caller):
            return await self._run_on_connection(lambda connection: connection.list_items(kind))

    async def change_subscription(self, uri: str, *, on: bool, caller: Caller) -> dict[str, Any]:
        """Subscribe a client to changes of a resource, or unsubscribe it."""
        method = "resources/subscribe" if on else "resources/unsubscribe"
        follower = caller.client_key
        with self._track_request(UpstreamRequest(method=method, params={}), caller):
            if on:
                add = partial(self.subscriptions.add, uri, follower=follower)
                return await self._run_on_connection(lambda connection: add(connection=connection))
            return await self.subscriptions.remove(uri, follower=follower, connection=self._live)

    def give_to(self, caller: Caller, owner: Downstream) -> None:
        """Make the connection a client's own: nobody else uses it any more."""
        self._flights.caller, self._flights.owner = caller, owner
        self.subscriptions.retain_followers(lambda follower: follower == caller.client_key)

    def stop_if_unused(self) -> None:
        """Stop the server unless a caller has used it, who may rely on what it remembers.

        Its next use starts it again.
        """
        is_used = self.has_served or self.is_in_use
        if self._live is not None and not self._live.is_over and not is_used:
            self._stopped_idle = self._live
            self._live.ended.set()  # from now on, calls wait for the next start

    @property
    def recent_output(self) -> tuple[str, ...]:
        """The server's last output outside the protocol, from its current or last run."""
        origin = self._starter.origin
        return origin.last_lines if origin else ()

    def status(self) -> ServerStatus:
        """Return the server's status."""
        starter, health = self._starter, self._health
        peer, transport = starter.peer, starter.transport
        return ServerStatus(
            name=self.spec.name,
            state=self._state,
            last_error=health.last_error,
            last_error_at=health.last_error_at,
            last_output=health.last_output,
            retry_at=health.retry_at if self._state in ("backoff", "open") else None,
            connected_at=self._connected_at,
            protocol_version=peer.protocol_version if peer else "",
            pid=transport.pid if transport else None,
            restarts=max(0, starter.count - 1),
            calls_in_flight=len(self._flights),
            messages_dropped=starter.messages_dropped,
        )

    async def _run_on_connection(
        self, work: Work[T], *, admit: Admit | None = None, is_read: bool = True
    ) -> T:
        """Do work on the live connection, and once more if the server had dropped the session.

        Only reads are repeated if the server may have done the work first.
        """
        connection = await self._get_admitted_connection(admit)
        try:
            return await work(connection)
        except SessionExpired as error:
            if not connection.is_over or not (is_read or error.is_unsent):
                raise
        return await work(await self._get_admitted_connection(admit))

    async def _get_admitted_connection(self, admit: Admit | None) -> Connection:
        connection = await self.get_connection()
        while admit is not None:
            await admit(connection)
            if not connection.is_over:
                break
            connection = await self.get_connection()  # a new connection must be admitted too
        return connection

    async def _serve_guarded(self) -> None:
        """Run the server once, and record how it ended."""
        try:
            await self._serve_once()
        except _ServerCrashed as crash:
            # The current attempt stays open: its callers wait for the next start.
            self._starter.attach_output(crash.error)
            self._enter_state(self._health.record_failure(crash.error))
            if self._health.has_opened:
                self._resolve_attempt(self._health.make_circuit_open_error())
        except (
            SecretsUnreadable,
            SpawnFailed,
            UnsetVariable,
            InvalidAddress,
            ForbiddenAddress,
            SignInRequired,
        ) as error:
            # Retrying is cheap and the cause may be fixed at any time: the circuit stays closed.
            self._starter.attach_output(error)
            self._health.record_error(error, state="failed")
            self._enter_state("failed")
            self._resolve_attempt(error)
        except UpstreamError as error:
            self._starter.attach_output(error)
            self._enter_state(self._health.record_failure(error))
            self._resolve_attempt(error)
        except Exception as error:
            # Top of a task: one server's failure must not end the others.
            log.exception("server.connection_crashed", server=self.spec.name)
            broken = UpstreamError(
                f"the connection broke down ({type(error).__name__}); see the gateway's log",
                server=self.spec.name,
            )
            self._enter_state(self._health.record_failure(broken))
            self._resolve_attempt(broken)

    async def _serve_once(self) -> None:
        async with self._starter.start(
            begun=lambda: self._enter_state("connecting")
        ) as connection:
            self._live = connection
            self._are_lists_outdated, self._was_ready = self._was_ready, True
            self._connected_at = self._shared.environment.wall_clock()
            self._enter_state("ready")
            self._resolve_attempt(connection)
            try:
                is_idle = await self._wait_until_over(connection)
            finally:
                self._live = None
                self._connected_at = None
                if self._state == "ready":
                    self._state = "idle"  # until its end has been classified
        # By now every interrupted call has received its error.
        if is_idle:
            self._starter.count -= 1
        if is_idle or (connection.transport.has_ended_cleanly and not connection.interrupted):
            self._enter_state("idle")
        else:
            raise _ServerCrashed(
                connection.transport.make_end_error(while_doing="while it was running")
            )

    async def _wait_until_over(self, connection: Connection) -> bool:
        """Wait until the server has ended or is idle.

        Returns:
            Whether it is to be stopped because it is idle.
        """
        async with TaskGroup() as group:
            resubscription = group.create_task(
                self.subscriptions.resubscribe(connection, updated=self._report_resource_updated)
            )
            is_idle = await self._wait_until_ended_or_idle(connection)
            resubscription.cancel()
        return is_idle

    async def _wait_until_ended_or_idle(self, connection: Connection) -> bool:
        idle_s = self._idle_limit_s(connection.peer)
        while not connection.ended.is_set():
            unused_s = 0.0 if self.is_in_use else self._monotonic() - self.last_used_at
            if idle_s and unused_s >= idle_s:
                connection.ended.set()  # from now on, calls wait for the next start
                return True
            with suppress(TimeoutError):
                async with asyncio.timeout(idle_s - unused_s if idle_s else None):
                    await connection.ended.wait()
        return self._stopped_idle is connection

    def _idle_limit_s(self, peer: ServerPeer) -> float:
        """Return the seconds without use after which the server is stopped; 0: never."""
        spec, shared = self.spec, self._shared
        if spec.is_personal or self._flights.owner is not None:
            return shared.session_idle_s
        if spec.idle_stop_s is not None:
            return spec.idle_stop_s
        return shared.idle_stop_s if spec.transport == "stdio" and peer.era == "modern" else 0.0

    @contextmanager
    def _track_request(
        self, request: UpstreamRequest, caller: Caller
    ) -> Iterator[InFlightRequest]:
        """Count a request as in flight; any answer to it closes the circuit."""
        own_limit_s = request.timeout_s
        flight = InFlightRequest(
            request=request,
            caller=caller,
            timeout_s=self.spec.call_timeout_s if own_limit_s is None else own_limit_s,
            max_s=self._shared.limits.max_call_s if request.is_extensible else 0.0,
        )
        self._flights.add(flight)
        self.drained.clear()
        try:
            yield flight
        except UpstreamError as error:
            self._starter.redact(error)
            if isinstance(error, UpstreamRefused):
                self._record_answer()
            raise
        else:
            self._record_answer()
        finally:
            self.last_used_at = self._monotonic()
            self._flights.remove(flight)
            if not self._flights:
                self.drained.set()

    def _record_answer(self) -> None:
        self._health.record_answer()
        if self._are_lists_outdated:
            # Changes made while it was down were never reported.
            self._are_lists_outdated = False
            for kind in self._starter.peer.offered_kinds() if self._starter.peer else ():
                self._changes.note_change(kind)

    def _resolve_attempt(self, outcome: Connection | UpstreamError) -> None:
        """Resolve the current connection attempt for all its waiters."""
        attempt, self._attempt = self._attempt, None
        self._wanted.clear()
        if attempt is not None and not attempt.done():
            attempt.set_result(outcome)

    def _enter_state(self, state: ServerState) -> None:
        self._state = state
        asyncio.get_running_loop().call_soon(self._shared.on_status, self.status())

    def _report_list_changed(self, kind: ListName) -> None:
        if kind == "tools" and self._live is not None:
            self._live.tools_changed += 1
        self._shared.on_changed(self.spec.name, kind)

    def _report_resource_updated(self, uri: str) -> None:
        if clients := self.subscriptions.list_followers(uri):
            self._shared.on_updated(self.spec.name, uri, clients)

    def _monotonic(self) -> float:
        return self._shared.environment.monotonic()


def _announced_capabilities(owner: Downstream | None) -> Mapping[str, Any]:
    """Return the client capabilities declared to a handshake-era server."""
    offered = SHARED_CAPABILITIES if owner is None else owner.capabilities
    extensions = {**LISTING_EXTENSIONS, **offered.get("extensions", {})}
    named = {name: offered[name] for name in SHARED_CAPABILITIES if name in offered}
    return {**named, "extensions": extensions}
