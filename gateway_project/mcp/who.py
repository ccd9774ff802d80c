"""Who a request is served for: known by the way it came in, never by what it says of itself.

Over HTTP the bearer token has been judged before the protocol sees the request, and its caller
stands in the request's scope. Other connections belong to one caller each: the process's own
client, or one that `connection_of` has named.
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

SCOPE_KEY: Final = "foregate.caller"
"""Where the scope of an HTTP request holds its caller; None: the local one of the process."""

_connection: ContextVar[Caller | None] = ContextVar("connection_caller", default=None)
_request: ContextVar[Caller | None] = ContextVar("request_caller")


def caller(ctx: ServerRequestContext[Any, Any], gateway: Gateway) -> Caller:
    """Return who a request is served for.

    Args:
        ctx: Of the request.
        gateway: Whose local caller a request stands for that no one else is named for.

    Raises:
        KeyError: If a request came over HTTP and nobody judged who sent it.
    """
    if ctx.request is None:
        return _connection.get() or gateway.caller
    named: Caller | None = ctx.request.scope[SCOPE_KEY]
    return named or gateway.caller


def admit(scope: MutableMapping[str, Any], named: Caller | None) -> None:
    """Note in the scope of an HTTP request who sent it; None: the local caller."""
    scope[SCOPE_KEY] = named
    _request.set(named)


def of_request(gateway: Gateway) -> Caller:
    """Return who sent the HTTP request being read, for what the SDK asks without saying for whom.

    Raises:
        LookupError: If nobody has judged that.
    """
    return _request.get() or gateway.caller


@contextmanager
def connection_of(named: Caller) -> Iterator[None]:
    """Have the requests of all connections served inside stand for a caller."""
    token = _connection.set(named)
    try:
        yield
    finally:
        _connection.reset(token)
