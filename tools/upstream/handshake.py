"""Both ways to open a connection: modern discovery and the legacy handshake."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import metadata
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_PROTOCOL_VERSION_HEADER
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
)
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    MODERN_PROTOCOL_VERSIONS,
)

from tools.upstream.dispatch import RequestDispatcher
from tools.upstream.errors import HttpRefused, UpstreamError
from tools.upstream.peer import ServerPeer
from tools.upstream.status import ServerInfo


def _package_version() -> str:
    try:
        return metadata.version("foregate")
    except metadata.PackageNotFoundError:  # run from its folder
        return "0"


CLIENT_INFO: Mapping[str, Any] = {"name": "foregate", "version": _package_version()}


HANDSHAKE_VERSIONS: Final = tuple(sorted(HANDSHAKE_PROTOCOL_VERSIONS, reverse=True))
"""Newest first."""

# By which servers refuse a version over HTTP, beside JSON-RPC errors.
_REFUSAL_STATUSES = frozenset({400, 422, 500, 501})
_VERSION = re.compile(r"\b20\d\d-\d\d-\d\d\b")


class VersionRefused(Exception):
    """The server insists on an unknown protocol version."""


class Handshake:
    """The `ProtocolProber` of a connection.

    Args:
        wire: A running dispatcher.
        capabilities: Client capabilities to declare in the legacy handshake.
        versions: Versions to ask for in the handshake, one after the other; those that the server
            refuses are removed.
    """

    def __init__(
        self, wire: RequestDispatcher, *, capabilities: Mapping[str, Any], versions: list[str]
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
    if isinstance(refusal, MCPError) and isinstance(refusal.data, UpstreamError):
        return []  # the transport failed
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
