"""How the answers to a wish of the outside test are judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.outside.score import Answers, is_accepted, judge
from benchmarks.outside.wishes import Wish, WishStep

READ = WishStep(
    tools=frozenset({"files:read", "files:read_many"}), arguments={"path|paths": "/a", "tail": 20}
)
POST = WishStep(tools=frozenset({"chat:post"}), arguments={"text": {"contains": ["done"]}})
WISH = Wish(
    id="w1",
    text="the end of /a, and tell them its done",
    language="en",
    half="open",
    steps=(READ, POST),
    helpers=frozenset({"chat:find_channel"}),
)
NOTHING = replace(WISH, id="w2", text="a pizza", steps=(), helpers=frozenset())
PARAMETERS = {
    "files:read": {"path", "tail"},
    "files:read_many": {"paths"},
    "files:delete": {"path"},
    "chat:post": {"channel", "text"},
    "chat:find_channel": {"name"},
}


def task(tool, **arguments):
    return {"id": tool, "tool": tool, "arguments": arguments}


READ_TASK = task("files:read", path="/a", tail=20)
POST_TASK = task("chat:post", text="its done", channel={"$ref": "x", "pointer": "/id"})


def answers(*tasks, needs=(), found=("files:read",), confidence=0.4):
    return Answers(
        search={"tools": [{"tool": tool, "score": 0.5} for tool in found]},
        search_ms=1.0,
        intent={
            "draft_workflow": {"tasks": list(tasks)},
            "needs_input": [{"task": name, "pointer": pointer} for name, pointer in needs],
            "confidence": confidence,
        },
        intent_ms=2.0,
    )


def verdict(*tasks, wish=WISH, **options):
    return judge(wish, answers(*tasks, **options), PARAMETERS)


def test_a_workflow_with_one_right_task_for_each_step_is_complete():
    judged = verdict(READ_TASK, POST_TASK)
    assert (judged.right_tools, judged.complete, judged.is_wrong_but_runnable) == (True,) * 2 + (
        False,
    )


def test_the_order_of_tasks_is_not_judged():
    assert verdict(POST_TASK, READ_TASK).complete


def test_what_the_wish_leaves_open_may_be_asked_for():
    judged = verdict(READ_TASK, task("chat:post", text="done"), needs=[("chat:post", "/channel")])
    assert judged.complete
    assert not judged.runnable


@pytest.mark.parametrize(
    ("tasks", "right_tools"),
    [
        ([READ_TASK], False),
        ([READ_TASK, POST_TASK, task("files:delete", path="/a")], False),
        ([READ_TASK, POST_TASK, READ_TASK | {"id": "again"}], False),
        ([READ_TASK, POST_TASK, task("chat:find_channel")], True),
        ([task("files:read", path="/b"), POST_TASK], True),
    ],
    ids=["half", "one too many", "twice", "helper", "wrong argument"],
)
def test_missing_and_further_tasks_are_wrong_unless_they_help(tasks, right_tools):
    assert verdict(*tasks).right_tools is right_tools


@pytest.mark.parametrize(
    "arguments",
    [{"path": "/b", "tail": 20}, {"path": "/a"}, {"path": {"$ref": "x"}, "tail": 20}],
    ids=["another value", "missing", "a result"],
)
def test_an_argument_that_is_not_bound_as_stated_is_incomplete(arguments):
    judged = verdict(task("files:read", **arguments), POST_TASK, confidence=0.8)
    assert judged.right_tools
    assert not judged.complete
    assert judged.is_surely_wrong


def test_a_stated_argument_that_is_asked_for_is_incomplete():
    assert not verdict(READ_TASK, POST_TASK, needs=[("files:read", "/path")]).complete


def test_a_tool_without_a_parameter_need_not_bind_it():
    assert verdict(task("files:read_many", paths=["/a"]), POST_TASK).complete


def test_any_task_is_wrong_for_a_wish_that_nothing_serves():
    judged = verdict(READ_TASK, wish=NOTHING)
    assert judged.is_wrong_but_runnable
    assert verdict(wish=NOTHING).right_tools


def test_only_the_first_five_tools_found_count():
    judged = verdict(found=("a", "b", "chat:post", "d", "e", "files:read"))
    assert (judged.first, judged.steps_found, judged.top_score) == (False, 1, 0.5)
    assert verdict(found=()).top_score == 0.0


@pytest.mark.parametrize(
    ("value", "accepted", "expected"),
    [
        ("Merge", "merge", True),
        ("42", 42, True),
        (42.0, "42", True),
        ([{"name": "x"}], "x", True),
        ("b", ["a", "b"], True),
        (["1041", "1042"], {"contains": ["1041", "1042"]}, True),
        (["1041"], {"contains": ["1041", "1042"]}, False),
        ("the whole wish", {"contains": ["wish"]}, False),
        ({"$ref": "wish"}, "wish", False),
        (None, "none", False),
    ],
)
def test_values_are_compared_without_regard_to_case_type_and_depth(value, accepted, expected):
    assert is_accepted(value, accepted, "The whole wish") is expected
