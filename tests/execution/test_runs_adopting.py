"""Runs that take over a call that is in flight already: it is never sent again."""

import asyncio
from dataclasses import replace

import pytest

from execution.call import CallOutcome, PreparedCall
from execution.control import Action
from execution.process.adopted_call import AdoptedCall, CannotAdopt
from execution.process.run_creation import RunCreation
from execution.run_dependencies import RunsUnavailable
from execution.store import runs as run_store
from gateway_project.foundation.database import run_in_database_thread
from tests.execution.run_setup import (
    ADMIN,
    Gate,
    end_at_leisure,
    ended,
    means,
    planned,
    process,
    until,
    until_stored,
)
from tests.execution.test_runs_adopted import adopt, status, tasks
from tests.gateway.catalogues import catalogue, tool
from tools.upstream.errors import ServerExited
from tools.upstream.result import UpstreamResult

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]
TOOLS = {"s:write": "w", "s:read": "r"}
DONE = {"content": [{"type": "text", "text": "done"}]}


class Flight:
    """A call in flight, which ends as a test says."""

    def __init__(self, tool_id="s:write"):
        self.plan = planned({"id": "call", "tool": tool_id})
        self.answer = asyncio.get_running_loop().create_future()
        self.listener = None
        self.call = AdoptedCall(
            prepared=PreparedCall(
                tool=tool_id,
                server="s",
                definition_hash=TOOLS[tool_id],
                arguments_digest="digest",
                approval_reason="",
                repeatable=tool_id == "s:read",
            ),
            sending=asyncio.create_task(self._send(tool_id)),
            forward_progress=self._note_listener,
        )

    async def _send(self, tool_id):
        raw = await self.answer
        return CallOutcome(
            tool=tool_id,
            definition_hash=TOOLS[tool_id],
            result=UpstreamResult(raw=raw),
            duration_s=2.0,
        )

    def _note_listener(self, listener):
        self.listener = listener

    async def start(self, runs):
        started = await runs.start(ADMIN, self.plan, is_direct=True, adopts=self.call)
        return started.run


async def test_its_run_ends_with_its_outcome_and_sends_nothing(home, sealer):
    upstream = Gate()
    async with process(means(home, sealer, upstream)) as runs:
        flight = Flight()
        run = await flight.start(runs)
        view = await runs.load_view(ADMIN, run)
        assert (view.status, view.tasks[0].status) == ("running", "running")
        assert (view.is_direct, view.delivered_at is None) == (True, False)
        flight.answer.set_result(DONE)
        view = await ended(runs, run)
    assert (view.status, view.tasks[0].result) == ("succeeded", DONE)
    assert (view.tasks[0].attempts, view.tasks[0].duration_ms) == (1, 2_000)
    assert upstream.seen == []


async def test_its_failure_is_the_run_s(home, sealer):
    async with process(means(home, sealer, Gate())) as runs:
        flight = Flight()
        run = await flight.start(runs)
        flight.answer.set_exception(ServerExited(server="s", how="exited with code 1"))
        view = await ended(runs, run)
    assert (view.status, view.tasks[0].error_code) == ("failed", "server_exited")


async def test_a_question_that_nobody_is_left_to_answer_fails_it(home, sealer):
    async with process(means(home, sealer, Gate())) as runs:
        flight = Flight()
        run = await flight.start(runs)
        flight.answer.set_result({"resultType": "input_required", "inputRequests": {}})
        view = await ended(runs, run)
    assert view.tasks[0].error_code == "cannot_ask_client"
    assert "has nobody to ask" in view.tasks[0].error


async def test_aborting_the_run_cancels_the_call(home, sealer):
    async with process(means(home, sealer, Gate())) as runs:
        flight = Flight()
        run = await flight.start(runs)
        await runs.control(ADMIN, run, Action.ABORT)
        view = await ended(runs, run)
    assert flight.call.sending.cancelled()
    assert (view.status, view.tasks[0].status) == ("aborted", "cancelled")


async def test_progress_goes_to_who_follows_the_run(home, sealer):
    async with process(means(home, sealer, Gate())) as runs:
        flight = Flight()
        run = await flight.start(runs)
        following = runs.follow_progress(ADMIN, run)
        taking = asyncio.create_task(anext(following))
        await until(lambda: flight.listener is not None and runs._progress_relay.is_followed(run))
        await flight.listener(1, 3, "a third")
        (report,) = await taking
        assert (report.task, report.progress, report.message) == ("call", 1, "a third")
        flight.answer.set_result(DONE)
        await ended(runs, run)


