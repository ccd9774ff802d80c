import json

import pytest
from hypothesis import given as drawn_from

from execution.planning import output_schema
from execution.planning.parse import parse
from execution.planning.plan import MAX_WARNINGS, plan_workflow
from execution.workflow import RunOptions
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.references import make_reference
from tests.execution.workflows import drawn, given, task
from tests.gateway.catalogues import catalogue, server, tool
from tools.danger import Danger

ANN = Caller(user="ann", team=1, person=None, scopes=frozenset({"call"}), kind="http")
LOG_OUTPUT = {
    "type": "object",
    "properties": {
        "commits": {
            "type": "array",
            "items": {"type": "object", "properties": {"sha": {"type": "string"}}},
        },
        "total": {"type": "integer"},
    },
}
LOG = tool(
    "git:log",
    definition_hash="log",
    danger=Danger.READ,
    repeatable=True,
    input_schema={
        "type": "object",
        "properties": {"repo": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["repo"],
        "additionalProperties": False,
    },
    output_schema=LOG_OUTPUT,
)
PUSH = tool("git:push", definition_hash="push", danger=Danger.DANGEROUS)
KNOWN = catalogue(
    LOG,
    PUSH,
    tool("git:old", enabled=False),
    tool("git:new", state="quarantined"),
    tool("mail:send", definition_hash="mail"),
    tool("other:secret", team=2),
    tool("s:t"),
    tool("a:b"),
    tool("bad:schema", input_schema={"$ref": "https://example.com/x"}),
    servers=(server("off", enabled=False),),
)


def planned(*tasks, caller=ANN, known=KNOWN):
    return plan_workflow(parse(given(*tasks)), RunOptions(), caller=caller, catalogue=known)


def log(own, *depends_on, **values):
    return task(own, *depends_on, tool="git:log", **({"repo": "."} | values))


def only_problem(*tasks, **more):
    (problem,) = planned(*tasks, **more).problems
    return problem


def only_warning(*tasks):
    found = planned(*tasks)
    assert not found.problems
    (warning,) = found.warnings
    return warning


def test_a_plan_lists_the_effects_of_a_run():
    found = planned(
        log("history"),
        task("send", tool="mail__send", it=make_reference("history", "")),
        log("more"),
    )
    assert found.to_json() == {
        "plan": [
            {"task": "history", "tool": "git:log", "waits_for": []},
            {"task": "send", "tool": "mail:send", "waits_for": ["history"]},
            {"task": "more", "tool": "git:log", "waits_for": []},
        ],
        "layers": [["history", "more"], ["send"]],
        "validation_errors": [],
        "side_effects": [
            {"task": "send", "tool": "mail:send", "danger": "write", "repeatable": False}
        ],
        "approvals_needed": [],
        "warnings": [],
    }


def test_tools_get_their_canonical_ids():
    found = planned(log("a"), task("b", tool="git__push"), task("c", tool="send"))
    assert [one.tool for one in found.workflow.tasks] == ["git:log", "git:push", "mail:send"]


def test_a_plan_lists_the_approvals_needed():
    found = planned(log("a"), task("b", tool="git:push"))
    assert found.approval_reasons.keys() == {"b"}
    assert found.to_json()["approvals_needed"][0]["reason"].startswith("it is dangerous")


def test_a_plan_says_which_calls_may_be_repeated():
    tools = planned(log("a"), task("b")).tools
    assert (tools["a"].repeatable, tools["b"].repeatable) == (True, False)


def test_a_plan_shows_the_list_of_a_for_each_task():
    found = planned(log("a"), log("b", for_each=make_reference("a", "/commits")))
    assert found.to_json()["plan"][1]["for_each"] == "a"


@drawn_from(drawn())
def test_each_task_is_in_a_later_layer_than_its_dependencies(value):
    found = plan_workflow(parse(value), RunOptions(), caller=ANN, catalogue=KNOWN)
    done = set()
    for layer in found.layers:
        assert all(set(found.workflow.by_id[one].waits_for) <= done for one in layer)
        done.update(layer)
    assert done == found.workflow.by_id.keys()
    json.dumps(found.to_json())


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("git:lag", "no tool 'git:lag'; did you mean git:log"),
        ("other:secret", "no tool 'other:secret'"),
        ("git:old", "git:old is disabled"),
        ("git:new", "git:new changed since it was approved"),
        ("bad:schema", "bad:schema cannot be called safely"),
    ],
)
def test_a_tool_that_cannot_be_called_is_a_problem(name, says):
    problem = only_problem(task("a", tool=name))
    assert problem.path == "/tasks/0/tool"
    assert problem.message.startswith(f"task 'a': {says}")


def test_a_tool_of_another_team_is_not_mentioned_in_a_plan():
    found = planned(task("a", tool="other:secret"))
    assert (found.tools, found.approval_reasons) == ({}, {})


def test_a_server_that_is_switched_off_is_a_problem():
    known = catalogue(LOG, servers=(server("git", enabled=False),))
    assert "server that is disabled" in only_problem(log("a"), known=known).message


def test_a_caller_without_the_call_scope_gets_an_error():
    caller = Caller(user="bob", team=None, person=None, scopes=frozenset({"search"}), kind="http")
    assert "'bob' may not call tools" in only_problem(log("a"), caller=caller).message


def test_problems_come_in_the_order_of_tasks():
    found = planned(log("a", n="x"), task("b", tool="nix"), log("c", repo=1))
    assert [one.path for one in found.problems] == [
        "/tasks/0/arguments/n",
        "/tasks/1/tool",
        "/tasks/2/arguments/repo",
    ]


