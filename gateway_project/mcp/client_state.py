"""State of a client: kept between its requests, or read from each request.

In the handshake era a connection is a session. From 2026-07-28 on requests are stateless, and the
state kept here ends with the request.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import anyio
import structlog
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tools import mcp_tasks, ui_pages
from tools.resource_uris import ResourceAddress

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller, SessionKey

Context = ServerRequestContext[Any]

log = structlog.get_logger(__name__)

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
_OFFICIAL_EXTENSIONS: Final = "io.modelcontextprotocol/"
_FORWARDED_EXTENSIONS: Final = frozenset({ui_pages.EXTENSION, mcp_tasks.EXTENSION})
"""Official extensions that servers may use through the gateway; others have methods of their own
or concern who signs in. Skills are declared by servers alone."""
MAX_CLIENT_NAME_CHARS: Final = 100
"""Characters of a client's name that tell its sessions apart."""
_TRACE_PARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
"""`traceparent` of the W3C Trace Context; the group is the id of the trace."""
CLOSE_TIMEOUT_S: Final = 5.0
"""Time that what is run at the end of a connection may take."""


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
        call_limit_s: Seconds that its files give a call of Foregate; 0: none, None: not read.
        ends_session: Whether its end is recorded as that of a session.
        at_end: What is run when the connection ends.
    """

    connection_key: str = field(default_factory=lambda: secrets.token_hex(8))
    log_level: str = DEFAULT_LOG_LEVEL
    watched_resources: dict[ResourceAddress, str] = field(default_factory=dict)
    client_key: SessionKey | None = None
    is_following: bool = False
    capabilities: Mapping[str, Any] | None = None
    call_limit_s: float | None = None
    ends_session: bool = False
    at_end: AsyncExitStack = field(default_factory=AsyncExitStack)
    _bound: tuple[Caller, str | None, Caller] | None = None

    def bind_session(self, caller: Caller, group: str | None) -> Caller:
        """Return a caller with the session of this connection, limited to a tool group if given.

        The same caller gets the same object, which remembers what is derived from it.
        """
        if self._bound is None or self._bound[0] is not caller or self._bound[1] != group:
            bound = replace(caller.limit_to_group(group), session=self.connection_key, trace="")
            self._bound = caller, group, bound
        return self._bound[2]


def state_of(ctx: Context) -> ClientState:
    """Return the state of a request's connection, of the handshake era."""
    state: ClientState = ctx.lifespan_context.client
    return state


async def close(state: ClientState) -> None:
    """Run what is to be run at the end of a connection; errors are logged."""
    with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True) as limit:
        try:
            await state.at_end.aclose()
        except Exception:
            log.exception("the end of a connection failed")
    if limit.cancelled_caught:
        log.warning("the end of a connection took too long")


def is_modern(ctx: Context) -> bool:
    """Whether a request is of the stateless era."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


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
    return read_client(ctx)[0]


def read_client(ctx: Context) -> tuple[str, str]:
    """Return the name and the version that a client states, shortened; empty: none."""
    if is_modern(ctx):
        return read_client_info(_read_meta(ctx))
    params = ctx.session.client_params
    client = params.client_info if params else None
    return _shorten_info(client.name, client.version) if client else ("", "")


def read_client_info(meta: Mapping[str, Any]) -> tuple[str, str]:
    """Return the same from the `_meta` of a stateless request."""
    client = meta.get(CLIENT_INFO_META_KEY)
    known = client if isinstance(client, Mapping) else {}
    return _shorten_info(known.get("name"), known.get("version"))


def _shorten_info(name: object, version: object) -> tuple[str, str]:
    return str(name or "")[:MAX_CLIENT_NAME_CHARS], str(version or "")[:MAX_CLIENT_NAME_CHARS]


def read_capabilities(ctx: Context) -> Mapping[str, Any]:
    """Return the capabilities that the client declared, of those forwarded to servers."""
    if is_modern(ctx):
        return _filter_capabilities(_read_meta(ctx).get(CLIENT_CAPABILITIES_META_KEY))
    state = state_of(ctx)
    if state.capabilities is None:
        declared = ctx.session.client_capabilities
        state.capabilities = _filter_capabilities(
            declared.model_dump(by_alias=True, mode="json", exclude_none=True) if declared else {},
            official=_FORWARDED_EXTENSIONS - {mcp_tasks.EXTENSION},  # its results have no type
        )
    return state.capabilities


def shows_pages(ctx: Context) -> bool:
    """Whether the client shows pages of servers (MCP Apps)."""
    return ui_pages.EXTENSION in read_capabilities(ctx).get("extensions", {})


def speaks_tasks(ctx: Context) -> bool:
    """Whether the client of a request follows an MCP task instead of its result."""
    return mcp_tasks.declares_tasks(read_capabilities(ctx))


def require_tasks(ctx: Context) -> None:
    """Check that a request about MCP tasks declares their extension.

    Raises:
        MCPError: If it does not, or its version has no such requests.
    """
    if not is_modern(ctx):
        raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)
    if not speaks_tasks(ctx):
        required: dict[str, Any] = {"extensions": {mcp_tasks.EXTENSION: {}}}
        text = f"declare the extension {mcp_tasks.EXTENSION} with each request about tasks"
        data = {"requiredCapabilities": required}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, text, data)


def read_log_level(ctx: Context) -> str | None:
    """Return the least severe log level that the client wants; None for no messages."""
    if not is_modern(ctx):
        return state_of(ctx).log_level
    min_level = _read_meta(ctx).get(LOG_LEVEL_META_KEY)
    return min_level if min_level in LOG_LEVELS else None


def _read_meta(ctx: Context) -> Mapping[str, Any]:
    meta = (ctx.params or {}).get("_meta")
    return meta if isinstance(meta, Mapping) else {}


def _filter_capabilities(
    declared: object, *, official: Collection[str] = _FORWARDED_EXTENSIONS
) -> Mapping[str, Any]:
    if not isinstance(declared, Mapping):
        return {}
    forwarded = {
        key: declared[key]
        for key in FORWARDED_CAPABILITIES
        if isinstance(declared.get(key), Mapping)
    }
    extensions = declared.get("extensions")
    if isinstance(extensions, Mapping):
        forwarded["extensions"] = {
            name: settings
            for name, settings in extensions.items()
            if name in official or not name.startswith(_OFFICIAL_EXTENSIONS)
        }
    return forwarded
