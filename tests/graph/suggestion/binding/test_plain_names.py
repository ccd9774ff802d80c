"""Values that an intent names, each with its rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph.suggestion.binding.bind import bind_arguments
from graph.suggestion.binding.steps import BindTool
from graph.suggestion.intent.reading import read_intent
from tests.graph.suggestion.binding.tools import steps, text, tool

NUMBER = {"type": "integer"}
TEXTS = {"type": "array", "items": {"type": "string"}}
MODES = {"type": "string", "enum": ["driving", "walking", "bicycling"]}
ANSWERS = {"type": "string", "enum": ["accepted", "declined", "tentative"]}
METHODS = {"type": "string", "enum": ["merge", "squash", "rebase"]}
KINDS = {"type": "string", "enum": ["pod", "deployment"]}


def items(**fields: str) -> dict[str, Any]:
    properties = {name: {"type": kind} for name, kind in fields.items()}
    of_items = {"type": "object", "properties": properties, "required": list(fields)}
    return {"type": "array", "items": of_items}


def act(name: str = "act", **fields: dict[str, Any]) -> BindTool:
    """Build a tool that requires these fields."""
    return tool(fields, required=list(fields), name=name)


def given(intent: str, one: BindTool) -> dict[str, Any]:
    (step,) = bind_arguments(steps(one), reading=read_intent(intent))
    return dict(step.arguments)


@pytest.mark.parametrize(
    ("intent", "one", "expected"),
    [
        ("list everything in namespace shop", act(namespace=text()), {"namespace": "shop"}),
        ("show PR 90", act(pull_number=NUMBER), {"pull_number": 90}),
        ("delete the mails 7001 and 7002", act(email_ids=TEXTS), {"email_ids": ["7001", "7002"]}),
        ("plan it for sprint 42", act(sprint_id=text()), {"sprint_id": "42"}),
        (
            "show the output of pod cart-1",
            tool({"resourceType": KINDS, "name": text()}, required=["resourceType", "name"]),
            {"resourceType": "pod", "name": "cart-1"},
        ),
        ("get me there by bike", act(mode=MODES), {"mode": "bicycling"}),
        ("accept the invitation", act(response=ANSWERS), {"response": "accepted"}),
        ("do it, squash the commits", tool({"merge_method": METHODS}), {"merge_method": "squash"}),
        ("show A1:D10 of the budget", act(range=text()), {"range": "A1:D10"}),
        ("log 2h there", act(time_spent=text()), {"time_spent": "2h"}),
        ("assign it to maria.lopez", tool({"assignee": text()}), {"assignee": "maria.lopez"}),
        (
            "switch over to hotfix-42",
            act(name="git_checkout", branch_name=text()),
            {"branch_name": "hotfix-42"},
        ),
        (
            "draw a pie: apples 3, pears 4",
            act(data=items(category="string", value="number")),
            {"data": [{"category": "apples", "value": 3}, {"category": "pears", "value": 4}]},
        ),
        (
            "put 'buy tea' on my list",
            act(tasks=items(content="string")),
            {"tasks": [{"content": "buy tea"}]},
        ),
        ("what is 15% of 80 plus 2", act(expression=text()), {"expression": "15/100*80+2"}),
        (
            "load /srv/in.csv into /srv/book.xlsx",
            act(path=text(), csv_path=text()),
            {"path": "/srv/book.xlsx", "csv_path": "/srv/in.csv"},
        ),
    ],
)
def test_named_values_are_bound(intent: str, one: BindTool, expected: dict[str, Any]) -> None:
    assert given(intent, one) == expected


@pytest.mark.parametrize(
    ("intent", "one"),
    [
        ("list the pods of the namespace", act(namespace=text())),
        ("show the pull requests", act(pull_number=NUMBER)),
        ("draw a chart of apples 3", act(data=items(category="string", value="number"))),
        ("reply to the invitation", act(response=ANSWERS)),
    ],
)
def test_what_is_not_named_is_left_open(intent: str, one: BindTool) -> None:
    assert given(intent, one) == {}


DELETE = tool(
    {
        "resourceType": text("Type of resource (e.g., pods, deployments, services, etc.)"),
        "name": text("Name of the resource to delete"),
    },
    name="kubectl_delete",
)
UNINSTALL = tool(
    {"name": text("Name of the chart to uninstall")}, required=["name"], name="uninstall_chart"
)


@pytest.mark.parametrize(
    "intent",
    [
        "delete the old deployment",
        "delete my failed pods",
        "delete the pod immediately",
        "delete pods older than 3d",
        "delete the pods 3d old",
        "delete all pods other than pod web-1",
        "delete the pods that the web service uses",
        "delete the service of the pod web-1",
        "delete the pod web-1 but never the service web",
        "delete everything but pod web-1",
    ],
)
def test_no_adjective_and_no_adverb_is_the_name_of_what_is_deleted(intent: str) -> None:
    assert "name" not in given(intent, DELETE)


@pytest.mark.parametrize(
    "intent",
    [
        "uninstall the chart everywhere",
        "uninstall the unused chart",
        "uninstall everything of the chart web",
    ],
)
def test_a_chart_without_a_name_is_asked_for(intent: str) -> None:
    assert given(intent, UNINSTALL) == {}


@pytest.mark.parametrize(
    ("intent", "name"),
    [
        ("delete pod web-1", "web-1"),
        ("delete the pod web_1 now", "web_1"),
        ("delete the pods called web", "web"),
        ("delete the deployment named old", "old"),
    ],
)
def test_a_name_that_can_be_no_other_word_is_bound(intent: str, name: str) -> None:
    assert given(intent, DELETE)["name"] == name


def test_a_tool_that_only_reads_may_take_a_plain_word_for_a_name() -> None:
    show = replace(DELETE, name="kubectl_describe", pk=DELETE.pk + 10_000)
    reading_step = replace(steps(show)[0], is_read_only=True)
    (step,) = bind_arguments([reading_step], reading=read_intent("show the web deployment"))
    assert step.arguments == {"resourceType": "deployment", "name": "web"}


def test_an_adverb_is_no_table() -> None:
    assert given("drop the table immediately", act(table=text())) == {}
    assert given("drop the table tmp", act(table=text())) == {"table": "tmp"}
