"""Recall of how a team's suggestions turned out."""

import pytest
from django.db import OperationalError

from gateway_project.foundation.database import run_in_database_thread
from learning import recall as module
from learning.memory.context import ContextKey
from learning.memory.event import EventKind, EventOutcome
from learning.memory.outcomes_of_context import NO_OUTCOMES, ContextOutcomes
from learning.recall import OutcomeRecall
from learning.store import events
from tests.factories import TeamFactory
from tests.learning.some_events import PREDICTION, an_event

CONTEXT = ContextKey(context=5, domain=1)


def resolved(outcome, **values):
    given = {"context_hash": 5, "data": {"form": "intent", "confidence": 0.5}}
    return an_event(kind=EventKind.SPECULATION_END, outcome=outcome, **given | values)


def store(*stored):
    start = events.load_position(PREDICTION)
    events.store_records(stored, spool=PREDICTION, start=start, end=start + 1)


@pytest.mark.django_db
def test_outcomes_are_summed_by_team_and_context_and_only_those_that_say_something():
    team = TeamFactory().pk
    store(
        resolved(EventOutcome.HIT),
        resolved(EventOutcome.HIT, weight=0.5),
        resolved(EventOutcome.MISS, data={"confidence": 0.9}),
        resolved(EventOutcome.REJECTED),
        resolved(EventOutcome.MODIFIED),
        resolved(EventOutcome.EXPIRED),
        resolved(EventOutcome.HIT, tool=3),
        resolved(EventOutcome.HIT, data={}),
        resolved(EventOutcome.HIT, context_hash=None),
        resolved(EventOutcome.HIT, team=team),
        an_event(context_hash=5, outcome=EventOutcome.HIT, data={"confidence": 0.5}),
    )
    assert events.load_outcomes() == {
        (None, 5): ContextOutcomes(count=4.5, successes=1.5, expected=pytest.approx(2.65)),
        (team, 5): ContextOutcomes(count=1, successes=1, expected=0.5),
    }


@pytest.mark.django_db(transaction=True)
async def test_a_team_recalls_its_own_outcomes_alone():
    recall = OutcomeRecall()
    assert recall.recall(None, CONTEXT) == NO_OUTCOMES
    await run_in_database_thread(store, resolved(EventOutcome.HIT))
    await recall.refresh()
    assert recall.recall(None, CONTEXT).count == 1
    assert recall.recall(1, CONTEXT) == NO_OUTCOMES
    assert recall.recall(None, ContextKey(context=6, domain=1)) == NO_OUTCOMES


@pytest.mark.django_db(transaction=True)
async def test_the_last_outcomes_stay_while_the_database_is_away(monkeypatch):
    monkeypatch.setattr(module, "REFRESH_INTERVAL_S", 0)
    answers = [{(None, 5): ContextOutcomes(count=1)}, OperationalError("away")]

    class Done(BaseException):
        pass

    def load():
        if not answers:
            raise Done
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(module, "_load_outcomes", load)
    recall = OutcomeRecall()
    with pytest.raises(Done):
        await recall.run()
    assert recall.recall(None, CONTEXT).count == 1
