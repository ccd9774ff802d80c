"""One configured server: one connection shared by all callers, or one per caller."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from tempfile import gettempdir
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mcp import MCPError

from gateway_project.foundation.caller import GATEWAY, LOCAL_KINDS, Caller, SessionKey
from gateway_project.foundation.home import find_client_folder
from gateway_project.foundation.redaction import Redactor
from gateway_project.foundation.shares import Bound
from gateway_project.foundation.task_group import TaskGroup
from tools.upstream.connection import Connection
from tools.upstream.errors import NoClientFolder, TooManySessions
from tools.upstream.in_flight import InFlightRequest
from tools.upstream.request import Downstream, UpstreamRequest
from tools.upstream.result import UpstreamResult
from tools.upstream.spec import ServerSpec
from tools.upstream.starts import SupervisorContext
from tools.upstream.status import ServerStatus, combine_statuses
from tools.upstream.supervise import Admit, Supervisor

ROOTS_TIMEOUT_S: Final = 5.0
"""A client that has not named its roots by then is taken to work where it started the gateway."""
SupervisorKey = SessionKey | str
"""`client_key` of a caller, or only its user if the server distinguishes users but not clients."""


class _OwnConnectionNeeded(Exception):
    """A request must not be sent on a shared connection any more."""


class ServerEntry:
    """The supervisors of one server.

    The main supervisor lists the tools with the gateway's rights and serves all callers, unless
    the server is personal. Then each caller gets its own supervisor on its first request. Nobody
    takes more than are left, so that no user keeps all others out. For one more, their least
    recently used idle one is evicted, or that of somebody who has as many or more.

    A server that asks for roots is personal for each client that has some. It is known to ask once
    it has done so on a shared connection: where only one client uses that, it becomes that
    client's own, which is asked; else nobody is asked, and each client's next request is sent on
    a connection of its own.

    A server that works in the client's folder starts with that of its caller; to list the tools,
    with the gateway's.

    Args:
        spec: The server's entry.
        shared: Dependencies shared by all supervisors of the pool.
        group: Runs the supervisors.
        predecessor: The server's previous entry.
        after: Tasks that must end before the main supervisor starts.

    Attributes:
        spec: As above.
        main: The supervisor that lists the tools.
        asks_for_roots: Whether the server has asked for roots.
    """

    def __init__(
        self,
        spec: ServerSpec,
        shared: SupervisorContext,
        *,
        group: TaskGroup,
        predecessor: ServerEntry | None = None,
        after: Iterable[asyncio.Task[None]] = (),
    ) -> None:
        self.spec = spec
        report_status = shared.on_status
        self._shared = replace(
            shared,
            on_status=lambda own: report_status(self.status() if self._per_caller else own),
        )
        self._group = group
        self._uses_folder = spec.uses_client_folder
        self._per_caller: dict[SupervisorKey, Supervisor] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self.asks_for_roots: bool = (
            predecessor is not None and predecessor.spec == spec and predecessor.asks_for_roots
        )
        self.main: Supervisor = self._make_supervisor(
            GATEWAY, predecessor=predecessor.main if predecessor else None, after=after
        )

    @property
    def tasks(self) -> set[asyncio.Task[None]]:
        """All tasks of this server."""
        return {*(supervisor.task for supervisor in self._supervisors()), *self._ending}

    @property
    def capabilities(self) -> Mapping[str, Any] | None:
        """Capabilities the server last declared."""
        declared = (supervisor.capabilities for supervisor in self._supervisors())
        return next((each for each in declared if each is not None), None)

    @property
    def announces_tools(self) -> bool:
        """As of `Supervisor`, on any connection."""
        return any(supervisor.announces_tools for supervisor in self._supervisors())

    def get_supervisor(
        self, caller: Caller, downstream: Downstream, *, folder: str = ""
    ) -> Supervisor:
        """Return the supervisor that serves a caller.

        Args:
            caller: Whose request it is.
            downstream: The client behind it.
            folder: Where it works, if the server works there; empty: as before, or as the caller
                says.

        Raises:
            TooManySessions: If all per-caller connections are in use.
            NoClientFolder: If the server works in the client's folder, and there is none.
        """
        key = self.find_key(caller, downstream)
        if key is None:
            return self.main
        supervisor = self._per_caller.get(key)
        if supervisor is not None and folder and supervisor.spec != self._fill_folder(folder):
            self._end_own(key)
            supervisor = None
        if supervisor is None:
            spec = self._fill_folder(folder or caller.folder)
            self._make_room(key)
            owner = downstream if key == caller.client_key else None
            supervisor = self._per_caller[key] = self._make_supervisor(
                caller, spec=spec, owner=owner
            )
            if owner is not None:
                self._move_followers(caller, supervisor)
        return supervisor

    def find_key(self, caller: Caller, downstream: Downstream) -> SupervisorKey | None:
        """Return by what a caller's connection is told from others; None: it is shared by all."""
        if self._is_shared_by_all or caller == GATEWAY:
            return None
        if (
            self.spec.session == "per_caller"
            or (self.asks_for_roots and downstream.has_roots)
            or caller.client_key in self._per_caller
        ):
            return caller.client_key
        return caller.user if self.spec.authorization == "oauth_per_user" else None

    @property
    def _is_shared_by_all(self) -> bool:
        """Whether there is one connection, whoever calls; asked twice for each call."""
        return not (
            self._per_caller
            or self.asks_for_roots
            or self.spec.session == "per_caller"
            or self.spec.authorization == "oauth_per_user"
        )

    async def request(
        self, request: UpstreamRequest, *, caller: Caller, admit: Admit
    ) -> UpstreamResult:
        """Send a request on its caller's connection; see `Supervisor.request`."""
        folder = await self._find_folder(caller, request.downstream)
        while True:
            supervisor = self.get_supervisor(caller, request.downstream, folder=folder)

            async def admit_caller(
                connection: Connection, supervisor: Supervisor = supervisor
            ) -> None:
                await admit(connection)
                if request.downstream.has_roots:
                    await connection.settle_roots()
                if self.get_supervisor(caller, request.downstream) is not supervisor:
                    raise _OwnConnectionNeeded

            with suppress(_OwnConnectionNeeded):
                raw = await supervisor.request(request, caller=caller, admit=admit_caller)
                return UpstreamResult(raw=raw, redactor=supervisor.redactor or Redactor())

    def status(self) -> ServerStatus:
        """Return the server's status, combined over its connections."""
        if not self._per_caller:
            return self.main.status()
        return combine_statuses(
            [each.status() for each in self._supervisors()], sessions=len(self._per_caller)
        )

    def end(self) -> None:
        """Stop the server, interrupting calls in flight."""
        for supervisor in self._supervisors():
            supervisor.end()

    async def wait_until_drained(self) -> None:
        """Wait until no call is in flight."""
        for supervisor in self._supervisors():
            await supervisor.drained.wait()

    def _move_followers(self, caller: Caller, own: Supervisor) -> None:
        """Let a client follow on its own connection what it followed on a shared one."""
        shared = self._per_caller.get(caller.user, self.main).subscriptions
        key = caller.client_key
        own.subscriptions.take_over(shared.retain_followers(lambda follower: follower != key))

    async def _find_folder(self, caller: Caller, downstream: Downstream) -> str:
        """Return where a client works: its first root, else where it started the gateway.

        Only that of a process on this machine counts: other clients could name any folder.
        """
        if not self._uses_folder:
            return ""
        ask = downstream.ask if downstream.has_roots and caller.kind in LOCAL_KINDS else None
        if ask is not None:
            with suppress(MCPError, TimeoutError):
                async with asyncio.timeout(ROOTS_TIMEOUT_S):
                    answer = await ask("roots/list", {})
                return next(_read_root_folders(answer), caller.folder)
        return caller.folder

    def _fill_folder(self, folder: str) -> ServerSpec:
        """Return the entry for a caller who works in a folder.

        Raises:
            NoClientFolder: If it needs one, and there is none.
        """
        if not self._uses_folder:
            return self.spec
        if not os.path.isdir(folder):
            raise NoClientFolder(folder, server=self.spec.name)
        return self.spec.fill_client_folder(folder)

    def _supervisors(self) -> list[Supervisor]:
        return [self.main, *self._per_caller.values()]

    def _make_supervisor(
        self,
        caller: Caller,
        *,
        spec: ServerSpec | None = None,
        owner: Downstream | None = None,
        predecessor: Supervisor | None = None,
        after: Iterable[asyncio.Task[None]] = (),
    ) -> Supervisor:
        def claim(flight: InFlightRequest | None) -> bool:
            return self._claim_for_roots(supervisor, flight)

        if spec is None:
            own_folder = find_client_folder(self._shared.environment.environ) or gettempdir()
            spec = self.spec.fill_client_folder(own_folder) if self._uses_folder else self.spec
        supervisor = Supervisor(
            spec,
            self._shared,
            group=self._group,
            caller=caller,
            owner=owner,
            on_roots_asked=claim,
            predecessor=predecessor,
            after=after,
        )
        return supervisor

    def _claim_for_roots(self, shared: Supervisor, flight: InFlightRequest | None) -> bool:
        """Note that a server asks for roots; make the connection its only client's own.

        Returns:
            Whether it is the client's own now.
        """
        self.asks_for_roots = True
        if flight is None:
            return False
        key = flight.caller.client_key
        if key in self._per_caller or len(self._per_caller) >= self._shared.limits.max_sessions:
            return False
        if shared is self.main:
            self.main = self._make_supervisor(GATEWAY, predecessor=shared)
        else:
            del self._per_caller[flight.caller.user]
        self._per_caller[key] = shared
        shared.give_to(flight.caller, flight.request.downstream)
        self.main.subscriptions.retain_followers(lambda follower: follower != key)
        return True

    def _make_room(self, new: SupervisorKey) -> None:
        """End an idle connection if there are too many, or too many of one user.

        Raises:
            TooManySessions: If there are, and none is idle.
        """
        limit = self._shared.limits.max_sessions
        counts = Counter(map(_find_user, self._per_caller))
        user = _find_user(new)
        bound = Bound(total=limit, each=max(limit // 2, 1), fraction=1.0)
        if bound.admits(held=counts[user], in_all=len(self._per_caller)):
            return
        is_full = len(self._per_caller) >= limit
        idle = {
            key: supervisor.last_used_at
            for key, supervisor in self._per_caller.items()
            if (is_full or _find_user(key) == user)
            and counts[_find_user(key)] >= counts[user]
            and not supervisor.is_in_use
        }
        if not idle:
            raise TooManySessions(
                server=self.spec.name, limit=limit if is_full else counts[user], is_own=not is_full
            )
        self._end_own(min(idle, key=lambda key: idle[key]))

    def _end_own(self, key: SupervisorKey) -> None:
        """End a caller's own connection."""
        evicted = self._per_caller.pop(key)
        self._ending.add(evicted.task)
        evicted.task.add_done_callback(self._ending.discard)
        evicted.end()


def _read_root_folders(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the folders that a client's roots name."""
    roots = answer.get("roots")
    for root in roots if isinstance(roots, list) else ():
        uri = root.get("uri") if isinstance(root, Mapping) else None
        if isinstance(uri, str) and uri.startswith("file:"):
            yield url2pathname(urlsplit(uri).path)


def _find_user(key: SupervisorKey) -> str:
    return key if isinstance(key, str) else key[0]
