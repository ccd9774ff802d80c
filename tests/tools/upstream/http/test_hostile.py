"""Whatever a remote server does fails that call alone, clearly, in bounded time and memory."""

import asyncio
import resource

import pytest

from tests.patience import PATIENCE_S
from tests.tools.upstream.conftest import LONG_S
from tests.tools.upstream.http.conftest import remote, text, times_out, was_called
from tests.upstream_calls import call_tool
from tools.upstream.errors import (
    ConnectionLost,
    HttpRefused,
    MessageTooLarge,
    ProtocolViolation,
    UpstreamRefused,
)
from tools.upstream.limits import MIB, UpstreamLimits
from tools.upstream.pool import UpstreamPool

WORST = [
    ("many_headers", ProtocolViolation, "headers beyond the limit"),
    ("long_header", ProtocolViolation, "headers beyond the limit"),
    ("no_http", ProtocolViolation, "not HTTP"),
    ("gzip_bomb", MessageTooLarge, "33,554,432 bytes"),
    ("broken_gzip", ProtocolViolation, "does not match its declared encoding"),
    ("huge", MessageTooLarge, "33,554,432 bytes"),
    ("huge_chunked", MessageTooLarge, "33,554,432 bytes"),
    ("huge_event", MessageTooLarge, "33,554,432 bytes"),
    ("not_json", ProtocolViolation, "UTF-8"),
    ("not_json_event", ProtocolViolation, "UTF-8"),
    ("deep", ProtocolViolation, "nested deeper"),
    ("html", ProtocolViolation, "'text/html'"),
    ("accepted", ProtocolViolation, "202"),
    ("wrong_id", ProtocolViolation, "another"),
    ("disconnect", ConnectionLost, "may still have been carried out"),
    ("disconnect_in_body", ConnectionLost, "may still have been carried out"),
    ("disconnect_in_stream", ConnectionLost, "may still have been carried out"),
    ("never_resumed", ConnectionLost, "does not resume"),
    ("fail", HttpRefused, "status 500"),
    ("refuse", UpstreamRefused, "-32050"),
]


@pytest.mark.parametrize(("tool", "kind", "words"), WORST, ids=[tool for tool, *_ in WORST])
async def test_only_the_call_fails(legacy, pool, tool, kind, words):
    with pytest.raises(kind) as caught:
        await call_tool(pool, "s", tool, {}, timeout_s=PATIENCE_S)
    assert words in str(caught.value)
    assert "secrets" not in str(caught.value)
    await all_is_well_after(tool, legacy, pool)


@pytest.mark.parametrize("tool", ["slow_headers", "slow_body", "hang", "comments"])
async def test_what_takes_too_long_fails_the_call_alone(legacy, pool, tool, let_pass):
    failed = await times_out(pool, tool, once=lambda: was_called(legacy, tool), let_pass=let_pass)
    assert f"was not answered within {LONG_S:g} s" in str(failed)
    await all_is_well_after(tool, legacy, pool)


async def all_is_well_after(tool, legacy, pool):
    assert text(await call_tool(pool, "s", "echo", {"text": "still here"})) == "still here"
    assert legacy.methods().count("initialize") == 1
    calls = [asked for asked in legacy.asked if asked.rpc == "tools/call"]
    assert [asked.json["params"]["name"] for asked in calls] == [tool, "echo"]


@pytest.mark.parametrize("tool", ["gzip_bomb", "huge_chunked", "huge_event"])
async def test_what_is_too_large_costs_little_memory(legacy, tool):
    limits = UpstreamLimits(max_result_bytes=2 * MIB)
    async with UpstreamPool([remote(legacy.url)], limits=limits) as pool:
        await pool.warm_up()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(MessageTooLarge):
            await call_tool(pool, "s", tool, {})
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 30_000  # KiB on Linux


async def test_a_flood_is_dropped_counted_and_leaves_others_their_turn(legacy):
    limits = UpstreamLimits(messages_burst=100, messages_per_s=1)
    specs = [remote(legacy.url), remote(legacy.url, name="other")]
    async with UpstreamPool(specs, limits=limits) as pool:
        await pool.warm_up()
        answered = []

        async def call_the_other() -> None:
            while True:
                answered.append(text(await call_tool(pool, "other", "echo", {"text": "x"})))

        async with asyncio.TaskGroup() as group:
            other = group.create_task(call_the_other())
            flooded = await call_tool(pool, "s", "flood", {"count": 5_000})
            other.cancel()
        assert text(flooded) == "after the flood"
        assert pool.list_statuses()["s"].messages_dropped > 4_500
        assert len(answered) > 20


async def test_stray_events_cost_nothing_and_odd_ids_are_understood(pool):
    assert text(await call_tool(pool, "s", "stray", {})) == "after the rubbish"
    assert text(await call_tool(pool, "s", "string_id", {})) == "ok"
    assert pool.list_statuses()["s"].messages_dropped == 1


async def test_a_compressed_answer_is_read(pool):
    assert text(await call_tool(pool, "s", "gzipped", {})) == "packed"


async def test_a_request_beyond_the_limit_is_not_sent(legacy):
    async with UpstreamPool(
        [remote(legacy.url)], limits=UpstreamLimits(max_line_bytes=5_000)
    ) as pool:
        await pool.warm_up()
        with pytest.raises(MessageTooLarge, match="the request"):
            await call_tool(pool, "s", "echo", {"text": "x" * 6_000})
        assert "tools/call" not in legacy.methods()


async def test_a_server_that_does_not_read_costs_its_call_only(legacy, pool):
    await pool.warm_up()

    over = asyncio.Event()

    async def deaf(_, writer):
        await over.wait()
        writer.transport.abort()

    async with await asyncio.start_server(deaf, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        spec = remote(f"http://127.0.0.1:{port}/mcp", name="deaf", connect_timeout_s=0.3)
        pool.set_servers([remote(legacy.url), spec])
        failures = await pool.warm_up("deaf")
        assert failures["deaf"].code == "connect_timed_out"
        assert text(await call_tool(pool, "s", "echo", {"text": "x"})) == "x"
        over.set()
        await pool.aclose()
