"""Opens a connection in either era, without long waits, and builds its requests' envelopes.

The SDK's own `mode="auto"` waits ten seconds for an answer to `server/discover` before it tries
the handshake, so a legacy server that ignores unknown methods delays every start by that. Here
the handshake follows after a short timeout while the probe stays open: a modern server that
merely starts slowly answers both, and its first answer counts.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
    RequestId,
)
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

from gateway_project import VERSION
from gateway_project.foundation.task_group import TaskGroup
from tools.definition import Definition
from tools.mcp_tasks import EXTENSION, ID_FIELD, TASK_METHODS
from tools.upstream.errors import (
    ConnectionLost,
    HttpRefused,
    MessageTooLarge,
    ProtocolViolation,
    UpstreamError,
)
from tools.upstream.in_flight import LISTING_EXTENSIONS
from tools.upstream.request import CALL_METHOD, NO_CLIENT, UpstreamRequest
from tools.upstream.status import Era, ServerInfo, ServerPeer
from tools.upstream.wire import Wire

_RESERVED_META_KEYS = frozenset(
    {
        "progressToken",
        CLIENT_CAPABILITIES_META_KEY,
        CLIENT_INFO_META_KEY,
        LOG_LEVEL_META_KEY,
        PROTOCOL_VERSION_META_KEY,
        SUBSCRIPTION_ID_META_KEY,
    }
)
"""Keys that are hop-by-hop, never passed through."""
_NAME_FIELDS = {**NAME_BEARING_METHODS, **dict.fromkeys(TASK_METHODS, ID_FIELD)}


CLIENT_INFO: Mapping[str, Any] = {"name": "foregate", "version": VERSION}


HANDSHAKE_VERSIONS: Final = tuple(sorted(HANDSHAKE_PROTOCOL_VERSIONS, reverse=True))
"""Newest first."""

PROBE_TIMEOUT_S = 2.0
REMOTE_PROBE_TIMEOUT_S = 10.0
"""Over HTTP every request gets at least a status, so a slow server is slow with both."""

_NO_DISCOVERY = (ConnectionLost, HttpRefused, MessageTooLarge, ProtocolViolation)
# By which servers refuse a version over HTTP, beside JSON-RPC errors.
_REFUSAL_STATUSES = frozenset({400, 422, 500, 501})
_VERSION = re.compile(r"\b20\d\d-\d\d-\d\d\b")


class VersionRefused(Exception):
    """The server insists on an unknown protocol version."""


class Handshake:
    """Asks one server which protocol it speaks.

    Args:
        wire: Sends the requests.
        capabilities: Client capabilities to declare in the legacy handshake.
        versions: Versions to ask for in the handshake, one after the other; those that the server
            refuses are removed.
    """

    def __init__(
        self, wire: Wire, *, capabilities: Mapping[str, Any], versions: list[str]
    ) -> None:
        self._wire = wire
        self._capabilities = capabilities
        self._versions = versions

    async def discover(self, version: str) -> dict[str, Any]:
        """Send `server/discover` in one protocol version.

        Raises:
            MCPError: If it is refused.
        """
        return await self._wire.request(
            "server/discover",
            {"_meta": modern_meta(version, {})},
            headers={
                MCP_PROTOCOL_VERSION_HEADER: version,
                MCP_METHOD_HEADER: "server/discover",
            },
        )

    async def initialize(self) -> ServerPeer:
        """Perform the legacy handshake, with older versions if the server refuses newer ones.

        A server should answer with a version of its own instead; those that refuse do so in any
        words. A handshake has no effects, so any refusal is worth another version.

        Raises:
            MCPError: If the server refuses all versions.
            UpstreamError: Likewise, by an HTTP status.
            VersionRefused: If it insists on another version, or names none.
        """
        first_refusal: MCPError | HttpRefused | VersionRefused | None = None
        while True:
            try:
                return await self._initialize(self._versions[0])
            except (MCPError, HttpRefused, VersionRefused) as refusal:
                if self._wire.ended.is_set():
                    raise
                first_refusal = first_refusal or refusal
                remaining = _remaining_versions(self._versions, refusal)
                if not remaining:
                    raise first_refusal from None
                self._versions[:] = remaining

    async def _initialize(self, version: str) -> ServerPeer:
        raw = await self._wire.request(
            "initialize",
            {
                "protocolVersion": version,
                "capabilities": dict(self._capabilities),
                "clientInfo": dict(CLIENT_INFO),
            },
        )
        version = _read_text(raw, "protocolVersion")
        if version not in HANDSHAKE_PROTOCOL_VERSIONS:
            raise VersionRefused(f"Unsupported protocol version from the server: {version!r}")
        await self._wire.notify(
            "notifications/initialized", headers={MCP_PROTOCOL_VERSION_HEADER: version}
        )
        return ServerPeer(
            era="legacy",
            protocol_version=version,
            info=_read_server_info(raw.get("serverInfo")),
            instructions=_read_text(raw, "instructions"),
            capabilities=_read_object(raw, "capabilities"),
        )


def _remaining_versions(
    asked: list[str], refusal: MCPError | HttpRefused | VersionRefused
) -> list[str]:
    """Return the versions to ask for after the first was refused; empty: none can help."""
    if isinstance(refusal, VersionRefused):
        return asked[1:]
    if isinstance(refusal, HttpRefused):
        return asked[1:] if refusal.status in _REFUSAL_STATUSES else []
    if refusal.code == METHOD_NOT_FOUND:
        return []
    named = set(_VERSION.findall(f"{refusal.message} {refusal.data}")) - {asked[0]}
    if named and named <= set(MODERN_PROTOCOL_VERSIONS):
        return []
    return [version for version in asked[1:] if version in named] or asked[1:]


def modern_meta(version: str, capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `_meta` that every modern request carries about its client."""
    return {
        PROTOCOL_VERSION_META_KEY: version,
        CLIENT_INFO_META_KEY: CLIENT_INFO,
        CLIENT_CAPABILITIES_META_KEY: capabilities,
    }