async def test_it_waits_for_no_slot_and_for_no_approval(home, sealer):
    upstream = Gate("a")
    asking = catalogue(tool("s:write", definition_hash="w", approval="always"))
    now = [catalogue(tool("s:write", definition_hash="w"))]
    given = means(home, sealer, upstream, catalogue=lambda: now[0], tasks_at_once=1)
    async with process(given) as runs:
        busy = (await runs.start(ADMIN, planned({"id": "a"}))).run
        await upstream.until("a")
        now[0] = asking
        flight = Flight()
        run = await flight.start(runs)
        flight.answer.set_result(DONE)
        assert (await ended(runs, run)).status == "succeeded"
        upstream.open.set()
        await ended(runs, busy)


@pytest.mark.parametrize(
    ("tool_id", "sent", "becomes"), [("s:write", [], "unknown"), ("s:read", ["call"], "succeeded")]
)
async def test_a_call_lost_with_its_process_is_repeated_only_if_that_is_safe(
    home, sealer, monkeypatch, tool_id, sent, becomes
):
    end_at_leisure(monkeypatch, 0.1)
    async with process(means(home, sealer, Gate())) as runs:
        flight = Flight(tool_id)
        run = await flight.start(runs)
    assert flight.call.sending.cancelled()
    assert await run_in_database_thread(tasks, run) == {"call": "running"}
    upstream = Gate()
    await adopt(home, sealer, run, upstream, until=becomes)
    assert upstream.seen == sent


async def test_a_process_that_executes_no_runs_adopts_none(home, sealer):
    async with process(means(home, sealer, Gate(), is_executor=False)) as runs:
        flight = Flight()
        with pytest.raises(CannotAdopt):
            await flight.start(runs)
        assert not flight.call.sending.done()
        flight.call.sending.cancel()


async def test_a_process_that_ends_makes_no_run_that_another_would_send(home, sealer):
    async with process(means(home, sealer, Gate())) as runs:
        flight = Flight()
        starting = asyncio.create_task(flight.start(runs))
        await asyncio.sleep(0)
        runs._process.holder._is_closing = True  # before the run has its first turn
        with pytest.raises(CannotAdopt):
            await starting
        assert not flight.call.sending.done()
        flight.call.sending.cancel()
        await until(lambda: not runs._process.holder._runs)
        assert await run_in_database_thread(run_store.count_runs, "admin") == run_store.UserRuns(
            total=0, unfinished=0
        )


async def test_a_call_recorded_as_its_process_ends_is_no_longer_taken_back(
    home, sealer, monkeypatch
):
    end_at_leisure(monkeypatch, 0.1)
    create = RunCreation.create_with_changes

    async with process(means(home, sealer, Gate())) as runs:
        holder = runs._process.holder

        async def create_and_halt(self, changes):
            cache = await create(self, changes)
            for held in holder._runs.values():
                held.halt()
            return cache

        monkeypatch.setattr(RunCreation, "create_with_changes", create_and_halt)
        flight = Flight()
        run = await flight.start(runs)
        await until(lambda: flight.call.is_taken)
    assert await run_in_database_thread(tasks, run) == {"call": "running"}


async def test_a_run_aborted_before_it_takes_the_call_cancels_it(home, sealer, monkeypatch):
    create = RunCreation.create_with_changes

    async with process(means(home, sealer, Gate())) as runs:
        holder = runs._process.holder

        async def create_and_abort(self, changes):
            cache = await create(self, changes)
            for held in holder._runs.values():
                held.execution.abort()
            return cache

        monkeypatch.setattr(RunCreation, "create_with_changes", create_and_abort)
        flight = Flight()
        run = await flight.start(runs)
        assert (await ended(runs, run)).status == "aborted"
        await until(flight.call.sending.cancelled)
    assert not flight.call.is_taken


async def test_a_call_goes_on_without_a_run_where_the_database_is_away(home, sealer, monkeypatch):
    def away(*_args, **_named):
        raise RunsUnavailable(OSError("away"))

    monkeypatch.setattr(run_store, "create_run", away)
    async with process(means(home, sealer, Gate())) as runs:
        flight = Flight()
        with pytest.raises(RunsUnavailable):
            await flight.start(runs)
        flight.answer.set_result(DONE)
        assert (await flight.call.sending).result.raw == DONE
        await until_stored(lambda: not runs._process.holder._runs)


async def test_another_user_s_run_is_not_there(home, sealer):
    async with process(means(home, sealer, Gate())) as runs:
        flight = Flight()
        run = await flight.start(runs)
        with pytest.raises(run_store.UnknownRun):
            await runs.load_view(replace(ADMIN, user="bob"), run)
        flight.answer.set_result(DONE)
        await until_stored(lambda: status(run) == "succeeded")
