"""Each outcome of a prediction is counted and taught exactly once, or not at all."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest

from execution.speculation.outcome import Evidence, Outcome, Verdict
from execution.store import speculations
from execution.store.speculations import FoundEvidence, NewSpeculation
from learning import outcomes
from learning.memory.context import ContextKey
from learning.prediction import IMPLICIT_WEIGHT, ResolvedPrediction
from learning.store import totals
from tests.factories import TeamFactory, ToolFactory

pytestmark = pytest.mark.django_db

AT = datetime(2026, 11, 23, 12, tzinfo=UTC)
OVER = AT + timedelta(minutes=10)


def recorded(evidence=Evidence.NONE, **given):
    values = {
        "id": uuid4(),
        "user": "ann",
        "team": None,
        "context_hash": 1,
        "domain_hash": 2,
        "confidence": 0.9,
        "ranked_confidence": 0.9,
        "threshold": 0.92,
        "is_admitted": False,
        "is_runnable": True,
        "tools": (),
        "digest": "d" * 64,
        "saves_ms": 250.0,
        "at": AT,
    }
    new = NewSpeculation(**{**values, **given})
    speculations.insert_speculations([new])
    found = FoundEvidence(id=new.id, user=new.user, team=new.team, evidence=evidence, at=new.at)
    speculations.add_evidence(found)
    return new.id


def accept(speculation, learn=outcomes.learn_nothing):
    return outcomes.give_verdict(
        speculation, Verdict.ACCEPT, allowed=lambda _team, _user: True, at=AT, learn=learn
    )


def summed(team=None):
    rows = totals.load_totals(team, since=AT.date())
    return [(row.predictions, row.hits, row.wasted, row.saved_ms) for row in rows]


def test_a_verdict_is_counted_and_taught_once():
    taught = []
    one = recorded()
    for _ in range(2):
        accept(one, taught.extend)
    assert summed() == [(1, 1, 0, 250.0)]
    assert taught == [
        ResolvedPrediction(
            confidence=0.9,
            succeeded=True,
            weight=1.0,
            at=AT.timestamp(),
            context=ContextKey(context=1, domain=2),
            team=None,
            saves_ms=250.0,
        )
    ]


def test_a_verdict_after_silence_is_taught_and_the_prediction_stays_one():
    taught = []
    one = recorded()
    outcomes.resolve_due(at=OVER, learn=taught.extend)
    assert (summed(), taught) == ([(1, 0, 0, 0.0)], [])
    assert accept(one, taught.extend)[0].outcome is Outcome.HIT
    assert summed() == [(1, 1, 0, 250.0)]
    assert [(found.succeeded, found.weight) for found in taught] == [(True, 1.0)]


def test_what_callers_did_is_counted_and_taught_when_its_time_is_over():
    taught = []
    recorded(Evidence.CALLS)
    recorded(Evidence.OTHER_CALLS)
    recorded()
    assert len(outcomes.resolve_due(at=OVER, learn=taught.extend)) == 3
    assert outcomes.resolve_due(at=OVER, learn=taught.extend) == []
    assert summed() == [(3, 1, 1, 250.0)]
    assert sorted((one.succeeded, one.weight, one.saves_ms) for one in taught) == [
        (False, IMPLICIT_WEIGHT, 0.0),
        (True, IMPLICIT_WEIGHT, 250.0),
    ]


def test_an_outcome_that_could_not_be_taught_is_not_counted_either():
    one = recorded()

    def fail(_resolved):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        accept(one, fail)
    assert summed() == []
    assert accept(one)[0].outcome is Outcome.HIT
    assert summed() == [(1, 1, 0, 250.0)]


def test_suggestions_that_could_not_be_run_teach_thresholds_nothing():
    taught = []
    accept(recorded(is_runnable=False), taught.extend)
    assert taught == []
    assert summed() == [(1, 1, 0, 250.0)]
    assert outcomes.load_resolved(None, limit=9) == []


def test_the_price_of_a_wasted_workflow_is_the_sum_of_its_calls():
    prices = (Decimal("0.5"), Decimal("0.25"), None)
    known, also, unknown = (ToolFactory(server__price_per_call=one).pk for one in prices)
    recorded(Evidence.OTHER_CALLS, tools=(known, also))
    recorded(Evidence.OTHER_CALLS, tools=(known, unknown))
    outcomes.resolve_due(at=OVER)
    (row,) = totals.load_totals(None, since=AT.date())
    assert (row.cost, row.unpriced) == (Decimal("0.75"), 1)


def test_many_outcomes_of_one_team_are_not_seen_by_another():
    ours, theirs = TeamFactory().pk, TeamFactory().pk
    for _ in range(200):
        recorded(Evidence.OTHER_CALLS, team=theirs)
    accept(recorded(team=ours))
    before = outcomes.load_resolved(ours, limit=9_999), summed(ours)
    while outcomes.resolve_due(at=OVER):
        continue
    assert (outcomes.load_resolved(ours, limit=9_999), summed(ours)) == before
    assert len(outcomes.load_resolved(theirs, limit=9_999)) == 200
    assert outcomes.load_resolved(None, limit=9) == []


RAN = {"is_shadow": False, "tasks": (("git:show", 40.0, ""),), "took_ms": 60.0}
FAILED = {**RAN, "tasks": (), "took_ms": 5_000.0, "fallback": "too_slow"}


def resolve(**given):
    """Return the outcome of what was run ahead, and what thresholds are taught."""
    taught = []
    one = recorded(**given)
    (resolved,) = [
        found
        for found in outcomes.resolve_due(at=OVER + timedelta(hours=1), learn=taught.extend)
        if found.id == one
    ]
    return resolved, taught


def test_silence_after_results_made_ahead_teaches_nothing():
    resolved, taught = resolve(**RAN)
    assert (resolved.outcome, taught, summed()) == (Outcome.EXPIRED, [], [(1, 0, 0, 0.0)])


@pytest.mark.parametrize(
    ("before", "outcome"),
    [
        ({}, Outcome.HIT),
        ({"context_hash": 9}, Outcome.EXPIRED),
        ({"user": "bob"}, Outcome.EXPIRED),
        ({"tools": (1,)}, Outcome.EXPIRED),
        ({"evidence": Evidence.OTHER_CALLS}, Outcome.EXPIRED),
        ({"at": AT - timedelta(days=40)}, Outcome.EXPIRED),
    ],
)
def test_silence_is_a_hit_only_of_who_made_these_calls_for_it_before(before, outcome):
    earlier = {
        "evidence": Evidence.CALLS,
        "tools": (1, 2),
        "at": AT - timedelta(minutes=30),
        **before,
    }
    recorded(**earlier)
    outcomes.resolve_due(at=earlier["at"] + timedelta(minutes=20))
    assert resolve(tools=(1, 2), **RAN)[0].outcome is outcome


@pytest.mark.parametrize(
    ("evidence", "outcome", "succeeded"),
    [
        (Evidence.USED, Outcome.HIT, True),
        (Evidence.CALLS, Outcome.HIT, True),
        (Evidence.OTHER_CALLS, Outcome.MISS, False),
        (Evidence.OTHER_RUN, Outcome.MISS, False),
        (Evidence.CHANGED_RUN, Outcome.MODIFIED, False),
    ],
)
def test_results_made_ahead_need_evidence_of_their_use(evidence, outcome, succeeded):
    resolved, taught = resolve(evidence=evidence, **RAN)
    assert resolved.outcome is outcome
    assert [(one.succeeded, one.weight) for one in taught] == [(succeeded, IMPLICIT_WEIGHT)]


def test_a_failed_execution_is_a_failure_and_its_time_is_wasted():
    resolved, taught = resolve(**FAILED)
    assert (resolved.outcome, resolved.wasted_ms) == (Outcome.FAILED, 5_000.0)
    assert [one.succeeded for one in taught] == [False]
    (row,) = totals.load_totals(None, since=AT.date())
    assert (row.wasted, row.wasted_ms, row.is_shadow) == (1, 5_000.0, False)
    assert not resolved.says_of_tools


def test_who_accepts_what_failed_accepts_its_tools_and_not_its_execution():
    taught = []
    resolved, _ = accept(recorded(**FAILED), taught.extend)
    assert (resolved.outcome, resolved.is_wasted) == (Outcome.HIT, True)
    assert [(one.succeeded, one.weight) for one in taught] == [(False, IMPLICIT_WEIGHT)]
