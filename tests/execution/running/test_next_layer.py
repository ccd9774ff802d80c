from execution.process.run_holder import make_calls
from execution.running import executor
from execution.status import RunStatus
from execution.workflow import OnError
from tests.execution.recorded_run import finish, ref, run_of


async def rest(tools, *, status=RunStatus.PAUSED):
    """Execute a run until it is at rest; return the calls that it would make next."""
    execution = tools.execution()
    assert await execution.run() is status
    return execution.list_next_calls()


def layered(*tasks, **values):
    return run_of(*tasks, per_layer_validation=True, **values)


async def test_each_item_of_a_list_is_a_call_up_to_a_limit():
    rows = [{"id": number} for number in range(executor.MAX_CALLS + 1)]
    _, tools = layered(
        {"id": "list"},
        {"id": "each", "for_each": ref("list", "/rows"), "arguments": {"id": {"$item": "/id"}}},
        answers={"list": {"rows": rows}},
    )
    upcoming = await rest(tools)
    assert [arguments["id"] for _, arguments in upcoming] == list(range(executor.MAX_CALLS))


async def test_what_cannot_be_resolved_is_left_to_the_run():
    _, tools = layered(
        {"id": "a"},
        {"id": "b", "arguments": {"id": ref("a", "/missing")}},
        {"id": "each", "for_each": ref("a", "/id")},
        {"id": "c", "depends_on": ["a"]},
        answers={"a": {"id": "x7"}},
    )
    assert [task.id for task, _ in await rest(tools)] == ["c"]


async def test_tasks_that_a_failure_skips_are_not_next():
    _, tools = layered(
        {"id": "a"},
        {"id": "b"},
        {"id": "c", "depends_on": ["a"]},
        {"id": "d", "depends_on": ["b"]},
        on_error=OnError.CONTINUE,
        answers={"a": ValueError("no")},
    )
    assert [task.id for task, _ in await rest(tools)] == ["d"]


async def test_a_run_that_ended_or_that_somebody_paused_within_a_layer_has_no_next_calls():
    _, tools = run_of({"id": "a"}, {"id": "b", "depends_on": ["a"]})
    execution = tools.execution()
    execution.pause()
    assert await execution.run() is RunStatus.PAUSED
    assert execution.list_next_calls() == []
    _, tools = layered({"id": "a"})
    assert await rest(tools, status=RunStatus.SUCCEEDED) == []


async def test_a_run_that_was_taken_up_anew_knows_its_next_calls_too():
    _, tools = layered(
        {"id": "a"},
        {"id": "b", "arguments": {"id": ref("a", "/id")}},
        answers={"a": {"id": "x7"}},
    )
    assert await finish(tools) is RunStatus.PAUSED
    assert [arguments for _, arguments in await rest(tools)] == [{"id": "x7"}]


async def test_the_client_stated_what_no_result_did():
    recorded, tools = layered(
        {"id": "list", "tool": "web:list"},
        {
            "id": "each",
            "for_each": ref("list", "/rows"),
            "arguments": {
                "id": {"$item": ""},
                "from": ref("list", "/name"),
                "plain": {"$literal": {"$item": ""}},
                "n": 1,
            },
        },
        answers={"list": {"rows": [7], "name": "x"}},
    )
    execution = tools.execution()
    assert await execution.run() is RunStatus.PAUSED
    (call,) = make_calls(execution)
    origins = {
        pointer: (origin.kind.value, origin.server) for pointer, origin in call.provenance.items()
    }
    assert origins == {
        "": ("stated", ""),
        "/id": ("result", "web"),
        "/from": ("result", "web"),
    }
    assert (call.prediction, call.form.value) == (recorded.run, "next_layer")
