"""All upstream servers of a gateway behind one object."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from mcp.shared.dispatcher import ProgressFnT

from tools.upstream.breaker import RetryPolicy
from tools.upstream.downstream import NOBODY, Downstream
from tools.upstream.entry import Entry
from tools.upstream.errors import UnknownServer, UpstreamError
from tools.upstream.flights import Request
from tools.upstream.http.remote import Remote
from tools.upstream.kinds import ItemKind
from tools.upstream.limits import Limits
from tools.upstream.listing import Listing, ToolListing
from tools.upstream.result import UpstreamResult
from tools.upstream.shared import Shared
from tools.upstream.slots import StartSlots
from tools.upstream.spec import ServerSpec, resolve
from tools.upstream.status import Kind, ServerStatus
from tools.upstream.stdio import StdioTransport
from tools.upstream.supervise import Admit, Supervisor
from tools.upstream.surroundings import Surroundings
from tools.upstream.transport import UpstreamTransport
from tools.upstream.watch import Watcher

_SUBSCRIBING: Mapping[str, bool] = {"resources/subscribe": True, "resources/unsubscribe": False}


class UpstreamPool:
    """Starts servers when they are used, keeps them apart, and ends them with itself.

    Use as an async context manager, entered and left in one task. The methods may be called
    from any task of the same event loop.

    Args:
        specs: Servers to begin with.
        limits: Caps on what a server may send and cost.
        policy: When to try a failing server again.
        surroundings: Clocks, randomness, environment.
        on_status: Called in the event loop with each new state of a server.
        on_changed: Called in the event loop with a server's name and what it says has changed:
            `tools`, `prompts` or `resources`; a burst of changes is one call.
        on_updated: Called in the event loop with a server's name, the URI of a resource, one that
            was subscribed to, whose content has changed, and the sessions of those it concerns.
        remote: Reaches the servers that are not started here; closed with the pool.
        idle_stop_s: Seconds without a call after which a server that is stateless by protocol is
            stopped, unless its entry says otherwise; 0: never.
        session_idle_s: Seconds without a call after which a caller's own connection ends.
    """

    def __init__(  # noqa: PLR0913 - each may be left out
        self,
        specs: Iterable[ServerSpec] = (),
        *,
        limits: Limits | None = None,
        policy: RetryPolicy | None = None,
        surroundings: Surroundings | None = None,
        on_status: Callable[[ServerStatus], None] | None = None,
        on_changed: Callable[[str, Kind], None] | None = None,
        on_updated: Callable[[str, str, Collection[str]], None] | None = None,
        remote: Remote | None = None,
        idle_stop_s: float = 0.0,
        session_idle_s: float = 1_800.0,
    ) -> None:
        limits = limits or Limits()
        self._specs = tuple(specs)
        self._entries: dict[str, Entry] = {}
        self._leaving: set[Entry] = set()
        self._group = asyncio.TaskGroup()
        self._watcher = Watcher()
        self._remote = remote or Remote()
        self._shared = Shared(
            limits=limits,
            policy=policy or RetryPolicy(),
            surroundings=surroundings or Surroundings(),
            slots=StartSlots(count=limits.concurrent_starts, hold_s=limits.start_slot_s),
            transport=self._transport,
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

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()
        # The tasks are over; told of the exception, the group would wrap it.
        await self._group.__aexit__(None, None, None)

    def set_servers(self, specs: Iterable[ServerSpec]) -> None:
        """Have exactly these servers.

        One whose entry is unchanged is left alone. One that is gone or changed takes no new
        call and ends when its calls in flight have ended, each within its timeout; a changed
        one is replaced at once.
        """
        wanted = {spec.name: spec for spec in specs}
        before: dict[str, Entry] = {}
        for name, entry in list(self._entries.items()):
            if wanted.get(name) != entry.spec:
                before[name] = self._entries.pop(name)
                self._leaving.add(entry)
                self._group.create_task(self._retire(entry))
        for name, spec in wanted.items():
            if name not in self._entries:
                self._keep(spec, predecessor=before.get(name))

    async def warm(self, *names: str) -> Mapping[str, UpstreamError]:
        """Start servers ahead of their first use, all by default.

        Returns:
            Why those that could not be started could not, by name.
        """
        failures: dict[str, UpstreamError] = {}

        async def start(name: str) -> None:
            try:
                await self._entry(name).main.connection()
            except UpstreamError as error:
                failures[name] = error

        async with asyncio.TaskGroup() as group:
            for name in names or tuple(self._entries):
                group.create_task(start(name))
        return failures

    async def list_tools(self, server: str) -> ToolListing:
        """Fetch all tools of a server, starting it if need be.

        Raises:
            UpstreamError: If there is no listing.
        """
        return await self._entry(server).main.list_tools()

    async def call_tool(  # noqa: PLR0913 - each is a part of a call
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        progress: ProgressFnT | None = None,
        meta: Mapping[str, Any] | None = None,
        downstream: Downstream = NOBODY,
        input_responses: Mapping[str, Any] | None = None,
        request_state: str | None = None,
        admit: Admit | None = None,
    ) -> UpstreamResult:
        """Call a tool, starting its server if need be.

        Running out of time, or being cancelled, cancels the call upstream and leaves other
        calls of the same server alone. A call is never sent twice.

        Args:
            server: The server's name.
            tool: The tool's name at the server.
            arguments: Passed as they are.
            timeout_s: Seconds from sending to the answer; default is the server's. A start
                before that has its own limit.
            progress: Awaited with (progress, total, message) as the server reports it.
            meta: The request's `_meta`.
            downstream: Who it is done for.
            input_responses: What a server that returned `input_required` asked for.
            request_state: What it returned with that, unread.
            admit: Awaited with the connection the call is about to go out on, again if that has
                ended meanwhile; may raise to prevent the call.

        Returns:
            The result exactly as the server sent it, whether it conforms or not; also one that
            says that the server needs input.

        Raises:
            UpstreamError: If there is no result.
        """
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        if input_responses is not None:
            params["inputResponses"] = input_responses
        if request_state is not None:
            params["requestState"] = request_state
        entry = self._entry(server)
        request = Request(
            method="tools/call",
            params=params,
            timeout_s=entry.spec.call_timeout_s if timeout_s is None else timeout_s,
            meta=meta,
            progress=progress,
            downstream=downstream,
        )
        return UpstreamResult.from_wire(
            await entry.supervisor(downstream).request(request, admit=admit)
        )

    async def request(
        self,
        server: str,
        method: str,
        params: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        progress: ProgressFnT | None = None,
        downstream: Downstream = NOBODY,
    ) -> dict[str, Any]:
        """Send any other request to a server, starting it if need be.

        A resource is subscribed to once for all callers, in the way of the server's era, and
        again in each of its lives.

        Args:
            server: The server's name.
            method: A request of the protocol, such as `resources/read`.
            params: As they are; keys of the protocol itself in `_meta` are replaced.
            timeout_s: As of `call_tool`.
            progress: As of `call_tool`.
            downstream: Who it is done for.

        Returns:
            The result exactly as the server sent it.

        Raises:
            UpstreamError: If there is no result.
        """
        entry = self._entry(server)
        supervisor = entry.supervisor(downstream)
        uri = params.get("uri")
        if method in _SUBSCRIBING and isinstance(uri, str):
            return await supervisor.follow(
                uri, on=_SUBSCRIBING[method], follower=downstream.session
            )
        meta = params.get("_meta")
        return await supervisor.request(
            Request(
                method=method,
                params={key: value for key, value in params.items() if key != "_meta"},
                timeout_s=entry.spec.call_timeout_s if timeout_s is None else timeout_s,
                meta=meta if isinstance(meta, dict) else None,
                progress=progress,
                downstream=downstream,
            )
        )

    async def list_items(
        self, server: str, kind: ItemKind, *, downstream: Downstream = NOBODY
    ) -> Listing:
        """Fetch all resources, templates or prompts of a server, starting it if need be.

        Raises:
            UpstreamError: If there is no listing.
        """
        return await self._entry(server).supervisor(downstream).list_items(kind)

    def capabilities(self, server: str) -> Mapping[str, Any] | None:
        """Say what a server can do, as it said itself; None if it was never connected.

        Raises:
            UnknownServer: If there is none of that name.
        """
        return self._entry(server).capabilities

    def status_of(self, server: str) -> ServerStatus:
        """Say how one server fares.

        Raises:
            UnknownServer: If there is none of that name.
        """
        return self._entry(server).status()

    def status(self) -> dict[str, ServerStatus]:
        """Say how each server fares, by name."""
        return {name: entry.status() for name, entry in sorted(self._entries.items())}

    async def restart(self, name: str) -> None:
        """End a server, forget its failures, and start it again.

        Calls in flight fail; new ones wait for the new start.

        Raises:
            UpstreamError: If it cannot be started again.
        """
        old = self._entry(name)
        old.end()
        new = self._keep(old.spec, predecessor=old, after=old.tasks)
        await new.main.connection()

    async def aclose(self) -> None:
        """End all servers, whatever is in flight, within about six seconds."""
        tasks: set[asyncio.Task[None]] = set()
        for entry in (*self._entries.values(), *self._leaving):
            entry.end()
            tasks |= entry.tasks
        if tasks:
            await asyncio.wait(tasks)
        await self._remote.aclose()
        await self._watcher.aclose()

    async def _retire(self, entry: Entry) -> None:
        """Let a server finish what is in flight, then end it."""
        await entry.drained()
        entry.end()
        await asyncio.wait(entry.tasks)
        self._leaving.discard(entry)

    def _keep(
        self,
        spec: ServerSpec,
        *,
        predecessor: Entry | None = None,
        after: Iterable[asyncio.Task[None]] = (),
    ) -> Entry:
        entry = self._entries[spec.name] = Entry(
            spec, self._shared, launch=self._launch, predecessor=predecessor, after=after
        )
        return entry

    def _launch(
        self, supervisor: Supervisor, after: Iterable[asyncio.Task[None]]
    ) -> asyncio.Task[None]:
        return self._group.create_task(
            supervisor.run(after=after), name=f"upstream {supervisor.spec.name}"
        )

    def _entry(self, name: str) -> Entry:
        if name not in self._entries:
            raise UnknownServer(name)
        return self._entries[name]

    def _transport(self, spec: ServerSpec, user: str = "") -> UpstreamTransport:
        surroundings, limits = self._shared.surroundings, self._shared.limits
        if spec.transport != "stdio":
            return self._remote.transport(
                spec, user=user, limits=limits, surroundings=surroundings
            )
        return StdioTransport(
            spec,
            resolve(spec, surroundings.environ),
            limits=limits,
            watcher=self._watcher,
            monotonic=surroundings.monotonic,
        )


def _ignore(*_: object) -> None:
    """Be called and do nothing."""
