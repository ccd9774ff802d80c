"""Find out which era of the protocol a server speaks, without waiting long for those who differ.

The SDK's own `mode="auto"` waits ten seconds for an answer to `server/discover` before it tries
the handshake. A legacy server that ignores methods it does not know makes every start wait that
long. Here the handshake follows after a short patience while the probe stays open: a modern
server that merely starts slowly answers both, and its first answer counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Literal

from mcp.client import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION, DiscoverResult
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

Era = Literal["modern", "legacy"]

PATIENCE_S = 2.0


async def negotiate(
    session: ClientSession, *, era: Era | None, patience_s: float = PATIENCE_S
) -> Era:
    """Settle the protocol version of a session.

    Args:
        session: Entered, but not yet initialized.
        era: What the server spoke last time: a legacy server is not probed again, and a modern
            one gets all the time it wants.
        patience_s: Seconds after which the handshake follows an unanswered probe.

    Returns:
        The era settled on.

    Raises:
        MCPError: If the server refuses both, or the connection ends.
        pydantic.ValidationError: If its answer to the handshake is malformed.
        RuntimeError: If it insists on a version unknown to the SDK.
    """
    if era == "legacy":
        await session.initialize()
        return "legacy"
    found, refusal = await _race(session, None if era == "modern" else patience_s)
    if found is None and _refused_as_modern(refusal):
        found = await _probe(session)  # it was too slow for the first one
    if found is not None:
        session.adopt(found)
        return "modern"
    if refusal is not None:
        raise refusal
    return "legacy"


async def _race(
    session: ClientSession, patience_s: float | None
) -> tuple[DiscoverResult | None, Exception | None]:
    """Let the first usable answer count: a discovery, or a handshake that was not refused."""
    async with asyncio.TaskGroup() as group:
        probe = group.create_task(_probe(session))
        await asyncio.wait({probe}, timeout=patience_s)
        if found := _result(probe):
            return found, None
        shake = group.create_task(_shake(session))
        tasks: set[asyncio.Task[Any]] = {probe, shake}
        while pending := {task for task in tasks if not task.done()}:
            await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            if shake.done() and shake.result() is None:
                probe.cancel()
                return None, None
            if found := _result(probe):
                shake.cancel()
                return found, None
        return None, shake.result()


def _result(probe: asyncio.Task[DiscoverResult | None]) -> DiscoverResult | None:
    return probe.result() if probe.done() else None


async def _probe(session: ClientSession) -> DiscoverResult | None:
    """Ask what the server can do the modern way; None if that leads nowhere."""
    version = LATEST_MODERN_VERSION
    for _ in MODERN_PROTOCOL_VERSIONS:
        try:
            found = DiscoverResult.model_validate(await session.send_discover(version))
        except MCPError as error:
            older = _mutual(_supported(error)) - {version}
            if not older:
                return None
            version = max(older)
        except ValidationError:
            return None
        else:
            return found if _mutual(found.supported_versions) else None
    return None


async def _shake(session: ClientSession) -> Exception | None:
    """Perform the legacy handshake; return what went wrong, as a value the race can weigh."""
    try:
        await session.initialize()
    except (MCPError, ValidationError, RuntimeError) as error:
        return error
    return None


def _refused_as_modern(refusal: Exception | None) -> bool:
    return isinstance(refusal, MCPError) and bool(_mutual(_supported(refusal)))


def _supported(error: MCPError) -> list[str]:
    """Versions a server names when it refuses ours."""
    if error.code != UNSUPPORTED_PROTOCOL_VERSION or not isinstance(error.data, dict):
        return []
    supported = error.data.get("supported")
    return supported if isinstance(supported, list) else []


def _mutual(versions: Iterable[Any]) -> set[str]:
    return {version for version in versions if version in MODERN_PROTOCOL_VERSIONS}
