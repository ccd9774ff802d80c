from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph import record
from graph.record import RelationObservation, RelationRecord
from graph.relations import (
    Evidence,
    EvidenceSource,
    RelationKind,
)

NOW = datetime(2026, 11, 22, tzinfo=UTC)

keys = st.tuples(st.integers(1, 5), st.integers(1, 5), st.sampled_from(RelationKind)).filter(
    lambda key: key[0] != key[1]
)
observations = st.builds(
    lambda key, days, held, failed: (
        seen(*key, at=NOW + timedelta(days=days), successes=held)
        if failed is None
        else seen(*key, at=NOW + timedelta(days=days), successes=held, failures=failed)
    ),
    keys,
    st.integers(-90, 90),
    st.floats(0, 100),
    st.none() | st.floats(0, 100),
)


def said(source=EvidenceSource.SCHEMA, **values):
    known = {"confidence": 0.5, "successes": 0.0, "failures": 0.0, "last_seen": NOW}
    return Evidence(source=source, **(known | values))


def relation(*heard, **values):
    return RelationRecord(source=1, target=2, kind=RelationKind.PRECEDES, evidence=heard, **values)


def seen(source, target, kind=RelationKind.PRECEDES, *, at=NOW, **counts):
    return RelationObservation(source=source, target=target, kind=kind, at=at, **counts)


def test_team_observations_are_visible_to_that_team_only():
    one = relation(said(EvidenceSource.OBSERVED, confidence=None, successes=9.0, team=7))
    assert record.view_for_team(one, None, now=NOW) is None
    assert record.view_for_team(one, 8, now=NOW) is None
    assert record.view_for_team(one, 7, now=NOW).confidence > 0.5
    assert one.observing_teams == {7}


def test_the_detail_contains_everything_known():
    field = {"output": "/id", "input": "/id"}
    one = relation(
        said(fields=(field,)),
        said(EvidenceSource.IMPORTED, fields=(field, {"output": "/n", "input": "/n"})),
        said(
            EvidenceSource.OBSERVED,
            confidence=None,
            successes=4.0,
            failures=2.0,
            seconds=10.0,
            last_seen=NOW - timedelta(days=30),
        ),
        said(EvidenceSource.OBSERVED, confidence=None, successes=2.0, seconds=30.0, team=7),
        reason="so",
        version="2",
        deprecated_at=date(2026, 1, 2),
    )
    shown = record.view_for_team(one, 7, now=NOW)
    assert shown.sources == (
        EvidenceSource.SCHEMA,
        EvidenceSource.OBSERVED,
        EvidenceSource.IMPORTED,
    )
    assert shown.detail == {
        "reason": "so",
        "version": "2",
        "deprecated_at": "2026-01-02",
        "fields": [field, {"output": "/n", "input": "/n"}],
        "successes": pytest.approx(4.0),
        "failures": pytest.approx(1.0),
        "seconds": pytest.approx(20.0),
    }
    assert record.view_for_team(one, None, now=NOW).detail["seconds"] == pytest.approx(10.0)


@given(st.lists(observations, max_size=12))
def test_evidence_is_summed_once_with_decay(batch):
    gathered = record.merge_observations(batch)
    assert [one.key for one in gathered] == sorted({record.storage_key(*one.key) for one in batch})
    for one in gathered:
        of_it = [given for given in batch if record.storage_key(*given.key) == one.key]
        assert one.at == max(given.at for given in of_it)
        for name in ("successes", "failures"):
            expected = sum(
                getattr(given, name) * 0.5 ** ((one.at - given.at).days / 30) for given in of_it
            )
            assert getattr(one, name) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(None, None, None), (2.0, None, 2.0), (None, 2.0, 2.0), (2.0, 6.0, 5.0)],
)
def test_times_are_averaged_over_successes(first, second, expected):
    batch = [seen(1, 2, successes=1.0, seconds=first), seen(1, 2, successes=3.0, seconds=second)]
    (one,) = record.merge_observations(batch)
    assert one.seconds == expected
