from datetime import UTC, datetime, timedelta

import pytest

from graph.models import RelationEvidence, ToolDependency
from graph.record import RelationClaim, RelationObservation, RelationRecord, SelfRelationError
from graph.relations import Evidence, EvidenceSource, RelationKind
from graph.store import relations
from graph.store.relations import RelationChanges, ToolsNotFound
from tests.factories import TeamFactory, ToolFactory

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 22, tzinfo=UTC)
GONE = 10**9


@pytest.fixture
def tools():
    return [tool.pk for tool in ToolFactory.create_batch(4)]


def claim(source, target, kind=RelationKind.PROVIDES, **more):
    return RelationClaim(source=source, target=target, kind=kind, **more)


def imported(source, target, kind=RelationKind.PRECEDES, **more):
    said = Evidence(
        source=EvidenceSource.IMPORTED,
        origin="graph.json",
        confidence=0.6,
        successes=0.0,
        failures=0.0,
        last_seen=NOW,
    )
    return RelationRecord(source=source, target=target, kind=kind, evidence=(said,), **more)


def seen(source, target, kind=RelationKind.PRECEDES, *, at=NOW, **counts):
    counts = counts or {"successes": 1.0}
    return RelationObservation(source=source, target=target, kind=kind, at=at, **counts)


def evidence(pk=None):
    rows = RelationEvidence.objects.order_by("relation", "source")
    return rows if pk is None else rows.filter(relation=pk)


class TestCurating:
    def test_a_curated_claim_is_stored_with_confidence_and_details(self, tools):
        a, b, *_ = tools
        wanted = claim(a, b, RelationKind.REPLACES, version="2.0", reason="faster")
        relations.curate_relation(wanted, by="ann", at=NOW)
        found = relations.load_topology(now=NOW).get(a, b, RelationKind.REPLACES)
        assert (found.confidence, found.sources) == (1.0, (EvidenceSource.CURATED,))
        assert found.detail == {"version": "2.0", "reason": "faster"}

    @pytest.mark.parametrize(
        "kind",
        [
            RelationKind.ALTERNATIVE_TO,
            RelationKind.MUTUALLY_EXCLUSIVE,
            RelationKind.OFTEN_USED_WITH,
        ],
    )
    def test_symmetric_relations_are_stored_once(self, tools, kind):
        a, b, *_ = tools
        first = relations.curate_relation(claim(b, a, kind), by="ann", at=NOW)
        second = relations.curate_relation(claim(a, b, kind), by="ann", at=NOW)
        assert first == second
        assert relations.find_relation(b, a, kind).key == (a, b, kind)

    def test_a_tool_cannot_be_related_to_itself(self, tools):
        with pytest.raises(SelfRelationError, match="cannot be related to itself"):
            relations.curate_relation(claim(tools[0], tools[0]), by="ann", at=NOW)
        assert not ToolDependency.objects.exists()

    def test_a_rejected_relation_is_hidden_and_keeps_its_evidence(self, tools):
        a, b, *_ = tools
        relations.replace_derived([claim(a, b, confidence=0.8)], at=NOW)
        pk = relations.reject_relation(a, b, RelationKind.PROVIDES, reason="other ids", at=NOW)
        assert relations.load([pk])[0].reason == "other ids"
        assert len(relations.load_topology(now=NOW)) == 0
        assert evidence(pk).get().source == "schema"

    def test_curating_revokes_a_rejection(self, tools):
        a, b, *_ = tools
        relations.reject_relation(a, b, RelationKind.PROVIDES, at=NOW)
        relations.curate_relation(claim(a, b), by="ann", at=NOW)
        assert relations.load_topology(now=NOW).get(a, b, RelationKind.PROVIDES) is not None

    def test_rejecting_removes_the_curated_claim(self, tools):
        a, b, *_ = tools
        relations.curate_relation(claim(a, b), by="ann", at=NOW)
        relations.reject_relation(a, b, RelationKind.PROVIDES, at=NOW)
        assert not evidence().exists()
        assert relations.find_relation(a, b, RelationKind.PROVIDES).rejected

    def test_retracting_the_only_evidence_deletes_the_relation(self, tools):
        a, b, *_ = tools
        relations.reject_relation(a, b, RelationKind.PROVIDES, at=NOW)
        assert relations.withdraw_curation(a, b, RelationKind.PROVIDES)
        assert not relations.withdraw_curation(a, b, RelationKind.PROVIDES)
        assert relations.load() == []


