import json
import math

import pytest
from hypothesis import given as drawn_from
from hypothesis import strategies as st

from execution.planning.parse import (
    MAX_REPORTED_PROBLEMS,
    InvalidWorkflow,
    dump,
    parse,
)
from execution.planning.parse_task import (
    MAX_DEPENDENCIES,
    MAX_DEPTH,
    MAX_PROBLEMS,
    MAX_REFERENCES,
)
from gateway_project.foundation.references import make_reference
from tests.execution.workflows import drawn, given, task

KEYS = (
    *("tasks", "id", "tool", "arguments", "depends_on", "for_each", "on_error", "timeout_s"),
    *("$ref", "pointer", "$item", "$literal", "x"),
)
HOSTILE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=40,
)


def problems(value, **more):
    with pytest.raises(InvalidWorkflow) as caught:
        parse(value, **more)
    return caught.value.problems


def only_problem(value, **more):
    (problem,) = problems(value, **more)
    return problem


def test_null_means_an_omitted_field():
    row = task("a") | dict.fromkeys(("depends_on", "for_each", "on_error", "timeout_s"))
    assert dump(parse(given(row))) == given(task("a"))


def test_arguments_may_be_left_out():
    assert parse(given({"id": "a", "tool": "s:t"})).tasks[0].arguments == {}


@drawn_from(drawn())
def test_a_serialized_workflow_parses_to_the_same_workflow(value):
    found = parse(value)
    written = dump(found)
    again = parse(json.loads(json.dumps(written)))
    assert dump(again) == written
    for one, other in zip(found.tasks, again.tasks, strict=True):
        assert vars(one) == vars(other)


@pytest.mark.parametrize(
    "value", [{"$literal": [["a", 1]]}, {"$literal": "a"}, {"$literal": None}, [["a", 1]]], ids=str
)
def test_arguments_are_an_object_however_they_are_escaped(value):
    problem = only_problem({"tasks": [{"id": "a", "tool": "s:t", "arguments": value}]})
    assert (problem.path, problem.expected) == ("/tasks/0/arguments", "object")


@drawn_from(drawn())
def test_references_in_literals_are_none(value):
    for row in value["tasks"]:
        row["arguments"] = {"x": {"$literal": row["arguments"]}}
        row.pop("for_each", None)
    assert all(not one.references for one in parse(value).tasks)


@drawn_from(HOSTILE | HOSTILE.map(lambda one: {"tasks": [one, one]}))
def test_any_input_is_parsed_or_refused_with_reasons(value):
    try:
        told = [str(task.id) for task in parse(value).tasks]
    except InvalidWorkflow as error:
        told = [str(error), *(one.message for one in error.problems)]
    assert told
    assert all(told)


