"""What the packaged reader finds where no rule does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway_project.foundation.embedding_models import MINILM, find_recipe
from graph.suggestion.binding.bind import bind_arguments
from graph.suggestion.intent.reading import read_intent
from tests.graph.suggestion.binding.tools import steps, text, tool
from tools.embed import locate
from tools.embed.onnx_reader import OnnxReader

QUERY = {"query": text()}
NUMBER = {"type": "integer"}


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    files = locate.find_reader_files(find_recipe(MINILM), home=tmp_path_factory.mktemp("home"))
    return OnnxReader(files, threads=1).read


@pytest.mark.parametrize(
    ("intent", "name", "fields", "expected"),
    [
        ("articles on sleep and memory", "search_articles", QUERY, "sleep and memory"),
        ("who calls useDeferredValue", "search_code", QUERY, "useDeferredValue"),
        ("search for papers about diffusion models, please", "search", QUERY, "diffusion models"),
        ("look up Ada Lovelace on wikipedia", "search_wikipedia", QUERY, "Ada Lovelace"),
        ("busca en la wikipedia la Alhambra", "search_wikipedia", QUERY, "Alhambra"),
        ("look around within 800 metres", "find_nearby", {"radius": NUMBER}, 800),
        ("a ttl of 60 seconds", "set_ttl", {"ttl": NUMBER}, 60),
    ],
)
def test_a_wish_is_read(
    read: Any, intent: str, name: str, fields: dict[str, Any], expected: object
) -> None:
    wished = replace(tool(fields, required=list(fields), name=name), is_read_only=True)
    [bound] = bind_arguments(steps(wished), reading=read_intent(intent), read=read)
    assert list(bound.arguments.values()) == [expected]


@pytest.mark.parametrize(
    "intent",
    [
        "don't delete invoice 8812",
        "who deleted invoice 8812?",
        "invoice 8812 was deleted yesterday",
        "once Mia agrees, delete invoice 8812",
        "lösch Rechnung 8812 bitte nicht",
        "ne supprime pas la facture 8812",
        "qui a supprimé la facture 8812 ?",
        "la facture 8812 a été supprimée hier",
        "dès que Mia accepte, supprime la facture 8812",
        "supprime la facture 8812, non attends",
    ],
)
def test_nothing_is_read_for_a_tool_that_destroys_unless_it_is_ordered(
    read: Any, intent: str
) -> None:
    remove = tool({"invoice_id": text()}, required=["invoice_id"], name="delete_invoice")
    [bound] = bind_arguments(steps(remove), reading=read_intent(intent), read=read)
    assert bound.arguments == {}


@pytest.mark.parametrize(
    "request_of_it",
    ["delete that other file", "delete this evening's draft", "delete everything in that folder"],
)
def test_what_another_request_is_about_is_not_changed(read: Any, request_of_it: str) -> None:
    path = {"path": text("Path of the file")}
    show, remove = (
        tool(path, required=["path"], name=f"{one}_file") for one in ("read", "delete")
    )
    intent = f"read /a/notes.md and {request_of_it}"
    reading, removing = steps(replace(show, is_read_only=True), remove)
    first = replace(reading, request=(0, len("read /a/notes.md")))
    then = replace(removing, request=(intent.index(request_of_it), len(intent)))
    shown, removed = bind_arguments([first, then], reading=read_intent(intent), read=read)
    assert (shown.arguments, removed.arguments) == ({"path": "/a/notes.md"}, {})


@pytest.mark.parametrize(
    "intent",
    [
        "undo the delete from users",
        "explain what delete from users where 1=1 would do",
        "delete from users where id = 3 if nobody objects",
        "lösche bitte nicht: delete from users",
        "n'exécute pas : delete from users",
    ],
)
def test_sql_that_is_only_talked_about_is_not_read(read: Any, intent: str) -> None:
    run = tool({"sql": text("SQL statement to run")}, required=["sql"], name="execute_sql")
    [bound] = bind_arguments(steps(run), reading=read_intent(intent), read=read)
    assert bound.arguments == {}


def test_another_requests_value_is_left_to_what_weighs_it(read: Any) -> None:
    pods, logs = (
        tool({"namespace": text("Namespace of the cluster")}, name=f"{one}_pods")
        for one in ("list", "log")
    )
    intent = "list the pods in namespace shop and show the logs of those in staging"
    place = intent.index("and")
    listing, showing = steps(*(replace(one, is_read_only=True) for one in (pods, logs)))
    located = [
        replace(listing, request=(0, place)),
        replace(showing, request=(place, len(intent))),
    ]
    _, shown = bind_arguments(located, reading=read_intent(intent), read=read)
    assert shown.arguments.get("namespace") != "shop"
