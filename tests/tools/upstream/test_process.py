"""The end of a server's process, in whatever order the news of it come."""

from __future__ import annotations

import asyncio

import pytest

from tests.patience import PATIENCE_S
from tools.upstream import process as module
from tools.upstream import reap
from tools.upstream.process import ServerProcess
from tools.upstream.watch import Watcher


class Receiver:
    """Learns of the end, once."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    def stdout_received(self, chunk: bytes) -> None:
        raise AssertionError(chunk)

    def stderr_received(self, chunk: bytes) -> None:
        raise AssertionError(chunk)

    def ended_now(self) -> None:
        assert not self.ended.is_set()
        self.ended.set()


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def process(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> ServerProcess:
    monkeypatch.setattr(module, "DRAIN_S", 0.0)
    made = ServerProcess(receiver, Watcher())
    made.pid = 1
    return made


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Say at each look whether the process runs, until the list is empty."""
    answers: list[bool] = []
    monkeypatch.setattr(reap, "start_time", lambda _: "long ago")
    monkeypatch.setattr(reap, "is_alive", lambda _: answers.pop(0))
    return answers


async def test_of_a_process_that_is_gone_the_exit_is_awaited_however_late_its_news(
    process: ServerProcess, receiver: Receiver, runs: list[bool]
) -> None:
    runs += [False, False]
    process.pipe_connection_lost(1, None)
    process.pipe_connection_lost(2, None)
    async with asyncio.timeout(PATIENCE_S):
        while runs:  # noqa: ASYNC110 - looking sets no event
            await asyncio.sleep(0)
    assert not receiver.ended.is_set()
    process.process_exited()
    assert receiver.ended.is_set()


async def test_a_process_that_runs_on_without_its_streams_is_over(
    process: ServerProcess, receiver: Receiver, runs: list[bool]
) -> None:
    runs.append(True)
    process.pipe_connection_lost(0, None)
    async with asyncio.timeout(PATIENCE_S):
        await receiver.ended.wait()
