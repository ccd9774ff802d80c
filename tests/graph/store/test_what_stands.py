"""What a write leaves as it is: what others said, and what was there before."""

from datetime import UTC, datetime

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from graph.record import RelationClaim, RelationObservation, RelationRecord
from graph.relations import SHIPPED, Evidence, EvidenceSource, RelationKind
from graph.store import relations
from graph.store.deriving import DerivedEvidence
from tests.factories import ToolFactory

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture
def ends():
    return tuple(tool.pk for tool in ToolFactory.create_batch(2))


def importing(*ends, kind=RelationKind.DEPENDS_ON, **more):
    said = Evidence(source=EvidenceSource.IMPORTED, confidence=0.6, last_seen=NOW)
    relations.put_many(
        [RelationRecord(source=ends[0], target=ends[1], kind=kind, evidence=(said,), **more)],
        at=NOW,
    )


def observe(*ends, kind=RelationKind.PRECEDES, team=None, at=NOW):
    one = RelationObservation(source=ends[0], target=ends[1], kind=kind, successes=1.0, at=at)
    return relations.observe_relations(team, [one])


@pytest.mark.parametrize("reason", ["", "not so"])
def test_revoking_a_rejection_restores_the_relation(ends, reason):
    importing(*ends, required=False, version="2.0", reason="it says so")
    relations.reject_relation(*ends, RelationKind.DEPENDS_ON, reason=reason, at=NOW)
    relations.withdraw_curation(*ends, RelationKind.DEPENDS_ON)
    found = relations.find_relation(*ends, RelationKind.DEPENDS_ON)
    assert (found.required, found.version, found.rejected) == (False, "2.0", False)
    assert found.reason == (reason or "it says so")


def test_observed_relations_are_not_required_until_curated(ends):
    observe(*ends, kind=RelationKind.DEPENDS_ON)
    assert not relations.find_relation(*ends, RelationKind.DEPENDS_ON).required
    importing(*ends)
    assert relations.find_relation(*ends, RelationKind.DEPENDS_ON).required
    observe(*ends, kind=RelationKind.DEPENDS_ON)
    assert relations.find_relation(*ends, RelationKind.DEPENDS_ON).required


@pytest.mark.parametrize(
    ("source", "origin"), [(EvidenceSource.SCHEMA, ""), (EvidenceSource.CURATED, SHIPPED)]
)
def test_a_claim_made_during_derivation_is_kept(ends, monkeypatch, source, origin):
    def derive(reason, confidence):
        claim = RelationClaim(
            source=ends[0],
            target=ends[1],
            kind=RelationKind.DEPENDS_ON,
            confidence=confidence,
            required=False,
            reason=reason,
        )
        relations.replace_derived([claim], at=NOW, source=source, origin=origin)

    derive("a guess", 0.5)
    lock = DerivedEvidence._lock_relations

    def meanwhile(self, pks):
        said = RelationClaim(
            source=ends[0], target=ends[1], kind=RelationKind.DEPENDS_ON, reason="I know"
        )
        relations.curate_relation(said, by="ann", at=NOW)
        lock(self, pks)

    monkeypatch.setattr(DerivedEvidence, "_lock_relations", meanwhile)
    derive("another guess", 0.7)
    found = relations.find_relation(*ends, RelationKind.DEPENDS_ON)
    assert (found.reason, found.required) == ("I know", True)
    (word,) = [said for said in found.evidence if said.source is EvidenceSource.CURATED]
    assert (word.origin, word.confidence) == ("ann", 1.0)


def test_rows_read_for_update_are_locked(ends):
    importing(*ends)
    pk = relations.find_relation(*ends, RelationKind.DEPENDS_ON).pk
    with transaction.atomic(), CaptureQueriesContext(connection) as queries:
        (found,) = relations.lock_relations([pk])
    assert found.key == (*ends, RelationKind.DEPENDS_ON)
    assert "FOR UPDATE" in queries[0]["sql"]
