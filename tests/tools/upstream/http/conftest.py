"""Pools whose servers are on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.servers.http_legacy import LegacyServer
from tests.tools.upstream.conftest import LONG_S, eventually
from tests.upstream_calls import call_tool
from tools.upstream.errors import CallTimedOut
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec


def remote(url: str, **values: Any) -> ServerSpec:
    """Build the entry of a server that may be on this machine."""
    given = {"name": "s", "transport": "http", "private_network": True, **values}
    return ServerSpec(url=url, **given)


def text(result: Any) -> str:
    """Return the text of a result's first block."""
    return str(result.raw["content"][0]["text"])


def was_called(server: LegacyServer, tool: str) -> bool:
    """Say whether a call of the tool has arrived."""
    calls = [asked for asked in server.asked if asked.rpc == "tools/call"]
    return any(asked.json["params"]["name"] == tool for asked in calls)


async def times_out(
    pool: UpstreamPool,
    tool: str,
    *,
    once: Callable[[], bool],
    let_pass: Callable[[float], None],
) -> CallTimedOut:
    """Run out of time with a call, but not before it has come so far.

    What the server sends half-way must not give it any more time.
    """
    call = asyncio.ensure_future(call_tool(pool, "s", tool, {}, timeout_s=LONG_S))
    await eventually(once)
    let_pass(LONG_S / 2)
    await asyncio.sleep(0.05)
    let_pass(LONG_S / 2)
    with pytest.raises(CallTimedOut) as caught:
        await call
    return caught.value


@pytest.fixture
async def legacy():
    """Run a server of the handshake era."""
    async with LegacyServer() as server:
        yield server


@pytest.fixture
async def pool(legacy):
    """Reach it through a pool."""
    async with UpstreamPool([remote(legacy.url)]) as pool:
        yield pool
