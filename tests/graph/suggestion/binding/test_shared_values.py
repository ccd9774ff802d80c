"""What the request for one task states for another: scopes, and places called "there"."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph.suggestion.binding.earlier_requests import refers_back
from graph.suggestion.binding.schemas import load_schema
from graph.suggestion.binding.tasks import WorkflowTool
from tests.graph.suggestion.binding.tools import located, stating, steps, text, tool

LIST_PODS = tool({"namespace": text()}, required=["namespace"], name="list_pods")
LOGS = tool({"name": text(), "namespace": text()}, required=["name"], name="read_logs")
RESTART = tool(
    {"pod": text(), "namespace": text()}, required=["pod", "namespace"], name="restart_pod"
)
DELETE_POD = tool(
    {"name": text(), "namespace": text()}, required=["name", "namespace"], name="delete_pod"
)
LIST_TABLES = tool({"database": text()}, required=["database"], name="list_tables")
DROP_TABLE = tool(
    {"table": text(), "database": text()}, required=["table", "database"], name="drop_table"
)
LIST_ISSUES = tool({"project": text()}, required=["project"], name="list_issues")
CREATE_ISSUE = tool(
    {"title": text(), "project": text()}, required=["title", "project"], name="create_issue"
)
CARDS = tool({"board": text(), "namespace": text()}, required=["board"], name="list_cards")
RESTART_AT_RISK = replace(RESTART, is_destructive=True)
BALANCE = tool({"account": text()}, required=["account"], name="get_balance")
SEND_MONEY = tool(
    {"amount": {"type": "number"}, "account": text()},
    required=["amount", "account"],
    name="send_money",
)
WEATHER = tool({"city": text("Name of the city")}, required=["city"], name="get_weather")
WEATHER_AT = tool(
    {"location": text("Name of the place")}, required=["location"], name="get_weather"
)
HOTEL = tool({"location": text("Name of the place")}, required=["location"], name="book_hotel")
HOTEL_IN = tool({"city": text("Name of the city")}, required=["city"], name="book_hotel")
MEETINGS = tool(
    {"location": text("Name of the place")}, required=["location"], name="find_meetings"
)
CLOCK = tool({"timezone": text("IANA timezone name")}, required=["timezone"], name="clock")
FLIGHT = tool({"origin": text()}, required=["origin"], name="flight")
READING = (LIST_PODS, LOGS, CARDS, LIST_TABLES, LIST_ISSUES, BALANCE, WEATHER, WEATHER_AT)

SHOP = "list the pods in namespace shop"
PROD = "list the tables of database prod"
ALPHA = "list the issues in project alpha"
PARIS = "how is the weather in Paris"


def second(first: str, then: str, *tools: WorkflowTool) -> dict[str, Any]:
    """Return what is bound for the second of two requests."""
    return located(f"{first} and {then}", (first, then), *tools, reading_tools=READING)[1]


@pytest.mark.parametrize(
    ("first", "then", "tools", "scope"),
    [
        (SHOP, "show the logs of pod cart-1", (LIST_PODS, LOGS), {"namespace": "shop"}),
        (SHOP, "show the logs of pod cart-1 there", (LIST_PODS, LOGS), {"namespace": "shop"}),
        (SHOP, "restart pod cart-1", (LIST_PODS, RESTART), {"namespace": "shop"}),
        (SHOP, "delete pod cart-1 there", (LIST_PODS, DELETE_POD), {"namespace": "shop"}),
        (SHOP, "delete pod cart-1 in it", (LIST_PODS, DELETE_POD), {"namespace": "shop"}),
        (
            SHOP,
            "delete pod cart-1 in the same namespace",
            (LIST_PODS, DELETE_POD),
            {"namespace": "shop"},
        ),
        (PROD, "drop table tmp in it", (LIST_TABLES, DROP_TABLE), {"database": "prod"}),
        (SHOP, "show the cards of board 'web'", (LIST_PODS, CARDS), {"namespace": "shop"}),
    ],
)
def test_a_scope_stated_once_holds_for_what_else_is_asked_of_the_server(
    first: str, then: str, tools: tuple[WorkflowTool, ...], scope: dict[str, Any]
) -> None:
    assert second(first, then, *tools).items() >= scope.items()


@pytest.mark.parametrize(
    ("first", "then", "tools", "scope"),
    [
        *(
            (SHOP, f"delete pod cart-1{where}", (LIST_PODS, DELETE_POD), "namespace")
            for where in (
                "",
                " in the staging namespace",
                " in staging",
                " in all other namespaces",
                " everywhere except there",
                " but not in that namespace",
                " in every namespace but there",
                " in another namespace",
            )
        ),
        *(
            (SHOP, f"restart pod cart-1 {where}", (LIST_PODS, RESTART), "namespace")
            for where in (
                "in the staging namespace",
                "in staging",
                "in all other namespaces",
                "everywhere",
                "everywhere except there",
                "but not in that namespace",
                "of staging",
            )
        ),
        (SHOP, "restart the staging pod cart-1", (LIST_PODS, RESTART), "namespace"),
        (SHOP, "restart pod cart-1", (LIST_PODS, RESTART_AT_RISK), "namespace"),
        (SHOP, "delete it in staging", (LIST_PODS, DELETE_POD), "namespace"),
        *(
            (SHOP, f"show the logs of pod cart-1 {where}", (LIST_PODS, LOGS), "namespace")
            for where in (
                "in staging",
                "in the staging namespace",
                "from another namespace",
                "everywhere except there",
                "but not in that namespace",
                "im Namensraum test",
            )
        ),
        (PROD, "drop table tmp in the test database", (LIST_TABLES, DROP_TABLE), "database"),
        (PROD, "drop table tmp", (LIST_TABLES, DROP_TABLE), "database"),
        (ALPHA, "create an issue 'crash' in beta", (LIST_ISSUES, CREATE_ISSUE), "project"),
        (
            "show the balance of account 4711",
            "send 50 euros from my savings account",
            (BALANCE, SEND_MONEY),
            "account",
        ),
        (
            "show the balance of account 4711",
            "send the amount 50",
            (BALANCE, SEND_MONEY),
            "account",
        ),
    ],
)
def test_a_scope_is_not_taken_over_where_another_may_be_meant(
    first: str, then: str, tools: tuple[WorkflowTool, ...], scope: str
) -> None:
    assert scope not in second(first, then, *tools)


def test_a_request_that_comes_first_and_names_another_scope_keeps_it_open() -> None:
    parts = ("restart pod cart-1 in staging", SHOP)
    found = located(" and ".join(parts), parts, RESTART, LIST_PODS, reading_tools=READING)
    assert "namespace" not in found[0]


def test_a_tool_that_acts_on_a_namespace_takes_only_its_own() -> None:
    deleting = tool({"namespace": text()}, name="delete_namespace")
    assert second(SHOP, "delete the other one", LIST_PODS, deleting) == {}


@pytest.mark.parametrize(
    ("name", "schema", "first", "value"),
    [
        ("issue_number", {"type": "integer"}, "show issue 7", 7),
        ("issue_id", text("Id of the issue"), "show issue AB-7", "AB-7"),
        ("path", text(), "show me the contents of /srv/a.txt in full", "/srv/a.txt"),
    ],
)
def test_it_may_be_what_an_earlier_request_acts_on(
    name: str, schema: dict[str, Any], first: str, value: object
) -> None:
    show = tool({name: schema}, required=[name], name="get_thing")
    delete = tool({name: schema}, required=[name], name="delete_thing")
    assert second(first, "delete it for good", show, delete) == {name: value}


READ_NOTE = tool({"path": text()}, required=["path"], name="get_note")
DELETE_NOTE = tool({"path": text()}, required=["path"], name="delete_file")
SHOW_MAIL = tool({"email_id": text()}, required=["email_id"], name="get_email")
DELETE_MAIL = tool({"email_id": text()}, required=["email_id"], name="delete_email")
ADD_TEXT = tool({"path": text(), "text": text()}, required=["path", "text"], name="comment")


def continued(first: str, then: str, *tools: WorkflowTool, **known: Any) -> dict[str, Any]:
    parts, readers = (first, then), [READ_NOTE, SHOW_MAIL]
    return located(" | ".join(parts), parts, *tools, reading_tools=readers, **known)[1]


@pytest.mark.parametrize(
    "then",
    [
        "lösche es nicht",
        "lösche sie auf keinen Fall",
        "lösche alles davon abgesehen",
        "lösche alles darin",
        "lösche dort die alte nicht",
        "bórralo nunca",
        "它的副本删除",
        "把它以外的都删除",
        "delete that other file",
        "delete this evening's draft",
        "delete everything in that folder",
        "delete the one that I made yesterday",
    ],
)
def test_a_pronoun_that_is_excluded_or_means_another_thing_deletes_nothing(then: str) -> None:
    assert continued("read notes/a.md", then, READ_NOTE, DELETE_NOTE) == {}


@pytest.mark.parametrize(
    "then",
    [
        "delete it",
        "delete it please",
        "delete that",
        "delete that now",
        "delete that file",
        "delete this same file",
        "lösche es",
        "bórralo",
        "把它删除",
    ],
)
def test_a_plain_pronoun_is_what_was_named_before(then: str) -> None:
    found = continued("read notes/a.md", then, READ_NOTE, DELETE_NOTE)
    assert found == {"path": "notes/a.md"}


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("supprime-le", {"path": "notes/a.md"}),
        ("supprimez-la, s'il vous plaît", {"path": "notes/a.md"}),
        ("ne le supprime pas", {}),
        ("supprime-le, mais pas l'autre", {}),
        ("supprime tout là-dedans sauf l'ancienne", {}),
    ],
)
def test_a_french_pronoun_stands_behind_the_order(then: str, expected: dict[str, Any]) -> None:
    assert continued("lis notes/a.md", then, READ_NOTE, DELETE_NOTE) == expected


def test_that_may_stand_before_the_word_for_the_thing() -> None:
    first = "show the mail m-7"
    read = stating(email_id="m-7")
    found = continued(first, "delete that email", SHOW_MAIL, DELETE_MAIL, read=read)
    assert found == {"email_id": "m-7"}
    assert continued(first, "delete that attachment", SHOW_MAIL, DELETE_MAIL, read=read) == {}


def test_a_word_inside_a_quoted_text_excludes_nothing() -> None:
    found = continued("read notes/a.md", "comment on it: 'do not merge'", READ_NOTE, ADD_TEXT)
    assert found == {"path": "notes/a.md", "text": "do not merge"}


def test_there_is_the_place_named_before_and_none_named_later() -> None:
    weather = tool({"city": text("Name of the city")}, required=["city"], name="weather")
    parts = ("show the weather in Paris", "what time is it there", "how far is it from Oslo")
    found = located(", ".join(parts), parts, weather, CLOCK, FLIGHT)
    assert found[0] == {"city": "Paris"}
    assert found[1] == {"timezone": "Europe/Paris"}
    parts = ("show the weather in Bergen", *parts[1:])
    assert located(", ".join(parts), parts, weather, CLOCK, FLIGHT)[1] == {}


@pytest.mark.parametrize("then", ["book a hotel there", "book a hotel in the centre there"])
@pytest.mark.parametrize("tools", [(WEATHER, HOTEL), (WEATHER_AT, HOTEL), (WEATHER, HOTEL_IN)])
def test_a_request_takes_the_place_that_it_calls_there(
    then: str, tools: tuple[WorkflowTool, WorkflowTool]
) -> None:
    assert list(second(PARIS, then, *tools).values()) == ["Paris"]


@pytest.mark.parametrize("first_tool", [WEATHER, WEATHER_AT])
@pytest.mark.parametrize(
    ("then", "tool_of_then"),
    [
        ("book a hotel anywhere but there", HOTEL),
        ("book a hotel just not there", HOTEL),
        ("book a hotel far from there", HOTEL),
        ("book a hotel outside of there", HOTEL),
        ("book a hotel everywhere except there", HOTEL),
        ("book a hotel nowhere near there", HOTEL),
        ("is there a meeting tomorrow", MEETINGS),
        ("see whether there might be a meeting", MEETINGS),
        ("was there a meeting yesterday", MEETINGS),
        ("will there be a meeting tomorrow", MEETINGS),
        ("tell me if there is a meeting tomorrow", MEETINGS),
    ],
)
def test_there_is_no_place_where_it_is_excluded_or_only_says_that_something_exists(
    then: str, tool_of_then: WorkflowTool, first_tool: WorkflowTool
) -> None:
    assert second(PARIS, then, first_tool, tool_of_then) == {}


def test_what_is_protected_is_not_referred_to() -> None:
    reader = tool({"path": text()}, required=["path"], name="read_file")
    remover = tool({"path": text()}, required=["path"], name="delete_file")
    parts = ("do not touch '/srv/a.txt' but read '/srv/a.txt'", "delete it")
    read = stating(path="/srv/a.txt")
    found = located(" and ".join(parts), parts, reader, remover, reading_tools=[reader], read=read)
    assert found == [{"path": "/srv/a.txt"}, {}]


def test_a_protected_place_is_not_meant_by_there() -> None:
    parts = ("do not touch 'Paris' but show the weather in 'Paris'", "book a hotel there")
    read = stating(city="Paris")
    found = located(" and ".join(parts), parts, WEATHER, HOTEL, reading_tools=READING, read=read)
    assert found == [{"city": "Paris"}, {}]


@pytest.mark.parametrize("part", ["á", "áa", "that same ", "it not "])
def test_a_long_text_is_searched_for_pronouns_in_linear_time(part: str) -> None:
    # Takes hours where a pattern backtracks.
    (step,) = steps(DELETE_NOTE)
    parameter = load_schema(DELETE_NOTE).parameters["path"]
    told = (part * 200_000)[:200_000]
    assert refers_back(told, replace(step, request=(0, len(told))), parameter) == ("it" in part)


def test_a_folder_in_quotation_marks_is_shared_by_the_tools_of_its_server() -> None:
    fields = {"repo_path": text()}
    status, log = (
        tool(fields, required=["repo_path"], name=f"git_{n}") for n in ("status", "log")
    )
    parts = ("show the status of the repository '/srv/shop'", "its last 3 commits")
    read = stating(repo_path="/srv/shop")
    found = located(" and ".join(parts), parts, status, log, read=read)
    assert found == [{"repo_path": "/srv/shop"}] * 2
