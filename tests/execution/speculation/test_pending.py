from __future__ import annotations

from execution.speculation.pending import (
    MAX_PENDING,
    PendingPredictions,
    PredictionOutcome,
    make_call_key,
)

KEY = make_call_key(1, {"id": 7})
OTHER = make_call_key(2, {})


def test_equal_calls_have_one_key_and_others_do_not():
    assert make_call_key(1, {"id": 7.0}) == KEY
    assert make_call_key(1, {"id": "7"}) != KEY
    assert make_call_key(2, {"id": 7}) != KEY


def test_the_predicted_call_is_a_hit_once():
    pending: PendingPredictions[str] = PendingPredictions()
    pending.add(KEY, "a", at=1)

    (hit,) = pending.resolve_call(KEY, is_read_only=True, at=3)

    assert (hit.prediction, hit.outcome, hit.waited_s) == ("a", PredictionOutcome.HIT, 2)
    assert pending.resolve_call(KEY, is_read_only=True, at=3) == []


def test_a_call_that_only_reads_leaves_other_predictions_pending():
    pending: PendingPredictions[str] = PendingPredictions()
    pending.add(OTHER, "b", at=0)

    assert pending.resolve_call(KEY, is_read_only=True, at=1) == []
    assert OTHER in pending


def test_a_call_that_may_change_something_misses_all_others():
    pending: PendingPredictions[str] = PendingPredictions()
    pending.add(KEY, "a", at=0)
    pending.add(OTHER, "b", at=0)

    found = pending.resolve_call(KEY, is_read_only=False, at=1)

    assert {r.prediction: r.outcome for r in found} == {
        "a": PredictionOutcome.HIT,
        "b": PredictionOutcome.MISS,
    }
    assert len(pending) == 0


def test_predictions_expire_and_an_expired_one_is_no_hit():
    pending: PendingPredictions[str] = PendingPredictions(expires_after_s=60)
    pending.add(KEY, "a", at=0)

    assert pending.expire(59) == []
    (late,) = pending.resolve_call(KEY, is_read_only=True, at=60)

    assert late.outcome is PredictionOutcome.EXPIRED


def test_the_same_call_is_pending_once():
    pending: PendingPredictions[str] = PendingPredictions()
    pending.add(KEY, "a", at=0)
    assert pending.add(KEY, "again", at=5) == []

    (left,) = pending.close(6)

    assert (left.prediction, left.waited_s) == ("a", 6)


def test_the_oldest_gives_way_where_too_many_wait():
    pending: PendingPredictions[int] = PendingPredictions()
    for number in range(MAX_PENDING):
        assert pending.add(f"k{number}", number, at=number) == []

    (gone,) = pending.add("one more", -1, at=999)

    assert (gone.prediction, gone.outcome) == (0, PredictionOutcome.EXPIRED)
    assert len(pending) == MAX_PENDING
