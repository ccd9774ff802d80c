"""One configured server: one connection shared by all callers, or one per caller."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from tools.upstream.downstream import Downstream
from tools.upstream.errors import TooManySessions
from tools.upstream.spec import ServerSpec
from tools.upstream.status import ServerStatus, combine_statuses
from tools.upstream.supervise import Supervisor
from tools.upstream.supervisor_context import SupervisorContext

SupervisorKey = tuple[str, str]
"""Session and user of a caller, each empty if the server does not distinguish by it."""

LaunchSupervisor = Callable[[Supervisor, Iterable[asyncio.Task[None]]], asyncio.Task[None]]
"""Runs a supervisor in a task, after other tasks have ended."""


class _RunningSupervisor(NamedTuple):
    supervisor: Supervisor
    task: asyncio.Task[None]

    def end(self) -> None:
        self.supervisor.close()
        self.task.cancel()


class ServerEntry:
    """The supervisors of one server.

    The main supervisor lists the tools and serves all calls, unless the server is personal. Then
    each caller gets its own supervisor on its first call; at the limit, the least recently used
    idle one is evicted.

    Args:
        spec: The server's entry.
        shared: Dependencies shared by all supervisors of the pool.
        launch: Runs a supervisor.
        predecessor: The server's previous entry.
        after: Tasks that must end before the main supervisor starts.
    """

    def __init__(
        self,
        spec: ServerSpec,
        shared: SupervisorContext,
        *,
        launch: LaunchSupervisor,
        predecessor: ServerEntry | None = None,
        after: Iterable[asyncio.Task[None]] = (),
    ) -> None:
        self.spec = spec
        if spec.is_personal:
            report_status = shared.on_status
            shared = replace(shared, on_status=lambda _: report_status(self.status()))
        self._shared = shared
        self._launch = launch
        self._per_caller: dict[SupervisorKey, _RunningSupervisor] = {}
        self._ending: set[asyncio.Task[None]] = set()
        before = predecessor.main if predecessor else None
        self.main: Supervisor = Supervisor(spec, shared, predecessor=before)
        self._main = _RunningSupervisor(self.main, launch(self.main, after))

    @property
    def tasks(self) -> set[asyncio.Task[None]]:
        """All tasks of this server."""
        return {
            self._main.task,
            *(running.task for running in self._per_caller.values()),
            *self._ending,
        }

    @property
    def capabilities(self) -> Mapping[str, Any] | None:
        """Capabilities the server last declared."""
        declared = (supervisor.capabilities for supervisor in self._supervisors())
        return next((each for each in declared if each is not None), None)

    def get_supervisor(self, downstream: Downstream) -> Supervisor:
        """Return the supervisor that serves a client.

        Raises:
            TooManySessions: If all per-caller connections are in use.
        """
        if not self.spec.is_personal:
            return self.main
        key = self._supervisor_key(downstream)
        if not any(key):
            return self.main
        running = self._per_caller.get(key)
        if running is None:
            self._evict_idle()
            own = Supervisor(self.spec, self._shared, caller=downstream)
            running = self._per_caller[key] = _RunningSupervisor(own, self._launch(own, ()))
        return running.supervisor

    def status(self) -> ServerStatus:
        """Return the server's status, combined over its connections."""
        if not self._per_caller:
            return self.main.status()
        return combine_statuses(
            [each.status() for each in self._supervisors()], sessions=len(self._per_caller)
        )

    def end(self) -> None:
        """Stop the server, interrupting calls in flight."""
        for running in (self._main, *self._per_caller.values()):
            running.end()

    async def wait_until_drained(self) -> None:
        """Wait until no call is in flight."""
        for supervisor in self._supervisors():
            await supervisor.wait_until_drained()

    def _supervisors(self) -> list[Supervisor]:
        return [self.main, *(running.supervisor for running in self._per_caller.values())]

    def _supervisor_key(self, downstream: Downstream) -> SupervisorKey:
        per_caller = self.spec.session == "per_caller"
        per_user = self.spec.authorization == "oauth_per_user"
        return (
            downstream.session if per_caller else "",
            downstream.user if per_user else "",
        )

    def _evict_idle(self) -> None:
        limit = self._shared.limits.max_sessions
        if len(self._per_caller) < limit:
            return
        idle = {
            key: running.supervisor.last_used_at
            for key, running in self._per_caller.items()
            if not running.supervisor.is_in_use
        }
        if not idle:
            raise TooManySessions(server=self.spec.name, limit=limit)
        running = self._per_caller.pop(min(idle, key=lambda key: idle[key]))
        self._ending.add(running.task)
        running.task.add_done_callback(self._ending.discard)
        running.end()
