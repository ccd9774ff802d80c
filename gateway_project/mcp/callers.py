"""Identifies a request's caller by its connection, never by its content.

Over HTTP the gate authenticates the bearer token before the protocol sees the request and stores
the caller in the request's scope. Any other connection belongs to one caller: the process's own
client, or the one bound by `bind_connection_caller`.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from mcp.server import ServerRequestContext

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller
    from gateway_project.readiness import Gateway

CALLER_SCOPE_KEY: Final = "foregate.caller"
"""Key of the caller in the scope of an HTTP request; the value None means the local caller."""

_connection_caller: ContextVar[Caller | None] = ContextVar("connection_caller", default=None)
_request_caller: ContextVar[Caller | None] = ContextVar("request_caller")


def caller_of(ctx: ServerRequestContext[Any, Any], gateway: Gateway) -> Caller:
    """Return the caller of a request.

    Args:
        ctx: Of the request.
        gateway: Provides the local caller, the default.

    Raises:
        KeyError: If an HTTP request has not been authenticated.
    """
    if ctx.request is None:
        return _connection_caller.get() or gateway.caller
    caller: Caller | None = ctx.request.scope[CALLER_SCOPE_KEY]
    return caller or gateway.caller


def note_caller(scope: MutableMapping[str, Any], caller: Caller | None) -> None:
    """Store an HTTP request's caller in its scope; None means the local caller."""
    scope[CALLER_SCOPE_KEY] = caller
    _request_caller.set(caller)


def caller_of_http_request(gateway: Gateway) -> Caller:
    """Return the caller of the HTTP request being parsed, for SDK hooks without a context.

    Raises:
        LookupError: If the request has not been authenticated.
    """
    return _request_caller.get() or gateway.caller


@contextmanager
def bind_connection_caller(caller: Caller) -> Iterator[None]:
    """Set the caller of all requests on connections served within the context."""
    token = _connection_caller.set(caller)
    try:
        yield
    finally:
        _connection_caller.reset(token)
