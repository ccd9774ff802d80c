import asyncio
import os
import signal
import uuid
from types import SimpleNamespace

import pytest

from execution import queue_worker
from gateway_project import wiring
from gateway_project.foundation.config import Config
from gateway_project.readiness import NotReady
from gateway_project.wiring import worker
from tests.patience import PATIENCE_S


class Runs:
    """Takes every run."""

    def __init__(self, taken):
        self.taken = taken

    async def claim_and_execute(self, run):
        self.taken.append(run)
        return True


class Stage:
    """A wiring and a queue that do nothing but tell what becomes of them."""

    def __init__(self, monkeypatch):
        self.told = []
        self.fetching = asyncio.Event()
        self.take = None
        self.taken = []
        monkeypatch.setattr(wiring, "run_gateway", self.wire)
        monkeypatch.setattr(queue_worker, "run_worker", self.work)

    async def wire(self, readiness, **options):
        assert options["works"] == 3
        readiness.serve(SimpleNamespace(effects=SimpleNamespace(runs=Runs(self.taken))))
        try:
            await asyncio.Event().wait()
        finally:
            self.told.append("wiring ended")

    async def work(self, take, *, concurrency, lease_s):
        self.told.append(f"fetching {concurrency} with a lease of {lease_s:.0f} s")
        self.take = take
        self.fetching.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.told.append("fetching ended")


def run(stage):
    return worker.run_worker(
        Config(run_lease_s=7),
        concurrency=3,
        on_ready=lambda: stage.told.append("ready"),
        on_end=lambda: stage.told.append("told"),
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_fetches_once_it_is_wired_and_stops_fetching_before_the_rest_ends(
    monkeypatch, number
):
    stage = Stage(monkeypatch)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        group.create_task(run(stage))
        await stage.fetching.wait()
        os.kill(os.getpid(), number)
    assert stage.told == [
        "ready",
        "fetching 3 with a lease of 7 s",
        "told",
        "fetching ended",
        "wiring ended",
    ]


async def test_what_it_fetches_is_taken_by_the_runs_of_the_wiring_in_force(monkeypatch):
    stage = Stage(monkeypatch)
    wanted = uuid.uuid4()
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        group.create_task(run(stage))
        await stage.fetching.wait()
        assert await stage.take(wanted)
        os.kill(os.getpid(), signal.SIGTERM)
    assert stage.taken == [wanted]


async def test_a_configuration_that_cannot_work_ends_it(monkeypatch):
    async def refuse(_readiness, **_options):
        raise NotReady("configuration", "no such model")

    monkeypatch.setattr(wiring, "run_gateway", refuse)
    with pytest.raises(NotReady, match="no such model"):
        async with asyncio.timeout(PATIENCE_S):
            await worker.run_worker(Config(), concurrency=3, on_ready=str, on_end=str)


async def test_a_lost_cancellation_is_repeated(monkeypatch):
    class Deaf(Stage):
        async def work(self, take, *, concurrency, lease_s):
            self.fetching.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.told.append("lost")
            await asyncio.Event().wait()

    stage = Deaf(monkeypatch)
    monkeypatch.setattr(worker, "CANCEL_AGAIN_S", 0.01)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        group.create_task(run(stage))
        await stage.fetching.wait()
        os.kill(os.getpid(), signal.SIGTERM)
    assert stage.told == ["ready", "told", "lost", "wiring ended"]
