import asyncio

from execution.running.approval_requests import MAX_PENDING
from execution.status import RunStatus, TaskStatus
from tests.execution.recorded_run import ref, run_of, says
from tests.patience import PATIENCE_S

ITEMS = 250


async def finish(execution):
    async with asyncio.timeout(PATIENCE_S):
        return await execution.run()


def approve(recorded, execution, most):
    """Approve some calls that wait; return how many were."""
    chosen = recorded.waiting()[:most]
    for key, asked in chosen:
        asked.status = "approved"
        execution.apply_decision(*asked.place, key, approved=True)
    return len(chosen)


async def test_pending_approvals_of_a_run_are_limited_and_the_rest_follow():
    recorded, tools = run_of(
        {"id": "list"},
        {"id": "each", "tool": "s:drop", "for_each": ref("list")},
        answers={"list": says(list(range(ITEMS)))},
        asks=frozenset({"drop"}),
    )
    prepared = []
    prepare = tools.prepare
    tools.prepare = lambda tool, given: prepared.append(tool) or prepare(tool, given)
    status, asked = await finish(tools.execution()), []
    assert len(prepared) <= MAX_PENDING + 2, "what is put off is not looked at one by one"
    while status is RunStatus.WAITING:
        asked.append(len(recorded.waiting()))
        assert recorded.stands("each", ITEMS - 1) is TaskStatus.PENDING or len(asked) > 2
        execution = tools.execution()
        approve(recorded, execution, MAX_PENDING)
        status = await finish(execution)
    assert (status, asked) == (RunStatus.SUCCEEDED, [100, 100, 50])
    assert len(tools.calls) == ITEMS + 1


async def test_each_decision_admits_one_more_approval_request():
    tasks = [{"id": f"t{n}", "tool": f"s:drop{n % 2}"} for n in range(MAX_PENDING + 5)]
    recorded, tools = run_of(*tasks, asks=frozenset({"drop0", "drop1"}))
    assert await finish(tools.execution()) is RunStatus.WAITING
    for decided in range(1, 4):
        execution = tools.execution()
        approve(recorded, execution, 1)
        assert await finish(execution) is RunStatus.WAITING
        assert len(recorded.waiting()) == MAX_PENDING
        assert len(tools.calls) == decided


async def test_a_rejection_frees_its_place_and_other_calls_continue():
    tasks = [{"id": f"t{n}", "tool": "s:drop"} for n in range(MAX_PENDING + 2)]
    recorded, tools = run_of(*tasks, {"id": "free"}, asks=frozenset({"drop"}), on_error="continue")
    assert await finish(tools.execution()) is RunStatus.WAITING
    assert [call.task for call in tools.calls] == ["free"]
    execution = tools.execution()
    for key, asked in recorded.waiting():
        asked.status = "rejected"
        execution.apply_decision(*asked.place, key, approved=False)
    assert await finish(execution) is RunStatus.WAITING
    assert len(recorded.waiting()) == 2
    execution = tools.execution()
    approve(recorded, execution, 2)
    assert await finish(execution) is RunStatus.PARTIAL_SUCCESS
