"""Pools whose servers are on this machine."""

from __future__ import annotations

from typing import Any

import pytest

from tests.servers.http_legacy import LegacyServer
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec


def remote(url: str, **values: Any) -> ServerSpec:
    """Build the entry of a server that may be on this machine."""
    given = {"name": "s", "transport": "http", "private_network": True, **values}
    return ServerSpec(url=url, **given)


def text(result: Any) -> str:
    """Return the text of a result's first block."""
    return str(result.content[0].text)


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
