"""Serves sessions and stateless requests through the SDK, with limits for each caller."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final
from uuid import uuid4

from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, AuthorizationContext
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from gateway_project.foundation.shares import Bound
from gateway_project.mcp import callers
from gateway_project.mcp.http.body import MAX_BODY_BYTES
from gateway_project.mcp.http.legacy import LegacyTransport
from gateway_project.mcp.http.modern import ModernHandler, is_modern

SESSIONS: Final = Bound(total=2_000, each=200)
"""Sessions of the process, and of one user."""
SESSION_IDLE_S: Final = 8 * 3_600.0
"""As long as a person may be away: many clients fail for good once their session is unknown. An
idle one takes some 50 KB, and gives way to newer ones of its user."""


class Sessions(StreamableHTTPSessionManager):
    """Serves requests that have passed the gate.

    A session belongs to the user, team and tool group whose token and path opened it; for anybody
    else it does not exist.

    Args:
        server: Of the SDK.
        idle_s: Seconds without a request after which a session ends.
        bound: How many sessions there may be.
    """

    def __init__(
        self,
        server: Server[Any],
        *,
        idle_s: float = SESSION_IDLE_S,
        bound: Bound = SESSIONS,
    ) -> None:
        super().__init__(
            server,
            session_idle_timeout=idle_s,
            max_sessions=bound.total,
            max_request_body_size=MAX_BODY_BYTES,
            # The gate has checked this already; without it the SDK builds one per request.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        self._bound = bound
        self._modern = ModernHandler(
            server, lifespan=lambda: self._lifespan_state, otherwise=self._handle_request
        )

    @property
    def session_count(self) -> int:
        """Number of open sessions."""
        return len(self._server_instances)

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request whose scope holds its caller and whose body is complete."""
        caller, group = scope[callers.CALLER_SCOPE_KEY], scope[callers.GROUP_SCOPE_KEY]
        scope["user"] = (
            _make_principal(caller.user, caller.team, group or caller.group)
            if caller
            else _make_principal("", None, group)
        )
        serve = self._modern.serve if is_modern(scope) else self._handle_request
        await serve(scope, receive, send)

    def _admit_session(
        self, requestor: AuthorizationContext | None
    ) -> StreamableHTTPServerTransport | None:
        if requestor is None:
            return None
        owned = [
            one
            for one, owner in self._session_owners.items()
            if owner["client_id"] == requestor["client_id"]
        ]
        has_room = self._bound.admits(held=len(owned), in_all=self.session_count)
        if not has_room and not self._end_longest_idle(owned):
            return None
        session_id = uuid4().hex
        transport = LegacyTransport(
            holder=requestor["client_id"],
            mcp_session_id=session_id,
            idle_timeout=self.session_idle_timeout,
            security_settings=self.security_settings,
        )
        self._session_owners[session_id] = requestor
        self._server_instances[session_id] = transport
        return transport

    def _end_longest_idle(self, owned: Sequence[str]) -> bool:
        """End the session of these that has been idle for longest; return whether one was idle.

        Many clients never close theirs; one that comes back after all is told that the session is
        unknown, and opens another (MCP 2025-11-25, Transports, Session Management).
        """
        # The SDK sets a deadline while no request is in flight, and moves it with each.
        idle = [
            (scope.deadline, one)
            for one in owned
            if (scope := self._server_instances[one].idle_scope) and scope.deadline < math.inf
        ]
        if not idle:
            return False
        _, longest = min(idle)
        transport = self._server_instances.pop(longest)
        del self._session_owners[longest]
        if transport.idle_scope:
            transport.idle_scope.cancel()
        return True


@lru_cache(maxsize=10_000)
def _make_principal(user: str, team: int | None, group: str | None) -> AuthenticatedUser:
    """Return the principal by which the SDK identifies the owner of a session."""
    subject = "/".join(("" if team is None else str(team), group or ""))
    return AuthenticatedUser(AccessToken(token="", client_id=user, subject=subject, scopes=[]))
