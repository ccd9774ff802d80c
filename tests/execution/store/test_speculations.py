"""Predictions are recorded once, resolved once, and seen by nobody else."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model

from execution.models import Speculation
from execution.speculation.outcome import Evidence, Outcome, OutcomeSum, Verdict
from execution.status import RunStatus
from execution.store import outcome_sums, speculations
from execution.store.speculations import (
    FeedbackGiven,
    FoundEvidence,
    NewSpeculation,
    SpeculationResolved,
    UnknownSpeculation,
)
from gateway_project.models import RetiredUserName
from tests.execution.stored import changes, held, write
from tests.factories import TeamFactory

pytestmark = pytest.mark.django_db

AT = datetime(2026, 11, 23, 12, tzinfo=UTC)
LATER = AT + timedelta(minutes=5)
OVER = AT + timedelta(minutes=10)


def recorded(**given):
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
        "tools": (3, 5),
        "digest": "d" * 64,
        "saves_ms": 250.0,
        "at": AT,
    }
    new = NewSpeculation(**{**values, **given})
    speculations.insert_speculations([new])
    return new


def evidence(of, kind, *, at=LATER, user="ann", team=None, **more):
    return speculations.add_evidence(
        FoundEvidence(id=of.id, user=user, team=team, evidence=kind, at=at, **more)
    )


def anybody(_team, _user):
    return True


def verdict(of, said="accept", *, at=LATER, allowed=anybody, **more):
    return speculations.record_verdict(of.id, Verdict(said), allowed=allowed, at=at, **more)


def resolved(at=OVER):
    return {one.id: one for one in speculations.resolve_due(at=at)}


def test_a_prediction_recorded_twice_is_one():
    first = recorded()
    recorded(id=first.id, confidence=0.1)
    assert Speculation.objects.get().confidence == 0.9


def test_nothing_is_resolved_before_ten_minutes():
    recorded()
    assert resolved(OVER - timedelta(seconds=1)) == {}


def test_a_prediction_of_which_nothing_was_heard_expires_without_weight():
    new = recorded()
    one = resolved()[new.id]
    assert (one.outcome, one.weight, one.is_explicit) == (Outcome.EXPIRED, 0.0, False)
    assert one.resolved_at == OVER
    assert resolved() == {}


def test_calls_that_carry_it_out_are_a_hit_of_half_weight_ten_minutes_later():
    new = recorded()
    assert evidence(new, Evidence.CALLS)
    assert resolved() == {}
    one = resolved(LATER + timedelta(minutes=10))[new.id]
    assert (one.outcome, one.weight) == (Outcome.HIT, 0.5)


def test_the_same_evidence_again_does_not_put_off_the_end():
    new = recorded()
    evidence(new, Evidence.OTHER_CALLS, at=AT)
    assert not evidence(new, Evidence.OTHER_CALLS)
    assert resolved()[new.id].outcome is Outcome.MISS


def test_weaker_evidence_changes_nothing():
    new = recorded()
    evidence(new, Evidence.CALLS, at=AT)
    assert not evidence(new, Evidence.OTHER_CALLS)
    assert resolved()[new.id].outcome is Outcome.HIT


@pytest.mark.parametrize(
    ("status", "outcome"), [("succeeded", Outcome.HIT), ("failed", Outcome.MISS)]
)
def test_a_run_of_the_suggested_workflow_counts_as_it_ended(sealer, status, outcome):
    new, run = recorded(), held(sealer).run
    evidence(new, Evidence.RUN, at=AT, run=run)
    assert resolved() == {}, "the run has not ended"
    write(sealer, changes(run, seqs=[2], status=RunStatus(status)))
    assert resolved()[new.id].outcome is outcome


def test_a_run_that_never_ends_says_nothing(sealer):
    new = recorded()
    evidence(new, Evidence.RUN, at=AT, run=held(sealer).run)
    assert resolved(AT + timedelta(days=1))[new.id].outcome is Outcome.EXPIRED


def test_a_changed_workflow_with_the_same_tools_had_the_right_tools():
    same, other = recorded(), recorded()
    evidence(same, Evidence.CHANGED_RUN, at=AT, changed_tools=(5, 3))
    evidence(other, Evidence.CHANGED_RUN, at=AT, changed_tools=(5,))
    done = resolved()
    assert {one.outcome for one in done.values()} == {Outcome.MODIFIED}
    assert done[same.id].has_right_tools
    assert not done[other.id].has_right_tools


def test_a_verdict_counts_at_once_and_in_full():
    new = recorded()
    one, is_new, _ = verdict(new, "modify", changed_tools=[3])
    assert is_new
    assert (one.outcome, one.weight, one.is_explicit) == (Outcome.MODIFIED, 1.0, True)
    assert one.changed_tools == (3,)
    assert resolved() == {}


def test_a_verdict_outweighs_what_the_caller_did():
    new = recorded()
    evidence(new, Evidence.CALLS)
    assert verdict(new, "reject")[0].outcome is Outcome.REJECTED


def test_the_same_verdict_again_changes_nothing():
    new = recorded()
    first = verdict(new).resolved
    assert verdict(new, at=OVER) == (first, False, False)


def test_another_verdict_is_refused():
    new = recorded()
    verdict(new)
    with pytest.raises(FeedbackGiven, match="accept"):
        verdict(new, "reject")
    assert Speculation.objects.get().outcome == "hit"


def test_a_verdict_is_refused_once_what_the_caller_did_decides_whether_or_not_it_was_resolved():
    new = recorded()
    evidence(new, Evidence.CALLS, at=AT)
    with pytest.raises(SpeculationResolved, match="decided by what the caller did"):
        verdict(new, at=OVER)
    resolved()
    with pytest.raises(SpeculationResolved, match="hit"):
        verdict(new)


@pytest.mark.parametrize("is_resolved", [False, True])
def test_a_verdict_is_taken_after_silence(is_resolved):
    new = recorded()
    if is_resolved:
        resolved()
    given = verdict(new, at=OVER)
    assert (given.resolved.outcome, given.was_expired) == (Outcome.HIT, is_resolved)
    assert given.resolved.resolved_at == OVER
    assert verdict(new) == (given.resolved, False, False)


def test_a_verdict_is_taken_while_the_run_lasts(sealer):
    new = recorded()
    evidence(new, Evidence.RUN, at=AT, run=held(sealer).run)
    assert verdict(new, at=OVER + timedelta(minutes=1))[1]


def test_a_prediction_of_somebody_else_is_unknown():
    new = recorded()
    with pytest.raises(UnknownSpeculation):
        verdict(new, allowed=lambda team, user: (team, user) == (None, "bob"))
    with pytest.raises(UnknownSpeculation):
        speculations.record_verdict(uuid4(), Verdict.ACCEPT, allowed=anybody, at=LATER)


@pytest.mark.parametrize("other", [{"user": "bob"}, {"team": "ops"}])
def test_evidence_of_another_caller_is_dropped(other):
    if "team" in other:
        other = {"team": TeamFactory().pk}
    new = recorded()
    assert not evidence(new, Evidence.RUN, **other)
    caller = {"user": "ann", "team": None, **other}
    assert speculations.load_fingerprint(new.id, **caller) is None
    assert speculations.load_fingerprint(new.id, user="ann", team=None) == ((3, 5), "d" * 64)


def test_evidence_after_the_end_is_dropped():
    new = recorded()
    verdict(new)
    assert not evidence(new, Evidence.RUN)


def test_a_team_sees_its_own_outcomes_only():
    team = TeamFactory()
    mine, theirs = recorded(team=team.pk), recorded()
    verdict(mine)
    verdict(theirs, "reject")
    found = speculations.load_resolved(team.pk, limit=9)
    assert [one.id for one in found] == [mine.id]
    assert [one.id for one in speculations.load_resolved(None, limit=9)] == [theirs.id]


def test_the_newest_outcomes_are_loaded_oldest_first():
    ids = [recorded().id for _ in range(3)]
    for minute, one in enumerate(ids):
        speculations.record_verdict(
            one, Verdict.ACCEPT, allowed=anybody, at=AT + timedelta(minutes=minute)
        )
    assert [one.id for one in speculations.load_resolved(None, limit=2)] == ids[1:]
    late = speculations.load_resolved(None, limit=9, since=AT + timedelta(minutes=2))
    assert [one.id for one in late] == ids[2:]


def test_what_teaches_nothing_can_be_left_out():
    recorded()
    for given in ({"is_runnable": False}, {}):
        verdict(recorded(**given), at=AT)
    resolved()
    assert len(speculations.load_resolved(None, limit=9)) == 3
    assert len(speculations.load_resolved(None, limit=9, only_telling=True)) == 1


def test_old_outcomes_are_deleted_and_open_predictions_never():
    verdict(recorded())
    left = recorded()
    assert speculations.count_old(before=LATER) == 0
    assert speculations.delete_old(before=LATER + timedelta(seconds=1)) == 1
    assert Speculation.objects.get().pk == left.id


def test_open_predictions_are_counted_by_team():
    recorded(team=TeamFactory().pk)
    verdict(recorded())
    recorded()
    assert speculations.count_open(None) == 1


def test_predictions_follow_the_account_they_were_made_for():
    ann = get_user_model().objects.create(username="ann")
    new = recorded()
    ann.username = "anna"
    ann.save()
    assert speculations.load_fingerprint(new.id, user="anna", team=None)
    ann.delete()
    RetiredUserName.objects.all().delete()  # or nobody could take the name
    get_user_model().objects.create(username="anna")
    assert speculations.load_fingerprint(new.id, user="anna", team=None) is None


def test_outcomes_are_summed_by_context_and_confidence_if_they_say_something():
    team = TeamFactory().pk

    def judged(verdict, changed_tools=None, **given):
        new = recorded(**given)
        speculations.record_verdict(
            new.id, verdict, allowed=anybody, at=LATER, changed_tools=changed_tools
        )

    judged(Verdict.ACCEPT, ranked_confidence=0.501)
    judged(Verdict.MODIFY, [5, 3], ranked_confidence=0.499)
    judged(Verdict.MODIFY, [5, 3, 3], ranked_confidence=0.5)
    judged(Verdict.MODIFY, ranked_confidence=0.5)
    judged(Verdict.REJECT, ranked_confidence=0.8)
    judged(Verdict.ACCEPT, ranked_confidence=0.5, team=team)
    evidence(recorded(ranked_confidence=0.5), Evidence.CALLS)
    recorded(ranked_confidence=0.5)
    speculations.resolve_due(at=OVER + timedelta(days=2))
    recorded(ranked_confidence=0.5)
    judged(Verdict.ACCEPT, ranked_confidence=0.0)
    assert set(outcome_sums.sum_outcomes()) == {
        OutcomeSum(None, 1, 0.5, 4.5, 2.5),
        OutcomeSum(None, 1, 0.8, 1.0, 0.0),
        OutcomeSum(team, 1, 0.5, 1.0, 1.0),
    }
