"""Negotiates the era of the protocol with a server, without long waits.

The SDK's own `mode="auto"` waits ten seconds for an answer to `server/discover` before it tries
the handshake, so a legacy server that ignores unknown methods delays every start by that. Here
the handshake follows after a short timeout while the probe stays open: a modern server that
merely starts slowly answers both, and its first answer counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Protocol

from mcp.shared.exceptions import MCPError
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS

from gateway_project.foundation.task_group import TaskGroup
from tools.upstream.errors import (
    ConnectionLost,
    HttpRefused,
    MessageTooLarge,
    ProtocolViolation,
    UpstreamError,
)
from tools.upstream.handshake import VersionRefused, parse_discovery
from tools.upstream.peer import Era, ServerPeer

PROBE_TIMEOUT_S = 2.0
REMOTE_PROBE_TIMEOUT_S = 10.0
"""Over HTTP every request gets at least a status, so a slow server is slow with both."""

_NO_DISCOVERY = (ConnectionLost, HttpRefused, MessageTooLarge, ProtocolViolation)


class ProtocolProber(Protocol):
    """Probes which protocol a server speaks."""

    async def discover(self, version: str) -> dict[str, Any]:
        """Send `server/discover` in one protocol version."""

    async def initialize(self) -> ServerPeer:
        """Perform the legacy handshake."""


async def negotiate(
    prober: ProtocolProber, *, era: Era | None, patience_s: float = PROBE_TIMEOUT_S
) -> ServerPeer:
    """Negotiate the protocol version of a connection.

    Args:
        prober: Sends the requests.
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
        return await prober.initialize()
    found = await _race(prober, None if era == "modern" else patience_s)
    if isinstance(found, Exception) and _is_modern_refusal(found):
        found = await _probe(prober) or found  # it was too slow for the first one
    if isinstance(found, Exception):
        raise found
    return found


async def _race(prober: ProtocolProber, patience_s: float | None) -> ServerPeer | Exception:
    """Return the first usable answer: a discovery, or an accepted handshake."""
    async with TaskGroup() as group:
        probe = group.create_task(_probe(prober))
        await asyncio.wait({probe}, timeout=patience_s)
        if found := _probe_result(probe):
            return found
        handshake = group.create_task(_try_handshake(prober))
        tasks: set[asyncio.Task[Any]] = {probe, handshake}
        while pending := {task for task in tasks if not task.done()}:
            await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            if handshake.done() and isinstance(handshake.result(), ServerPeer):
                probe.cancel()
                return handshake.result()
            if found := _probe_result(probe):
                handshake.cancel()
                return found
        return handshake.result()


def _probe_result(
    probe: asyncio.Task[ServerPeer | Exception | None],
) -> ServerPeer | Exception | None:
    return probe.result() if probe.done() else None


async def _probe(prober: ProtocolProber) -> ServerPeer | Exception | None:
    """Probe the server with `server/discover`.

    Returns:
        The server; None if the handshake should be tried; an error if that would fail too.
    """
    version = LATEST_MODERN_VERSION
    # One try more than there are versions: a server may name the version it has just refused.
    for _ in range(len(MODERN_PROTOCOL_VERSIONS) + 1):
        try:
            return parse_discovery(await prober.discover(version))
        except UpstreamError as error:
            # An older server may answer an unknown method with a status, with invalid content, or
            # by closing the connection.
            return None if isinstance(error, _NO_DISCOVERY) else error
        except MCPError as error:
            if _is_transport_error(error):
                return error
            named = _mutual_versions(_supported_versions(error))
            if not named:
                return None
            version = max(named - {version} or named)
    return None


async def _try_handshake(prober: ProtocolProber) -> ServerPeer | Exception:
    """Perform the handshake; errors are returned, not raised."""
    try:
        return await prober.initialize()
    except (MCPError, UpstreamError, VersionRefused) as error:
        return error


def _is_transport_error(error: MCPError) -> bool:
    """Whether the transport failed, not the server: sign-in required, host unknown."""
    return isinstance(error.data, UpstreamError)


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
