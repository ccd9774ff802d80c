"""What a write leaves as it is: what others said, and what was there before."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from graph.models import ToolDependency
from graph.record import SHIPPED, Claim, Observation, Record, Said
from graph.relations import Kind, Source
from graph.store import relations
from graph.store.deriving import Derived
from tests.factories import TeamFactory, ToolFactory

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 22, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=365 * 200)


@pytest.fixture
def ends():
    return tuple(tool.pk for tool in ToolFactory.create_batch(2))


def importing(*ends, kind=Kind.DEPENDS_ON, **more):
    said = Said(source=Source.IMPORTED, confidence=0.6, last_seen=NOW)
    relations.put_many(
        [Record(source=ends[0], target=ends[1], kind=kind, said=(said,), **more)], at=NOW
    )


def observe(*ends, kind=Kind.PRECEDES, team=None, at=NOW):
    one = Observation(source=ends[0], target=ends[1], kind=kind, successes=1.0, at=at)
    return relations.observe(team, [one])


@pytest.mark.parametrize("reason", ["", "not so"])
def test_what_is_rejected_is_as_it_was_once_that_is_taken_back(ends, reason):
    importing(*ends, required=False, version="2.0", reason="it says so")
    relations.reject(*ends, Kind.DEPENDS_ON, reason=reason, at=NOW)
    relations.withdraw(*ends, Kind.DEPENDS_ON)
    found = relations.find(*ends, Kind.DEPENDS_ON)
    assert (found.required, found.version, found.rejected) == (False, "2.0", False)
    assert found.reason == (reason or "it says so")


def test_what_goes_both_ways_is_rejected_whichever_way_it_is_named(ends):
    importing(*ends, kind=Kind.ALTERNATIVE_TO, reason="alike")
    relations.reject(*reversed(ends), Kind.ALTERNATIVE_TO, at=NOW)
    found = relations.find(*ends, Kind.ALTERNATIVE_TO)
    assert (found.rejected, found.reason) == (True, "alike")


@pytest.mark.parametrize("moments", [(LONG_AGO, NOW), (NOW, LONG_AGO)])
def test_what_was_seen_centuries_apart_adds_up(ends, moments):
    for at in moments:
        observe(*ends, at=at)
    (said,) = relations.find(*ends, Kind.PRECEDES).said
    assert (said.successes, said.last_seen) == (pytest.approx(1.0), NOW)


def test_what_is_only_observed_is_not_required_until_somebody_says_so(ends):
    observe(*ends, kind=Kind.DEPENDS_ON)
    assert not relations.find(*ends, Kind.DEPENDS_ON).required
    importing(*ends)
    assert relations.find(*ends, Kind.DEPENDS_ON).required
    observe(*ends, kind=Kind.DEPENDS_ON)
    assert relations.find(*ends, Kind.DEPENDS_ON).required


def test_what_a_team_that_is_gone_has_seen_is_left_out(ends):
    team = TeamFactory()
    gone = team.pk
    team.delete()
    with transaction.atomic():
        assert observe(*ends, team=gone).skipped == 1
    assert not ToolDependency.objects.exists()


@pytest.mark.parametrize(("source", "origin"), [(Source.SCHEMA, ""), (Source.CURATED, SHIPPED)])
def test_a_word_given_while_relations_are_derived_stands(ends, monkeypatch, source, origin):
    def derive(reason, confidence):
        claim = Claim(
            source=ends[0],
            target=ends[1],
            kind=Kind.DEPENDS_ON,
            confidence=confidence,
            required=False,
            reason=reason,
        )
        relations.replace_derived([claim], at=NOW, source=source, origin=origin)

    derive("a guess", 0.5)
    lock = Derived._lock

    def meanwhile(self, pks):
        said = Claim(source=ends[0], target=ends[1], kind=Kind.DEPENDS_ON, reason="I know")
        relations.curate(said, by="ann", at=NOW)
        lock(self, pks)

    monkeypatch.setattr(Derived, "_lock", meanwhile)
    derive("another guess", 0.7)
    found = relations.find(*ends, Kind.DEPENDS_ON)
    assert (found.reason, found.required) == ("I know", True)
    (word,) = [said for said in found.said if said.source is Source.CURATED]
    assert (word.origin, word.confidence) == ("ann", 1.0)


def test_what_is_derived_otherwise_now_replaces_what_it_said_before(ends):
    for confidence, reason in ((0.5, "so"), (0.7, "thus")):
        claim = Claim(
            source=ends[0],
            target=ends[1],
            kind=Kind.PRECEDES,
            confidence=confidence,
            reason=reason,
        )
        relations.replace_derived([claim], at=NOW, source=Source.CURATED, origin=SHIPPED)
    found = relations.find(*ends, Kind.PRECEDES)
    assert (found.reason, found.said[0].confidence) == ("thus", 0.7)


def test_what_is_read_to_be_changed_is_locked(ends):
    importing(*ends)
    pk = relations.find(*ends, Kind.DEPENDS_ON).pk
    with transaction.atomic(), CaptureQueriesContext(connection) as queries:
        (found,) = relations.locked([pk])
    assert found.key == (*ends, Kind.DEPENDS_ON)
    assert "FOR UPDATE" in queries[0]["sql"]
