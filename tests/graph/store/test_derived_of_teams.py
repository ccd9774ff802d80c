from datetime import UTC, datetime, timedelta

import pytest

from graph.models import RelationEvidence, ToolDependency
from graph.record import RelationClaim, RelationObservation
from graph.relations import EvidenceSource, RelationKind
from graph.store import relations
from graph.store.relations import RelationChanges
from graph.store.relations import replace_derived_of_teams as replace
from tests.factories import TeamFactory, ToolFactory

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 22, tzinfo=UTC)
DAY = timedelta(days=1)
PAIR = {"output": "/items/*/widget_id", "input": "/widget_id"}


@pytest.fixture
def tools():
    return [tool.pk for tool in ToolFactory.create_batch(3)]


@pytest.fixture
def teams():
    return [team.pk for team in TeamFactory.create_batch(2)]


def claim(source, target, confidence=0.6, fields=(PAIR,)):
    return RelationClaim(
        source=source,
        target=target,
        kind=RelationKind.PROVIDES,
        confidence=confidence,
        fields=fields,
    )


def count(team, source, target, *, at=NOW, **counts):
    seen = RelationObservation(
        source=source, target=target, kind=RelationKind.PROVIDES, at=at, **counts
    )
    relations.observe_relations(team, [seen])


def said():
    columns = ("team_id", "source", "confidence", "successes", "failures", "fields")
    return sorted(RelationEvidence.objects.values_list(*columns))


def seen_by(team, source, target):
    return relations.load_topology(team, now=NOW).get(source, target, RelationKind.PROVIDES)


def test_a_team_relation_is_visible_to_that_team_with_its_confidence(tools, teams):
    (a, b, _), (ours, theirs) = tools, teams
    assert replace({ours: [claim(a, b)]}, at=NOW) == RelationChanges(added=1)
    found = seen_by(ours, a, b)
    assert (found.confidence, found.sources) == (0.6, (EvidenceSource.SCHEMA,))
    assert found.detail == {"fields": [PAIR]}
    assert seen_by(theirs, a, b) is None
    assert seen_by(None, a, b) is None


def test_evidence_no_longer_derived_is_deleted_with_its_relation(tools, teams):
    (a, b, c), (ours, theirs) = tools, teams
    replace({ours: [claim(a, b), claim(b, c)], theirs: [claim(b, c)]}, at=NOW)
    done = replace({ours: [claim(b, c, 0.8)]}, at=NOW)
    assert done == RelationChanges(changed=1, removed=1)
    assert said() == [(ours, "schema", 0.8, 0.0, 0.0, [PAIR])]
    replace({}, at=NOW)
    assert not ToolDependency.objects.exists()


def test_a_teams_counts_are_kept(tools, teams):
    (a, b, _), (ours, _) = tools, teams
    count(ours, a, b, successes=3.0, failures=1.0)
    counted = (ours, "observed", None, 3.0, 1.0, [])
    replace({ours: [claim(a, b)]}, at=NOW + DAY)
    assert said() == [counted, (ours, "schema", 0.6, 0.0, 0.0, [PAIR])]
    found = seen_by(ours, a, b)
    assert found.confidence == pytest.approx((4 * 0.6 + 3) / 8)
    assert found.sources == (EvidenceSource.SCHEMA, EvidenceSource.OBSERVED)
    assert (found.detail["successes"], found.detail["failures"]) == (3.0, 1.0)
    replace({}, at=NOW + DAY)
    assert said() == [counted]
    assert RelationEvidence.objects.get().last_seen_at == NOW


def test_a_rejected_relation_is_not_derived_again(tools, teams):
    (a, b, _), (ours, _) = tools, teams
    relations.reject_relation(a, b, RelationKind.PROVIDES, at=NOW)
    assert replace({ours: [claim(a, b)]}, at=NOW) == RelationChanges(skipped=1)
    assert said() == []
    assert seen_by(ours, a, b) is None


def test_shared_derivations_are_not_changed(tools, teams):
    (a, b, _), (ours, _) = tools, teams
    told = {"input": "/widget_id"}
    relations.replace_derived([claim(a, b, 0.5, (told,))], at=NOW)
    replace({ours: [claim(a, b, 0.4)]}, at=NOW)
    assert (seen_by(None, a, b).confidence, seen_by(None, a, b).detail["fields"]) == (0.5, [told])
    assert (seen_by(ours, a, b).confidence, seen_by(ours, a, b).detail["fields"]) == (0.5, [PAIR])
    relations.replace_derived([], at=NOW)
    assert seen_by(None, a, b) is None
    assert seen_by(ours, a, b).confidence == 0.4
