"""Texts, names and quantities that a request introduces, each with its rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph.suggestion.binding.bind import bind_arguments
from graph.suggestion.binding.plain_statements import bind_plain_values
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


SQL = act("sql")
SWAP = act("old_text", "new_text")
SAY = act("text")
ENTRY = text("Key of the entry in the store")
STORE = act("key", "value", key=ENTRY)


@pytest.mark.parametrize(
    "statement",
    [
        "delete from users",
        "delete from users where id = 3 and name like 'a%'",
        "update users set visits = visits + 1, name = 'a b' where id in (1, 2)",
        "insert into users (id, name) values (1, 'x'), (2, lower('Y'))",
        "create table users (id int primary key, name varchar(20))",
        "select max(a) - min(b) as d from t",
        "select u.name, count(*) as n from users u where u.id > 3 group by u.name",
    ],
)
@pytest.mark.parametrize("request_words", ["", "please run the query: ", "execute "])
def test_sql_that_is_the_whole_request_is_bound(request_words: str, statement: str) -> None:
    assert given(request_words + statement, SQL) == {"sql": statement}


@pytest.mark.parametrize(
    "intent",
    [
        "why did someone run delete from users",
        "what happens if I delete from users",
        "undo the delete from users",
        "lösche bitte nicht: delete from users",
        "please don't do this. delete from users",
        "check who ran insert into users values (1)",
        "explain what delete from users where 1=1 would do",
        "insert into the report a chart",
        "delete from all tables",
        "create table plans as discussed yesterday",
        "update me set to go",
        "select some good restaurants from the list",
        "select name from users, sorted by age please",
        "select name from users for me",
        "delete from users where id = 3 for me",
        "delete from users where id = 3 if nobody objects",
        "insert into old select name from users",
    ],
)
def test_sql_that_is_only_talked_about_is_not_bound(intent: str) -> None:
    assert given(intent, SQL) == {}


@pytest.mark.parametrize(
    ("intent", "old", "new"),
    [
        ("replace the word colour with the word color in a.txt", "colour", "color"),
        ("replace TODO with DONE", "TODO", "DONE"),
        ("replace Alice with Bob everywhere.", "Alice", "Bob"),
        ('replace "the \'x\'" with "it\'s" in a.txt', "the 'x'", "it's"),
        ("change 'don't' to 'do not'", "don't", "do not"),
        ("ersetze Hund durch Katze", "Hund", "Katze"),
        ("cambia perro por gato", "perro", "gato"),
        ("cambia 'perro' a 'gato'", "perro", "gato"),
        ("把狗替换成猫", "狗", "猫"),
    ],
)
def test_a_text_is_replaced_by_another(intent: str, old: str, new: str) -> None:
    assert given(intent, SWAP) == {"old_text": old, "new_text": new}


@pytest.mark.parametrize(
    "intent",
    [
        "turn it into uppercase",
        "change everything to uppercase",
        "replace everything with nothing",
        "change the title to Hello",
        "change permission to read-only",
        "replace foo with the current date",
        "replace Alice with Bob Smith",
        "replace Alice by Friday with Bob",
        "swap Alice for Bob and Bob for Alice",
        "replace 'Alice' with 'Bob' and 'Carol' with 'Dave'",
        "replace TODO with DONE but not FIXME with X",
        "replace Alice with Bob everywhere except in chapter 2",
        "cambia perro por gato, pero no ahora",
        "把report.docx里的狗替换成猫",
        "不要把狗替换成猫",
        "别把狗换成猫",
    ],
)
def test_words_that_are_no_texts_are_not_replaced(intent: str) -> None:
    one = tool({"edits": list_of(EDIT)}, required=["edits"])
    assert given(intent, one) == {}


def test_the_verb_of_a_replacement_is_no_label() -> None:
    intent = "replace 'it is' with 'its' in report.docx"
    one = act("find_text", "replace_text", name="search_and_replace")
    assert given(intent, one) == {"find_text": "it is", "replace_text": "its"}


@pytest.mark.parametrize(
    ("intent", "said"),
    [
        ("post saying that we are late", "we are late"),
        ("post saying you can come.", "you can come"),
        ("post with the message fix login bug", "fix login bug"),
        ("post saying the docs are at /srv/docs", "the docs are at /srv/docs"),
        ("发消息内容为你好", "你好"),
    ],
)
def test_words_up_to_the_end_are_said(intent: str, said: str) -> None:
    assert given(intent, SAY) == {"text": said}


@pytest.mark.parametrize(
    "intent",
    [
        "post with the content of the last commit",
        "post with a text from /tmp/a.txt",
        "post with the text /tmp/a.txt",
        "post with the text of acme/web#5 on it",
        "poste mit dem Inhalt der letzten Mail",
        "poste mit dem Inhalt von a.txt",
        "publica con el contenido de a.txt",
        "发消息内容是/tmp/b.txt的内容",
        "post with the message you think is best",
        "post a message like fix login",
        "post with a message that says something about it",
        "post telling him about the delay",
        "post saying what changed",
        "post saying hi before the move",
        "post saying hi; the card goes to the archive",
        "发消息内容为你好并删除卡片",
    ],
)
def test_what_only_describes_a_text_is_not_said(intent: str) -> None:
    assert given(intent, SAY) == {}


def test_a_place_that_is_named_before_may_be_said() -> None:
    intent = "post to the channel news saying it is on the channel list"
    assert given(intent, act("channel", "message"))["message"] == "it is on the channel list"


def test_a_place_at_the_end_is_not_said() -> None:
    intent = "publish a message saying that the sale ends soon on channel news"
    assert given(intent, act("channel", "message")) == {"channel": "news"}


@pytest.mark.parametrize(
    ("intent", "one", "expected"),
    [
        ("add a tab called Big Plan", act("name", name="create_sheet"), {"name": "Big Plan"}),
        (
            "in the team acme create a board called Home.",
            act("name", name="create_board"),
            {"name": "Home"},
        ),
        (
            "create a repo called web-2 in acme",
            act("name", name="create_repository"),
            {"name": "web-2"},
        ),
        ("创建名为alpha的仓库", act("name", name="create_repository"), {"name": "alpha"}),
        (
            "draw a chart titled 'Sales'",
            tool({"title": text()}, name="generate_chart"),
            {"title": "Sales"},
        ),
        (
            "update issue 5 with the title 'Login'",
            tool({"title": text()}, name="update_issue"),
            {"title": "Login"},
        ),
        ("delete the note titled 'Old'", act("title", name="delete_note"), {"title": "Old"}),
    ],
)
def test_a_name_is_that_of_what_the_tool_makes(
    intent: str, one: BindTool, expected: dict[str, Any]
) -> None:
    assert given(intent, one) == expected


@pytest.mark.parametrize(
    ("intent", "one"),
    [
        ("create a board called the big plan", act("name", name="create_board")),
        ("set up a board, I was called away", act("name", name="create_board")),
        ("make something called whatever", act("name", name="create_board")),
        ("不要创建名为alpha的仓库", act("name", name="create_repository")),
        ("close the issue titled 'Login'", tool({"title": text()}, name="update_issue")),
        ("rename the event called 'A' to 'B'", tool({"summary": text()}, name="update_event")),
    ],
)
def test_a_name_that_only_tells_a_thing_apart_is_not_bound(intent: str, one: BindTool) -> None:
    assert given(intent, one) == {}


@pytest.mark.parametrize("verb", ["rename", "copy"])
def test_the_name_of_what_is_renamed_or_copied_is_no_new_name(verb: str) -> None:
    one = act("sheet", "new_name", name=f"{verb}_sheet")
    reading = read_intent(f"{verb} the sheet called Data")
    bound = bind_plain_values(steps(one), [load_schema(one)], reading=reading, forbidden=())
    assert (0, "new_name") not in bound


@pytest.mark.parametrize(
    ("intent", "expected"),
    [
        ("set the key greeting to hello", {"key": "greeting", "value": "hello"}),
        ("set greeting to hello in the store.", {"key": "greeting", "value": "hello"}),
        ("set 'my key' to 'a b'", {"key": "my key", "value": "a b"}),
        ("set the hash conf to expire in 60 seconds", {}),
        ("set conf to expire in 60 seconds", {}),
        ("set conf to expire in a minute", {}),
        ("set greeting to whatever the other holds", {}),
        ("set greeting to something", {}),
        ("set the session timeout to 30 minutes", {}),
        ("put Anna to bed", {}),
        ("put the file as attachment in conf", {}),
    ],
)
def test_a_value_is_set_together_with_its_key(intent: str, expected: dict[str, Any]) -> None:
    assert given(intent, STORE) == expected


def test_of_several_names_the_key_is_called_so() -> None:
    bound = given("set greeting to hello in the hash", act("name", "key", "value", key=ENTRY))
    assert bound["key"] == "greeting"
    assert bound["value"] == "hello"


def test_no_value_is_set_without_its_key() -> None:
    assert given("set greeting to hello", act("name", "variable", "value")) == {}


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
