"""Direct calls that outlast their clients' patience, over real runs and a pool in memory."""

import asyncio
import threading
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from execution import call
from execution.call_errors import DeadlineExceeded
from execution.control import Action
from execution.models import WorkflowExecution
from execution.run_dependencies import RunsUnavailable
from execution.store import runs as run_store
from execution.store.runs import TooManyRuns, UnknownRun
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.mcp.parking import open_parking
from gateway_project.runs import continued_call
from gateway_project.runs.continued_call import CallContinues, _ClientWait
from gateway_project.runs.direct_call import Patience
from tests.execution.run_setup import ADMIN, ended, means, process, until, until_stored
from tests.gateway.catalogues import FakeUpstream, catalogue, text_result, tool
from tests.patience import PATIENCE_S
from tools.upstream.downstream import Downstream
from tools.upstream.errors import UpstreamRefused
from tools.upstream.request import UpstreamRequest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]
SHORT = Patience(call_s=0.01)
LONG = Patience(call_s=PATIENCE_S)
KNOWN = catalogue(tool("s:write", definition_hash="w"))
BOB = replace(ADMIN, user="bob")


@dataclass(kw_only=True)
class World:
    """What stands behind the calls of a test."""

    sealer: Any
    known: Any = KNOWN
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    ended: list[Any] = field(default_factory=list)
    runs: Any = None

    def __post_init__(self):
        self.upstream = FakeUpstream(answer=self._answer)

    async def _answer(self, called, progress):
        await self.gate.wait()
        if progress is not None:
            await progress(1, 1, "ready")
        return text_result("written")

    async def call(self, patience, *, caller=ADMIN, arguments=None, **request):
        return await continued_call.call_with_patience(
            self,
            caller,
            UpstreamRequest(
                method="tools/call",
                params={"name": "s:write", "arguments": arguments or {"as": "x"}},
                **request,
            ),
            self.known,
            make_call=lambda request: call.call(
                request,
                caller=caller,
                catalogue=self.known,
                upstream=self.upstream,
                on_ended=self.ended.append,
            ),
            patience=patience,
        )

    async def continues(self, patience=SHORT, **more):
        with pytest.raises(CallContinues) as continues:
            await self.call(patience, **more)
        return continues.value


@asynccontextmanager
async def world(home, sealer, **said):
    made = World(sealer=sealer)
    given = means(home, sealer, made.upstream, catalogue=lambda: made.known, **said)
    async with process(given, listens=True) as made.runs:
        try:
            yield made
        finally:
            made.gate.set()


def count_runs():
    return WorkflowExecution.objects.count()


def load_statuses():
    return list(WorkflowExecution.objects.values_list("status", flat=True))


@pytest.fixture
def hanging(monkeypatch):
    """Have the database take no run before a test lets it: set `begun` and wait for `go_on`."""
    create = run_store.create_run
    made = SimpleNamespace(begun=threading.Event(), go_on=threading.Event(), error=None)

    def create_late(*args, **named):
        made.begun.set()
        made.go_on.wait(PATIENCE_S)
        if made.error is not None:
            raise made.error
        return create(*args, **named)

    monkeypatch.setattr(run_store, "create_run", create_late)
    yield made
    made.go_on.set()


async def test_a_call_that_ends_in_time_leaves_no_run(home, sealer):
    async with world(home, sealer) as behind:
        behind.gate.set()
        outcome = await behind.call(LONG)
    assert outcome.result.raw["content"] == [{"type": "text", "text": "written"}]
    assert await run_in_database_thread(count_runs) == 0


async def test_a_call_that_takes_longer_goes_on_as_a_run_and_is_made_once(home, sealer):
    async with world(home, sealer) as behind:
        continues = await behind.continues()
        text = str(continues)
        assert f"goes on as run {continues.run}" in text
        assert "get_run" in text
        assert "Do not call it again" in text
        view = await behind.runs.load_view(ADMIN, continues.run, workflow=True)
        assert (view.status, view.tasks[0].tool) == ("running", "s:write")
        assert behind.ended == []
        behind.gate.set()
        view = await ended(behind.runs, continues.run)
        assert view.status == "succeeded"
        assert view.tasks[0].result["content"] == [{"type": "text", "text": "written"}]
        assert len(behind.upstream.calls) == 1
        (one,) = behind.ended
        assert (one.code, one.caller, one.arguments) == ("", ADMIN, {"as": "x"})
        with pytest.raises(UnknownRun):
            await behind.runs.load_view(BOB, continues.run)


