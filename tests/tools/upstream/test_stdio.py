"""A server that floods is read no faster than it deserves."""

from __future__ import annotations

import asyncio
import sys

from tests.patience import PATIENCE_S
from tools.upstream import stdio
from tools.upstream.limits import UpstreamLimits
from tools.upstream.spec import ServerSpec, resolve_launch
from tools.upstream.stdio import StdioTransport
from tools.upstream.watch import GatewayWatcher

NEWS = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
TOO_MANY = NEWS * (1 + stdio.WASTE_BYTES // (len(NEWS) - 1))


class Tap:
    """Stands for the process; notes when it is not read from."""

    def __init__(self) -> None:
        self.done: asyncio.Queue[str] = asyncio.Queue()

    def pause_stdout(self) -> None:
        self.done.put_nowait("pause")

    def resume_stdout(self) -> None:
        self.done.put_nowait("resume")


def transport(tap: Tap, **limits: float) -> StdioTransport:
    spec = ServerSpec(name="s", command=sys.executable)
    made = StdioTransport(
        spec,
        resolve_launch(spec, {}),
        limits=UpstreamLimits(**limits),
        watcher=GatewayWatcher(),
        monotonic=lambda: 0.0,
    )
    made._process = tap
    return made


async def test_reading_pauses_after_a_flood_and_resumes(monkeypatch):
    monkeypatch.setattr(stdio, "WASTE_BYTES_PER_S", 10_000_000)
    tap = Tap()
    made = transport(tap, messages_burst=0)
    made.stdout_received(TOO_MANY)
    async with asyncio.timeout(PATIENCE_S):
        assert [await tap.done.get() for _ in range(2)] == ["pause", "resume"]
    made.stdout_received(NEWS)
    assert tap.done.empty()
    assert made.wire.dropped == TOO_MANY.count(b"\n") + 1


async def test_what_is_within_the_limits_is_read_without_a_rest():
    tap = Tap()
    made = transport(tap, messages_burst=10_000)
    made.stdout_received(TOO_MANY)
    assert tap.done.empty()


async def test_one_long_line_does_not_silence_a_server(monkeypatch):
    rests: list[float] = []
    made = transport(Tap())
    monkeypatch.setattr(
        asyncio.get_running_loop(), "call_later", lambda rest_s, *_: rests.append(rest_s)
    )
    made.stdout_received(b"\xff" * 10_000_000 + b"\n")
    assert rests == [stdio.LONGEST_REST_S]


async def test_a_failed_server_is_not_read_again_after_its_pause(monkeypatch):
    tap = Tap()
    made = transport(tap, max_rubbish_bytes=stdio.WASTE_BYTES)
    monkeypatch.setattr(
        asyncio.get_running_loop(), "call_later", lambda _, release, reason: release(reason)
    )
    made.stdout_received(b"rubbish\n" * stdio.WASTE_BYTES)
    assert made.ended.is_set()
    assert tap.done.get_nowait() == "pause"
    assert tap.done.empty()
