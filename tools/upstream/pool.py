"""The pool of all upstream servers of a gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any, Self

from gateway_project.foundation.caller import GATEWAY, Caller, SessionKey
from gateway_project.foundation.task_group import TaskGroup
from tools.upstream.breaker import RetryPolicy, UpstreamEnvironment
from tools.upstream.connection import Connection
from tools.upstream.entry import ServerEntry, SupervisorKey
from tools.upstream.errors import UnknownServer, UpstreamError
from tools.upstream.http.remote import RemoteTransports
from tools.upstream.kinds import ItemKind
from tools.upstream.limits import UpstreamLimits
from tools.upstream.listing import ItemListing, ToolListing
from tools.upstream.request import NO_CLIENT, Downstream, UpstreamRequest
from tools.upstream.result import UpstreamResult
from tools.upstream.spec import ServerSpec, resolve_launch
from tools.upstream.starts import StartSlots, SupervisorContext
from tools.upstream.status import ListName, ServerStatus
from tools.upstream.stdio import StdioTransport
from tools.upstream.supervise import Admit
from tools.upstream.transport import UpstreamTransport
from tools.upstream.watch import GatewayWatcher

_SUBSCRIPTION_METHODS: Mapping[str, bool] = {
    "resources/subscribe": True,
    "resources/unsubscribe": False,
}


class UpstreamPool:
    """Starts servers on first use, isolates them from each other, and stops them on exit.

    Use as an async context manager, entered and left in one task. Methods may be called from any
    task of the same event loop.

    Args:
        specs: Initial servers.
        limits: Caps on what a server may send and consume.
        policy: When to retry a failing server.
        environment: Clocks, randomness, environment variables.
        on_status: Called in the event loop with each new state of a server.
        on_changed: Called in the event loop with a server's name and the list that changed:
            `tools`, `prompts` or `resources`. Bursts are debounced.
        on_updated: Called in the event loop with a server's name, the URI of a subscribed resource
            whose content changed, and the `client_key`s that follow it.
        remote: Connects to remote servers; closed with the pool.
        idle_stop_s: Seconds without a call after which a server that is stateless by protocol is
            stopped, unless its entry overrides it; 0: never.
        session_idle_s: Seconds without a call after which a caller's own connection ends.
    """

    def __init__(  # noqa: PLR0913 - all optional
        self,
        specs: Iterable[ServerSpec] = (),
        *,
        limits: UpstreamLimits | None = None,
        policy: RetryPolicy | None = None,
        environment: UpstreamEnvironment | None = None,
        on_status: Callable[[ServerStatus], None] | None = None,
        on_changed: Callable[[str, ListName], None] | None = None,
        on_updated: Callable[[str, str, Collection[SessionKey]], None] | None = None,
        remote: RemoteTransports | None = None,
        idle_stop_s: float = 0.0,
        session_idle_s: float = 1_800.0,
    ) -> None:
        limits = limits or UpstreamLimits()
        self._specs = tuple(specs)
        self._entries: dict[str, ServerEntry] = {}
        self._leaving: set[ServerEntry] = set()
        self._group = TaskGroup()
        self._watcher = GatewayWatcher()
        self._remote = remote or RemoteTransports()
        self._shared = SupervisorContext(
            limits=limits,
            policy=policy or RetryPolicy(),
            environment=environment or UpstreamEnvironment(),
            slots=StartSlots(count=limits.concurrent_starts, hold_s=limits.start_slot_s),
            transport=self._make_transport,
            on_status=on_status or _ignore,
            on_changed=on_changed or _ignore,
            on_updated=on_updated or _ignore,
            idle_stop_s=idle_stop_s,
            session_idle_s=session_idle_s,
        )

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self.set_servers(self._specs)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
        # The tasks have ended; given the exception, the group would only wrap it.
        await self._group.__aexit__(None, None, None)

    def set_servers(self, specs: Iterable[ServerSpec]) -> None:
        """Replace the set of servers.

        Servers with an unchanged entry keep running. A removed or changed server accepts no new
        calls and ends once its calls in flight have finished, each within its timeout; a changed
        one is replaced immediately.
        """
        wanted = {spec.name: spec for spec in specs}
        before: dict[str, ServerEntry] = {}
        for name, entry in list(self._entries.items()):
            if wanted.get(name) != entry.spec:
                before[name] = self._entries.pop(name)
                self._leaving.add(entry)
                self._group.create_task(self._retire(entry))
        for name, spec in wanted.items():
            if name not in self._entries:
                self._make_entry(spec, predecessor=before.get(name))

    async def warm_up(self, *names: str) -> Mapping[str, UpstreamError]:
        """Start servers ahead of their first use, all by default.

        Returns:
            Errors of the servers that could not be started, by name.
        """
        failures: dict[str, UpstreamError] = {}

        async def start(name: str) -> None:
            try:
                await self._get_entry(name).main.get_connection()
            except UpstreamError as error:
                failures[name] = error

        async with TaskGroup() as group:
            for name in names or tuple(self._entries):
                group.create_task(start(name))
        return failures

    async def start_ahead(self, names: Iterable[str], *, unused_stop_s: float) -> None:
        """Start shared servers before they are called, and stop those that are not, in the end.

        One that asks for roots is stopped at once: it serves each client that has some on a
        connection of its own. Errors are left to the first call.

        Args:
            names: Servers; personal and unknown ones are skipped.
            unused_stop_s: Seconds after which one that nobody has called is stopped.
        """
        known = (entry for name in names if (entry := self._entries.get(name)) is not None)
        entries = [entry for entry in known if not entry.spec.is_personal]
        async with TaskGroup() as group:
            for entry in entries:
                group.create_task(_start_ahead(entry))
        await asyncio.sleep(unused_stop_s)
        for entry in entries:
            entry.main.stop_if_unused()

    async def list_tools(self, server: str) -> ToolListing:
        """Fetch all tools of a server, starting it if necessary.

        Raises:
            UpstreamError: If the listing cannot be fetched.
        """
        return await self._get_entry(server).main.list_tools()

    async def call_tool(
        self, server: str, request: UpstreamRequest, *, caller: Caller, admit: Admit | None = None
    ) -> UpstreamResult:
        """Call a tool with a caller's rights, starting its server if necessary.

        A timeout or cancellation cancels the call upstream and does not affect other calls to the
        same server. A call is never sent twice.

        Args:
            server: The server's name.
            request: The call, with the tool's name at the server.
            caller: Whose rights it carries; not the gateway.
            admit: Awaited with the connection before the call is sent, and again for its successor
                if that connection ended meanwhile; may raise to prevent the call.

        Returns:
            The result exactly as the server sent it, conforming or not; may ask for input.

        Raises:
            UpstreamError: If there is no result.
        """
        entry = self._get_callers_entry(server, caller)
        return await entry.request(request, caller=caller, admit=admit or _admit)

    async def request(
        self, server: str, request: UpstreamRequest, *, caller: Caller
    ) -> dict[str, Any]:
        """Send any other request of a caller to a server, starting it if necessary.

        A resource is subscribed to once for all callers, as the server's era defines it, and
        again after each restart.

        Returns:
            The result exactly as the server sent it.

        Raises:
            UpstreamError: If there is no result.
        """
        entry = self._get_callers_entry(server, caller)
        uri = request.params.get("uri")
        if request.method in _SUBSCRIPTION_METHODS and isinstance(uri, str):
            is_on = _SUBSCRIPTION_METHODS[request.method]
            supervisor = entry.get_supervisor(caller, request.downstream)
            return await supervisor.change_subscription(uri, on=is_on, caller=caller)
        return (await entry.request(request, caller=caller, admit=_admit)).raw

    async def read_for_pin(self, server: str, uri: str) -> dict[str, Any]:
        """Read a resource for the gateway itself, to pin it: a page, or a file of a skill.

        Raises:
            UpstreamError: If there is no result.
        """
        request = UpstreamRequest(method="resources/read", params={"uri": uri})
        return (await self._get_entry(server).request(request, caller=GATEWAY, admit=_admit)).raw

    async def list_items(
        self, server: str, kind: ItemKind, *, caller: Caller, downstream: Downstream = NO_CLIENT
    ) -> ItemListing:
        """Fetch all resources, templates or prompts that a server has for a caller.

        Lists that all callers share are fetched by the gateway.

        Raises:
            UpstreamError: If the listing cannot be fetched.
        """
        supervisor = self._get_entry(server).get_supervisor(caller, downstream)
        return await supervisor.list_items(kind, caller=caller)

    def find_connection_key(
        self, server: str, *, caller: Caller, downstream: Downstream
    ) -> SupervisorKey | None:
        """Return what tells a caller's connection from others; None: it is shared by all.

        Raises:
            UnknownServer: If no server has that name.
        """
        return self._get_entry(server).find_key(caller, downstream)

    def get_capabilities(self, server: str) -> Mapping[str, Any] | None:
        """Return the capabilities a server last declared; None if it was never connected.

        Raises:
            UnknownServer: If no server has that name.
        """
        return self._get_entry(server).capabilities

    def get_status(self, server: str) -> ServerStatus:
        """Return the status of a server.

        Raises:
            UnknownServer: If no server has that name.
        """
        return self._get_entry(server).status()

    def list_statuses(self) -> dict[str, ServerStatus]:
        """Return the status of each server, by name."""
        return {name: entry.status() for name, entry in sorted(self._entries.items())}

    def find_status(self, server: str) -> ServerStatus | None:
        """Return the status of one server; None if no server has that name."""
        entry = self._entries.get(server)
        return None if entry is None else entry.status()

    def list_announcing(self) -> list[str]:
        """Return the servers that said their tools changed, while `on_changed` is still due."""
        return [name for name, entry in self._entries.items() if entry.announces_tools]

    def get_recent_output(self, server: str) -> tuple[str, ...]:
        """Return a server's last output outside the protocol, oldest line first, redacted.

        Raises:
            UnknownServer: If no server has that name.
        """
        return self._get_entry(server).main.recent_output

    def reset(self, name: str) -> None:
        """Stop a server and reset its circuit; its next use starts it again without delay.

        Calls in flight fail.

        Raises:
            UnknownServer: If no server has that name.
        """
        old = self._get_entry(name)
        old.end()
        self._make_entry(old.spec, predecessor=old, after=old.tasks)

    def stop_if_unused(self, name: str) -> None:
        """Stop a server that no caller has used; its next use starts it again.

        Raises:
            UnknownServer: If no server has that name.
        """
        self._get_entry(name).main.stop_if_unused()

    async def aclose(self) -> None:
        """Stop all servers, interrupting calls in flight, within about six seconds."""
        tasks: set[asyncio.Task[None]] = set()
        for entry in (*self._entries.values(), *self._leaving):
            entry.end()
            tasks |= entry.tasks
        if tasks:
            await asyncio.wait(tasks)
        await self._remote.aclose()
        await self._watcher.aclose()

    async def _retire(self, entry: ServerEntry) -> None:
        """Let a server finish its calls in flight, then stop it."""
        await entry.wait_until_drained()
        entry.end()
        await asyncio.wait(entry.tasks)
        self._leaving.discard(entry)

    def _make_entry(
        self,
        spec: ServerSpec,
        *,
        predecessor: ServerEntry | None = None,
        after: Iterable[asyncio.Task[None]] = (),
    ) -> ServerEntry:
        entry = self._entries[spec.name] = ServerEntry(
            spec, self._shared, group=self._group, predecessor=predecessor, after=after
        )
        return entry

    def _get_entry(self, name: str) -> ServerEntry:
        if name not in self._entries:
            raise UnknownServer(name)
        return self._entries[name]

    def _get_callers_entry(self, server: str, caller: Caller) -> ServerEntry:
        """Return the entry of a server that is to do what a caller asks for.

        Raises:
            UpstreamError: If it is the gateway that asks: it may list only.
        """
        if caller == GATEWAY:
            raise UpstreamError("is called by the gateway itself, which only lists", server=server)
        return self._get_entry(server)

    def _make_transport(self, spec: ServerSpec, caller: Caller) -> UpstreamTransport:
        environment, limits = self._shared.environment, self._shared.limits
        if spec.transport != "stdio":
            return self._remote.make_transport(
                spec, caller=caller, limits=limits, environment=environment
            )
        return StdioTransport(
            spec,
            resolve_launch(spec, environment.environ),
            limits=limits,
            watcher=self._watcher,
            monotonic=environment.monotonic,
        )


async def _start_ahead(entry: ServerEntry) -> None:
    with suppress(UpstreamError):
        await (await entry.main.get_connection()).settle_roots()
        if entry.asks_for_roots:
            entry.main.stop_if_unused()


async def _admit(_connection: Connection) -> None:
    """Admit every request; the default."""


def _ignore(*_: object) -> None:
    """Do nothing; the default callback."""
