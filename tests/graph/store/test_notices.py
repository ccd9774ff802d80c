"""What the triggers tell, whichever way relations are written."""

from datetime import UTC, datetime

import psycopg
import pytest
from django.db import connection, transaction
from psycopg import sql

from gateway_project.foundation import notify
from graph.models import RelationEvidence, ToolDependency
from graph.record import Claim, Metric, Observation
from graph.relations import Kind
from graph.store import metrics, relations
from tests.factories import TeamFactory, ToolFactory
from tools.models import Server, Tool

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture
def heard():
    """Return what was told since the last time; a mark of one's own says that that is all."""
    parameters = notify.connection_parameters()
    with psycopg.connect(**parameters, autocommit=True) as listening:
        listening.execute(sql.SQL("LISTEN {}").format(sql.Identifier(notify.GRAPH)))

        def since():
            notify.send(notify.GRAPH, "mark")
            told = []
            for notice in listening.notifies(timeout=15):
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


def curated(source, target, kind=Kind.PRECEDES):
    return relations.curate(Claim(source=source, target=target, kind=kind), by="ann", at=NOW)


def test_a_new_relation_is_named(heard, tools):
    pk = curated(*tools[:2])
    assert set(heard()) == {named(pk)}


def test_changes_of_a_relation_and_of_its_evidence_are_told(heard, tools):
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


def test_writing_what_is_there_already_tells_nothing(heard, tools):
    claims = [Claim(source=tools[0], target=tools[1], kind=Kind.PROVIDES, confidence=0.5)]
    relations.replace_derived(claims, at=NOW)
    heard()
    relations.replace_derived(claims, at=NOW)
    ToolDependency.objects.filter(pk=0).update(rejected=True)
    ToolDependency.objects.filter(pk=0).delete()
    assert heard() == []


@pytest.mark.parametrize("what", [Tool, Server])
def test_what_goes_with_a_tool_or_server_is_named(heard, tools, what):
    pk = curated(*tools[:2])
    heard()
    wanted = Tool.objects.get(pk=tools[0])
    (wanted if what is Tool else wanted.server).delete()
    assert set(heard()) == {named(pk)}


def test_what_goes_with_a_team_is_named(heard, tools):
    team = TeamFactory()
    seen = Observation(source=tools[0], target=tools[1], kind=Kind.PRECEDES, successes=1.0, at=NOW)
    relations.observe(team.pk, [seen])
    heard()
    team.delete()
    assert set(heard()) == {named(ToolDependency.objects.get().pk)}


def test_what_is_rolled_back_is_not_told(heard, tools):
    with transaction.atomic():
        curated(*tools[:2])
        transaction.set_rollback(True)
    assert heard() == []


@pytest.mark.parametrize("amount", [500, 501])
def test_more_than_five_hundred_are_not_named_one_by_one(heard, amount):
    tools = [tool.pk for tool in ToolFactory.create_batch(24)]
    pairs = [(a, b) for a in tools for b in tools if a != b][:amount]
    rows = [ToolDependency(source_id=a, target_id=b, kind="precedes") for a, b in pairs]
    every = {str(row.pk) for row in ToolDependency.objects.bulk_create(rows)}
    for told in (heard(), ToolDependency.objects.update(reason="so") and heard()):
        (payload,) = told
        if amount > 500:
            assert payload == "all"
        else:
            assert set(payload.removeprefix("relations:").split(",")) == every
    ToolDependency.objects.all().delete()  # in statements of a hundred rows
    gone = [payload.removeprefix("relations:").split(",") for payload in heard()]
    assert {pk for pks in gone for pk in pks} == every


def test_keys_too_long_for_a_notification_are_not_named(heard):
    tools = [tool.pk for tool in ToolFactory.create_batch(24)]
    pairs = [(a, b) for a in tools for b in tools if a != b][:490]
    with connection.cursor() as cursor:
        cursor.execute(
            "ALTER SEQUENCE graph_tooldependency_id_seq RESTART WITH 1000000000000000000"
        )
    try:
        rows = [ToolDependency(source_id=a, target_id=b, kind="precedes") for a, b in pairs]
        ToolDependency.objects.bulk_create(rows)
        assert heard() == ["all"]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER SEQUENCE graph_tooldependency_id_seq RESTART WITH 1")


def test_metrics_are_told_once_they_differ(heard, tools):
    rows = {tool: Metric(0.5, 0, 0.1, 0.2) for tool in (*tools, 10**9)}
    assert metrics.replace(rows) == 3
    assert heard() == ["metrics"]
    assert metrics.replace(rows) == 0
    assert heard() == []
    assert metrics.replace({tools[0]: rows[tools[0]]}) == 2
    assert heard() == ["metrics"]
    assert metrics.load() == {tools[0]: Metric(0.5, 0, 0.1, 0.2)}
