"""Whether a request orders what a tool does."""

from __future__ import annotations

import pytest

from graph.suggestion.intent.orders import Order, read_order, waits_or_quotes
from graph.suggestion.intent.reading import read_intent

VERBS = frozenset({"delete"})
WORDS = frozenset({"delete", "task"})


def read(text: str) -> Order:
    (request,) = read_intent(text).requests
    return read_order(request, verbs=VERBS, words=WORDS)


@pytest.mark.parametrize(
    "text",
    [
        "delete task 12",
        "could you please delete task 12?",
        "I want to delete task 12",
        "you can delete task 12",
        "permanently delete task 12",
        "get rid of task 12",
        "scrap task 12",
        "lösche die Aufgabe 12",
        "kannst du die Aufgabe 12 bitte löschen?",
        "ich möchte die Aufgabe 12 löschen",
        "borra la tarea 12, por favor",
        "hay que borrar la tarea 12",
        "supprime la tâche 12",
        "peux-tu supprimer la tâche 12, s'il te plaît ?",
        "je voudrais supprimer la tâche 12",
        "il faut supprimer la tâche 12",
        "merci de supprimer la tâche 12",
        "删除任务 12",
        "把任务 12 删除了",
        "能帮我删除任务 12 吗？",  # noqa: RUF001 - as typed
    ],
)
def test_a_verb_behind_polite_words_is_a_plain_order(text: str) -> None:
    assert read(text) is Order.PLAIN


@pytest.mark.parametrize(
    "text",
    [
        "did I delete task 12?",
        "can Bob delete task 12",
        "explain how to delete task 12",
        "remind me to delete task 12",
        "ask Bob to delete task 12",
        "forget it, I wanted to delete task 12",
        "please undo the deletion of task 12",
        "ich habe die Aufgabe 12 gelöscht",
        "mein Chef will die Aufgabe 12 löschen",
        "unterlass es die Aufgabe 12 zu löschen",
        "Bob ha borrado la tarea 12",
        "ayer borré la tarea 12",
        "evita borrar la tarea 12",
        "j'ai supprimé la tâche 12",
        "Paul a supprimé la tâche 12",
        "la tâche 12 a été supprimée",
        "Léa supprimera la tâche 12",
        "elle supprime la tâche 12 demain",
        "j'aurais dû supprimer la tâche 12",
        "mon chef veut supprimer la tâche 12",
        "évite de supprimer la tâche 12",
        "faut-il supprimer la tâche 12 ?",
        "explique comment supprimer la tâche 12",
        "rappelle-moi de supprimer la tâche 12",
        "n'efface pas la tâche 12",
        "老板让我删除任务 12",
        "任务 12 被删除了",
        "我昨天删除了任务 12",
    ],
)
def test_a_question_a_report_and_what_others_are_to_do_deny_an_order(text: str) -> None:
    assert read(text) is Order.DENIED


@pytest.mark.parametrize(
    "text",
    [
        "weekly cleanup",
        "I deleted task 12",
        "my boss said to delete task 12",
        "tell Bob to delete task 12",
        "stop deleting task 12",
    ],
)
def test_what_begins_with_no_verb_or_one_that_leads_to_others_is_no_plain_order(text: str) -> None:
    assert read(text) is Order.UNCLEAR


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        ("when the build is green, delete it", "delete it", True),
        ("sobald Bob zustimmt, lösche es", "lösche es", True),
        ("dès que Paul accepte, supprime-la", "supprime-la", True),
        ("s'il pleut, supprime-la", "supprime-la", True),
        ("s'il te plaît, supprime-la", "supprime-la", False),
        ("le mail dit : supprime-la", "supprime-la", True),
        ("the mail says: delete it", "delete it", True),
        ("the build is green. Delete it", "Delete it", False),
        ("When is lunch? Delete it", "Delete it", False),
    ],
)
def test_what_precedes_an_order_in_its_sentence_may_suspend_it(
    text: str, part: str, *, expected: bool
) -> None:
    assert waits_or_quotes(text, text.index(part)) is expected
