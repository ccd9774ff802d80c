from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from execution.speculation.calls import SpeculativeRun
from execution.speculation.outcome import RESOLVE_AFTER_S, Evidence
from learning.episodes import Episode
from learning.memory.context import ContextKey
from learning.predictions import open_intents
from learning.predictions.open_intents import (
    NOT_RUN,
    AheadRecord,
    OpenIntents,
    PredictedIntent,
    find_telling_values,
)
from tests.execution.workflows import known_task

ANN = ("ann", 1, "session")
STEPS = (
    known_task("a", 1, {"name": "Ann"}),
    known_task("b", 2, {"to": {"$ref": "a", "pointer": "/mail"}}),
)


def predicted(tasks=STEPS, *, caller=ANN, at=100.0, speculation=None, ran=NOT_RUN):
    return PredictedIntent(
        id=speculation or uuid4(),
        caller=caller,
        intent="write to Ann",
        tasks=tasks,
        confidence=0.9,
        ranked_confidence=0.9,
        threshold=0.92,
        is_admitted=False,
        is_runnable=True,
        context=ContextKey(context=1, domain=2),
        at=at,
        ran=ran,
    )


RAN = AheadRecord(
    values=find_telling_values({"id": "PR-4711"}),
    episode=Episode(calls=(), intent="", certainty=1.0),
)


@pytest.fixture
def opened():
    return OpenIntents()


def call(opened, tool, caller=ANN, at=101.0, **arguments):
    return [evidence for _, evidence in opened.note_call(caller, tool, arguments, at=at)]


def test_results_do_not_stay_in_memory(opened):
    run = SpeculativeRun(raw_results={"a": ({},)}, lists=frozenset(), tasks=(), took_s=0.1)
    given = predicted(ran=replace(RAN, run=run))
    opened.add(given)
    followed = opened.find(given.caller, given.id)
    assert (followed.ran.run, followed.ran.values) == (None, RAN.values)


def test_calls_that_carry_out_all_tasks_confirm_the_suggestion(opened):
    opened.add(predicted())
    assert call(opened, 1, name="Ann") == [Evidence.SOME_CALLS]
    assert call(opened, 2, to="ann@x.org") == [Evidence.CALLS]
    assert call(opened, 9) == []


def test_other_tools_contradict_until_a_suggested_one_is_called(opened):
    opened.add(predicted())
    assert call(opened, 9) == [Evidence.OTHER_CALLS]
    assert call(opened, 8) == []
    assert call(opened, 1, name="Ann") == [Evidence.SOME_CALLS]


@pytest.mark.parametrize("other", [("bob", 1, "session"), ("ann", 2, "session"), ("ann", 1, "x")])
def test_calls_of_another_session_show_nothing(opened, other):
    opened.add(predicted())
    assert call(opened, 1, caller=other, name="Ann") == []
    assert opened.list_open(other, at=101.0) == []


def test_a_suggestion_is_followed_for_ten_minutes(opened):
    opened.add(predicted())
    assert call(opened, 1, at=100.0 + RESOLVE_AFTER_S, name="Ann") == []
    assert opened._by_session == {}


def test_open_suggestions_are_listed_newest_first_until_they_are_closed(opened):
    first, second = predicted(), predicted(at=101.0)
    opened.add(first)
    opened.add(second)
    assert opened.list_open(ANN, at=102.0) == [second, first]
    opened.close(ANN, second.id)
    opened.close(("bob", 1, ""), first.id)
    assert opened.list_open(ANN, at=102.0) == [first]
    opened.close(ANN, first.id)
    assert opened.list_open(ANN, at=102.0) == []


def test_memory_is_bounded(opened, monkeypatch):
    monkeypatch.setattr(open_intents, "MAX_SESSIONS", 2)
    for number in range(open_intents.MAX_PER_SESSION + 1):
        opened.add(predicted(speculation=UUID(int=number)))
    followed = opened.list_open(ANN, at=101.0)
    assert [one.id.int for one in followed] == [8, 7, 6, 5, 4, 3, 2, 1]
    for user in ("bob", "eve"):
        opened.add(predicted(caller=(user, 1, "")))
    assert opened.list_open(ANN, at=101.0) == []
    assert len(opened._by_session) == 2


@pytest.mark.parametrize(
    ("arguments", "evidence"),
    [
        ({"id": "PR-4711"}, Evidence.USED),
        ({"body": "See PR-4711."}, Evidence.USED),
        ({"ids": [{"id": "PR-4711"}]}, Evidence.USED),
        ({"id": "PR-4712"}, Evidence.OTHER_CALLS),
        ({}, Evidence.OTHER_CALLS),
    ],
)
def test_results_made_ahead_are_used_by_who_passes_a_value_of_them_on(opened, arguments, evidence):
    opened.add(predicted(ran=RAN))
    assert call(opened, 9, **arguments) == [evidence]


def test_results_made_ahead_are_used_by_who_asks_for_one_of_them(opened):
    opened.add(predicted(ran=RAN))
    assert call(opened, 1, name="Ann") == [Evidence.USED]
    assert call(opened, 9) == []


def test_results_that_were_not_made_ahead_cannot_have_been_used(opened):
    opened.add(predicted())
    assert call(opened, 9, id="PR-4711") == [Evidence.OTHER_CALLS]


def test_other_calls_contradict_the_newest_intent_only(opened):
    first, second = predicted(ran=RAN), predicted()
    opened.add(first)
    opened.add(second)
    assert opened.note_call(ANN, 9, {}, at=101.0) == [(second, Evidence.OTHER_CALLS)]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"id": 48213}, {"48213"}),
        ("ann@example.org", {"ann@example.org"}),
        (["src/main.py", {"sha": "9fceb02d0ae"}], {"src/main.py", "9fceb02d0ae"}),
        ("The leaking boiler", {"The leaking boiler"}),
        ({"state": "open", "count": 3, "done": True, "none": None}, set()),
        (["2026", "2026-11-28", "2026-11-28T10:00:00Z", "12:30", 2.0], set()),
        ("x" * 30_000, set()),
    ],
)
def test_values_are_telling_that_two_places_hardly_share_by_chance(value, found):
    assert find_telling_values(value) == found
