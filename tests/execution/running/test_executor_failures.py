import asyncio

import pytest

from execution.status import RunStatus, TaskStatus
from execution.workflow import OnError
from tests.execution.recorded_run import (
    ServerBroke,
    finish,
    ref,
    run_of,
    says,
)

SKIPPED, SUCCEEDED = TaskStatus.SKIPPED, TaskStatus.SUCCEEDED


@pytest.mark.parametrize(
    ("policy", "ends", "status"),
    [
        (OnError.STOP, {"ordered": SKIPPED, "needs": SKIPPED, "other": SKIPPED}, "failed"),
        (
            OnError.CONTINUE,
            {"ordered": SKIPPED, "needs": SKIPPED, "other": SUCCEEDED},
            "partial_success",
        ),
        (
            OnError.SAFE_TO_FAIL,
            {"ordered": SUCCEEDED, "needs": SKIPPED, "other": SUCCEEDED},
            "partial_success",
        ),
    ],
)
async def test_the_failure_policy_decides_the_effect_of_a_failure(policy, ends, status):
    recorded, tools = run_of(
        {"id": "bad"},
        {"id": "first"},
        {"id": "ordered", "depends_on": ["bad"]},
        {"id": "needs", "arguments": {"x": ref("bad")}},
        {"id": "other", "depends_on": ["first"]},
        on_error=policy,
        answers={"bad": says("no such file", is_error=True)},
        turns={"first": 9},
    )
    assert await finish(tools) == status
    assert recorded.stands("first") is SUCCEEDED, "what is under way goes on to its end"
    assert {task: recorded.stands(task) for task in ends} == ends
    assert recorded.tasks["bad", -1].error_code == "tool_error"
    assert recorded.errors["bad", -1] == "no such file"
    if status == "failed":
        assert (recorded.code, recorded.error) == ("tool_error", "task 'bad': no such file")


async def test_a_task_that_was_skipped_is_not_a_failure_that_its_policy_allows():
    """Copy, then delete the original: without a copy, nothing is deleted."""
    recorded, tools = run_of(
        {"id": "read", "on_error": "continue"},
        {"id": "copy", "on_error": "safe_to_fail", "depends_on": ["read"]},
        {"id": "delete", "depends_on": ["copy"]},
        {"id": "log"},
        answers={"read": says("no such file", is_error=True)},
    )
    assert await finish(tools) == "partial_success"
    assert (recorded.stands("copy"), recorded.stands("delete")) == (SKIPPED, SKIPPED)
    assert {call.task for call in tools.calls} == {"read", "log"}


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        (OnError.CONTINUE, "no task succeeded; task 'a': no such file"),
        (OnError.SAFE_TO_FAIL, "no task succeeded"),
    ],
)
async def test_a_run_of_which_nothing_succeeded_has_failed(policy, error):
    no = says("no such file", is_error=True)
    recorded, tools = run_of({"id": "a"}, {"id": "b"}, on_error=policy, answers={"a": no, "b": no})
    assert await finish(tools) == "failed"
    assert (recorded.code, recorded.error) == ("nothing_succeeded", error)


async def test_the_policy_of_a_task_overrides_that_of_the_run():
    recorded, tools = run_of(
        {"id": "bad", "on_error": "safe_to_fail"},
        {"id": "next", "depends_on": ["bad"]},
        answers={"bad": ServerBroke("server 's': it died; the call may have taken effect")},
    )
    assert await finish(tools) is RunStatus.SUCCEEDED
    assert recorded.tasks["bad", -1].error_code == "connection_lost"


async def test_a_missing_referent_fails_its_task_before_any_call():
    recorded, tools = run_of({"id": "a"}, {"id": "b", "arguments": {"x": ref("a", "/nothing")}})
    assert await finish(tools) is RunStatus.FAILED
    assert recorded.tasks["b", -1].error_code == recorded.code == "missing_referent"
    assert [call.task for call in tools.calls] == ["a"]


async def test_a_defect_in_one_task_fails_only_that_task(caplog):
    recorded, tools = run_of(
        {"id": "a"}, {"id": "b"}, on_error=OnError.CONTINUE, answers={"a": ValueError("odd")}
    )
    assert await finish(tools) is RunStatus.PARTIAL_SUCCESS
    assert recorded.tasks["a", -1].error_code == "internal_error"


async def test_a_call_that_is_cancelled_from_within_has_failed():
    def broken(_call):
        raise asyncio.CancelledError

    recorded, tools = run_of({"id": "a"}, answers={"a": broken})
    assert await finish(tools) is RunStatus.FAILED
    assert recorded.code == "call_cancelled"