@pytest.mark.parametrize(
    ("value", "path", "says"),
    [
        (None, "", "must be an object"),
        ([task("a")], "", "must be an object .* not an array"),
        ("{}", "", "not text"),
        ({}, "/tasks", "has no tasks"),
        (given(), "/tasks", "has no tasks"),
        ({"tasks": task("a")}, "/tasks", "must have an array of tasks"),
        (given(task("a")) | {"name": "x"}, "", "'name' is not a known field of a workflow"),
        (given(7), "/tasks/0", r"tasks\[0\] must be an object, not a number"),
        (given({"tool": "s:t"}), "/tasks/0/id", r"tasks\[0\] has no id"),
        (given(task("")), "/tasks/0/id", "has no id"),
        (given(task("a\0")), "/tasks/0/id", "its id must be text of 1 to 200 printable"),
        (given(task(" a")), "/tasks/0/id", "printable"),
        (given(task("a\u202eb")), "/tasks/0/id", "printable"),
        (given(task("x" * 201)), "/tasks/0/id", "printable"),
        (given(task(7)), "/tasks/0/id", "printable"),
        (given(task("a"), task("a")), "/tasks/1/id", "have the same id 'a'"),
        (given({"id": "a"}), "/tasks/0/tool", "its tool is missing"),
        (given(task("a", tool=["s:t"])), "/tasks/0/tool", "must be text, not an array"),
        (given(task("a", arguments=[1])), "/tasks/0/arguments", "an object, not an array"),
        (
            given(task("b"), task("a", arguments=make_reference("b", ""))),
            "/tasks/1/arguments",
            "must be an object, not a reference",
        ),
        (given(task("a") | {"retry": 3}), "/tasks/0/retry", "'retry' is not a known field"),
        (given(task("a") | {"depends_on": "b"}), "/tasks/0/depends_on", "an array, not text"),
        (
            given(task("send"), task("a", "sent")),
            "/tasks/1/depends_on/0",
            "names 'sent', which is not a task; did you mean 'send'",
        ),
        (given(task("a", "a")), "/tasks", "task 'a' depends on itself"),
        (given(task("a", x=make_reference("a", ""))), "/tasks", "task 'a' depends on itself"),
        (
            given(task("a", x=[{"y": make_reference("z", "")}])),
            "/tasks/0/arguments/x/0/y/$ref",
            "argument '/x/0/y' refers to 'z', which is not a task",
        ),
        (
            given(task("b"), task("a", x=make_reference("b", "", "id["))),
            "/tasks/1/arguments/x/select",
            "is no JMESPath",
        ),
        (
            given(task("b"), task("a", x=make_reference("b", "id"))),
            "/tasks/1/arguments/x/pointer",
            "'id' is not a JSON pointer",
        ),
        (
            given(task("a", x={"$ref": ["b"], "pointer": ""})),
            "/tasks/0/arguments/x",
            "at '/x' is not a reference",
        ),
        (given(task("a", x={"$item": ""})), "/tasks/0/arguments/x", "with for_each"),
        (given(task("a", for_each=[1, 2])), "/tasks/0/for_each", "a reference to a list"),
        (
            given(task("a", for_each=make_reference("z", ""))),
            "/tasks/0/for_each/$ref",
            "for_each refers to 'z', which is not a task",
        ),
        (
            given(task("b"), task("a", for_each=make_reference("b", ""), x={"$item": "name"})),
            "/tasks/1/arguments/x/$item",
            "'name' is not a JSON pointer",
        ),
        (given(task("a", on_error="ignore")), "/tasks/0/on_error", "stop, continue or safe_to"),
        (given(task("a", timeout_s=0)), "/tasks/0/timeout_s", "more than 0"),
        (given(task("a", timeout_s=math.nan)), "/tasks/0/timeout_s", "more than 0"),
        (given(task("a", timeout_s=10**400)), "/tasks/0/timeout_s", "not a number"),
        (given(task("a", timeout_s=True)), "/tasks/0/timeout_s", "not true"),
        (given(task("a", x=math.inf)), "/tasks/0/arguments/x", "JSON cannot represent at '/x'"),
        (given(task("a", x=10**5000)), "/tasks/0/arguments/x", "JSON cannot represent"),
        (given(task("a", arguments={"x": {3: 4}})), "/tasks/0/arguments/x/3", "not text"),
    ],
)
def test_each_problem_is_reported_with_its_location(value, path, says):
    problem = only_problem(value)
    assert problem.path == path
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(problem.message)


def test_all_problems_are_reported_together():
    found = problems(
        given(
            task("a", "nobody", timeout_s=-1),
            task("b", "c"),
            task("c", "b", for_each=[1]),
            task("", on_error="?"),
        )
    )
    assert [one.path for one in found] == [
        "/tasks/0/depends_on/0",
        "/tasks/0/timeout_s",
        "/tasks/2/for_each",
        "/tasks/3/id",
        "/tasks/3/on_error",
        "/tasks",
    ]


def test_a_cycle_is_named_by_its_path():
    value = given(
        task("a", "b"), task("b", x=make_reference("c", "")), task("c", "a"), task("d", "a")
    )
    assert only_problem(value).message.endswith("a -> b -> c -> a")


