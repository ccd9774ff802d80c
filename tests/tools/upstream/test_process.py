"""The end of a server's process, in whatever order the news of it come."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from tests.patience import PATIENCE_S
from tools.upstream import process as module
from tools.upstream import reap
from tools.upstream.errors import SpawnFailed
from tools.upstream.process import ServerProcess
from tools.upstream.spec import ServerSpec, resolve_launch
from tools.upstream.watch import GatewayWatcher


class Receiver:
    """Learns of the end, once."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    def stdout_received(self, chunk: bytes) -> None:
        raise AssertionError(chunk)

    def stderr_received(self, chunk: bytes) -> None:
        raise AssertionError(chunk)

    def handle_end(self) -> None:
        assert not self.ended.is_set()
        self.ended.set()


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def process(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> ServerProcess:
    monkeypatch.setattr(module, "DRAIN_S", 0.0)
    made = ServerProcess(receiver, GatewayWatcher())
    made.pid = 1
    return made


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Say at each look whether the process runs, until the list is empty."""
    answers: list[bool] = []
    monkeypatch.setattr(reap, "read_start_time", lambda _: "long ago")
    monkeypatch.setattr(reap, "is_alive", lambda _: answers.pop(0))
    return answers


async def test_a_late_report_of_an_exit_is_awaited(
    process: ServerProcess, receiver: Receiver, runs: list[bool]
) -> None:
    runs += [False, False]
    process.pipe_connection_lost(1)
    process.pipe_connection_lost(2)
    async with asyncio.timeout(PATIENCE_S):
        while runs:  # noqa: ASYNC110 - looking sets no event
            await asyncio.sleep(0)
    assert not receiver.ended.is_set()
    process.handle_guard_message("exited", 3)
    assert process.exit_code == 3
    assert receiver.ended.is_set()


async def test_a_process_that_runs_on_without_its_streams_is_over(
    process: ServerProcess, receiver: Receiver, runs: list[bool]
) -> None:
    runs.append(True)
    process.pipe_connection_lost(0)
    async with asyncio.timeout(PATIENCE_S):
        await receiver.ended.wait()


@pytest.mark.parametrize("error", [OSError(28, "no space left"), asyncio.CancelledError()])
async def test_a_start_that_is_cut_off_between_its_streams_leaves_nothing_open(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    spec = ServerSpec(name="s", command=sys.executable)
    launch, loop, watcher = (
        resolve_launch(spec, os.environ),
        asyncio.get_running_loop(),
        GatewayWatcher(),
    )
    watcher.ensure_running()
    before = open_files()

    async def fail(_protocol: Any, pipe: IO[bytes]) -> None:
        pipe.close()
        raise error

    monkeypatch.setattr(loop, "connect_read_pipe", fail)
    with pytest.raises(type(error) if isinstance(error, asyncio.CancelledError) else SpawnFailed):
        await ServerProcess.start(spec, launch, receiver, watcher=watcher)
    async with asyncio.timeout(PATIENCE_S):
        while open_files() != before:  # noqa: ASYNC110 - what a loop closes tells of nothing
            await asyncio.sleep(0)
    await watcher.aclose()


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))
