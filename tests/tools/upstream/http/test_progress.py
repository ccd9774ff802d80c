"""A call whose server reports progress has its time anew with each report, up to a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.servers import http_sdk
from tests.tools.upstream.conftest import LONG_S, eventually
from tests.tools.upstream.http.conftest import remote, text
from tests.upstream_calls import call_tool
from tools.upstream.errors import CallTimedOut
from tools.upstream.limits import UpstreamLimits
from tools.upstream.pool import UpstreamPool

NEVER_S = 1_000 * LONG_S


async def call_reporting_half_way(
    let_pass: Callable[[float], None], *, max_call_s: float, timeout_s: float | None = None
) -> str:
    """Make a call that reports after three quarters of its time and ends after one and a half."""
    server, begun, gate = http_sdk.make_server(), asyncio.Event(), asyncio.Queue[str]()
    seen: list[float] = []

    @server.tool()
    async def build(ctx: http_sdk.Context) -> str:
        """Report progress when told to, then end when told to."""
        begun.set()
        await ctx.report_progress(float(await gate.get()))
        return await gate.get()

    async def progress(done: float, _total: float | None, _message: str | None) -> None:
        seen.append(done)

    async with http_sdk.served(server.streamable_http_app()) as origin:
        spec = remote(f"{origin}/mcp", call_timeout_s=LONG_S)
        async with UpstreamPool([spec], limits=UpstreamLimits(max_call_s=max_call_s)) as pool:
            call = asyncio.ensure_future(
                call_tool(pool, "s", "build", {}, progress=progress, timeout_s=timeout_s)
            )
            await eventually(begun.is_set)
            let_pass(0.75 * LONG_S)
            gate.put_nowait("1")
            await eventually(lambda: seen == [1.0])
            let_pass(0.75 * LONG_S)
            await asyncio.sleep(0.05)  # what is overdue by now ends
            gate.put_nowait("built")
            return text(await call)


async def test_progress_gives_a_call_its_time_anew(let_pass):
    assert await call_reporting_half_way(let_pass, max_call_s=NEVER_S) == "built"


async def test_no_progress_exceeds_the_longest_time_of_a_call(let_pass):
    with pytest.raises(CallTimedOut, match=f"not answered within {1.25 * LONG_S:g} s"):
        await call_reporting_half_way(let_pass, max_call_s=1.25 * LONG_S)


async def test_the_limit_of_a_caller_stays(let_pass):
    with pytest.raises(CallTimedOut, match=f"not answered within {LONG_S:g} s"):
        await call_reporting_half_way(let_pass, max_call_s=NEVER_S, timeout_s=LONG_S)
