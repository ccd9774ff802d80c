"""What a process that ends leaves behind of the runs it carries out."""

import asyncio
import threading

import django.db
import pytest
from structlog.testing import capture_logs

from execution.models import TaskRun, WorkflowExecution
from execution.process import owner
from execution.status import TaskStatus
from execution.store import leases, writing
from gateway_project.foundation.database import run_in_database_thread
from tests.execution.run_setup import (
    ADMIN,
    CHAIN,
    Gate,
    end_at_leisure,
    means,
    planned,
    process,
    until,
)
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]
WIDE = planned({"id": "a"}, {"id": "b"}, {"id": "hangs"})


class SlowWrite:
    """Has the write of an outcome take until a test lets it go on."""

    def __init__(self, monkeypatch):
        self.begun, self.go_on = threading.Event(), threading.Event()
        self._write = writing.write_batch
        monkeypatch.setattr(writing, "write_batch", self)

    def __call__(self, batch, **named):
        if any(one.status is TaskStatus.SUCCEEDED for change in batch for one in change.tasks):
            self.begun.set()
            self.go_on.wait(PATIENCE_S)
        return self._write(batch, **named)


class LateAnswers(Gate):
    """Of two tasks one answers once it is let through, the other never does."""

    def __init__(self):
        super().__init__("b")
        self.answered = []

    async def _answer(self, called, progress):
        if called.arguments["as"] == "hangs":
            await asyncio.Event().wait()
        result = await super()._answer(called, progress)
        self.answered.append(called.arguments["as"])
        return result


def tasks(run):
    return dict(TaskRun.objects.filter(run=run).values_list("task", "status"))


def holder_of(run):
    return WorkflowExecution.objects.get(id=run).owner


async def start(carrying, plan):
    return (await carrying.start(ADMIN, plan)).run


async def answer_once_it_ends(upstream, holder):
    await until(lambda: holder._is_closing)
    upstream.open.set()


async def test_calls_in_flight_get_a_grace_period_at_shutdown(home, sealer):
    upstream = Gate("a")
    async with process(means(home, sealer, upstream, grace_s=PATIENCE_S)) as carrying:
        run = await start(carrying, CHAIN)
        await upstream.until("a")
        answering = asyncio.create_task(answer_once_it_ends(upstream, carrying._process.holder))
    await answering
    assert upstream.seen == ["a"]
    assert (await run_in_database_thread(tasks, run))["a"] == "succeeded"


async def test_outcomes_during_a_slow_write_are_written_before_release(home, sealer, monkeypatch):
    end_at_leisure(monkeypatch, 0.2)
    slow, upstream = SlowWrite(monkeypatch), LateAnswers()
    async with process(means(home, sealer, upstream)) as carrying:
        run = await start(carrying, WIDE)
        await until(slow.begun.is_set)
        upstream.open.set()
        await until(lambda: "b" in upstream.answered)
        closing = asyncio.create_task(carrying._process.holder.close())
        await until(upstream.cancelled.is_set)
        slow.go_on.set()
        assert await closing
    assert await run_in_database_thread(tasks, run) == {
        "a": "succeeded",
        "b": "succeeded",
        "hangs": "running",
    }
    assert await run_in_database_thread(holder_of, run) == ""


async def test_a_run_is_released_after_its_last_write(home, sealer, monkeypatch):
    end_at_leisure(monkeypatch, 0.2, 0.2)
    slow, upstream = SlowWrite(monkeypatch), Gate()
    async with process(means(home, sealer, upstream)) as carrying:
        run = await start(carrying, CHAIN)
        await until(slow.begun.is_set)
        task = carrying._process.holder.claim_run(run)
        closing = asyncio.create_task(carrying._process.holder.close())
        await until(task.cancelling)
        slow.go_on.set()
        assert await closing
    assert (await run_in_database_thread(tasks, run))["a"] == "succeeded"
    assert await run_in_database_thread(holder_of, run) == ""


async def test_runs_that_could_not_be_released_are_recognised_as_unowned(
    home, sealer, monkeypatch
):
    def away(*_args):
        raise django.db.OperationalError("connection refused")

    upstream = Gate("a")
    async with process(means(home, sealer, upstream)) as carrying:
        run = await start(carrying, CHAIN)
        await upstream.until("a")
        monkeypatch.setattr(leases, "release_lease", away)
    mine = await run_in_database_thread(holder_of, run)
    assert owner.find_dead_owners(home, [mine]) == {mine}


class UnheardEnd:
    """Withholds the news that the end of a run is written, until a test lets it through."""

    def __init__(self, monkeypatch):
        self.is_written, self.go_on = threading.Event(), threading.Event()
        self._write = writing.write_batch
        monkeypatch.setattr(writing, "write_batch", self)

    def __call__(self, batch, **named):
        written = self._write(batch, **named)
        if any(change.status is not None and change.status.is_final for change in batch):
            self.is_written.set()
            assert self.go_on.wait(PATIENCE_S)
        return written


async def test_a_run_with_an_unacknowledged_end_is_not_treated_as_lost(home, sealer, monkeypatch):
    end, learned = UnheardEnd(monkeypatch), []

    async def learn(run):
        learned.append(run)

    with capture_logs() as logs:
        async with process(means(home, sealer, Gate(), on_run_ended=learn)) as runs:
            run = await start(runs, planned({"id": "a"}))
            assert await asyncio.to_thread(end.is_written.wait, PATIENCE_S)
            await runs._process.holder.renew_leases()
            end.go_on.set()
            await until(lambda: run not in runs._process.holder._runs)
    assert learned == [run]
    assert [one for one in logs if one["log_level"] == "warning"] == []
