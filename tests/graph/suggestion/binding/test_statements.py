"""What the reader reads becomes arguments: the surest first, each part of the intent once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from graph.suggestion.binding.bind import bind_arguments
from graph.suggestion.intent.reading import read_intent
from tests.graph.suggestion.binding.tools import stating, steps, text, tool
from tools.embed.reader import Answer, MarkedWord, Question

NUMBER = {"type": "integer"}


def make_reader(stated: Mapping[str, Mapping[str, float]]):
    """Read for each parameter the words and probabilities that are given for it."""

    def read(intent: str, questions: Sequence[Question]) -> list[Answer]:
        answers = []
        for question in questions:
            name = question.text.partition(" (")[0]
            shares = stated.get(name, {})
            words, at = [], 0
            for word in intent.split():
                start = intent.index(word, at)
                at = start + len(word)
                share = shares.get(word, 0.01)
                words.append(MarkedWord(start, at, share, share))
            members = tuple(
                shares.get(question.text[start:end], 0.0) for start, end in question.members
            )
            answers.append(Answer(max([0.01, *shares.values()]), tuple(words), members))
        return answers

    return read


def bind(intent: str, fields: Mapping[str, Any], stated: Any, **known: Any) -> dict[str, Any]:
    one = replace(tool(fields, required=list(fields)), **known)
    [bound] = bind_arguments(steps(one), reading=read_intent(intent), read=make_reader(stated))
    return dict(bound.arguments)


def test_each_parameter_takes_what_is_read_for_it():
    intent = "hire Mira as gardener for 3 days"
    fields = {"person": text(), "role": text(), "days": NUMBER}
    stated = {"person": {"Mira": 0.95}, "role": {"gardener": 0.95}, "days": {"3": 0.95}}
    assert bind(intent, fields, stated) == {"person": "Mira", "role": "gardener", "days": 3}


@pytest.mark.parametrize(
    ("whole", "fields", "expected"),
    [
        ("acme/web", {"owner": text(), "repo": text()}, {"owner": "acme", "repo": "web"}),
        ("db.corp:3306", {"host": text(), "port": NUMBER}, {"host": "db.corp", "port": 3306}),
        ("acme/web/docs", {"owner": text(), "repo": text()}, {"repo": "acme/web/docs"}),
        ("acme/web", {"repo": text()}, {"repo": "acme/web"}),
    ],
)
def test_two_parameters_share_what_is_written_as_one(whole, fields, expected):
    read_as = "repo" if "repo" in fields else "host"
    assert bind(f"look at {whole}", fields, {read_as: {whole: 0.95}}) == expected


def test_what_is_not_sure_stays_open():
    assert bind("hire Mira", {"person": text()}, {"person": {"Mira": 0.45}}) == {}


def test_a_tool_that_may_change_something_has_to_be_surer():
    stated, fields = {"person": {"Mira": 0.58}}, {"person": text()}
    assert bind("hire Mira", fields, stated, is_read_only=True) == {"person": "Mira"}
    assert bind("hire Mira", fields, stated) == {}


def test_what_comes_too_late_takes_what_is_left():
    intent = "config 30771 of mysql-extractor"
    fields = {"config": text(), "component": text()}
    both = {"30771": 0.99, "mysql-extractor": 0.98}
    stated = {"config": {"30771": 0.99}, "component": both}
    assert bind(intent, fields, stated) == {"config": "30771", "component": "mysql-extractor"}


def test_several_items_become_a_list():
    fields = {"tags": {"type": "array", "items": {"type": "string"}}}
    stated = {"tags": {"red": 0.95, "green": 0.95}}
    assert bind("tag it red and green", fields, stated) == {"tags": ["red", "green"]}


def test_a_member_is_read_from_its_words_or_by_its_meaning():
    fields = {"unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}}
    assert bind("in celsius please", fields, {"unit": {"celsius": 0.95}}) == {"unit": "celsius"}
    meant = {"unit": {"fahrenheit": 0.95}}
    assert bind("as Americans like it", fields, meant) == {"unit": "fahrenheit"}


def test_a_switch_is_set_by_what_is_meant():
    fields = {"recursive": {"type": "boolean"}}
    assert bind("only this folder", fields, {"recursive": {"false": 0.95}}) == {"recursive": False}


@pytest.mark.parametrize(
    ("schema", "intent", "word", "value"),
    [
        (text(format="date"), "from 2026-03-05 on", "2026-03-05", "2026-03-05"),
        ({"type": "number"}, "it weighs 64.5 kg", "64.5", 64.5),
        (NUMBER, "take five of them", "five", 5),
    ],
)
def test_values_take_the_form_of_the_schema(schema, intent, word, value):
    assert bind(intent, {"it": schema}, {"it": {word: 0.95}}) == {"it": value}


def test_a_value_that_the_schema_refuses_is_not_bound():
    assert bind("room blue", {"room": NUMBER}, {"room": {"blue": 0.95}}) == {}


def test_nothing_private_is_asked_for_a_server_that_is_not_trusted():
    secret = {"password": text()}
    stated = make_reader({"password": {"x1": 0.99}})
    [one] = steps(replace(tool(secret, required=["password"]), is_trusted=False))
    [found] = bind_arguments([one], reading=read_intent("log in with x1"), read=stated)
    assert found.arguments == {}


@pytest.mark.parametrize(
    "intent", ["do not delete notes.md", "why was notes.md deleted?", "keep notes.md"]
)
def test_what_an_intent_does_not_order_is_never_bound(intent):
    remove = tool({"file": text()}, required=["file"], name="delete_file")
    stated = make_reader({"file": {"notes.md": 0.99, "notes.md?": 0.99}})
    [bound] = bind_arguments(steps(remove), reading=read_intent(intent), read=stated)
    assert bound.arguments == {}


def test_sql_that_changes_data_is_taken_only_in_quotation_marks():
    run = tool({"sql": text()}, required=["sql"], name="execute_sql")
    sql = "DELETE FROM t WHERE id = 3"
    for intent, expected in ((f"run '{sql}'", {"sql": sql}), (f"run {sql}", {})):
        [bound] = bind_arguments(steps(run), reading=read_intent(intent), read=stating(sql=sql))
        assert bound.arguments == expected


def test_tasks_of_unknown_requests_take_what_stands_in_the_clause_of_their_tool():
    status = tool({"repo_path": text()}, required=["repo_path"], name="git_status")
    show = tool({"path": text()}, required=["path"], name="read_file")
    intent = "show the status of the repository '/srv/shop', and read the file '/srv/notes.txt'"
    both = ["/srv/shop", "/srv/notes.txt"]
    bound = bind_arguments(
        steps(*(replace(one, is_read_only=True) for one in (status, show))),
        reading=read_intent(intent),
        read=stating(repo_path=both, path=both),
    )
    assert [one.arguments for one in bound] == [
        {"repo_path": "/srv/shop"},
        {"path": "/srv/notes.txt"},
    ]
