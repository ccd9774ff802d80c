"""One configured server: the connection that all share, or one for each caller."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from tools.upstream.downstream import Downstream
from tools.upstream.errors import TooManySessions
from tools.upstream.shared import Shared
from tools.upstream.spec import ServerSpec
from tools.upstream.status import ServerStatus, combined
from tools.upstream.supervise import Supervisor

Key = tuple[str, str]
"""What tells callers apart: session and user, empty where that does not matter."""

Launch = Callable[[Supervisor, Iterable[asyncio.Task[None]]], asyncio.Task[None]]
"""Runs a supervisor in a task, after other tasks are over."""


class _Kept(NamedTuple):
    supervisor: Supervisor
    task: asyncio.Task[None]

    def end(self) -> None:
        self.supervisor.close()
        self.task.cancel()


class Entry:
    """Keeps the supervisors of one server.

    That of nobody in particular lists its tools, and serves all calls unless the server keeps
    something for each caller. Then every caller has one of its own, made when it first calls.
    When there are too many, the one that was not used for longest gives way.

    Args:
        spec: The server's entry.
        shared: What its supervisors have in common with those of others.
        launch: Runs a supervisor.
        predecessor: Who kept the server before.
    """

    def __init__(
        self,
        spec: ServerSpec,
        shared: Shared,
        *,
        launch: Launch,
        predecessor: Entry | None = None,
        after: Iterable[asyncio.Task[None]] = (),
    ) -> None:
        self.spec = spec
        if spec.is_personal:
            told = shared.on_status
            shared = replace(shared, on_status=lambda _: told(self.status()))
        self._shared = shared
        self._launch = launch
        self._own: dict[Key, _Kept] = {}
        self._ending: set[asyncio.Task[None]] = set()
        before = predecessor.main if predecessor else None
        self.main: Supervisor = Supervisor(spec, shared, predecessor=before)
        self._main = _Kept(self.main, launch(self.main, after))

    @property
    def tasks(self) -> set[asyncio.Task[None]]:
        """Everything that runs for this server."""
        return {self._main.task, *(kept.task for kept in self._own.values()), *self._ending}

    @property
    def capabilities(self) -> Mapping[str, Any] | None:
        """What the server last said it can do."""
        known = (one.capabilities for one in self._supervisors())
        return next((said for said in known if said is not None), None)

    def supervisor(self, downstream: Downstream) -> Supervisor:
        """Return who keeps the connection for a client.

        Raises:
            TooManySessions: If all connections of callers are in use.
        """
        if not self.spec.is_personal:
            return self.main
        key = self._key(downstream)
        if not any(key):
            return self.main
        kept = self._own.get(key)
        if kept is None:
            self._make_room()
            own = Supervisor(self.spec, self._shared, caller=downstream)
            kept = self._own[key] = _Kept(own, self._launch(own, ()))
        return kept.supervisor

    def status(self) -> ServerStatus:
        """Say how the server fares."""
        if not self._own:
            return self.main.status()
        return combined([one.status() for one in self._supervisors()], sessions=len(self._own))

    def end(self) -> None:
        """End it, whatever is in flight."""
        for kept in (self._main, *self._own.values()):
            kept.end()

    async def drained(self) -> None:
        """Wait until no call is in flight."""
        for one in self._supervisors():
            await one.drained()

    def _supervisors(self) -> list[Supervisor]:
        return [self.main, *(kept.supervisor for kept in self._own.values())]

    def _key(self, downstream: Downstream) -> Key:
        per_caller = self.spec.session == "per_caller"
        per_user = self.spec.authorization == "oauth_per_user"
        return (
            downstream.session if per_caller else "",
            downstream.user if per_user else "",
        )

    def _make_room(self) -> None:
        limit = self._shared.limits.max_sessions
        if len(self._own) < limit:
            return
        unused = [key for key, kept in self._own.items() if not kept.supervisor.in_use]
        if not unused:
            raise TooManySessions(server=self.spec.name, limit=limit)
        kept = self._own.pop(min(unused, key=lambda key: self._own[key].supervisor.last_used_at))
        self._ending.add(kept.task)
        kept.task.add_done_callback(self._ending.discard)
        kept.end()
