"""A call whose server reports progress has its time anew with each report, up to a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from execution import call
from execution.call_errors import DeadlineExceeded
from tests.gateway.catalogues import catalogue, tool
from tests.servers import http_sdk
from tests.tools.upstream.conftest import LONG_S, eventually
from tests.tools.upstream.http.conftest import remote, text
from tests.upstream_calls import SOMEBODY
from tools.upstream.errors import CallTimedOut
from tools.upstream.limits import UpstreamLimits
from tools.upstream.pool import UpstreamPool
from tools.upstream.request import UpstreamRequest

NEVER_S = 1_000 * LONG_S
TIMED_BY = {
    "its server": ({"call_timeout_s": LONG_S}, {}),
    "its caller": ({"call_timeout_s": 0.01}, {"timeout_s": LONG_S}),
}


@pytest.fixture(params=TIMED_BY.values(), ids=TIMED_BY)
def limits(request: pytest.FixtureRequest) -> Any:
    """Limits of the server and of the call, which allow `LONG_S`."""
    return request.param


async def call_reporting_half_way(
    let_pass: Callable[[float], None],
    limits: tuple[dict[str, Any], dict[str, Any]],
    *,
    max_call_s: float,
    **fields: Any,
) -> str:
    """Make a call that reports after three quarters of its time and ends after one and a half."""
    server, begun, gate = http_sdk.make_server(), asyncio.Event(), asyncio.Queue[str]()
    of_server, of_call = limits
    cancelled = asyncio.Event()

    @server.tool()
    async def build(ctx: http_sdk.Context) -> str:
        """Report progress when told to, then end when told to."""
        begun.set()
        try:
            await ctx.report_progress(float(await gate.get()))
            return await gate.get()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with http_sdk.served(server.streamable_http_app()) as origin:
        spec = remote(f"{origin}/mcp", **of_server)
        async with UpstreamPool([spec], limits=UpstreamLimits(max_call_s=max_call_s)) as pool:
            make_call = partial(
                call.call,
                UpstreamRequest.to_call("s:build", {}, **of_call, **fields),
                caller=SOMEBODY,
                catalogue=catalogue(tool("s:build")),
                upstream=pool,
            )
            calling = asyncio.ensure_future(make_call())
            await eventually(begun.is_set)
            (flight,) = pool._get_entry("s").main._flights
            ends_at = flight.deadline.when()
            let_pass(0.75 * LONG_S)
            gate.put_nowait("1")
            if fields.get("is_extensible", True):
                await eventually(lambda: flight.deadline.when() != ends_at)
            let_pass(0.75 * LONG_S)
            await asyncio.sleep(0.05)  # what is overdue by now ends
            gate.put_nowait("built")
            try:
                return text((await calling).result)
            except (CallTimedOut, DeadlineExceeded):
                await eventually(cancelled.is_set)
                raise


async def test_progress_gives_a_call_its_time_anew_though_no_client_asked_for_it(let_pass, limits):
    assert await call_reporting_half_way(let_pass, limits, max_call_s=NEVER_S) == "built"


async def test_progress_is_reported_too(let_pass, limits):
    seen: list[float] = []

    async def progress(done: float, _total: float | None, _message: str | None) -> None:
        seen.append(done)

    await call_reporting_half_way(let_pass, limits, max_call_s=NEVER_S, progress=progress)
    assert seen == [1.0]


async def test_no_progress_exceeds_the_longest_time_of_a_call(let_pass, limits):
    expected = pytest.raises(
        (CallTimedOut, DeadlineExceeded), match=f"not answered within {1.25 * LONG_S:g} s"
    )
    with expected:
        await call_reporting_half_way(let_pass, limits, max_call_s=1.25 * LONG_S)


async def test_a_call_that_is_not_extensible_keeps_its_limit(let_pass, limits):
    expected = pytest.raises(
        (CallTimedOut, DeadlineExceeded), match=f"not answered within {LONG_S:g} s"
    )
    with expected:
        await call_reporting_half_way(let_pass, limits, max_call_s=NEVER_S, is_extensible=False)
