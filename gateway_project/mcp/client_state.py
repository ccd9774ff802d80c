"""What is remembered of a client between its requests, and what each request says of it.

In the handshake era a connection is a session. From 2026-07-28 on each request stands for itself,
and what is remembered here ends with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mcp.server import ServerRequestContext
from mcp_types import CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tools.resource_uris import Address

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller

Context = ServerRequestContext[Any]

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
DEFAULT_LEVEL: Final = "info"
"""What a client of the handshake era hears of that never said."""
PASSED_ON: Final = ("elicitation", "sampling", "roots")
"""Capabilities that servers may use through the gateway."""
_KEY: Final = "foregate"


@dataclass(kw_only=True, eq=False)
class ClientState:
    """A connection of the handshake era.

    Attributes:
        key: Tells it from others.
        log_level: Least severe log message that the client wants.
        watched: Resources whose updates it wants, with the URIs it knows them by.
        session: What servers know it by; empty until it first subscribes.
        followed: Whether it is told of changes.
        capabilities: What it can be asked; None: not read yet.
    """

    key: str = field(default_factory=lambda: secrets.token_hex(8))
    log_level: str = DEFAULT_LEVEL
    watched: dict[Address, str] = field(default_factory=dict)
    session: str = ""
    followed: bool = False
    capabilities: Mapping[str, Any] | None = None


def of(ctx: Context) -> ClientState:
    """Return what is remembered of the connection that a request came on."""
    # The SDK keeps a dictionary for this on each connection, and no public way to it.
    state: dict[str, Any] = ctx.session._connection.state
    found = state.get(_KEY)
    if not isinstance(found, ClientState):
        found = state[_KEY] = ClientState()
    return found


def at_end(ctx: Context, callback: Callable[[], Awaitable[None]]) -> None:
    """Have something done when a connection ends, which may take a few seconds.

    A request of 2026-07-28 has a connection of its own.
    """
    ctx.session._connection.exit_stack.push_async_callback(callback)


def modern(ctx: Context) -> bool:
    """Whether a request is of the era in which each stands for itself."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def session_key(ctx: Context, caller: Caller) -> str:
    """Return what tells callers apart at servers that keep state for each."""
    if modern(ctx):
        return f"{caller.team or ''}/{caller.user}"
    return f"{caller.team or ''}/{caller.user}/{of(ctx).key}"


def capabilities(ctx: Context) -> Mapping[str, Any]:
    """Return what the client can be asked, as it declared it."""
    if modern(ctx):
        return _asked(_meta(ctx).get(CLIENT_CAPABILITIES_META_KEY))
    state = of(ctx)
    if state.capabilities is None:
        declared = ctx.session.client_capabilities
        state.capabilities = _asked(
            declared.model_dump(by_alias=True, mode="json", exclude_none=True) if declared else {}
        )
    return state.capabilities


def log_level(ctx: Context) -> str | None:
    """Return the least severe log message wanted; None: none."""
    if not modern(ctx):
        return of(ctx).log_level
    wanted = _meta(ctx).get(LOG_LEVEL_META_KEY)
    return wanted if wanted in LEVELS else None


def severe_enough(level: object, wanted: str | None) -> bool:
    """Whether a log message is wanted; one of no known level is, by who wants any."""
    if wanted is None:
        return False
    return level not in LEVELS or LEVELS.index(str(level)) >= LEVELS.index(wanted)


def _meta(ctx: Context) -> Mapping[str, Any]:
    meta = (ctx.params or {}).get("_meta")
    return meta if isinstance(meta, Mapping) else {}


def _asked(declared: object) -> Mapping[str, Any]:
    if not isinstance(declared, Mapping):
        return {}
    return {key: declared[key] for key in PASSED_ON if isinstance(declared.get(key), Mapping)}
