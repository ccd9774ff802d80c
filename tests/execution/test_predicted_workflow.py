import pytest

from execution.planning.parse import parse
from execution.predicted_workflow import (
    PredictedTask,
    Resemblance,
    compare_workflows,
    estimate_saving_ms,
    fingerprint_workflow,
    is_call_of,
    list_tasks,
)
from gateway_project.foundation.canonical import hash_json


def digest(*parts):
    return hash_json(list(parts))


def ref(task, pointer="/id"):
    return {"$ref": task, "pointer": pointer}


def task(key, tool, /, depends_on=(), **arguments):
    return PredictedTask(id=key, tool=tool, arguments=arguments, depends_on=depends_on)


FIND_AND_SEND = (task("find", 1, name="Ann"), task("send", 2, to=ref("find"), note="hi"))


def compared(other, first=FIND_AND_SEND):
    return compare_workflows(
        fingerprint_workflow(first, digest), fingerprint_workflow(other, digest)
    )


@pytest.mark.parametrize(
    "same",
    [
        pytest.param(FIND_AND_SEND[::-1], id="in another order"),
        pytest.param(
            (task("a", 1, name="Ann"), task("b", 2, to=ref("a"), note="hi")), id="other ids"
        ),
        pytest.param(
            (
                task("find", 1, name="Ann"),
                task("send", 2, depends_on=("find",), to=ref("find"), note="hi"),
            ),
            id="a dependency that its reference implies",
        ),
    ],
)
def test_a_workflow_is_the_same_if_its_calls_are(same):
    assert compared(same) is Resemblance.SAME


@pytest.mark.parametrize(
    "other",
    [
        (task("find", 1, name="Bob"), task("send", 2, to=ref("find"), note="hi")),
        (task("find", 1, name="Ann"), task("send", 2, to=ref("find", "/mail"), note="hi")),
        (task("find", 1, name="Ann"), task("send", 2, to={"$literal": ref("find")}, note="hi")),
        (task("find", 1, name="Ann"),),
        (*FIND_AND_SEND, task("again", 2, to=ref("find"), note="hi")),
        (
            task("find", 1, name="Ann"),
            PredictedTask(
                id="send",
                tool=2,
                arguments={"to": ref("find"), "note": "hi"},
                for_each=ref("find"),
            ),
        ),
    ],
)
def test_a_workflow_with_some_of_the_tools_is_a_changed_one(other):
    assert compared(other) is Resemblance.CHANGED


def test_a_workflow_without_any_of_the_tools_is_another():
    assert compared((task("x", 3),)) is Resemblance.OTHER
    assert compared((), first=()) is Resemblance.SAME


def test_two_tasks_that_refer_to_different_results_are_not_confused():
    lists = [task("a", 1, q="x"), task("b", 1, q="y")]
    first = (*lists, task("c", 2, of=ref("a")))
    other = (*lists, task("c", 2, of=ref("b")))
    assert compared(other, first=first) is Resemblance.CHANGED


def test_references_inside_lists_are_followed():
    first = (task("a", 1), task("b", 2, of=[1, {"x": [ref("a")]}]))
    renamed = (task("z", 1), task("b", 2, of=[1, {"x": [ref("z")]}]))
    assert compared(renamed, first=first) is Resemblance.SAME


def test_a_parsed_workflow_is_compared_by_the_primary_keys_of_its_tools():
    workflow = parse(
        {
            "tasks": [
                {"id": "find", "tool": "crm:find", "arguments": {"name": "Ann"}},
                {
                    "id": "send",
                    "tool": "mail:send",
                    "arguments": {"to": ref("find"), "note": "hi"},
                },
                {"id": "all", "tool": "crm:find", "for_each": ref("find", "")},
            ]
        }
    )
    tasks = list_tasks(workflow, {"crm:find": 1, "mail:send": 2}.__getitem__)
    assert tasks[:2] == FIND_AND_SEND
    assert tasks[2].for_each == ref("find", "")


SEND = task("send", 2, to=ref("find"), cc=["a", {"x": 1}], exact={"$literal": ref("find")})


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"to": "anyone", "cc": ["a", {"x": 1}], "exact": ref("find")}, True),
        ({"to": {"id": 7}, "cc": ("a", {"x": 1}), "exact": ref("find")}, True),
        ({"to": "anyone", "cc": ["b", {"x": 1}], "exact": ref("find")}, False),
        ({"to": "anyone", "cc": ["a"], "exact": ref("find")}, False),
        ({"to": "anyone", "cc": ["a", {"x": True}], "exact": ref("find")}, False),
        ({"to": "anyone", "cc": ["a", 1], "exact": ref("find")}, False),
        ({"to": "anyone", "cc": "a", "exact": ref("find")}, False),
        ({"to": "anyone", "cc": ["a", {"x": 1}], "exact": "find"}, False),
        ({"to": "anyone", "cc": ["a", {"x": 1}]}, False),
        ({"to": "anyone", "cc": ["a", {"x": 1}], "exact": ref("find"), "more": 1}, False),
    ],
)
def test_a_direct_call_carries_out_a_task_if_all_stated_arguments_are_equal(arguments, expected):
    assert is_call_of(SEND, 2, arguments) is expected


def test_a_call_of_another_tool_or_for_a_list_carries_out_nothing():
    assert not is_call_of(task("a", 1), 2, {})
    assert not is_call_of(PredictedTask(id="a", tool=1, for_each=ref("b")), 1, {})


def test_the_saving_is_the_time_of_the_longest_chain():
    steps = (
        task("a", 1),
        task("b", 2, of=ref("a")),
        task("c", 3),
        task("d", 1, depends_on=("c", "gone")),
    )
    assert estimate_saving_ms(steps, {1: 10.0, 2: 5.0, 3: 50.0}) == 60.0
    assert estimate_saving_ms(steps, {1: 10.0, 2: 5.0}) is None
    assert estimate_saving_ms((), {}) == 0.0
