"""Servers that are started ahead of their first call."""

import asyncio
from dataclasses import replace

from tests.tools.upstream.conftest import curious, eventually, legacy
from tests.upstream_calls import call_tool
from tools.upstream.pool import UpstreamPool

NEVER_S = 3_600.0


async def test_a_server_runs_before_it_is_called():
    async with UpstreamPool([legacy("a"), legacy("b")]) as pool:
        starting = asyncio.create_task(pool.start_ahead(["a", "x"], unused_stop_s=NEVER_S))
        await eventually(lambda: pool.get_status("a").state == "ready")
        pid = pool.get_status("a").pid
        await call_tool(pool, "a", "echo", {"text": "hi"})
        assert pool.get_status("a").pid == pid
        assert pool.get_status("b").state == "idle"
        starting.cancel()


async def test_one_that_nobody_calls_is_stopped_in_the_end_and_others_are_not():
    async with UpstreamPool([legacy("a"), legacy("b")]) as pool:
        await pool.warm_up("b")
        await call_tool(pool, "b", "echo", {"text": "hi"})
        await pool.list_tools("a")  # by the gateway, for its catalogue
        await pool.start_ahead(["a", "b"], unused_stop_s=0.0)
        await eventually(lambda: pool.get_status("a").state == "idle")
        assert pool.get_status("b").state == "ready"


async def test_one_that_asks_for_roots_is_left_to_the_clients():
    states = []
    specs = [curious("roots=1")]
    async with UpstreamPool(specs, on_status=lambda status: states.append(status.state)) as pool:
        starting = asyncio.create_task(pool.start_ahead(["curious"], unused_stop_s=NEVER_S))
        await eventually(lambda: states[-2:] == ["ready", "idle"])
        starting.cancel()


async def test_one_with_a_connection_for_each_caller_is_not_started():
    async with UpstreamPool([replace(legacy("a"), session="per_caller")]) as pool:
        await pool.start_ahead(["a"], unused_stop_s=0.0)
        assert pool.get_status("a").connected_at is None


async def test_one_that_cannot_be_started_leaves_its_error_to_the_first_call():
    async with UpstreamPool([replace(legacy("a"), command="/nowhere")]) as pool:
        await pool.start_ahead(["a"], unused_stop_s=0.0)
        assert pool.get_status("a").state == "failed"
