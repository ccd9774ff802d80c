"""Runs that are made together with what first happens to them."""

import asyncio
import threading

import django.db
import pytest

from execution.models import TaskRun, WorkflowExecution
from execution.run_dependencies import RunsUnavailable
from execution.store import claimable_runs, writing
from execution.store import runs as run_store
from gateway_project.foundation.database import run_in_database_thread
from tests.execution.run_setup import ADMIN, Gate, means, planned, process, until, until_stored
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]
ONE = planned({"id": "a"})


def statuses():
    return list(WorkflowExecution.objects.values_list("status", flat=True))


def away(*_args, **_named):
    raise django.db.OperationalError("the server closed the connection")


def tasks():
    return list(TaskRun.objects.values_list("status", "attempts"))


async def test_a_run_whose_first_record_fails_does_not_exist_and_calls_nothing(
    home, sealer, monkeypatch
):
    def broken(*_args, **_named):
        raise ValueError("JSON cannot represent it")

    upstream = Gate()
    async with process(means(home, sealer, upstream)) as runs:
        with monkeypatch.context() as patched:
            patched.setattr(writing, "write_first_changes", broken)
            with pytest.raises(ValueError, match="cannot represent"):
                await runs.start(ADMIN, ONE)
        assert await run_in_database_thread(statuses) == []
        await runs.start(ADMIN, ONE)
        await until_stored(lambda: statuses() == ["succeeded"])
    assert upstream.seen == ["a"]


async def test_a_run_created_without_acknowledgement_is_executed_once(home, sealer, monkeypatch):
    create = run_store.create_run

    def unacknowledged(*args, **named):
        create(*args, **named)
        away()

    monkeypatch.setattr(run_store, "create_run", unacknowledged)
    upstream = Gate()
    async with process(means(home, sealer, upstream)) as runs:
        assert (await runs.start(ADMIN, ONE)).is_new
        await until_stored(lambda: statuses() == ["succeeded"])
        # As if the database stayed away for a moment more: nobody can say that it is there.
        monkeypatch.setattr(run_store, "run_exists", away)
        with pytest.raises(RunsUnavailable):
            await runs.start(ADMIN, ONE)
        await until_stored(lambda: statuses() == 2 * ["succeeded"])
    assert upstream.seen == ["a", "a"]


async def test_a_run_that_could_not_be_created_calls_nothing(home, sealer, monkeypatch):
    monkeypatch.setattr(run_store, "create_run", away)
    upstream = Gate()
    async with process(means(home, sealer, upstream)) as runs:
        with pytest.raises(RunsUnavailable):
            await runs.start(ADMIN, ONE)
        await until(lambda: not runs._process.holder._runs)
    assert (upstream.seen, await run_in_database_thread(statuses)) == ([], [])


async def test_a_process_that_ends_while_creating_a_run_releases_it_uncalled(
    home, sealer, monkeypatch
):
    create, begun, go_on = run_store.create_run, threading.Event(), threading.Event()

    def slow(*args, **named):
        begun.set()
        go_on.wait(PATIENCE_S)
        return create(*args, **named)

    monkeypatch.setattr(run_store, "create_run", slow)
    upstream = Gate()
    async with process(means(home, sealer, upstream, grace_s=PATIENCE_S)) as runs:
        holder = runs._process.holder
        starting = asyncio.create_task(runs.start(ADMIN, ONE))
        await until(begun.is_set)
        closing = asyncio.create_task(holder.close())
        await until(lambda: holder._is_closing)
        go_on.set()
        await starting
        assert await closing
        assert (upstream.seen, await run_in_database_thread(statuses)) == ([], ["running"])
        assert await run_in_database_thread(tasks) == [("pending", 0)]
        assert await run_in_database_thread(lambda: WorkflowExecution.objects.get().owner) == ""


async def test_a_process_that_ends_before_starting_a_run_releases_it(home, sealer):
    upstream = Gate()
    async with process(means(home, sealer, upstream)) as runs:
        holder = runs._process.holder
        starting = asyncio.create_task(runs.start(ADMIN, ONE))
        await asyncio.sleep(0)
        assert [one.execution for one in holder._runs.values()] == [None], "no turn yet"
        holder._is_closing = True
        started = await starting
        await until_stored(
            lambda: (
                [one.run for one in claimable_runs.load_claimable_runs(each=9, limit=9)]
                == [started.run]
            )
        )
    assert upstream.seen == []
