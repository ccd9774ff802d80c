"""Identifies a request's caller by its connection, never by its content, and its session.

Over HTTP the gate authenticates the bearer token before the protocol sees the request and stores
the caller in the request's scope. Any other connection belongs to one caller: the process's own
client, or the one bound by `bind_connection_caller`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mcp.server import ServerRequestContext

from gateway_project.mcp import client_state

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller
    from gateway_project.readiness import Gateway

CALLER_SCOPE_KEY: Final = "foregate.caller"
"""Key of the caller in the scope of an HTTP request; the value None means the local caller."""
TOKEN_SCOPE_KEY: Final = "foregate.token"  # noqa: S105 - the name of a key
"""Key of the digest of its bearer token; empty: there is none."""
GROUP_SCOPE_KEY: Final = "foregate.group"
"""Key of the name of the tool group in its path; None: there is none."""
_SESSION_KEY_BYTES: Final = 8
_OWN_SESSION: Final = secrets.token_hex(_SESSION_KEY_BYTES)
"""Session of the process's own client, where its connection does not name one."""

_connection_caller: ContextVar[Callable[[], Caller] | None] = ContextVar(
    "connection_caller", default=None
)
_request_caller: ContextVar[tuple[Caller | None, str | None]] = ContextVar("request_caller")
"""Caller of the HTTP request being served, and the tool group in its path."""


def caller_of(ctx: ServerRequestContext[Any, Any], gateway: Gateway) -> Caller:
    """Return the caller of a request, with the session that the request belongs to.

    Args:
        ctx: Of the request.
        gateway: Provides the local caller, the default.

    Raises:
        KeyError: If an HTTP request has not been authenticated.
        NotReady: If the connection's user has lost the right to use it.
    """
    if ctx.request is None:
        get_caller = _connection_caller.get()
        caller = get_caller() if get_caller is not None else gateway.caller
        session = client_state.find_connection_key(ctx) or caller.session or _OWN_SESSION
        trace = ""
    else:
        scope = ctx.request.scope
        caller = _resolve_caller(scope[CALLER_SCOPE_KEY], scope[GROUP_SCOPE_KEY], gateway)
        session, trace = client_state.find_connection_key(ctx), ""
        if not session:
            token = scope.get(TOKEN_SCOPE_KEY, "")
            session, trace = client_state.read_stateless_session(ctx, token=token)
    return replace(caller, session=session, trace=trace)


def note_caller(
    scope: MutableMapping[str, Any],
    caller: Caller | None,
    *,
    token: str = "",
    group: str | None = None,
) -> None:
    """Store an HTTP request's caller in its scope; None means the local caller.

    Args:
        scope: Of the request.
        caller: Its caller.
        token: Digest of its bearer token; empty: there is none.
        group: Name of the tool group in its path; None: there is none.
    """
    scope[CALLER_SCOPE_KEY] = caller
    scope[TOKEN_SCOPE_KEY] = token
    scope[GROUP_SCOPE_KEY] = group
    _request_caller.set((caller, group))


def caller_of_http_request(gateway: Gateway) -> Caller:
    """Return the caller of the HTTP request being parsed, for SDK hooks without a context.

    Raises:
        LookupError: If the request has not been authenticated.
    """
    return _resolve_caller(*_request_caller.get(), gateway)


def _resolve_caller(caller: Caller | None, group: str | None, gateway: Gateway) -> Caller:
    caller = caller or gateway.caller
    return caller if group is None else caller.limit_to_group(group)


@contextmanager
def bind_connection_caller(
    get_caller: Callable[[], Caller],
) -> Iterator[Callable[[], Caller]]:
    """Set how the caller of each request on the connection served within the context is found.

    Yields:
        Finds the caller, with the session of the connection.
    """
    session = secrets.token_hex(_SESSION_KEY_BYTES)

    def find_caller() -> Caller:
        return replace(get_caller(), session=session)

    token = _connection_caller.set(find_caller)
    try:
        yield find_caller
    finally:
        _connection_caller.reset(token)
