import pytest

from benchmarks.evaluation import gold_calls
from benchmarks.evaluation.dataset import Dataset, DatasetQuery, DatasetTool
from benchmarks.evaluation.past_runs import iterate_past_runs


def tool(identity, name, **properties):
    return DatasetTool(
        id=identity,
        server="s",
        name=name,
        title="",
        description="",
        input_schema={"type": "object", "properties": properties},
        category="",
    )


DATA = Dataset(
    name="d",
    tools=(tool("fs.cd", "cd", folder={}), tool("fs.cp", "cp", source={}, destination={})),
    queries=(),
    history=(),
)
NAMES = gold_calls.GoldToolNames.from_dataset(DATA)


def query(arguments, *tools):
    return DatasetQuery(
        id="q",
        text="do it",
        slots=(),
        group="q",
        tools=tools or ("fs.cd", "fs.cp"),
        arguments=arguments,
    )


def read(arguments, *tools):
    return gold_calls.gold_calls_of(query(arguments, *tools), NAMES)


def test_references_by_label_become_pointers_at_any_depth():
    first, second = read(
        [
            {"tool": "fs.cd", "label": "var1", "args": {"folder": "a"}},
            {
                "tool": "fs.cp",
                "label": "var2",
                "args": {"source": "$var1.items[0].a/b$", "destination": ["$var1$", "$5"]},
            },
        ]
    )
    assert first.arguments == {"folder": "a"}
    assert second.arguments["source"] == {"$ref": first.id, "pointer": "/items/0/a~1b"}
    assert second.arguments["destination"] == [{"$ref": first.id, "pointer": ""}, "$5"]


@pytest.mark.parametrize("written", ["API_call_0", "API_call_0 response"])
def test_references_by_place_name_the_whole_result(written):
    first, second = read(
        [
            {"tool": "fs.cd", "args": {}},
            {"tool": "fs.cp", "args": {"source": written, "destination": "API_call_7"}},
        ]
    )
    assert second.arguments["source"] == {"$ref": first.id, "pointer": ""}
    assert second.arguments["destination"] == "API_call_7"


def test_python_calls_are_read_by_name_and_by_position():
    found = read([["cd(folder='..')"], ["cp('a.txt', destination=['b', -1])"]])
    assert [(call.tool, call.arguments) for call in found] == [
        ("fs.cd", {"folder": ".."}),
        ("fs.cp", {"source": "a.txt", "destination": ["b", -1]}),
    ]


@pytest.mark.parametrize(
    "written",
    ["cd(folder=open('x'))", "__import__('os')", "cd(", "cd", "rm(folder='a')", "cd(*[1])", ""],
)
def test_calls_with_other_than_literals_are_left_out(written):
    assert read([[written]]) == ()


def test_accepted_values_stand_beside_the_first_and_some_may_be_left_out():
    (call,) = read([{"fs.cp": {"source": ["a", "b"], "destination": ["", "c"], "mode": [""]}}])
    assert call.arguments == {"source": "a", "destination": "c"}
    assert call.accepted["source"] == ("a", "b")
    assert call.optional == {"destination", "mode"}


def test_objects_of_accepted_values_take_the_first_of_each():
    (call,) = read([{"cd": {"folder": [{"name": ["a", "b"], "note": [""]}]}}])
    assert call.arguments == {"folder": {"name": "a"}}


@pytest.mark.parametrize("arguments", [None, [], {}, "cd()", [{"tool": "unknown", "args": {}}]])
def test_other_shapes_tell_of_no_calls(arguments):
    assert read(arguments) == ()


def test_past_runs_carry_the_calls_or_else_the_gold_tools():
    keys = {"fs.cd": 1, "fs.cp": 2}
    given = [
        query([{"tool": "fs.cd", "label": "v", "args": {"folder": "$v.x$"}}]),
        query(None, "fs.cp", "fs.cd", "fs.cp"),
        query(None, "elsewhere"),
    ]
    with_calls, plain = iterate_past_runs(given, names=NAMES, keys=keys)
    assert [(task.tool, task.arguments) for task in with_calls.tasks] == [(1, {})]
    assert [task.tool for task in plain.tasks] == [2, 1, 2]
    assert with_calls.key != plain.key
    assert with_calls.at < plain.at
