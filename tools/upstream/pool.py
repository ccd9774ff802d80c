"""All upstream servers of a gateway behind one object."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from mcp.shared.dispatcher import ProgressFnT

from tools.upstream.breaker import RetryPolicy
from tools.upstream.errors import UnknownServer, UpstreamError
from tools.upstream.limits import Limits
from tools.upstream.listing import ToolListing
from tools.upstream.result import UpstreamResult
from tools.upstream.slots import StartSlots
from tools.upstream.spec import ServerSpec, resolve
from tools.upstream.status import ServerStatus
from tools.upstream.stdio import StdioTransport
from tools.upstream.supervise import Shared, Supervisor
from tools.upstream.surroundings import Surroundings
from tools.upstream.transport import UpstreamTransport
from tools.upstream.watch import Watcher


class _Kept(NamedTuple):
    supervisor: Supervisor
    task: asyncio.Task[None]

    def end(self) -> None:
        self.supervisor.close()
        self.task.cancel()


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
        on_tools_changed: Called in the event loop with a server's name when its tools have
            changed; a burst of changes is one call.
    """

    def __init__(
        self,
        specs: Iterable[ServerSpec] = (),
        *,
        limits: Limits | None = None,
        policy: RetryPolicy | None = None,
        surroundings: Surroundings | None = None,
        on_status: Callable[[ServerStatus], None] | None = None,
        on_tools_changed: Callable[[str], None] | None = None,
    ) -> None:
        limits = limits or Limits()
        self._specs = tuple(specs)
        self._kept: dict[str, _Kept] = {}
        self._leaving: set[_Kept] = set()
        self._group = asyncio.TaskGroup()
        self._watcher = Watcher()
        self._shared = Shared(
            limits=limits,
            policy=policy or RetryPolicy(),
            surroundings=surroundings or Surroundings(),
            slots=StartSlots(count=limits.concurrent_starts, hold_s=limits.start_slot_s),
            transport=self._transport,
            on_status=on_status or _ignore,
            on_tools_changed=on_tools_changed or _ignore,
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
        for name, kept in list(self._kept.items()):
            if wanted.get(name) != kept.supervisor.spec:
                del self._kept[name]
                self._leaving.add(kept)
                self._group.create_task(self._retire(kept))
        for name, spec in wanted.items():
            if name not in self._kept:
                self._keep(Supervisor(spec, self._shared))

    async def warm(self, *names: str) -> Mapping[str, UpstreamError]:
        """Start servers ahead of their first use, all by default.

        Returns:
            Why those that could not be started could not, by name.
        """
        failures: dict[str, UpstreamError] = {}

        async def start(name: str) -> None:
            try:
                await self._supervisor(name).connection()
            except UpstreamError as error:
                failures[name] = error

        async with asyncio.TaskGroup() as group:
            for name in names or tuple(self._kept):
                group.create_task(start(name))
        return failures

    async def list_tools(self, server: str) -> ToolListing:
        """Fetch all tools of a server, starting it if need be.

        Raises:
            UpstreamError: If there is no listing.
        """
        return await self._supervisor(server).list_tools()

    async def call_tool(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        progress: ProgressFnT | None = None,
        meta: Mapping[str, Any] | None = None,
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

        Returns:
            The result exactly as the server sent it, whether it conforms or not.

        Raises:
            UpstreamError: If there is no result.
        """
        return await self._supervisor(server).call_tool(
            tool, arguments, timeout_s=timeout_s, progress=progress, meta=meta
        )

    def status(self) -> dict[str, ServerStatus]:
        """Say how each server fares, by name."""
        return {name: kept.supervisor.status() for name, kept in sorted(self._kept.items())}

    async def restart(self, name: str) -> None:
        """End a server, forget its failures, and start it again.

        Calls in flight fail; new ones wait for the new start.

        Raises:
            UpstreamError: If it cannot be started again.
        """
        self._supervisor(name)
        old = self._kept.pop(name)
        new = Supervisor(old.supervisor.spec, self._shared, predecessor=old.supervisor)
        self._keep(new, after=old.task)
        old.end()
        await new.connection()

    async def aclose(self) -> None:
        """End all servers, whatever is in flight, within about six seconds."""
        kept = [*self._kept.values(), *self._leaving]
        for one in kept:
            one.end()
        if kept:
            await asyncio.wait([one.task for one in kept])
        await self._watcher.aclose()

    async def _retire(self, kept: _Kept) -> None:
        """Let a server finish what is in flight, then end it."""
        await kept.supervisor.drained()
        kept.end()
        await asyncio.wait({kept.task})
        self._leaving.discard(kept)

    def _keep(self, supervisor: Supervisor, *, after: asyncio.Task[None] | None = None) -> None:
        name = supervisor.spec.name
        task = self._group.create_task(supervisor.run(after=after), name=f"upstream {name}")
        self._kept[name] = _Kept(supervisor, task)

    def _supervisor(self, name: str) -> Supervisor:
        if name not in self._kept:
            raise UnknownServer(name)
        return self._kept[name].supervisor

    def _transport(self, spec: ServerSpec) -> UpstreamTransport:
        surroundings = self._shared.surroundings
        return StdioTransport(
            spec,
            resolve(spec, surroundings.environ),
            limits=self._shared.limits,
            watcher=self._watcher,
            monotonic=surroundings.monotonic,
        )


def _ignore(_: object) -> None:
    """Be called and do nothing."""
