"""Single calls that a person has to approve first, over real runs and a pool in memory."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from execution.call import ApprovalRequired, InvalidArguments
from execution.control import Action
from execution.models import Approval, WorkflowExecution
from execution.run_dependencies import RunsUnavailable
from execution.runs import Runs
from execution.status import RunStatus, TaskStatus
from execution.store import approvals
from gateway_project import flow
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.runs import direct_call
from gateway_project.runs.direct_call import CallInProgress, DirectCallFailed, UserChannel
from gateway_project.use_cases import decide_approval
from gateway_project.use_cases.control_run import RunControl, control_run
from tests.execution.asking import late
from tests.execution.run_setup import ADMIN, means, process
from tests.gateway import run_views
from tests.gateway.catalogues import FakeUpstream, catalogue, never, tool
from tests.patience import PATIENCE_S
from tools.danger import Danger
from tools.upstream.errors import ServerExited
from tools.upstream.request import UpstreamRequest
from tools.upstream.result import UpstreamResult

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]

DELETE = tool(
    "fs:delete_file",
    definition_hash="direct",
    danger=Danger.DANGEROUS,
    input_schema={"type": "object", "properties": {"path": {"type": "string"}}},
)
BOB = Caller(user="bob", team=None, person=None, scopes=frozenset({"call"}), kind="http")


@dataclass(kw_only=True)
class World:
    """What stands behind the calls of a test."""

    upstream: FakeUpstream
    sealer: Any
    known: Any
    runs: Any = None

    @property
    def catalogue(self):
        return lambda: self.known

    async def open_console(self):
        return lambda approval: f"http://console/{approval}"

    async def call(
        self, arguments=None, *, caller=ADMIN, user_channel=direct_call.NO_USER, **more
    ):
        request = UpstreamRequest.to_call("delete_file", arguments or {"path": "/x"}, **more)
        return await direct_call.conclude_call(self, caller, request, user_channel=user_channel)

    async def asked(self, *args, **more):
        with pytest.raises(ApprovalRequired) as required:
            await self.call(*args, **more)
        return required.value

    async def failed(self, *args, **more):
        with pytest.raises(DirectCallFailed) as failed:
            await self.call(*args, **more)
        return failed.value


@asynccontextmanager
async def world(home, sealer, upstream=None):
    made = World(upstream=upstream or FakeUpstream(), sealer=sealer, known=catalogue(DELETE))
    given = means(home, sealer, made.upstream, catalogue=made.catalogue)
    async with process(given, listens=True) as made.runs:
        yield made


async def decide(approval, *, approve=True, caller=ADMIN):
    await run_in_database_thread(
        decide_approval.decide_approval, caller, approval, approve=approve, via="console"
    )


def saying(approve):
    """A person who decides as soon as they are asked."""
    asked = []

    async def consult(pending):
        asked.append(pending[0])
        if approve is None:
            return False
        await decide(pending[0].id, approve=approve)
        return True

    return UserChannel(consult=consult), asked


async def test_an_approved_call_is_made_and_its_result_delivered_once(home, sealer):
    async with world(home, sealer) as behind:
        first = await behind.asked()
        assert behind.upstream.calls == []
        assert first.link == f"http://console/{first.approval}"
        assert str(first.run) in str(first)
        assert set(first.data) == {"run_id", "approval", "link"}
        assert (await behind.asked()).approval == first.approval
        await decide(first.approval)
        outcome = await behind.call()
        assert (outcome.tool, outcome.definition_hash) == ("fs:delete_file", "direct")
        assert outcome.result.raw["content"] == [{"type": "text", "text": "delete_file"}]
        assert [seen.arguments for seen in behind.upstream.calls] == [{"path": "/x"}]
        again = await behind.asked()
        assert again.approval != first.approval
        assert len(behind.upstream.calls) == 1


async def test_the_same_call_with_another_time_limit_is_no_other_call(home, sealer):
    async with world(home, sealer) as behind:
        first = await behind.asked(timeout_s=60)
        assert (await behind.asked(timeout_s=90)).approval == first.approval
        await decide(first.approval)
        assert (await behind.call()).result.raw["content"][0]["text"] == "delete_file"
        assert [called.timeout_s for called in behind.upstream.calls] == [60]


async def test_a_reachable_user_is_prompted_and_the_call_continues(home, sealer):
    channel, asked = saying(approve=True)
    async with world(home, sealer) as behind:
        outcome = await behind.call(user_channel=channel)
        assert outcome.result.raw["content"][0]["text"] == "delete_file"
    assert [(one.tool, one.arguments) for one in asked] == [("fs:delete_file", {"path": "/x"})]


async def test_a_rejection_is_reported_once_and_the_next_call_asks_anew(home, sealer):
    channel, _ = saying(approve=False)
    async with world(home, sealer) as behind:
        assert (await behind.failed(user_channel=channel)).code == "approval_rejected"
        await behind.asked()
        assert behind.upstream.calls == []


async def test_an_unanswered_prompt_leaves_the_call_waiting(home, sealer):
    channel, asked = saying(approve=None)
    async with world(home, sealer) as behind:
        required = await behind.asked(user_channel=channel)
        assert asked[0].id == required.approval
        assert behind.upstream.calls == []


async def test_a_call_with_an_expired_approval_is_not_made(home, sealer):
    async with world(home, sealer) as behind:
        required = await behind.asked()
        await run_in_database_thread(lambda: late(Approval.objects.get(pk=required.approval)))
        await run_in_database_thread(approvals.expire_approvals)
        assert (await behind.failed()).code == "approval_expired"
        assert behind.upstream.calls == []


async def test_fifty_identical_calls_prompt_once_and_call_once(home, sealer):
    async with world(home, sealer) as behind:
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(behind.asked()) for _ in range(50)]
        (approval,) = {one.result().approval for one in asked}
        await decide(approval)
        await behind.call()
        assert len(behind.upstream.calls) == 1
    assert await run_in_database_thread(WorkflowExecution.objects.count) == 1


@pytest.mark.parametrize(
    ("arguments", "caller"),
    [({"path": "/y"}, ADMIN), ({"path": "/x", "more": 1}, ADMIN), ({"path": "/x"}, BOB)],
    ids=["other arguments", "more arguments", "another caller"],
)
async def test_another_call_needs_its_own_approval(home, sealer, arguments, caller):
    async with world(home, sealer) as behind:
        first = await behind.asked()
        await decide(first.approval)
        other = await behind.asked(arguments, caller=caller)
        assert other.run != first.run
        await behind.call()
        assert [seen.arguments for seen in behind.upstream.calls] == [{"path": "/x"}]


async def test_an_approved_call_of_a_changed_definition_is_not_made(home, sealer):
    async with world(home, sealer) as behind:
        first = await behind.asked()
        behind.known = catalogue(replace(DELETE, definition_hash="e"))
        await decide(first.approval)
        view = await behind.runs.wait(ADMIN, first.run, wait_s=PATIENCE_S)
        assert behind.upstream.calls == []
        assert view.status != "succeeded"


async def test_arguments_that_look_like_references_are_sent_as_they_are(home, sealer):
    arguments = {
        "path": "/x",
        "a": {"$ref": "call", "pointer": "/b"},
        "b": [{"$item": ""}, {"$literal": {"$literal": 1}}],
    }
    channel, _ = saying(approve=True)
    async with world(home, sealer) as behind:
        await behind.call(arguments, user_channel=channel)
        assert [seen.arguments for seen in behind.upstream.calls] == [arguments]


async def test_an_error_that_the_tool_reports_comes_back_as_it_is(home, sealer):
    raw = {"content": [{"type": "text", "text": "no such file"}], "isError": True}

    async def answer(_called, _progress):
        return UpstreamResult(raw=raw)

    channel, _ = saying(approve=True)
    async with world(home, sealer, FakeUpstream(answer=answer)) as behind:
        outcome = await behind.call(user_channel=channel)
        assert (outcome.result.raw, outcome.result.is_error) == (raw, True)


async def test_a_server_that_dies_during_the_call_is_reported_with_its_code(home, sealer):
    async def answer(_called, _progress):
        raise ServerExited(server="fs", how="died")

    channel, _ = saying(approve=True)
    async with world(home, sealer, FakeUpstream(answer=answer)) as behind:
        failed = await behind.failed(user_channel=channel)
        assert failed.code == "server_exited"
        assert len(behind.upstream.calls) == 1


@pytest.mark.parametrize("is_approved", [False, True])
async def test_a_call_whose_caller_aborted_it_is_a_new_one(home, sealer, is_approved):
    async with world(home, sealer, FakeUpstream(answer=never)) as behind:
        first = await behind.asked()
        if is_approved:
            await decide(first.approval)
            await behind.upstream.called.wait()
        await behind.runs.control(ADMIN, first.run, Action.ABORT)
        again = await behind.asked()
        assert again.run != first.run
        assert (await behind.asked()).run == again.run


async def test_a_call_that_a_person_aborted_says_so_once(home, sealer):
    async with world(home, sealer) as behind:
        first = await behind.asked()
        abort = RunControl(action=Action.ABORT)
        await run_in_database_thread(control_run, ADMIN, first.run, abort, sealer=sealer)
        await behind.runs.wait(ADMIN, first.run, wait_s=PATIENCE_S)
        assert (await behind.failed()).code == "run_aborted"
        await behind.asked()


async def test_an_unknown_outcome_is_not_taken_for_delivered(monkeypatch):
    async def refuse(*_args):
        raise AssertionError

    monkeypatch.setattr(direct_call, "run_in_database", refuse)
    unknown = run_views.view(
        run_views.task("call", TaskStatus.UNKNOWN), status=RunStatus.UNKNOWN, is_direct=True
    )
    with pytest.raises(DirectCallFailed, match="ended as unknown"):
        await direct_call.deliver_outcome(unknown)


async def test_reading_a_run_does_not_consume_its_result(home, sealer):
    async with world(home, sealer) as behind:
        required = await behind.asked()
        await decide(required.approval)
        view = await flow.get_run(behind, ADMIN, str(required.run), wait_s=PATIENCE_S)
        assert view.tasks[0].result is not None
        assert (await behind.call()).result.raw == view.tasks[0].result
        assert len(behind.upstream.calls) == 1
        assert (await behind.asked()).run != required.run


async def test_a_slow_call_is_reported_as_in_progress(home, sealer, monkeypatch):
    held = asyncio.Event()

    async def answer(_called, _progress):
        await held.wait()
        return UpstreamResult(raw={"content": []})

    async with world(home, sealer, FakeUpstream(answer=answer)) as behind:
        required = await behind.asked()
        await decide(required.approval)
        await behind.upstream.called.wait()
        with monkeypatch.context() as hasty:
            hasty.setattr(direct_call, "MAX_WAIT_S", 0.05)
            with pytest.raises(CallInProgress, match=f"get_run {required.run}"):
                await behind.call()
        held.set()
        assert (await behind.call()).result.raw == {"content": []}
        assert len(behind.upstream.calls) == 1


async def test_invalid_calls_request_no_approval(home, sealer):
    async with world(home, sealer) as behind:
        with pytest.raises(InvalidArguments):
            await behind.call({"path": 7})
    assert await run_in_database_thread(WorkflowExecution.objects.count) == 0


async def test_without_a_database_approval_is_impossible_and_nothing_is_called(sealer):
    class NoRuns(Runs):
        def __init__(self):
            """Need nothing."""

        async def start(self, *_, **__):
            raise RunsUnavailable(ConnectionError("the database is away"))

    behind = World(upstream=FakeUpstream(), sealer=sealer, known=catalogue(DELETE), runs=NoRuns())
    with pytest.raises(RunsUnavailable):
        await behind.call()
    assert behind.upstream.calls == []
