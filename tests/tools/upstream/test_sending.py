"""Requests on their way to a server: what waits, and what is never sent."""

import asyncio
import fcntl
import functools
import json
import os
import signal
import sys
import termios

import pytest

from tests.tools.upstream.conftest import eventually, legacy
from tests.upstream_calls import call_tool
from tools.upstream.errors import (
    CallTimedOut,
    MessageTooLarge,
    SendTimedOut,
    ServerExited,
    UnsendableRequest,
    UpstreamError,
)
from tools.upstream.limits import UpstreamLimits
from tools.upstream.pool import UpstreamPool


def text(result):
    return result.raw["content"][0]["text"]


async def test_a_request_beyond_the_cap_is_not_sent():
    async with UpstreamPool([legacy()], limits=UpstreamLimits(max_line_bytes=10_000)) as pool:
        with pytest.raises(MessageTooLarge, match=r"the request .* nothing was sent") as refused:
            await call_tool(pool, "legacy", "echo", {"text": "x" * 10_000})
        assert refused.value.is_unsent
        assert text(await call_tool(pool, "legacy", "echo", {"text": "on"})) == "on"


async def test_a_server_that_does_not_read_is_sent_nothing_more():
    limits = UpstreamLimits(max_unsent_bytes=1_000_000)
    async with UpstreamPool([legacy()], limits=limits) as pool:
        await call_tool(pool, "legacy", "stop_reading", {})
        with pytest.raises(CallTimedOut) as begun:
            await call_tool(pool, "legacy", "echo", {"text": "x" * 2_000_000}, timeout_s=2)
        with pytest.raises(SendTimedOut, match=r"2 s because the server does not read") as kept:
            await call_tool(pool, "legacy", "echo", {"text": "x"}, timeout_s=2)
    assert (begun.value.is_unsent, kept.value.is_unsent) == (False, True)


async def test_large_requests_side_by_side_wait_for_each_other(tmp_path):
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    limits = UpstreamLimits(max_unsent_bytes=1_000_000)
    async with UpstreamPool([legacy()], limits=limits) as pool, asyncio.TaskGroup() as group:
        await call_tool(pool, "legacy", "read_later", {"fifo": str(fifo)})
        sent = [str(number) * 2_000_000 for number in range(8)]
        calls = [
            group.create_task(call_tool(pool, "legacy", "echo", {"text": one}, timeout_s=60))
            for one in sent
        ]
        await eventually(lambda: pool.list_statuses()["legacy"].calls_in_flight == len(calls))
        await asyncio.to_thread(fifo.write_text, "go")
        assert [text(await call) for call in calls] == sent


async def test_a_call_that_waits_when_its_server_ends_was_not_sent(tmp_path):
    async with UpstreamPool([legacy()]) as pool:
        pid = json.loads(text(await call_tool(pool, "legacy", "about", {})))["pid"]
        await call_tool(pool, "legacy", "stop_reading", {})
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(failure(pool, "x" * 2_000_000)) for _ in range(2)]
            await eventually(lambda: pool.list_statuses()["legacy"].calls_in_flight == len(calls))
            await eventually(lambda: count_unread_bytes(pid) > 0)
            os.kill(pid, signal.SIGKILL)
        begun, waited = [call.result() for call in calls]
    assert (type(begun), type(waited)) == (ServerExited, ServerExited)
    assert (begun.is_unsent, waited.is_unsent) == (False, True)
    assert "before it was sent the call to 'echo'" in str(waited)


def count_unread_bytes(pid):
    """Return how much was written to a process that it has not read yet."""
    with open(f"/proc/{pid}/fd/0", "rb") as stdin:
        return int.from_bytes(fcntl.ioctl(stdin, termios.FIONREAD, bytes(4)), sys.byteorder)


async def failure(pool, given):
    """Return how a call fails."""
    with pytest.raises(UpstreamError) as failed:
        await call_tool(pool, "legacy", "echo", {"text": given}, timeout_s=60)
    return failed.value


@pytest.mark.parametrize("given", ["a\ud83d", functools.reduce(lambda v, _: [v], range(300), 1)])
async def test_a_request_that_cannot_be_written_is_not_sent(given):
    async with UpstreamPool([legacy()]) as pool:
        with pytest.raises(UnsendableRequest) as refused:
            await call_tool(pool, "legacy", "echo", {"text": given})
        assert refused.value.is_unsent
        assert text(await call_tool(pool, "legacy", "echo", {"text": "on"})) == "on"
