"""What the triggers tell, whichever way relations are written."""

from datetime import UTC, datetime

import psycopg
import pytest
from django.db import connection, transaction
from psycopg import sql

from gateway_project.foundation import notify
from graph.models import RelationEvidence, ToolDependency
from graph.record import GraphMetric, RelationClaim, RelationObservation
from graph.relations import RelationKind
from graph.store import metrics, relations
from tests.factories import TeamFactory, ToolFactory
from tests.patience import PATIENCE_S
from tools.models import Server, Tool

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture
def heard():
    """Return what was told since the last time; a mark of one's own says that that is all."""
    parameters = notify.get_connection_parameters()
    with psycopg.connect(**parameters, autocommit=True) as listening:
        listening.execute(sql.SQL("LISTEN {}").format(sql.Identifier(notify.GRAPH)))

        def since():
            notify.send_notification(notify.GRAPH, "mark")
            told = []
            for notice in listening.notifies(timeout=PATIENCE_S):
                if notice.payload == "mark":
                    break
                told.append(notice.payload)
            return told

        yield since


@pytest.fixture
def tools():
    return [tool.pk for tool in ToolFactory.create_batch(3)]


def named(*pks):
    return f"relations:{','.join(map(str, sorted(pks)))}"


def curated(source, target, kind=RelationKind.PRECEDES):
    return relations.curate_relation(
        RelationClaim(source=source, target=target, kind=kind), by="ann", at=NOW
    )


def test_changes_of_relations_and_evidence_are_notified(heard, tools):
    pk = curated(*tools[:2])
    heard()
    ToolDependency.objects.filter(pk=pk).update(rejected=True)
    assert heard() == [named(pk)]
    RelationEvidence.objects.filter(relation=pk).update(confidence=0.5)
    assert heard() == [named(pk)]
    RelationEvidence.objects.filter(relation=pk).delete()
    assert heard() == [named(pk)]
    ToolDependency.objects.filter(pk=pk).delete()
    assert heard() == [named(pk)]


def test_writing_unchanged_rows_is_not_notified(heard, tools):
    claims = [
        RelationClaim(source=tools[0], target=tools[1], kind=RelationKind.PROVIDES, confidence=0.5)
    ]
    relations.replace_derived(claims, at=NOW)
    heard()
    relations.replace_derived(claims, at=NOW)
    ToolDependency.objects.filter(pk=0).update(rejected=True)
    ToolDependency.objects.filter(pk=0).delete()
    assert heard() == []


@pytest.mark.parametrize("what", [Tool, Server])
def test_relations_deleted_with_a_tool_or_server_are_notified(heard, tools, what):
    pk = curated(*tools[:2])
    heard()
    wanted = Tool.objects.get(pk=tools[0])
    (wanted if what is Tool else wanted.server).delete()
    assert set(heard()) == {named(pk)}


def test_relations_deleted_with_a_team_are_notified(heard, tools):
    team = TeamFactory()
    seen = RelationObservation(
        source=tools[0], target=tools[1], kind=RelationKind.PRECEDES, successes=1.0, at=NOW
    )
    relations.observe_relations(team.pk, [seen])
    heard()
    team.delete()
    assert set(heard()) == {named(ToolDependency.objects.get().pk)}


def test_rolled_back_changes_are_not_notified(heard, tools):
    with transaction.atomic():
        curated(*tools[:2])
        transaction.set_rollback(True)
    assert heard() == []


INSERT = """
INSERT INTO graph_tooldependency
    (source_id, target_id, kind, required, rejected, reason, version, created_at)
SELECT one.id, other.id, 'precedes', true, false, '', '', now()
FROM tools_tool AS one, tools_tool AS other
WHERE one.id <> other.id LIMIT %s
RETURNING id
"""


def stored(amount):
    with connection.cursor() as cursor:
        cursor.execute(INSERT, [amount])
        return {pk for (pk,) in cursor.fetchall()}


def told_of(payloads):
    return [pk for told in payloads for pk in map(int, told.removeprefix("relations:").split(","))]


@pytest.mark.parametrize("first", [1, 10**18])
def test_many_are_named_in_parts_that_a_notification_has_room_for(heard, first):
    ToolFactory.create_batch(36)
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER SEQUENCE graph_tooldependency_id_seq RESTART WITH {first}")
    try:
        every = stored(1_250)
        for told in (heard(), ToolDependency.objects.update(reason="so") and heard()):
            assert sorted(told_of(told)) == sorted(every)
            assert len(told) == (1 if first == 1 else 4)
            assert max(map(len, told)) < 7_900
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER SEQUENCE graph_tooldependency_id_seq RESTART WITH 1")


def test_more_than_ten_thousand_changes_notify_a_full_reload(heard):
    ToolFactory.create_batch(101)
    every = stored(10_000)
    assert sorted(told_of(heard())) == sorted(every)
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE graph_tooldependency CASCADE")
    heard()
    stored(10_001)
    assert heard() == ["all"]


def test_changed_metrics_are_notified(heard, tools):
    rows = {tool: GraphMetric(0.5, 0, 0.1, 0.2) for tool in (*tools, 10**9)}
    assert metrics.replace_metrics(rows) == 3
    assert heard() == ["metrics"]
    assert metrics.replace_metrics(rows) == 0
    assert heard() == []
    assert metrics.replace_metrics({tools[0]: rows[tools[0]]}) == 2
    assert heard() == ["metrics"]
    assert metrics.load_metrics() == {tools[0]: GraphMetric(0.5, 0, 0.1, 0.2)}