async def test_two_persons_calls_become_runs_of_their_own(home, sealer):
    async with world(home, sealer) as behind:
        mine = await behind.continues()
        theirs = await behind.continues(caller=BOB)
        behind.gate.set()
        for caller, run in ((ADMIN, mine.run), (BOB, theirs.run)):
            assert (await ended(behind.runs, run, caller)).status == "succeeded"
        with pytest.raises(UnknownRun):
            await behind.runs.load_view(ADMIN, theirs.run)
    assert [called.caller.user for called in behind.upstream.calls] == ["admin", "bob"]


async def test_aborting_its_run_cancels_it_at_its_server(home, sealer):
    async with world(home, sealer) as behind:
        continues = await behind.continues()
        await behind.runs.control(ADMIN, continues.run, Action.ABORT)
        await behind.upstream.cancelled.wait()
        assert (await ended(behind.runs, continues.run)).status == "aborted"


async def test_its_own_time_limit_still_counts(home, sealer):
    async with world(home, sealer) as behind:
        continues = await behind.continues(timeout_s=0.2)
        view = await ended(behind.runs, continues.run)
        assert view.tasks[0].error_code == DeadlineExceeded.code
        assert behind.upstream.cancelled.is_set()


async def test_a_client_that_cancels_in_time_cancels_the_call(home, sealer):
    async with world(home, sealer) as behind:
        calling = asyncio.create_task(behind.call(LONG))
        await behind.upstream.called.wait()
        calling.cancel()
        await asyncio.wait({calling})
        assert calling.cancelled()
        assert behind.upstream.cancelled.is_set()
        assert [one.code for one in behind.ended] == ["cancelled"]
    assert await run_in_database_thread(count_runs) == 0


@pytest.mark.parametrize("error", [RunsUnavailable(OSError("away")), TooManyRuns()])
async def test_a_call_that_cannot_become_a_run_is_waited_for(home, sealer, error, monkeypatch):
    async with world(home, sealer) as behind:

        async def refuse(*_args, **_named):
            behind.gate.set()
            raise error

        monkeypatch.setattr(behind.runs, "start", refuse)
        outcome = await behind.call(SHORT)
    assert outcome.result.raw["content"][0]["text"] == "written"
    assert len(behind.upstream.calls) == 1


async def test_a_result_does_not_wait_for_a_database_that_hangs(home, sealer, hanging):
    async with world(home, sealer) as behind:
        calling = asyncio.create_task(behind.call(SHORT))
        await until(hanging.begun.is_set)
        behind.gate.set()
        outcome = await calling
        assert outcome.result.raw["content"][0]["text"] == "written"
        hanging.go_on.set()
        await until_stored(lambda: load_statuses() == ["succeeded"])
    assert len(behind.upstream.calls) == 1


async def test_a_client_that_leaves_during_the_hand_over_leaves_the_call_to_its_run(
    home, sealer, hanging
):
    async with world(home, sealer) as behind:
        calling = asyncio.create_task(behind.call(SHORT))
        await until(hanging.begun.is_set)
        calling.cancel()
        await asyncio.wait({calling})
        assert calling.cancelled()
        hanging.go_on.set()
        await until_stored(lambda: load_statuses() == ["running"])
        assert not behind.upstream.cancelled.is_set()
        behind.gate.set()
        await until_stored(lambda: load_statuses() == ["succeeded"])
    assert len(behind.upstream.calls) == 1


async def test_a_call_is_cancelled_once_neither_a_client_nor_a_run_has_it(home, sealer, hanging):
    hanging.error = TooManyRuns()
    async with world(home, sealer) as behind:
        calling = asyncio.create_task(behind.call(SHORT))
        await until(hanging.begun.is_set)
        calling.cancel()
        await asyncio.wait({calling})
        assert not behind.upstream.cancelled.is_set(), "there may be a run yet"
        hanging.go_on.set()
        await behind.upstream.cancelled.wait()
    assert await run_in_database_thread(count_runs) == 0