@pytest.mark.parametrize(
    ("arguments", "path", "says"),
    [
        ({}, "/repo", "repo is missing"),
        ({"n": make_reference("first", "/total")}, "/repo", "repo is missing"),
        ({"repo": ".", "n": "five"}, "/n", "n must be an integer"),
        ({"repo": {"$literal": make_reference("first", "")}}, "/repo", "repo must be a string"),
        ({"repo": ".", "m": make_reference("first", "")}, "/m", "m is not a known field"),
        ({"repo": [make_reference("first", "")]}, "/repo", "repo must be a string"),
    ],
)
def test_arguments_that_no_reference_value_can_fix_are_a_problem(arguments, path, says):
    problem = only_problem(log("first"), task("a", tool="git:log", arguments=arguments))
    assert problem.path == f"/tasks/1/arguments{path}"
    assert says in problem.message


def test_values_of_references_may_fit_later():
    found = planned(
        log("first"),
        log(
            "a",
            repo=make_reference("first", "/commits/0/sha"),
            n=make_reference("first", "/total"),
        ),
        log("b", repo={"$item": "/sha"}, for_each=make_reference("first", "/commits")),
    )
    assert not found.problems
    assert not found.warnings


def test_a_pointer_outside_the_output_schema_is_a_warning():
    warning = only_warning(log("a"), log("b", repo=make_reference("a", "/comits/0/sha")))
    assert warning == "task 'b': the output schema of git:log declares nothing at '/comits/0/sha'"


def test_a_tool_without_output_schema_allows_any_pointer():
    assert not planned(task("a"), log("b", repo=make_reference("a", "/x/0/y"))).warnings


def test_tasks_that_have_begun_or_have_an_unknown_tool_cause_no_warning():
    rows = given(task("x", tool="nix"), log("b", repo=make_reference("x", "/y")))
    rows["tasks"] += [log("c", for_each=make_reference("begun", "/z"), repo={"$item": "/id"})]
    found = plan_workflow(parse(rows, known=["begun"]), RunOptions(), caller=ANN, catalogue=KNOWN)
    assert [one.path for one in found.problems] == ["/tasks/0/tool"]
    assert found.warnings == ()
    assert found.layers == (("x", "c"), ("b",))


def test_a_for_each_list_outside_the_output_schema_is_a_warning():
    warning = only_warning(log("a"), log("b", for_each=make_reference("a", "/total")))
    assert warning.endswith("declares no list at '/total' for for_each")
    assert "no list at its root" in only_warning(
        log("a"), log("b", for_each=make_reference("a", ""))
    )


def test_a_field_that_list_items_lack_is_a_warning():
    warning = only_warning(
        log("a"), log("b", for_each=make_reference("a", "/commits"), repo={"$item": "/shaa"})
    )
    assert warning.endswith("declares nothing at '/shaa' of an item")


def test_the_result_of_a_for_each_task_is_a_list():
    tasks = (log("a"), log("b", for_each=make_reference("a", "/commits")))
    assert not planned(*tasks, log("c", repo=make_reference("b", "/0/commits/0/sha"))).warnings
    assert not planned(*tasks, log("c", for_each=make_reference("b", ""))).warnings
    problem = only_problem(*tasks, log("c", repo=make_reference("b", "/commits")))
    assert problem.path == "/tasks/2/arguments/repo"
    assert "task 'b' returns a list with one result per item" in problem.message


def test_an_object_that_only_looks_like_a_reference_is_a_warning():
    found = planned(task("a"), task("b", x={"$ref": "a"}), task("c", x=[{"$item": "", "y": 1}]))
    assert [one.partition(" is sent")[0] for one in found.warnings] == [
        "task 'b': the value at '/x'",
        "task 'c': the value at '/x/0'",
    ]
    assert not planned(task("a", x={"$ref": "#/$defs/a"})).warnings


def test_the_first_warnings_are_listed_and_the_rest_counted():
    found = planned(task("a"), task("b", x=[{"$ref": "a"}] * 50))
    assert len(found.warnings) == MAX_WARNINGS + 1
    assert found.warnings[-1] == "30 more warnings"


def test_hundreds_of_unknown_tools_do_not_hide_known_ones():
    found = planned(*(task(f"t{n}", tool=f"nix:{n}") for n in range(90)), task("z", tool="send"))
    assert len(found.problems) == 90
    assert found.workflow.tasks[-1].tool == "mail:send"


def test_a_plan_of_a_thousand_tasks_is_complete():
    found = planned(log("t0"), *(log(f"t{n}", f"t{n - 1}") for n in range(1, 1_000)))
    assert len(found.layers) == 1_000
    assert not found.problems


def test_a_plan_of_many_references_does_bounded_work(monkeypatch):
    looked_at = []
    inner = output_schema._find_alternatives

    def counted(schema, root):
        looked_at.append(1)
        return inner(schema, root)

    monkeypatch.setattr(output_schema, "_find_alternatives", counted)
    deeper = {"type": "object", "additionalProperties": {"$ref": "#/$defs/level"}}
    schema = {"$defs": {"level": {"anyOf": [deeper] * 3}}, "$ref": "#/$defs/level"}
    deep = tool("a:deep", output_schema=schema)

    def work(pointers):
        looked_at.clear()
        first = task("first", tool="a:deep")
        rows = [[make_reference("first", pointer) for pointer in row] for row in pointers]
        others = [task(f"t{n}", tool="a:deep", rows=row) for n, row in enumerate(rows)]
        planned(first, *others, known=catalogue(deep))
        return len(looked_at)

    once = work([["/a" * 40]])
    assert work([["/a" * 40] * 10] * 500) == once
    different = [[f"/{task}/{n}{'/a' * 40}" for n in range(10)] for task in range(500)]
    assert 100 * once < work(different) <= output_schema.MAX_WORKFLOW_ALTERNATIVES
