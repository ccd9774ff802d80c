"""Identifies a request's caller by its connection, never by its content, and its session.

Over HTTP the gate authenticates the bearer token before the protocol sees the request. Any other
connection belongs to one caller: the process's own client, or the one bound by
`bind_connection_caller`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mcp.server import ServerRequestContext

from gateway_project.mcp import client_state

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller
    from gateway_project.readiness import Gateway

_SESSION_KEY_BYTES: Final = 8
_OWN_SESSION: Final = secrets.token_hex(_SESSION_KEY_BYTES)
"""Session of the process's own client, where its connection does not name one."""

_connection_caller: ContextVar[Callable[[], Caller] | None] = ContextVar(
    "connection_caller", default=None
)


def caller_of(ctx: ServerRequestContext[Any, Any], gateway: Gateway) -> Caller:
    """Return the caller of a request, with the session that the request belongs to.

    Args:
        ctx: Of the request.
        gateway: Provides the local caller, the default.

    Raises:
        NotReady: If the connection's user has lost the right to use it.
    """
    if ctx.request is None:
        get_caller = _connection_caller.get()
        caller, group = get_caller() if get_caller is not None else gateway.caller, None
    else:
        caller, group = ctx.request.find_caller(gateway.caller), ctx.request.group
    if not client_state.is_modern(ctx):
        return client_state.state_of(ctx).bind_session(caller, group)
    if ctx.request is None:
        return replace(caller, session=caller.session or _OWN_SESSION, trace="")
    session, trace = client_state.read_stateless_session(ctx, token=ctx.request.token)
    return replace(caller.limit_to_group(group), session=session, trace=trace)


@contextmanager
def bind_connection_caller(
    get_caller: Callable[[], Caller], *, folder: str = ""
) -> Iterator[Callable[[], Caller]]:
    """Set how the caller of each request on the connection served within the context is found.

    Args:
        get_caller: Returns the caller without its session.
        folder: Where the client works; empty: unknown.

    Yields:
        Finds the caller, with the session of the connection.
    """
    session = secrets.token_hex(_SESSION_KEY_BYTES)

    def find_caller() -> Caller:
        return replace(get_caller(), session=session, folder=folder)

    token = _connection_caller.set(find_caller)
    try:
        yield find_caller
    finally:
        _connection_caller.reset(token)