async def test_a_gateway_that_leaves_runs_to_workers_waits_for_its_calls(home, sealer):
    async with world(home, sealer, is_executor=False) as behind:
        calling = asyncio.create_task(behind.call(SHORT))
        await behind.upstream.called.wait()
        assert await asyncio.wait({calling}, timeout=0.05) == (set(), {calling})
        behind.gate.set()
        assert (await calling).result.raw["content"][0]["text"] == "written"
    assert await run_in_database_thread(count_runs) == 0


async def test_progress_goes_to_the_client_only_as_long_as_it_waits(home, sealer):
    reports = []

    async def report(*progress):
        reports.append(progress)

    async with world(home, sealer) as behind:
        continues = await behind.continues(progress=report)
        behind.gate.set()
        await ended(behind.runs, continues.run)
        assert reports == []
        await behind.call(LONG, progress=report)
    assert reports == [(1, 1, "ready")]


async def refuse_to_ask(_method, _params):
    raise MCPError(-32603, "the client no longer waits for this call")


async def test_a_question_after_the_hand_over_fails_it_as_one_that_cannot_be_asked(home, sealer):
    async with world(home, sealer) as behind:

        async def ask_and_fail(called, _progress):
            await behind.gate.wait()
            with suppress(MCPError):
                await called.downstream.ask("elicitation/create", {})
            raise UpstreamRefused(server="s", rpc_code=-32603, rpc_message="cannot go on")

        behind.upstream.answer = ask_and_fail
        continues = await behind.continues(downstream=Downstream(ask=refuse_to_ask))
        behind.gate.set()
        view = await ended(behind.runs, continues.run)
        assert view.tasks[0].error_code == "cannot_ask_client"
        assert "has nobody to ask" in view.tasks[0].error
        with pytest.raises(UpstreamRefused):
            await behind.call(LONG, downstream=Downstream(ask=refuse_to_ask))


# What prolongs a wait; its end is looked at, not waited for.


async def ignore(*_anything):
    return {}


@asynccontextmanager
async def waiting(patience, **request):
    wait = _ClientWait(patience)
    watched = wait.watch(replace(UpstreamRequest.to_call("s:write", {}), **request))
    sending = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(wait.until_over(sending))
    await until(lambda: wait._limit is not None and wait._limit.when() is not None)
    yield SimpleNamespace(request=watched, ends_at=lambda: wait._limit.when())
    sending.set_result(None)
    assert await task


@pytest.mark.parametrize("extends", [True, False])
async def test_progress_starts_the_wait_anew_where_the_client_s_does(extends):
    patience = Patience(call_s=PATIENCE_S, extends=extends, spent_s=PATIENCE_S / 2)
    async with waiting(patience, progress=ignore) as one:
        before = one.ends_at()
        await one.request.progress(1, None, None)
        assert (one.ends_at() - before > PATIENCE_S / 4) is extends


async def test_progress_that_the_client_does_not_get_prolongs_nothing():
    patience = Patience(call_s=PATIENCE_S, extends=True, spent_s=PATIENCE_S / 2)
    async with waiting(patience) as one:
        before = one.ends_at()
        await one.request.progress(1, None, None)
        assert one.ends_at() == before


async def test_the_wait_stands_still_while_the_client_is_asked():
    gate = asyncio.Event()

    async def ask(_method, _params):
        await gate.wait()
        return {"action": "accept"}

    async with waiting(LONG, downstream=Downstream(ask=ask)) as one:
        asking = asyncio.create_task(one.request.downstream.ask("elicitation/create", {}))
        await until(lambda: one.ends_at() is None)
        await one.request.progress(1, None, None)
        assert one.ends_at() is None
        gate.set()
        assert await asking == {"action": "accept"}
        assert one.ends_at() is not None


async def test_nobody_is_asked_for_a_stateless_client_that_has_its_answer():
    kept = []

    async def operation(parked):
        kept.append(parked)
        raise CallContinues("s:write", "run", wait_s=1)

    async with open_parking() as parking:
        with pytest.raises(CallContinues):
            await parking.run(operation, caller=ADMIN, progress=None)
        with pytest.raises(MCPError, match="no longer waits"):
            await kept[0].ask("elicitation/create", {})
