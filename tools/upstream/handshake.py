"""Both ways of getting acquainted with a server: discovery, and the handshake of old."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import Any

from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_PROTOCOL_VERSION_HEADER
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
    DiscoverResult,
    Implementation,
    InitializeResult,
)
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)
from pydantic import ValidationError

from tools.upstream.dispatch import Wire
from tools.upstream.peer import Peer
from tools.upstream.status import ServerInfo


def _version() -> str:
    try:
        return metadata.version("foregate")
    except metadata.PackageNotFoundError:  # run from its folder
        return "0"


CLIENT: Mapping[str, Any] = {"name": "foregate", "version": _version()}


class VersionRefused(Exception):
    """The server wants to speak a version that is unknown here."""


class Handshake:
    """Asks a server what it speaks.

    Args:
        wire: Running.
        capabilities: What the client of the connection can be asked, for the handshake of old.
    """

    def __init__(self, wire: Wire, *, capabilities: Mapping[str, Any]) -> None:
        self._wire = wire
        self._capabilities = capabilities

    async def discover(self, version: str) -> dict[str, Any]:
        """Ask for a discovery in one version.

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

    async def initialize(self) -> Peer:
        """Shake hands.

        Raises:
            MCPError: If the server refuses.
            pydantic.ValidationError: If its answer is malformed.
            VersionRefused: If it insists on another version.
        """
        raw = await self._wire.request(
            "initialize",
            {
                "protocolVersion": LATEST_HANDSHAKE_VERSION,
                "capabilities": dict(self._capabilities),
                "clientInfo": dict(CLIENT),
            },
        )
        result = InitializeResult.model_validate(raw, by_name=False)
        version = result.protocol_version
        if version not in HANDSHAKE_PROTOCOL_VERSIONS:
            raise VersionRefused(f"Unsupported protocol version from the server: {version}")
        await self._wire.notify(
            "notifications/initialized", headers={MCP_PROTOCOL_VERSION_HEADER: version}
        )
        return Peer(
            era="legacy",
            protocol_version=version,
            info=_info(result.server_info),
            instructions=result.instructions or "",
            capabilities=_capabilities(raw),
        )


def modern_meta(version: str, capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Build what every modern request says of its client."""
    return {
        PROTOCOL_VERSION_META_KEY: version,
        CLIENT_INFO_META_KEY: CLIENT,
        CLIENT_CAPABILITIES_META_KEY: capabilities,
    }


def discovered(raw: dict[str, Any]) -> Peer | None:
    """Read a discovery; None if it is none, or offers no version that is known here."""
    ttl = raw.get("ttlMs")
    if isinstance(ttl, int | float) and ttl < 0:  # to be taken for 0, says the protocol
        raw = {**raw, "ttlMs": 0}
    try:
        result = DiscoverResult.model_validate(raw, by_name=False)
    except ValidationError:
        return None
    mutual = [one for one in MODERN_PROTOCOL_VERSIONS if one in result.supported_versions]
    if not mutual:
        return None
    return Peer(
        era="modern",
        protocol_version=mutual[-1],
        info=_stamped(result),
        instructions=result.instructions or "",
        capabilities=_capabilities(raw),
    )


def _stamped(result: DiscoverResult) -> ServerInfo | None:
    try:
        return _info(Implementation.model_validate((result.meta or {}).get(SERVER_INFO_META_KEY)))
    except ValidationError:  # for display only, so not worth a refusal
        return None


def _info(said: Implementation) -> ServerInfo:
    return ServerInfo(name=said.name, version=said.version, title=said.title or "")


def _capabilities(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    said = raw.get("capabilities")
    return said if isinstance(said, dict) else {}