def test_of_a_long_cycle_the_beginning_is_named():
    value = given(*(task(f"t{n}", f"t{(n + 1) % 900}") for n in range(900)))
    assert only_problem(value).message.endswith("-> t11 -> (888 more) -> t0")


def test_tasks_that_have_begun_can_be_referenced():
    value = given(task("b", "a", x=make_reference("a", "/id")))
    assert parse(value, known=["a"]).tasks[0].waits_for == ("a",)
    assert len(problems(value)) == 2


def test_a_workflow_with_too_many_tasks_is_refused_without_examining_them():
    problem = only_problem(given(*(7 for _ in range(10_000))))
    assert "10,000 tasks, at most 1,000" in problem.message


def test_large_arguments_are_refused():
    assert "too large" in only_problem(given(task("a", x="x" * 20_000_000))).message


def test_the_argument_limit_applies_to_all_tasks_together():
    rows = [task(f"t{n}", x="é" * 1_100_000) for n in range(2)]
    assert "too large" in only_problem(given(*rows)).message
    parse(given(rows[0]))


def test_too_many_values_are_refused_before_all_are_examined():
    numbers = [0] * 5_000_000
    assert "too many values" in only_problem(given(task("a", x=numbers), task("b"))).message


def test_many_references_are_refused():
    refers = [make_reference("b", "")] * (MAX_REFERENCES + 1)
    assert "too many references" in only_problem(given(task("b"), task("a", x=refers))).message


def test_many_waits_are_refused():
    value = given(task("a"), task("b", *["a"] * (MAX_DEPENDENCIES + 1)))
    assert "at most 50,000 ids" in only_problem(value).message


@pytest.mark.parametrize("wrap", [lambda one: [one], lambda one: {"x": one}])
def test_deep_arguments_are_refused(wrap):
    value = 0
    for _ in range(10_000):
        value = wrap(value)
    problem = only_problem(given(task("a", x=value)))
    assert "nested deeper than 100 levels" in problem.message
    escaped = given(task("a", x={"$literal": value}))
    assert "nested deeper than 100 levels" in only_problem(escaped).message


def test_arguments_as_deep_as_allowed_are_read():
    value = 0
    for _ in range(MAX_DEPTH - 1):
        value = [value]
    parse(given(task("a", x=value)))
    problems(given(task("a", x=[value])))


@pytest.mark.parametrize("field", ["id", "tool", "depends_on", "for_each", "on_error"])
def test_a_field_that_is_nested_without_end_is_refused(field):
    value = []
    for _ in range(50_000):
        value = [value]
    assert problems(given(task("a") | {field: value}))


def test_the_first_problems_are_listed_and_the_rest_counted():
    found = problems(given(*(task(f"t{n}", "x", "y", "z") for n in range(500))))
    assert len(found) == MAX_PROBLEMS + 1
    assert found[-1].message == "1,400 more problems"


def test_the_message_of_the_error_stays_short():
    with pytest.raises(InvalidWorkflow) as caught:
        parse(given(*(task(f"t{n}", "x" * 5_000) for n in range(500))))
    assert str(caught.value).endswith(f"; and {MAX_PROBLEMS + 1 - MAX_REPORTED_PROBLEMS} more")
    assert len(str(caught.value)) < 2_000


def test_the_messages_for_the_same_problems_are_stable():
    value = given(task("alpha"), task("alphb"), task("c", "alphx"))
    assert len({problems(value)[0].message for _ in range(5)}) == 1


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"a": "x\ud83d"}, "/tasks/0/arguments/a"),
        ({"a": ["é", {"b": "\udc00"}]}, "/tasks/0/arguments/a/1/b"),
        ({"a": {"\ud83d": 1}}, "/tasks/0/arguments/a"),
        ({"a": {"$literal": "\ud83d"}}, "/tasks/0/arguments/a/$literal"),
    ],
)
def test_an_unpaired_surrogate_is_refused_with_its_location(arguments, path):
    problem = only_problem({"tasks": [{"id": "a", "tool": "s:t", "arguments": arguments}]})
    assert problem.path == path
    assert "hold an unpaired surrogate" in problem.message
