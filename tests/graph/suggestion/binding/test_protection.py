"""Values that writing tools never receive."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from graph.suggestion.binding.bind import bind_arguments
from graph.suggestion.binding.knowledge import BindingKnowledge, FrequentConstant
from graph.suggestion.binding.tasks import SuggestedTask, WorkflowTool
from graph.suggestion.intent import reading
from tests.graph.suggestion.binding.tools import arguments, bound, needs, stating, text, tool

PATH = text("Path of the file")
SWITCH = {"type": "boolean"}
DELETE = tool({"path": text("Path to delete")}, required=["path"], name="delete_file")
READ = tool({"path": PATH}, required=["path"], name="read_text_file")


_TARGET = re.compile(r"https?://[\w./]+|/[\w./]+\w")


def given(
    intent: str, one: WorkflowTool, *, is_read_only: bool = False, sure: float = 0.99, **known: Any
) -> dict[str, Any]:
    """Bind what is surely read: the first address or path, and each quoted text."""
    target, quoted = _TARGET.search(intent), re.search("'(.*?)'", intent)
    read = stating(
        sure=sure,
        path=target[0] if target else "",
        url=target[0] if target else "",
        content=quoted[1] if quoted else "",
    )
    step = SuggestedTask(id="t0", tool=replace(one, is_read_only=is_read_only))
    [bound] = bind_arguments([step], reading=reading.read_intent(intent), read=read, **known)
    return dict(bound.arguments)


@pytest.mark.parametrize(
    "intent",
    [
        "Do not delete /srv/data, delete old logs instead",
        "Keep /home/me, never delete /etc/passwd, and then delete the cache",
        "Delete everything except the folder /srv/data, the folder /srv/www",
        "Don’t touch /srv/data",  # noqa: RUF001 - as typed
        "/srv/data must not be deleted",
        "Lösche /srv/data nicht, behalte /srv/www",
        "Lösche alles bis auf /srv/data",
        "/srv/data darf niemals gelöscht werden",
        "Borra todo menos /srv/data",
        "No borres /srv/data",
        "Elimina los archivos viejos, pero deja /srv/data",
        "Ne supprime pas /srv/data",
        "Supprime tout sauf /srv/data",
        "Efface tous les fichiers hormis /srv/data",
        "Supprime les vieux fichiers, mais laisse /srv/data",
        "/srv/data ne doit pas être supprimé",
        "Supprime les vieux fichiers, /srv/data reste intact",
        "不要删除 /srv/data",
        "删除所有文件，除了 /srv/data",  # noqa: RUF001 - as typed
        "删除旧文件，/srv/data 不能删除",  # noqa: RUF001 - as typed
    ],
)
def test_a_deleting_tool_never_gets_a_protected_value(intent: str) -> None:
    assert given(intent, DELETE) == {}


@pytest.mark.parametrize(
    "intent",
    [
        "don't open https://phish.example/y",
        "fetch everything except https://phish.example/y",
        "öffne auf keinen Fall https://phish.example/y",
        "no abras https://phish.example/y",
        "n'ouvre surtout pas https://phish.example/y",
        "le lien https://phish.example/y est une arnaque, ne l'ouvre pas",
        "不要打开 https://phish.example/y",
        "https://phish.example/y is phishing, do not click on it",
        "der Link https://phish.example/y ist Betrug, öffne ihn nicht",
    ],
)
def test_what_only_reads_does_not_visit_an_address_that_is_to_be_shunned(intent: str) -> None:
    fetch = tool({"url": text("URL to fetch")}, required=["url"], name="fetch")
    assert given(intent, fetch, is_read_only=True) == {}


@pytest.mark.parametrize(
    "intent",
    [
        "why can't I open https://a.example/x",
        "summarize https://a.example/x, I don't have time",
        "Do not hurry. Fetch https://a.example/x",
    ],
)
def test_other_negations_shun_no_address(intent: str) -> None:
    fetch = tool({"url": text("URL to fetch")}, required=["url"], name="fetch")
    assert given(intent, fetch, is_read_only=True) == {"url": "https://a.example/x"}


def test_words_in_quotation_marks_protect_nothing() -> None:
    write = tool({"path": PATH, "content": text()}, required=["path", "content"], name="write")
    told = given("write 'do not panic' to file /tmp/a.txt", write)
    assert told == {"path": "/tmp/a.txt", "content": "do not panic"}  # noqa: S108 - a text


def test_words_that_only_end_like_a_negation_protect_nothing() -> None:
    assert given("delete the current file /srv/a.log", DELETE) == {"path": "/srv/a.log"}


@pytest.mark.parametrize(
    "intent",
    [
        "Read /etc/hosts and delete the old log",
        "Read /etc/hosts and remove the old log",
        "Show me the file /etc/hosts, then delete the old log",
    ],
)
def test_a_path_requested_of_another_tool_is_not_deleted(intent: str) -> None:
    assert given(intent, DELETE) == {}
    assert given("Delete /srv/old.log", DELETE) == {"path": "/srv/old.log"}
    assert given("Peux-tu supprimer /srv/old.log ?", DELETE) == {"path": "/srv/old.log"}


def test_tools_of_a_server_do_not_share_a_deleted_path() -> None:
    _, removed = bound("Read /etc/hosts and delete the old log", READ, DELETE)
    assert removed.arguments == {}
    assert needs(removed) == ["path"]


def test_rarely_stated_parameters_need_more_confidence() -> None:
    intent = "find all logs under /srv/x and read the newest one"
    key = (READ.pk, "path")
    known = BindingKnowledge(totals={key: 9}, run_counts={READ.pk: 9}, stated_counts={key: 0})
    assert given(intent, READ, is_read_only=True) == {"path": "/srv/x"}
    assert given(intent, READ, is_read_only=True, sure=0.9, knowledge=known) == {}
    often = replace(known, stated_counts={key: 8})
    assert given(intent, READ, is_read_only=True, sure=0.9, knowledge=often) == {"path": "/srv/x"}


LOGIN = tool(
    {"password": text("pw"), "city": text("City")}, required=["city", "password"], name="weather"
)
CARD = tool({"card_number": text("Credit card number")}, required=["card_number"], name="weather")
NOTE = tool({"note": text("Any text to keep")}, required=["note"], name="weather")


@pytest.mark.parametrize(
    ("intent", "one", "name"),
    [
        ("log in to acme with password 'Hunter22xyz!A' and tell it", LOGIN, "password"),
        ("pay with card 4111 1111 1111 1111 now", CARD, "card_number"),
        ("keep the note 'my key is sk-abcdefgh1234'", NOTE, "note"),
    ],
)
def test_a_secret_is_bound_only_for_trusted_servers(
    intent: str, one: WorkflowTool, name: str
) -> None:
    strange = replace(one, is_trusted=False)
    secret = re.search(r"'(.*)'|(\d[\d ]+\d)", intent)
    read = stating(**{name: secret[1] or secret[2]})
    (step,) = bound(intent, strange, read=read)
    assert name not in step.arguments
    assert name in needs(step)
    why = next(need.reason for need in step.needs_input if need.pointer == f"/{name}")
    assert name == "note" or "for an untrusted server" in why
    trusted = arguments(intent, one, read=read)[0]
    assert (name in trusted) is (name != "note"), "no free text takes a secret"


@pytest.mark.parametrize(
    ("name", "value"),
    [("password", "s3cret!"), ("api_key", "live"), ("note", "sk-live-12345678")],
)
def test_a_learned_secret_is_not_reused(name: str, value: str) -> None:
    one = tool({name: text()}, required=[name])
    key = (one.pk, name)
    constant = FrequentConstant(value=value, count=4, stated_count=0)
    known = BindingKnowledge(constants={key: [constant]}, totals={key: 4}, run_counts={one.pk: 4})
    (step,) = bound("connect to it", one, knowledge=known)
    assert step.arguments == {}
    assert needs(step) == [name]


def test_a_value_that_is_too_long_is_not_reused() -> None:
    long = "z" * 1_001
    one = tool({"a": text(default=long), "b": text()}, required=["a", "b"])
    key = (one.pk, "b")
    constant = FrequentConstant(value=long, count=4, stated_count=0)
    known = BindingKnowledge(constants={key: [constant]}, totals={key: 4}, run_counts={one.pk: 4})
    (step,) = bound("do it", one, knowledge=known)
    assert step.arguments == {}
    assert needs(step) == ["a", "b"]
    assert "default is too long to repeat" in step.needs_input[0].reason


WIPE = tool(
    {"environment": {"type": "string", "enum": ["staging", "production"]}, "force": SWITCH},
    required=["environment"],
    name="delete_logs",
)


@pytest.mark.parametrize(
    ("intent", "member", "expected"),
    [
        ("Delete the logs of production", "production", {"environment": "production"}),
        ("Delete the logs everywhere except in production", "production", {}),
        ("Delete all logs, production must stay untouched", "production", {}),
        ("Lösche alle Logs außer in production", "production", {}),
        ("Delete the old logs", "staging", {}),
        ("Delete the logs now", "true", {}),
    ],
)
def test_a_deleting_tool_takes_a_member_only_where_it_is_ordered(
    intent: str, member: str, expected: dict[str, Any]
) -> None:
    [wiped] = bound(intent, WIPE, read=stating(environment=member, force=member))
    assert wiped.arguments == expected


def test_what_is_rarely_stated_passes_the_other_guards_as_well() -> None:
    key = (DELETE.pk, "path")
    known = BindingKnowledge(totals={key: 20}, run_counts={DELETE.pk: 20}, stated_counts={key: 0})
    assert given("Read /etc/hosts and delete the old log", DELETE, knowledge=known) == {}


def test_a_secret_is_no_neighbours_value_at_a_server_that_is_not_trusted() -> None:
    fields = {"channel": text("Channel"), "password": text("Password")}
    send = replace(tool(fields, required=["channel"], name="send"), is_trusted=False)
    read = stating(channel=["hunter2"], password=["hunter2"])
    [sent] = bound("send it using hunter2 as password", send, read=read)
    assert sent.arguments == {}


@pytest.mark.parametrize(
    ("intent", "source", "destination", "expected"),
    [
        ("move /a/x to /b/y", "/a/x", "/b/y", {"source": "/a/x", "destination": "/b/y"}),
        ("move /a/x to /b/y", "/b/y", "/a/x", {}),
        ("move '/a/x' into '/b/y'", "/b/y", "/a/x", {}),
    ],
)
def test_a_move_is_never_turned_around(
    intent: str, source: str, destination: str, expected: dict[str, str]
) -> None:
    move = tool(
        {"source": text(), "destination": text()},
        required=["source", "destination"],
        name="move_file",
    )
    [moved] = bound(intent, move, read=stating(source=source, destination=destination))
    assert moved.arguments == expected
