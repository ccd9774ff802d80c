"""Sessions of the handshake era, with limits for each caller.

A request is answered in the task that received it; a session has no task, queue or loop of its
own.

References:
    MCP 2025-11-25, Transports.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from mcp.server import Server
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    JSONRPCRequest,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from gateway_project.foundation.shares import Bound
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.mcp.client_state import ClientState
from gateway_project.mcp.http import checks, messages
from gateway_project.mcp.http.answers import refuse
from gateway_project.mcp.http.checks import header_text
from gateway_project.mcp.http.modern import ModernHandler
from gateway_project.mcp.http.request import HttpRequest
from gateway_project.mcp.http.session import SESSION_HEADER, Session
from gateway_project.mcp.runtime import Runtime
from gateway_project.mcp.server import ServerLifespan

SESSIONS: Final = Bound(total=2_000, each=200)
"""Sessions of the process, and of one user."""
SESSION_IDLE_S: Final = 8 * 3_600.0
"""As long as a person may be away: many clients fail for good once their session is unknown. An
idle one takes some 22 KB, and gives way to newer ones of its user."""
_VERSION: Final = b"mcp-protocol-version"
_NOT_FOUND, _UNAVAILABLE = 404, 503


class Sessions:
    """Serves requests that have passed the gate, of both eras.

    A session belongs to the user, team and tool group whose token and path opened it; for anybody
    else it does not exist.

    Args:
        server: Of the SDK.
        runtime: Knows the tools.
        idle_s: Seconds without a request after which a session ends.
        bound: How many sessions there may be.
    """

    def __init__(
        self,
        server: Server[Any],
        runtime: Runtime,
        *,
        idle_s: float = SESSION_IDLE_S,
        bound: Bound = SESSIONS,
    ) -> None:
        self._server = server
        self.idle_s = idle_s
        self.bound = bound
        self._sessions: dict[str, Session] = {}
        self._modern = ModernHandler(server, runtime)
        self._lifespan: ServerLifespan | None = None
        self._group: TaskGroup | None = None

    def __len__(self) -> int:
        return len(self._sessions)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve while the context is open."""
        async with self._server.lifespan(self._server) as lifespan, TaskGroup() as self._group:
            self._lifespan = self._modern.lifespan = lifespan
            try:
                yield
            finally:
                for session in tuple(self._sessions.values()):
                    session.end()

    async def serve(self, request: HttpRequest) -> None:
        """Serve a request.

        Raises:
            RequestRejected: If it is not valid.
        """
        version = header_text(request.headers, _VERSION)
        if request.verb != "POST":
            if _is_stateless(version) and not _names_session(request, version):
                raise checks.answer_wrong_method()
            await self._find_session(request).serve(request)
            return
        value = await messages.parse(request.body)
        params = value.get("params") if isinstance(value, dict) else None
        meta = params.get("_meta") if isinstance(params, dict) else None
        if checks.has_envelope(meta):
            checks.check_version(_VERSION in request.headers, value)
        elif isinstance(value, dict) and value.get("method") == "initialize":
            # It opens a session, whichever one its client lost, and negotiates the version.
            await self._open_session(request, value)
            return
        elif _names_session(request, version):
            version = ""
        if _is_stateless(version):
            await self._modern.serve(request, value)
            return
        await self._find_session(request).receive(request, value)

    async def _open_session(self, request: HttpRequest, value: Any) -> None:
        """Answer the handshake; the session stays if it succeeds."""
        messages.check_accepted(request)
        message = messages.read_message(value)
        if not isinstance(message, JSONRPCRequest):
            raise refuse(400, INVALID_REQUEST, "Bad Request: Missing session ID")
        session = self._admit_session(request)
        established = False
        try:
            established = await session.answer(request, message.model_dump(exclude_unset=True))
        finally:
            if not established:
                session.end()

    def _find_session(self, request: HttpRequest) -> Session:
        """Return the session that a request names.

        Raises:
            RequestRejected: If it names none of its caller's.
        """
        key = header_text(request.headers, SESSION_HEADER)
        if not key:
            raise refuse(400, INVALID_REQUEST, "Bad Request: Missing session ID")
        session = self._sessions.get(key)
        if session is None or session.owner != _find_owner(request):
            raise refuse(_NOT_FOUND, INVALID_REQUEST, "Session not found")
        return session

    def _admit_session(self, request: HttpRequest) -> Session:
        """Return a new session.

        Raises:
            RequestRejected: If its user has too many in use.
        """
        assert self._lifespan is not None  # noqa: S101 - `run` has been entered
        assert self._group is not None  # noqa: S101
        owner = _find_owner(request)
        owned = [one for one in self._sessions.values() if one.owner[0] == owner[0]]
        has_room = self.bound.admits(held=len(owned), in_all=len(self))
        if not has_room and not _end_longest_idle(owned):
            raise refuse(_UNAVAILABLE, INTERNAL_ERROR, "Too many open sessions")
        key = uuid4().hex
        session = self._sessions[key] = Session(
            key,
            owner,
            self._server,
            replace(self._lifespan, client=ClientState()),
            group=self._group,
            idle_s=self.idle_s,
            forget=lambda: self._sessions.pop(key, None),
        )
        return session


def _end_longest_idle(owned: list[Session]) -> bool:
    """End the session of these that has been idle for longest; return whether one was idle.

    Many clients never close theirs; one that comes back after all is told that the session is
    unknown, and opens another (MCP 2025-11-25, Transports, Session Management).
    """
    idle = [session for session in owned if session.idle_since is not None]
    if not idle:
        return False
    min(idle, key=lambda session: session.idle_since or 0.0).end()
    return True


def _find_owner(request: HttpRequest) -> tuple[str, int | None, str | None]:
    """Return the user, team and tool group that a session belongs to."""
    caller = request.caller
    if caller is None:
        return "", None, request.group
    return caller.user, caller.team, request.group or caller.group


def _is_stateless(version: str) -> bool:
    """Whether a version in the headers is of the stateless era, or of none that is known."""
    return bool(version) and version not in HANDSHAKE_PROTOCOL_VERSIONS


def _names_session(request: HttpRequest, version: str) -> bool:
    """Whether a request is of a session although its headers name a stateless version.

    Some clients name the newest version that they know in every header; one that names a session
    too, and has no envelope, is of the handshake era.
    """
    return SESSION_HEADER in request.headers and version in MODERN_PROTOCOL_VERSIONS