def parse_discovery(raw: Mapping[str, Any]) -> ServerPeer | None:
    """Parse a discovery result; None if it offers no known version."""
    offered = raw.get("supportedVersions")
    mutual = [
        version
        for version in MODERN_PROTOCOL_VERSIONS
        if isinstance(offered, list) and version in offered
    ]
    if not mutual:
        return None
    return ServerPeer(
        era="modern",
        protocol_version=mutual[-1],
        info=_read_server_info(_read_object(raw, "_meta").get(SERVER_INFO_META_KEY)),
        instructions=_read_text(raw, "instructions"),
        capabilities=_read_object(raw, "capabilities"),
    )


# Beside the version, a server's description of itself is worth no refusal.
def _read_server_info(declared: Any) -> ServerInfo | None:
    if not isinstance(declared, dict) or not _read_text(declared, "name"):
        return None
    return ServerInfo(**{key: _read_text(declared, key) for key in ("name", "version", "title")})


def _read_object(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = raw.get(key)
    return value if isinstance(value, dict) else {}


def _read_text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


async def negotiate(
    handshake: Handshake, *, era: Era | None, patience_s: float = PROBE_TIMEOUT_S
) -> ServerPeer:
    """Negotiate the protocol version of a connection.

    Args:
        handshake: Sends the requests.
        era: The era negotiated last time: a legacy server is not probed again, and a modern one
            has unlimited time to answer the probe.
        patience_s: Seconds after which the handshake follows an unanswered probe.

    Returns:
        The server's description of itself.

    Raises:
        MCPError: If the server refuses both, or the connection ends.
        UpstreamError: If the transport fails.
        VersionRefused: If it insists on an unknown version.
    """
    if era == "legacy":
        return await handshake.initialize()
    found = await _race(handshake, None if era == "modern" else patience_s)
    if isinstance(found, Exception) and _is_modern_refusal(found):
        found = await _probe(handshake) or found  # it was too slow for the first one
    if isinstance(found, Exception):
        raise found
    return found


async def _race(handshake: Handshake, patience_s: float | None) -> ServerPeer | Exception:
    """Return the first usable answer: a discovery, or an accepted handshake."""
    async with TaskGroup() as group:
        probe = group.create_task(_probe(handshake))
        await asyncio.wait({probe}, timeout=patience_s)
        if found := _probe_result(probe):
            return found
        attempt = group.create_task(_try_handshake(handshake))
        tasks: set[asyncio.Task[Any]] = {probe, attempt}
        while pending := {task for task in tasks if not task.done()}:
            await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            if attempt.done() and isinstance(attempt.result(), ServerPeer):
                probe.cancel()
                return attempt.result()
            if found := _probe_result(probe):
                attempt.cancel()
                return found
        return attempt.result()


def _probe_result(
    probe: asyncio.Task[ServerPeer | Exception | None],
) -> ServerPeer | Exception | None:
    return probe.result() if probe.done() else None


async def _probe(handshake: Handshake) -> ServerPeer | Exception | None:
    """Probe the server with `server/discover`.

    Returns:
        The server; None if the handshake should be tried; an error if that would fail too.
    """
    version = LATEST_MODERN_VERSION
    # One try more than there are versions: a server may name the version it has just refused.
    for _ in range(len(MODERN_PROTOCOL_VERSIONS) + 1):
        try:
            return parse_discovery(await handshake.discover(version))
        except UpstreamError as error:
            # An older server may answer an unknown method with a status, with invalid content, or
            # by closing the connection.
            return None if isinstance(error, _NO_DISCOVERY) else error
        except MCPError as error:
            named = _mutual_versions(_supported_versions(error))
            if not named:
                return None
            version = max(named - {version} or named)
    return None


async def _try_handshake(handshake: Handshake) -> ServerPeer | Exception:
    """Perform the handshake; errors are returned, not raised."""
    try:
        return await handshake.initialize()
    except (MCPError, UpstreamError, VersionRefused) as error:
        return error


def _is_modern_refusal(refusal: Exception) -> bool:
    return isinstance(refusal, MCPError) and bool(_mutual_versions(_supported_versions(refusal)))


def _supported_versions(error: MCPError) -> list[str]:
    """Return the versions a server names when it refuses ours."""
    if error.code != UNSUPPORTED_PROTOCOL_VERSION or not isinstance(error.data, dict):
        return []
    supported = error.data.get("supported")
    return supported if isinstance(supported, list) else []


def _mutual_versions(versions: Iterable[Any]) -> set[str]:
    return {version for version in versions if version in MODERN_PROTOCOL_VERSIONS}


class RequestEnvelope:
    """Builds requests to one server in the form of its protocol version.

    Args:
        peer: The server.
        over_http: Whether requests carry headers.
    """

    def __init__(self, peer: ServerPeer, *, over_http: bool) -> None:
        self._version = peer.protocol_version
        self._is_modern = peer.era == "modern"
        self._over_http = over_http
        self._mirrored: dict[str, dict[tuple[str, ...], str]] | None = None

    def build_params(self, request: UpstreamRequest, request_id: RequestId) -> dict[str, Any]:
        """Return a request's parameters with their `_meta`."""
        meta = {
            key: value
            for key, value in (request.meta or {}).items()
            if key not in _RESERVED_META_KEYS
        }
        if request.wants_progress:
            meta["progressToken"] = request_id
        if self._is_modern:
            downstream = request.downstream
            has_client = downstream is not NO_CLIENT
            offered = downstream.capabilities if has_client else {"extensions": LISTING_EXTENSIONS}
            extensions = {**offered.get("extensions", {}), EXTENSION: {}}
            meta.update(modern_meta(self._version, {**offered, "extensions": extensions}))
            if downstream.log_level is not None:
                meta[LOG_LEVEL_META_KEY] = downstream.log_level
        return {**request.params, "_meta": meta} if meta else {**request.params}

    def build_headers(self, request: UpstreamRequest) -> dict[str, str] | None:
        """Return a request's headers; None if not over HTTP."""
        if not self._over_http:
            return None
        headers = {MCP_PROTOCOL_VERSION_HEADER: self._version}
        if self._is_modern:
            headers[MCP_METHOD_HEADER] = request.method
            name = request.params.get(_NAME_FIELDS.get(request.method, ""))
            if isinstance(name, str):
                headers[MCP_NAME_HEADER] = encode_header_value(name)
                headers.update(self._mirrored_headers(request, name))
        return headers

    def may_be_task(self, request: UpstreamRequest) -> bool:
        """Whether the server may answer a request with a task: it was told that we follow one."""
        return self._is_modern and request.method == CALL_METHOD

    def learn_headers(self, tools: Iterable[Definition]) -> None:
        """Record which arguments of which tools must be mirrored as headers."""
        if self._over_http and self._is_modern:
            maps = ((tool.name, x_mcp_header_map(tool.input_schema)) for tool in tools)
            self._mirrored = {name: mirrored for name, mirrored in maps if mirrored}

    def is_missing_headers(self, request: UpstreamRequest) -> bool:
        """Whether the tools must be listed before this call to know its headers."""
        return (
            self._over_http
            and self._is_modern
            and self._mirrored is None
            and request.method == CALL_METHOD
        )

    def _mirrored_headers(self, request: UpstreamRequest, tool: str) -> Mapping[str, str]:
        mirrored = (self._mirrored or {}).get(tool)
        if not mirrored or request.method != CALL_METHOD:
            return {}
        return mcp_param_headers(mirrored, request.params.get("arguments") or {})
