"""Asks a gateway process with a real MCP client; never calls a server's tool."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from mcp import Client

from benchmarks.gateway_process import BASE
from benchmarks.outside.score import Answers
from benchmarks.outside.wishes import Wish
from gateway_project.demo.demonstration import connect

SEARCH_LIMIT: Final = 5
READY_TIMEOUT_S: Final = 180.0
READY_POLL_S: Final = 0.5
WARM_UP: Final = "list what is there"
DRAFTED: Final = "drafted from words alone"
"""Begins the warning on a workflow that was not ranked."""


def ask_gateway(wishes: Iterable[Wish]) -> list[Answers]:
    """Start `manage.py run_gateway` and ask it for each wish, one after another."""
    with Path(os.devnull).open("w") as quiet:
        return asyncio.run(_ask_all(connect(BASE, quiet), tuple(wishes)))


async def _ask_all(opened: Client, wishes: tuple[Wish, ...]) -> list[Answers]:
    async with opened as client:
        await client.list_tools()
        await _wait_until_ready(client)
        return [await _ask(client, wish) for wish in wishes]


async def _ask(client: Client, wish: Wish) -> Answers:
    search, search_ms = await _call(
        client, "search_tools", {"query": wish.text, "limit": SEARCH_LIMIT}
    )
    intent, intent_ms = await _call(client, "run_intent", {"intent": wish.text, "mode": "suggest"})
    return Answers(search=search, search_ms=search_ms, intent=intent, intent_ms=intent_ms)


async def _call(
    client: Client, tool: str, arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], float]:
    started = time.perf_counter()
    result = await client.call_tool(tool, dict(arguments))
    elapsed_ms = (time.perf_counter() - started) * 1000
    if result.is_error or result.structured_content is None:
        raise SystemExit(f"{tool} failed: {result.content}")
    return result.structured_content, elapsed_ms


async def _wait_until_ready(client: Client) -> None:
    """Wait until model, index and ranking are in memory, so that no answer is a draft."""
    deadline = time.monotonic() + READY_TIMEOUT_S
    while True:
        await _call(client, "search_tools", {"query": WARM_UP})
        answer, _ = await _call(client, "run_intent", {"intent": WARM_UP, "mode": "suggest"})
        reasons = [text for text in answer["warnings"] if text.startswith(DRAFTED)]
        if not reasons:
            return
        if time.monotonic() > deadline:
            raise SystemExit(f"the gateway cannot rank: {reasons[0]}")
        await asyncio.sleep(READY_POLL_S)
