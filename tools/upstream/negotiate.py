"""Find out which era of the protocol a server speaks, without waiting long for those who differ.

The SDK's own `mode="auto"` waits ten seconds for an answer to `server/discover` before it tries
the handshake. A legacy server that ignores methods it does not know makes every start wait that
long. Here the handshake follows after a short patience while the probe stays open: a modern
server that merely starts slowly answers both, and its first answer counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Protocol

from mcp.shared.exceptions import MCPError
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from tools.upstream.errors import HttpRefused, ProtocolViolation, UpstreamError
from tools.upstream.handshake import VersionRefused, discovered
from tools.upstream.peer import Era, Peer

PATIENCE_S = 2.0
REMOTE_PATIENCE_S = 10.0
"""Over HTTP every request is answered, if only with a status; who is slow is so with both."""


class Greeter(Protocol):
    """Asks a server what it speaks."""

    async def discover(self, version: str) -> dict[str, Any]:
        """Ask for a discovery in one version."""

    async def initialize(self) -> Peer:
        """Shake hands."""


async def negotiate(greeter: Greeter, *, era: Era | None, patience_s: float = PATIENCE_S) -> Peer:
    """Settle the protocol version of a connection.

    Args:
        greeter: Asks the server.
        era: What the server spoke last time: a legacy server is not probed again, and a modern
            one gets all the time it wants.
        patience_s: Seconds after which the handshake follows an unanswered probe.

    Returns:
        The server as it described itself.

    Raises:
        MCPError: If the server refuses both, or the connection ends.
        UpstreamError: If the transport fails.
        pydantic.ValidationError: If its answer to the handshake is malformed.
        VersionRefused: If it insists on a version that is unknown here.
    """
    if era == "legacy":
        return await greeter.initialize()
    found = await _race(greeter, None if era == "modern" else patience_s)
    if isinstance(found, Exception) and _refused_as_modern(found):
        found = await _probe(greeter) or found  # it was too slow for the first one
    if isinstance(found, Exception):
        raise found
    return found


async def _race(greeter: Greeter, patience_s: float | None) -> Peer | Exception:
    """Let the first usable answer count: a discovery, or a handshake that was not refused."""
    async with asyncio.TaskGroup() as group:
        probe = group.create_task(_probe(greeter))
        await asyncio.wait({probe}, timeout=patience_s)
        if found := _result(probe):
            return found
        shake = group.create_task(_shake(greeter))
        tasks: set[asyncio.Task[Any]] = {probe, shake}
        while pending := {task for task in tasks if not task.done()}:
            await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            if shake.done() and isinstance(shake.result(), Peer):
                probe.cancel()
                return shake.result()
            if found := _result(probe):
                shake.cancel()
                return found
        return shake.result()


def _result(probe: asyncio.Task[Peer | Exception | None]) -> Peer | Exception | None:
    return probe.result() if probe.done() else None


async def _probe(greeter: Greeter) -> Peer | Exception | None:
    """Ask what the server can do the modern way.

    Returns:
        The server; None if that leads nowhere; an error if nothing else would lead anywhere.
    """
    version = LATEST_MODERN_VERSION
    # Once more than there are versions: a server may name the very one that it has just refused.
    for _ in range(len(MODERN_PROTOCOL_VERSIONS) + 1):
        try:
            return discovered(await greeter.discover(version))
        except UpstreamError as error:
            # An older server may answer what it does not know with a status, or in its own words.
            return None if isinstance(error, HttpRefused | ProtocolViolation) else error
        except MCPError as error:
            if _is_ours(error):
                return error
            named = _mutual(_supported(error))
            if not named:
                return None
            version = max(named - {version} or named)
    return None


async def _shake(greeter: Greeter) -> Peer | Exception:
    """Perform the handshake; return what went wrong, as a value the race can weigh."""
    try:
        return await greeter.initialize()
    except (MCPError, UpstreamError, ValidationError, VersionRefused) as error:
        return error


def _is_ours(error: MCPError) -> bool:
    """Whether the transport failed and not the server: no sign-in, no such host."""
    return isinstance(error.data, UpstreamError)


def _refused_as_modern(refusal: Exception) -> bool:
    return isinstance(refusal, MCPError) and bool(_mutual(_supported(refusal)))


def _supported(error: MCPError) -> list[str]:
    """Versions a server names when it refuses ours."""
    if error.code != UNSUPPORTED_PROTOCOL_VERSION or not isinstance(error.data, dict):
        return []
    supported = error.data.get("supported")
    return supported if isinstance(supported, list) else []


def _mutual(versions: Iterable[Any]) -> set[str]:
    return {version for version in versions if version in MODERN_PROTOCOL_VERSIONS}
