import pytest

from execution.speculation.outcome import Evidence
from execution.speculation.predicted_workflow import (
    compare_workflows,
    estimate_saving_ms,
    fingerprint_workflow,
    is_call_of,
)
from gateway_project.foundation.canonical import hash_json
from gateway_project.foundation.references import ReferenceTarget
from tests.execution.workflows import known_task


def digest(*parts):
    return hash_json(list(parts))


def ref(task, pointer="/id"):
    return {"$ref": task, "pointer": pointer}


def task(key, tool, /, depends_on=(), **arguments):
    return known_task(key, tool, arguments, depends_on=depends_on)


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
    assert compared(same) is Evidence.RUN


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
            known_task(
                "send",
                2,
                {"to": ref("find"), "note": "hi"},
                for_each=ReferenceTarget("find", "/id"),
            ),
        ),
    ],
)
def test_a_workflow_with_some_of_the_tools_is_a_changed_one(other):
    assert compared(other) is Evidence.CHANGED_RUN


def test_a_workflow_without_any_of_the_tools_is_another():
    assert compared((task("x", 3),)) is Evidence.OTHER_RUN
    assert compared((), first=()) is Evidence.RUN


def test_two_tasks_that_refer_to_different_results_are_not_confused():
    lists = [task("a", 1, q="x"), task("b", 1, q="y")]
    first = (*lists, task("c", 2, of=ref("a")))
    other = (*lists, task("c", 2, of=ref("b")))
    assert compared(other, first=first) is Evidence.CHANGED_RUN


def test_the_order_of_independent_tasks_does_not_matter():
    first = (task("a", 1, q="x"), task("b", 1, q="y"), task("c", 2))
    assert compared(first[::-1], first=first) is Evidence.RUN


def test_references_inside_lists_are_followed():
    first = (task("a", 1), task("b", 2, of=[1, {"x": [ref("a")]}]))
    renamed = (task("z", 1), task("b", 2, of=[1, {"x": [ref("z")]}]))
    assert compared(renamed, first=first) is Evidence.RUN


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
    assert not is_call_of(known_task("a", 1, for_each=ReferenceTarget("b", "")), 1, {})


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
