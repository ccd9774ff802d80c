"""State of a client: kept between its requests, or read from each request.

In the handshake era a connection is a session. From 2026-07-28 on requests are stateless, and the
state kept here ends with the request.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mcp.server import ServerRequestContext
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tools.resource_uris import ResourceAddress

if TYPE_CHECKING:
    from gateway_project.foundation.caller import SessionKey

Context = ServerRequestContext[Any]

LOG_LEVELS: Final = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
DEFAULT_LOG_LEVEL: Final = "info"
"""Level for a client of the handshake era that never set one."""
FORWARDED_CAPABILITIES: Final = ("elicitation", "sampling", "roots")
"""Capabilities that servers may use through the gateway."""
MAX_CLIENT_NAME_CHARS: Final = 100
"""Characters of a client's name that tell its sessions apart."""
_TRACE_PARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
"""`traceparent` of the W3C Trace Context; the group is the id of the trace."""
_STATE_KEY: Final = "foregate"


@dataclass(kw_only=True, eq=False)
class ClientState:
    """State of a connection of the handshake era.

    Attributes:
        connection_key: Random key of the connection.
        log_level: Least severe log level that the client wants.
        watched_resources: Resources that it watches, each with the URI that it knows.
        client_key: `Caller.client_key` of the client; None until it first subscribes.
        is_following: Whether it receives change notifications.
        capabilities: Forwarded capabilities that it declared; None until first read.
        ends_session: Whether its end is recorded as that of a session.
    """

    connection_key: str = field(default_factory=lambda: secrets.token_hex(8))
    log_level: str = DEFAULT_LOG_LEVEL
    watched_resources: dict[ResourceAddress, str] = field(default_factory=dict)
    client_key: SessionKey | None = None
    is_following: bool = False
    capabilities: Mapping[str, Any] | None = None
    ends_session: bool = False


def state_of(ctx: Context) -> ClientState:
    """Return the state of a request's connection."""
    # The SDK has a dictionary for this on each connection, but no public accessor.
    state: dict[str, Any] = ctx.session._connection.state
    client_state = state.get(_STATE_KEY)
    if not isinstance(client_state, ClientState):
        client_state = state[_STATE_KEY] = ClientState()
    return client_state


def run_at_end(ctx: Context, callback: Callable[[], Awaitable[None]]) -> None:
    """Run a callback, which may take a few seconds, when the request's connection ends.

    Each request of 2026-07-28 has a connection of its own.
    """
    ctx.session._connection.exit_stack.push_async_callback(callback)


def is_modern(ctx: Context) -> bool:
    """Whether a request is of the stateless era."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def find_connection_key(ctx: Context) -> str:
    """Return the key of the connection that a request belongs to; empty in the stateless era."""
    return "" if is_modern(ctx) else state_of(ctx).connection_key


def read_stateless_session(ctx: Context, *, token: str) -> tuple[str, str]:
    """Return the session and the trace that a stateless request over HTTP belongs to.

    The session consists of the token and the client's name, as far as they are given. Spans of
    one trace are one conversation.

    Args:
        ctx: Of the request.
        token: Digest of the bearer token; empty: there is none.

    References:
        W3C Trace Context, https://www.w3.org/TR/trace-context/
    """
    trace = _read_meta(ctx).get("traceparent")
    match = _TRACE_PARENT.fullmatch(trace) if isinstance(trace, str) else None
    session = f"{token}\n{read_client_name(ctx)}"
    return session, match[1] if match is not None else ""


def read_client_name(ctx: Context) -> str:
    """Return the name that a client states, shortened; empty: none."""
    if is_modern(ctx):
        client = _read_meta(ctx).get(CLIENT_INFO_META_KEY)
        name = client.get("name") if isinstance(client, Mapping) else None
    else:
        params = ctx.session.client_params
        name = params.client_info.name if params else None
    return str(name or "")[:MAX_CLIENT_NAME_CHARS]


def read_capabilities(ctx: Context) -> Mapping[str, Any]:
    """Return the capabilities that the client declared, of those forwarded to servers."""
    if is_modern(ctx):
        return _filter_capabilities(_read_meta(ctx).get(CLIENT_CAPABILITIES_META_KEY))
    state = state_of(ctx)
    if state.capabilities is None:
        declared = ctx.session.client_capabilities
        state.capabilities = _filter_capabilities(
            declared.model_dump(by_alias=True, mode="json", exclude_none=True) if declared else {}
        )
    return state.capabilities


def read_log_level(ctx: Context) -> str | None:
    """Return the least severe log level that the client wants; None for no messages."""
    if not is_modern(ctx):
        return state_of(ctx).log_level
    min_level = _read_meta(ctx).get(LOG_LEVEL_META_KEY)
    return min_level if min_level in LOG_LEVELS else None


def is_severe_enough(level: object, min_level: str | None) -> bool:
    """Whether a log message reaches the wanted level; an unknown level always does."""
    if min_level is None:
        return False
    return level not in LOG_LEVELS or LOG_LEVELS.index(str(level)) >= LOG_LEVELS.index(min_level)


def _read_meta(ctx: Context) -> Mapping[str, Any]:
    meta = (ctx.params or {}).get("_meta")
    return meta if isinstance(meta, Mapping) else {}


def _filter_capabilities(declared: object) -> Mapping[str, Any]:
    if not isinstance(declared, Mapping):
        return {}
    return {
        key: declared[key]
        for key in FORWARDED_CAPABILITIES
        if isinstance(declared.get(key), Mapping)
    }