class TestDeriving:
    def test_deriving_the_same_relations_writes_nothing(self, tools, django_assert_num_queries):
        a, b, c, _ = tools
        fields = ({"output": "/id", "input": "/id"},)
        claims = [claim(a, b, confidence=0.1 + 0.2, fields=fields), claim(b, c, confidence=0.5)]
        assert relations.replace_derived(claims, at=NOW) == RelationChanges(added=2)
        before = list(evidence().values())
        assert not relations.replace_derived(claims, at=NOW + timedelta(days=1))
        assert list(evidence().values()) == before

    def test_differences_are_written(self, tools):
        a, b, c, d = tools
        relations.replace_derived([claim(a, b, confidence=0.5), claim(b, c)], at=NOW)
        new = [claim(a, b, confidence=0.6), claim(c, d, confidence=0.7)]
        assert relations.replace_derived(new, at=NOW) == RelationChanges(
            added=1, changed=1, removed=1
        )
        assert {one.key[:2] for one in relations.load()} == {(a, b), (c, d)}
        assert relations.find_relation(a, b, RelationKind.PROVIDES).evidence[0].confidence == 0.6

    def test_a_relation_no_longer_derived_stays_with_other_evidence(self, tools):
        a, b, *_ = tools
        relations.replace_derived([claim(a, b, confidence=0.5)], at=NOW)
        relations.observe_relations(None, [seen(a, b, RelationKind.PROVIDES)])
        assert relations.replace_derived([], at=NOW) == RelationChanges(removed=0)
        assert (
            relations.find_relation(a, b, RelationKind.PROVIDES).evidence[0].source
            is EvidenceSource.OBSERVED
        )

    def test_claims_on_deleted_tools_are_skipped(self, tools):
        a, b, *_ = tools
        claims = [claim(a, GONE), claim(a, b)]
        assert relations.replace_derived(claims, at=NOW) == RelationChanges(added=1, skipped=1)

    def test_the_more_confident_of_two_claims_counts(self, tools):
        a, b, *_ = tools
        kind = RelationKind.ALTERNATIVE_TO
        claims = [claim(a, b, kind, confidence=0.4), claim(b, a, kind, confidence=0.6)]
        assert relations.replace_derived(claims, at=NOW) == RelationChanges(added=1)
        assert relations.find_relation(a, b, kind).evidence[0].confidence == 0.6

    def test_a_curated_claim_on_a_shipped_relation_is_kept(self, tools):
        a, b, *_ = tools
        shipped = {"source": EvidenceSource.CURATED, "origin": "foregate", "at": NOW}
        claims = [claim(a, b, RelationKind.DEPENDS_ON, reason="shipped")]
        relations.replace_derived(claims, **shipped)
        mine = claim(a, b, RelationKind.DEPENDS_ON, confidence=0.9, reason="mine")
        relations.curate_relation(mine, by="ann", at=NOW)
        relations.replace_derived(claims, **shipped)
        relations.replace_derived([], **shipped)
        found = relations.find_relation(a, b, RelationKind.DEPENDS_ON)
        assert (found.reason, found.evidence[0].origin) == ("mine", "ann")

    def test_shipped_relations_are_updated(self, tools):
        a, b, *_ = tools
        shipped = {"source": EvidenceSource.CURATED, "origin": "foregate", "at": NOW}
        kind = RelationKind.ALTERNATIVE_TO
        relations.replace_derived([claim(b, a, kind, reason="old")], **shipped)
        new = [claim(b, a, kind, reason="new")]
        assert relations.replace_derived(new, **shipped) == RelationChanges(changed=1)
        assert not relations.replace_derived(new, **shipped)
        assert relations.find_relation(a, b, kind).reason == "new"


class TestImporting:
    def test_claims_are_stored_atomically(self, tools):
        with pytest.raises(ToolsNotFound):
            relations.put_many([imported(*tools[:2]), imported(tools[0], GONE)], at=NOW)
        assert relations.load() == []

    def test_a_relation_given_twice_is_refused(self, tools):
        a, b, *_ = tools
        kind = RelationKind.ALTERNATIVE_TO
        with pytest.raises(ValueError, match="given twice"):
            relations.put_many([imported(a, b, kind), imported(b, a, kind)], at=NOW)

    def test_curated_claims_take_precedence_over_imports(self, tools):
        a, b, c, _ = tools
        relations.curate_relation(
            claim(a, b, RelationKind.DEPENDS_ON, reason="mine"), by="ann", at=NOW
        )
        relations.reject_relation(b, c, RelationKind.PRECEDES, at=NOW)
        relations.put_many(
            [imported(a, b, RelationKind.DEPENDS_ON, required=False), imported(b, c)], at=NOW
        )
        stored = relations.find_relation(a, b, RelationKind.DEPENDS_ON)
        assert (stored.required, stored.reason) == (True, "mine")
        assert relations.find_relation(b, c, RelationKind.PRECEDES).rejected
        relations.put_many([imported(b, c)], at=NOW, lift_rejections=True)
        assert not relations.find_relation(b, c, RelationKind.PRECEDES).rejected

    def test_characters_the_database_cannot_store_are_removed(self, tools):
        a, b, *_ = tools
        relations.put_many([imported(a, b, reason="nul \x00 and \ud800")], at=NOW)
        assert (
            relations.find_relation(a, b, RelationKind.PRECEDES).reason == "nul \ufffd and \ufffd"
        )


