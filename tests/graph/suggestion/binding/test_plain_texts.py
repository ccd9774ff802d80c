"""Texts, names and quantities that a request introduces, each with its rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph.suggestion.binding.bind import bind_arguments
from graph.suggestion.binding.schemas import load_schema
from graph.suggestion.binding.steps import BindTool
from graph.suggestion.intent.reading import read_intent
from tests.graph.suggestion.binding.tools import steps, text, tool

NUMBER = {"type": "number"}
EDIT = {"oldText": text(), "newText": text()}
POINT = {"latitude": NUMBER, "longitude": NUMBER}
PRESSED = text("Name of the key to press")
KINDS = text("Type of resource (e.g., pods, deployments, services)")


def act(*names: str, name: str = "act", **fields: Any) -> BindTool:
    """Build a tool that requires texts of these names, and takes other fields."""
    return tool({one: text() for one in names} | fields, required=names, name=name)


def list_of(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "array",
        "items": {"type": "object", "properties": fields, "required": list(fields)},
    }


def given(intent: str, one: BindTool) -> dict[str, Any]:
    (step,) = bind_arguments(steps(one), reading=read_intent(intent))
    return dict(step.arguments)


@pytest.mark.parametrize(
    ("intent", "one", "expected"),
    [
        (
            "open a ticket titled 'No sound' saying that the speaker is dead",
            act("title", body=text()),
            {"title": "No sound", "body": "the speaker is dead"},
        ),
        (
            "mail, subject 'Rent', saying 'it is paid'",
            act("subject", "body"),
            {"subject": "Rent", "body": "it is paid"},
        ),
        (
            "add the card 'Paint' due 2026-12-01",
            act("name", name="add_card", due_date=text()),
            {"name": "Paint", "due_date": "2026-12-01"},
        ),
        (
            "publish 'Sun' as content, titled 'Weather'",
            act("title", "content", "meta_title"),
            {"title": "Weather", "content": "Sun"},
        ),
        (
            "publish a post titled 'Weather'",
            act("title", "meta_title", "url_name"),
            {"title": "Weather"},
        ),
        ("start the page 'Plan'", act("title", name="create_page"), {"title": "Plan"}),
        ("schreib es mit dem Text bin gleich da", act("text"), {"text": "bin gleich da"}),
        ("add a tab called Hotels", act("new_name", name="create_sheet"), {"new_name": "Hotels"}),
        (
            "replace colour with color",
            act("old_text", "new_text"),
            {"old_text": "colour", "new_text": "color"},
        ),
        (
            "change the word 'big cat' to lion",
            tool({"edits": list_of(EDIT)}, required=["edits"]),
            {"edits": [{"oldText": "big cat", "newText": "lion"}]},
        ),
        (
            "set the variable greeting to hello",
            act("name", "value"),
            {"name": "greeting", "value": "hello"},
        ),
        (
            "run select count(*) from users on postgres",
            act("sql"),
            {"sql": "select count(*) from users"},
        ),
        ("look around within 800 metres", act(radius=NUMBER), {"radius": 800}),
        ("store it for 2 minutes", act(expire_seconds=NUMBER), {"expire_seconds": 120}),
        ("a ttl of 60 seconds", act(expiration=NUMBER), {"expiration": 60}),
        (
            "press the Home key",
            act(name="press_key", key=PRESSED),
            {"key": "Home"},
        ),
        ("take 'x' out", act("value", name="remove_member"), {"value": "x"}),
        (
            "update comment 5e1 that says 'Hello' so that it says 'Bye'",
            act("commentId", "text"),
            {"commentId": "5e1", "text": "Hello"},
        ),
        (
            "forward mail 7 to bob@x.org",
            tool(
                {
                    "account_name": text(),
                    "email_id": text(),
                    "recipients": {"type": "array", "items": {"type": "string"}},
                },
                required=["account_name", "email_id", "recipients"],
                name="forward_email",
            ),
            {"email_id": "7", "recipients": ["bob@x.org"]},
        ),
        (
            "add 'x' to the set colors",
            replace(
                act("name", "value", name="sadd"), description="Add a value to a set by its name"
            ),
            {"name": "colors", "value": "x"},
        ),
        ("20% off", act(percent_off=NUMBER), {"percent_off": 20}),
        (
            "how high is 46.55, 7.98",
            tool({"locations": list_of(POINT)}, required=["locations"]),
            {"locations": [{"latitude": 46.55, "longitude": 7.98}]},
        ),
        ("what is at 46.55, 7.98", act(**POINT), {"latitude": 46.55, "longitude": 7.98}),
        (
            "remove pod web-7",
            tool({"resourceType": KINDS, "name": text()}),
            {"resourceType": "pod", "name": "web-7"},
        ),
        (
            "scale deployment api-2 to 4",
            tool({"name": text("Name of the deployment to scale")}, required=["name"]),
            {"name": "api-2"},
        ),
        (
            "link OPS-7 to OPS-8 as Blocks",
            tool({"link_type": text("e.g. 'Duplicate', 'Blocks'")}, required=["link_type"]),
            {"link_type": "Blocks"},
        ),
        ("press Escape", act(name="press_key", key=PRESSED), {"key": "Escape"}),
        ("busca en la wikipedia la Alhambra", act("query"), {"query": "Alhambra"}),
        (
            "stage index.html",
            tool(
                {"repo_path": text(), "files": {"type": "array", "items": {"type": "string"}}},
                required=["repo_path", "files"],
            ),
            {"files": ["index.html"]},
        ),
    ],
)
def test_what_a_request_introduces_is_bound(
    intent: str, one: BindTool, expected: dict[str, Any]
) -> None:
    assert given(intent, one) == expected


@pytest.mark.parametrize(
    ("intent", "one"),
    [
        ("what happened in the last 30 minutes", act(expire_seconds=NUMBER)),
        ("wait 3 seconds", act(max_length=NUMBER, timeout=NUMBER)),
        ("select all files from the folder", act(sql=text())),
        ("select the rows from users", act(sql=text())),
        ("between 46.55, 7.98 and 47.10, 8.20", tool({"locations": list_of(POINT)})),
        (
            "how high are 46.55,7.98 and 48,11",
            tool({"locations": list_of(POINT)}, required=["locations"]),
        ),
        ("replace it", act("old_text", "new_text")),
        ("add an event that lasted 60 seconds", act(expiration=NUMBER)),
        (
            "how high is lng 7.98, lat 46.55: 7.98, 46.55",
            tool({"locations": list_of(POINT)}, required=["locations"]),
        ),
        ("hit the Home button", act(name="press_key", key=PRESSED)),
        ("press the Delete icon", act(name="press_key", key=PRESSED)),
        (
            "everything but 'x' must go",
            tool({"name": text(), "value": text()}, required=["value"], name="remove_member"),
        ),
        ("delete the pod now", tool({"resourceType": KINDS, "name": text()})),
        ("change the status of it to done", tool({"edits": list_of(EDIT)}, required=["edits"])),
    ],
)
def test_what_a_request_leaves_open_is_not_bound(intent: str, one: BindTool) -> None:
    assert given(intent, one) == {}


def test_what_is_said_without_quotes_is_not_cut_off_by_a_further_request() -> None:
    intent = "post saying dinner is ready and lock the door"
    first, second = steps(act("text"), act())
    located = (replace(first, request=(0, 27)), replace(second, request=(32, len(intent))))
    bound = bind_arguments(located, reading=read_intent(intent))
    assert "text" not in bound[0].arguments


def test_what_serves_one_parameter_serves_no_second_one() -> None:
    one = tool(
        {"branch_name": text(), "base_branch": text()},
        required=["branch_name"],
        name="create_branch",
    )
    assert given("make branch fix-9", one) == {"branch_name": "fix-9"}


@pytest.mark.parametrize(
    ("description", "is_private"),
    [
        ("Name of the key to press", False),
        ("Key of the entry in the store", False),
        ("The API key", True),
        ("Key to decrypt with", True),
        ("The key of the Redis hash", False),
        ("Your Google Maps key", True),
        ("Subscription key", True),
        ("Recovery key", True),
        ("key to authenticate", True),
        ("", True),
    ],
)
def test_a_key_is_private_unless_its_description_says_otherwise(
    description: str, is_private: bool
) -> None:
    one = tool({"key": text(description)}, required=["key"])
    assert load_schema(one).parameters["key"].is_private is is_private


@pytest.mark.parametrize(
    ("about", "is_private"),
    [
        ("Geocode an address. Needs a key from the provider.", True),
        ("Delete a Redis key.", False),
    ],
)
def test_a_key_without_a_description_is_read_from_that_of_its_tool(
    about: str, is_private: bool
) -> None:
    one = replace(tool({"key": text()}, required=["key"]), description=about)
    assert load_schema(one).parameters["key"].is_private is is_private


def test_a_request_goes_on_with_the_only_file_before_it() -> None:
    intent = "create memo.docx, add the heading 'Agenda'"
    create = act("filename", name="create_document")
    add = replace(act("filename", "text", name="add_heading"), pk=create.pk + 1)
    first, second = steps(create, add)
    located = (replace(first, request=(0, 16)), replace(second, request=(18, len(intent))))
    bound = bind_arguments(located, reading=read_intent(intent))
    assert bound[1].arguments == {"filename": "memo.docx", "text": "Agenda"}


def test_a_request_that_may_mean_another_file_does_not_go_on() -> None:
    intent = "create memo.docx, add the heading 'Agenda' elsewhere"
    create = act("filename", name="create_document")
    add = replace(act("filename", "text", name="add_heading"), pk=create.pk + 1)
    first, second = steps(create, add)
    located = (replace(first, request=(0, 16)), replace(second, request=(18, len(intent))))
    bound = bind_arguments(located, reading=read_intent(intent))
    assert "filename" not in bound[1].arguments


@pytest.mark.parametrize(
    ("name", "then"),
    [
        ("put_note", "put 'x'"),
        ("create_or_update_file", "create a file 'x'"),
        ("add_note", "add all 'x'"),
        ("add_note", "add 'x' not"),
    ],
)
def test_a_request_that_may_replace_the_file_does_not_go_on(name: str, then: str) -> None:
    intent = f"read a.md and {then}"
    show = act("path", name="get_note")
    add = replace(act("path", "content", name=name), pk=show.pk + 1)
    first, second = steps(show, add)
    located = (replace(first, request=(0, 9)), replace(second, request=(14, len(intent))))
    bound = bind_arguments(located, reading=read_intent(intent))
    assert "path" not in bound[1].arguments


def test_a_request_does_not_go_on_with_a_file_of_a_later_one() -> None:
    intent = "add the heading 'Hi' and then show memo.docx"
    add = act("filename", "text", name="add_heading")
    first, second = steps(add, replace(act("filename", name="show"), pk=add.pk + 1))
    located = (replace(first, request=(0, 20)), replace(second, request=(30, len(intent))))
    bound = bind_arguments(located, reading=read_intent(intent))
    assert "filename" not in bound[0].arguments


def test_a_longitude_beyond_180_degrees_is_not_bound() -> None:
    assert "longitude" not in given("what is at 46.55 , 200.98", act(**POINT))


def test_it_may_mean_one_of_a_list_by_its_singular() -> None:
    intent = "add OPS-5 to the plan and log on it"
    lists = {"issue_keys": {"type": "array", "items": {"type": "string"}}}
    first = tool(lists, required=["issue_keys"], name="add_issues")
    one, other = steps(first, replace(act("issue_key", name="log"), pk=first.pk + 1))
    located = (replace(one, request=(0, 21)), replace(other, request=(26, len(intent))))
    bound = bind_arguments(located, reading=read_intent(intent))
    assert [step.arguments for step in bound] == [
        {"issue_keys": ["OPS-5"]},
        {"issue_key": "OPS-5"},
    ]
