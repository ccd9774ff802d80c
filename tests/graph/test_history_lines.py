import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph import history_lines
from graph.history_lines import MAX_LINE_BYTES
from graph.patterns import InvalidRun, PastRun, UnknownRunTool, abstract_workflow
from tests.graph.histories import NOW, taken, task

TOOLS = {"git:log": 1, "mail:send": 2, "a": 3, "b": 4, "c": 5}
ROW = {"id": "r1", "intent": "Send the log", "tasks": [{"id": "x", "tool": "git:log"}]}


def read(row, *, at=NOW):
    line = row if isinstance(row, bytes) else json.dumps(row).encode()
    return history_lines.parse_run(line, tools=TOOLS, now=at)


def test_a_run_is_read_with_all_fields():
    tasks = [
        {"id": "x", "tool": "git:log", "arguments": {"path": "/r"}},
        {
            "id": "y",
            "tool": "mail:send",
            "arguments": {"body": taken("x", "/text")},
            "depends_on": ["x"],
        },
    ]
    row = ROW | {"tasks": tasks, "succeeded": False, "at": "2026-11-01T08:00:00Z"}
    assert read(row) == (
        PastRun(
            key="r1",
            intent="Send the log",
            tasks=(task("x", 1, path="/r"), task("y", 2, "x", body=taken("x", "/text"))),
            succeeded=False,
            at=datetime(2026, 11, 1, 8, tzinfo=UTC),
        ),
        False,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": ""}, 'no "id"'),
        ({"id": None}, 'no "id"'),
        ({"intent": 3}, 'no "intent"'),
        ({"tasks": []}, 'no "tasks"'),
        ({"tasks": "git:log"}, 'no "tasks"'),
        ({"tasks": ["git:log"]}, "task 1 is not an object"),
        ({"tasks": [{"tool": "git:log"}]}, 'task 1 has no "id"'),
        ({"tasks": [{"id": "x"}]}, 'no "tool"'),
        ({"tasks": [{"id": "x", "tool": "git:lag"}]}, "no tool 'git:lag'"),
        ({"tasks": [{"id": "x", "tool": "git:log", "arguments": []}]}, "is not an object"),
        ({"tasks": [{"id": "x", "tool": "git:log", "depends_on": "y"}]}, "not a list of ids"),
        ({"succeeded": "yes"}, "true or false"),
        ({"at": "yesterday"}, '"at" must be a time'),
        ({"at": 3}, '"at" must be a time'),
        ({"at": "2030-01-01T00:00:00Z"}, "is in the future"),
    ],
)
def test_problems_of_a_run_are_reported(change, message):
    with pytest.raises(InvalidRun, match=message):
        read(ROW | change)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "not JSON: .* at character 2"),
        (b"[1]", "not a JSON object"),
        (b"\xff{}", "not UTF-8"),
        (b'{"id": "r", "id": "s"}', "'id' is given twice"),
        (b'{"id": NaN}', "NaN is not a JSON number"),
        (b"[" * 100_000, "nested deeper than 200 levels"),
        (b'"' + b"x" * MAX_LINE_BYTES + b'"', "longer than 1,000,000 bytes"),
    ],
)
def test_a_line_that_is_not_a_run_is_reported(line, message):
    with pytest.raises(InvalidRun, match=message):
        read(line)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_line_is_read_or_refused(line):
    with pytest.raises(InvalidRun):
        read(line)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=4),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
        max_leaves=6,
    ),
    st.sampled_from(["id", "intent", "tasks", "succeeded", "at", "gold_tools", "gold_edges"]),
)
def test_any_misplaced_value_is_refused_cleanly(value, field):
    with suppress(InvalidRun):
        read(ROW | {field: value})


def test_a_clock_that_is_a_little_ahead_is_forgiven():
    ahead = NOW + timedelta(hours=3)
    assert read(ROW | {"at": ahead.isoformat()})[0].at == NOW


def test_an_unknown_tool_is_named():
    with pytest.raises(UnknownRunTool) as refused:
        read(ROW | {"tasks": [{"id": "x", "tool": "git:lag"}]})
    assert refused.value.tool == "git:lag"


def gold(names, edges=None, calls=None):
    row = {"id": "q", "text": "Do it", "gold_tools": names, "gold_edges": edges}
    one, is_partial = read(row | {"gold_args": calls})
    return abstract_workflow(one.tasks), one, is_partial


def test_calls_of_a_data_set_are_read_with_their_references():
    calls = [
        {"tool": "a", "args": {"query": "Rome"}, "label": "var1"},
        {"tool": "a", "args": {"query": "Oslo"}, "label": "var2"},
        {"tool": "b", "args": {"from": "$var1.places[0].id$", "cost": "$5"}, "label": "var3"},
    ]
    done, one, is_partial = gold(["a", "b"], [["a", "b"]], calls)
    assert (done.tools, is_partial) == ((3, 3, 4), False)
    assert one.tasks[2].arguments == {"from": taken("t1", "/places/0/id"), "cost": "$5"}


@pytest.mark.parametrize("depth", [200, 600, 2_000])
def test_a_line_nested_too_deeply_is_reported(depth):
    value = "[" * depth + "]" * depth
    native = json.dumps(ROW | {"tasks": [{"id": "t", "tool": "a", "arguments": {"x": 0}}]})
    call = {"tool": "a", "args": {"x": 0}}
    of_data_set = json.dumps({"id": "r", "text": "x", "gold_tools": ["a"], "gold_args": [call]})
    for line in (native, of_data_set):
        with pytest.raises(InvalidRun, match="nested deeper than 200 levels"):
            read(line.replace('"x": 0', f'"x": {value}').encode())


def test_more_tasks_than_are_recorded_are_refused_before_they_are_read():
    tasks = [{"id": f"t{n}", "tool": "a"} for n in range(101)]
    with pytest.raises(InvalidRun, match="it has 101 tasks; at most 100"):
        read(ROW | {"tasks": tasks})
    with pytest.raises(InvalidRun, match="it has 5,000 tasks"):
        gold(["a"] * 5_000, [["a", "a"]] * 20_000)