class TestObserving:
    def test_earlier_counts_decay(self, tools):
        a, b, *_ = tools
        relations.observe_relations(None, [seen(a, b, successes=8.0, failures=4.0, seconds=1.0)])
        later = NOW + timedelta(days=30)
        new = seen(a, b, at=later, successes=4.0, failures=1.0, seconds=3.0)
        assert relations.observe_relations(None, [new]) == RelationChanges(changed=1)
        (said,) = relations.find_relation(a, b, RelationKind.PRECEDES).evidence
        assert (said.successes, said.failures) == (pytest.approx(8.0), pytest.approx(3.0))
        assert said.seconds == pytest.approx(2.0)
        assert said.last_seen == later

    def test_late_counts_are_added_decayed(self, tools):
        a, b, *_ = tools
        relations.observe_relations(None, [seen(a, b, successes=1.0)])
        relations.observe_relations(None, [seen(a, b, at=NOW - timedelta(days=30), successes=4.0)])
        (said,) = relations.find_relation(a, b, RelationKind.PRECEDES).evidence
        assert (said.successes, said.last_seen) == (pytest.approx(3.0), NOW)

    def test_database_and_memory_sums_agree(self, tools):
        a, b, *_ = tools
        batch = [
            seen(a, b, at=NOW + timedelta(days=7.5 * n), successes=n, failures=1.0, seconds=n)
            for n in (3, 1, 4, 1, 5)
        ]
        relations.observe_relations(None, batch)
        (whole,) = relations.find_relation(a, b, RelationKind.PRECEDES).evidence
        ToolDependency.objects.all().delete()
        for one in batch:
            relations.observe_relations(None, [one])
        (piecemeal,) = relations.find_relation(a, b, RelationKind.PRECEDES).evidence
        assert piecemeal.successes == pytest.approx(whole.successes)
        assert piecemeal.failures == pytest.approx(whole.failures)
        assert piecemeal.seconds == pytest.approx(whole.seconds)

    def test_a_td_rate_lets_each_run_replace_a_share_of_the_earlier_ones(self, tools):
        a, b, *_ = tools
        for held in (1.0, 1.0, 0.0):
            relations.observe_relations(
                None, [seen(a, b, successes=held, failures=1 - held)], td_rate=0.5
            )
        (evidence,) = relations.find_relation(a, b, RelationKind.PRECEDES).evidence
        assert (evidence.successes, evidence.failures) == (0.75, 1.0)

    def test_each_team_has_separate_counts(self, tools):
        a, b, *_ = tools
        ours, theirs = TeamFactory(), TeamFactory()
        relations.observe_relations(ours.pk, [seen(a, b, successes=5.0)])
        relations.observe_relations(theirs.pk, [seen(a, b, successes=1.0, failures=5.0)])
        assert len(relations.load_topology(now=NOW)) == 0
        mine = relations.load_topology(ours.pk, now=NOW).get(a, b, RelationKind.PRECEDES)
        other = relations.load_topology(theirs.pk, now=NOW).get(a, b, RelationKind.PRECEDES)
        assert mine.confidence > 0.5 > other.confidence
        assert mine.detail == {"successes": 5.0, "failures": 0.0}

    def test_co_occurrence_is_stored_once_in_either_direction(self, tools):
        a, b, *_ = tools
        kind = RelationKind.OFTEN_USED_WITH
        relations.observe_relations(None, [seen(b, a, kind), seen(a, b, kind)])
        assert relations.find_relation(a, b, kind).evidence[0].successes == 2.0


class TestForgetting:
    def test_deleting_a_tool_deletes_its_relations(self, tools):
        a, b, c, _ = tools
        relations.put_many([imported(a, b), imported(b, c), imported(a, c)], at=NOW)
        ToolFactory._meta.model.objects.get(pk=b).delete()
        assert [one.key[:2] for one in relations.load()] == [(a, c)]

    def test_relations_seen_only_by_a_deleted_team_are_swept(self, tools):
        a, b, *_ = tools
        team = TeamFactory()
        relations.observe_relations(team.pk, [seen(a, b)])
        relations.reject_relation(a, b, RelationKind.PROVIDES, at=NOW)
        team.delete()
        assert relations.delete_unsupported() == 1
        assert [one.kind for one in relations.load()] == [RelationKind.PROVIDES]
