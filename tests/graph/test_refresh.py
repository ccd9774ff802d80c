import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from gateway_project.foundation.database import run_in_database_thread
from graph import output_shape, refresh, shipped
from graph.data_flow import derive
from graph.graph_cache import GraphCache
from graph.models import GraphSnapshot, GraphState, ToolMetric
from graph.record import RelationClaim, RelationObservation
from graph.relations import EvidenceSource, RelationKind
from graph.shape_recorder import ShapeRecorder
from graph.store import metrics, relations, snapshots
from graph.store.relations import RelationChanges
from tests.factories import ServerFactory, TeamFactory, ToolFactory, store_definition
from tests.patience import PATIENCE_S
from tools.definition import Definition
from tools.models import Tool

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 22, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def derived(monkeypatch):
    """Let each tool provide for the next one; note what was looked at."""
    looked_at = []

    def flows(tools, **_):
        looked_at.append(tools)
        pks = sorted(one.tool.pk for one in tools)
        provides = RelationKind.PROVIDES
        return [
            RelationClaim(source=a, target=b, kind=provides, confidence=0.5)
            for a, b in pairwise(pks)
        ]

    monkeypatch.setattr(derive, "derive_flows", flows)
    return looked_at


@pytest.fixture
def tools():
    return [tool.pk for tool in ToolFactory.create_batch(4)]


def observe(team, source, target, at=NOW):
    seen = RelationObservation(
        source=source, target=target, kind=RelationKind.PRECEDES, successes=9.0, at=at
    )
    relations.observe_relations(team, [seen])


def test_relations_are_derived_and_metrics_computed(tools, derived):
    done = refresh.refresh_graph(now=NOW)
    assert done.derived == RelationChanges(added=3)
    assert done.computed
    assert {one.evidence[0].source for one in relations.load()} == {EvidenceSource.SCHEMA}
    stored = metrics.load_metrics()
    assert set(stored) == set(tools)
    assert sum(metric.pagerank for metric in stored.values()) == pytest.approx(1.0)
    assert max(stored, key=lambda tool: stored[tool].pagerank) == tools[-1]


def test_an_unchanged_graph_is_not_refreshed(tools, derived, django_assert_max_num_queries):
    refresh.refresh_graph(now=NOW)
    before = list(GraphState.objects.values())
    assert not refresh.is_due(now=NOW + DAY / 2)
    with django_assert_max_num_queries(12) as queries:
        done = refresh.refresh_graph(now=NOW + DAY / 2)
    assert (done.derived, done.computed, done.snapshot) == (None, False, None)
    assert list(GraphState.objects.values()) == before
    written = [q["sql"] for q in queries if q["sql"].lstrip()[:6] in ("INSERT", "UPDATE")]
    assert written == []
    assert len(derived) == 1


def test_a_new_definition_has_relations_derived_anew(tools, derived):
    refresh.refresh_graph(now=NOW)
    ToolFactory()
    assert refresh.is_due(now=NOW)
    assert refresh.refresh_graph(now=NOW).derived == RelationChanges(added=1)


@pytest.mark.parametrize(
    "change",
    [
        lambda tool: Tool.objects.filter(pk=tool).update(state="removed"),
        lambda tool: Tool.objects.filter(pk=tool).update(name="renamed"),
        lambda tool: Tool.objects.get(pk=tool).server.tools.update(server=ToolFactory().server),
        lambda tool: Tool.objects.filter(pk=tool).delete(),
    ],
)
def test_changed_tools_derive_relations_again(tools, derived, change):
    refresh.refresh_graph(now=NOW)
    change(tools[1])
    assert refresh.refresh_graph(now=NOW).derived is not None


@pytest.mark.parametrize("is_first", [True, False])
def test_a_change_during_a_refresh_leaves_the_graph_outdated(
    tools, derived, monkeypatch, is_first
):
    if not is_first:
        refresh.refresh_graph(now=NOW)
        ToolFactory()
    matching = shipped.find_shipped_relations

    def meanwhile(catalogue):
        refresh.state.invalidate_derived()
        return matching(catalogue)

    monkeypatch.setattr(shipped, "find_shipped_relations", meanwhile)
    refresh.refresh_graph(now=NOW)
    monkeypatch.undo()
    assert refresh.is_outdated(now=NOW)


def test_a_curated_change_recomputes_metrics_only(tools, derived):
    refresh.refresh_graph(now=NOW)
    relations.reject_relation(tools[0], tools[1], RelationKind.PROVIDES, at=NOW)
    done = refresh.refresh_graph(now=NOW)
    assert (done.derived, done.computed) == (None, True)
    assert not ToolMetric.objects.filter(tool=tools[0]).exists()


def test_team_observations_do_not_affect_metrics(tools, derived):
    refresh.refresh_graph(now=NOW)
    observe(TeamFactory().pk, tools[3], tools[0])
    assert not refresh.is_due(now=NOW)
    observe(None, tools[3], tools[0])
    assert refresh.is_due(now=NOW)


def test_observed_evidence_is_reweighted_daily(tools, derived):
    observe(None, tools[3], tools[0])
    refresh.refresh_graph(now=NOW)
    assert not refresh.is_due(now=NOW)
    assert refresh.refresh_graph(now=NOW + DAY).computed


def test_relations_seen_only_by_a_deleted_team_are_removed(tools, derived):
    team = TeamFactory()
    observe(team.pk, tools[3], tools[0])
    team.delete()
    assert refresh.refresh_graph(now=NOW).deleted_relations == 1


def test_retracting_a_claim_restores_the_shipped_relation(tools, derived, monkeypatch):
    known = RelationClaim(
        source=tools[0], target=tools[2], kind=RelationKind.VALIDATES, reason="shipped"
    )
    monkeypatch.setattr(shipped, "find_shipped_relations", lambda _: [known])
    refresh.refresh_graph(now=NOW)
    relations.curate_relation(replace(known, reason="mine"), by="ann", at=NOW)
    refresh.refresh_graph(now=NOW)
    assert relations.find_relation(*known.key).reason == "mine"
    relations.withdraw_curation(*known.key)
    assert relations.find_relation(*known.key) is None
    refresh.refresh_graph(now=NOW)
    assert relations.find_relation(*known.key).reason == "shipped"


@pytest.mark.django_db(transaction=True)
class TestObservedShapes:
    async def saw(self, tool, team, shape):
        kept = ShapeRecorder()
        kept.enqueue_result(tool.pk, team, tool.definition.hash, shape)
        await kept.flush()

    async def test_results_seen_by_callers_without_a_team_or_on_its_own_server_count_for_all(
        self, derived, monkeypatch
    ):
        monkeypatch.setattr(output_shape, "describe_shape", lambda result: dict(result))
        ours = await run_in_database_thread(TeamFactory)
        shared, own = await run_in_database_thread(
            lambda: (ToolFactory(), ToolFactory(server__team=ours))
        )
        await run_in_database_thread(refresh.refresh_graph, now=NOW)
        await self.saw(shared, ours.pk, {"properties": {"secret": {}}})
        await self.saw(own, ours.pk, {"properties": {"own": {}}})
        assert await run_in_database_thread(refresh.is_due, now=NOW)
        del derived[:]
        await run_in_database_thread(refresh.refresh_graph, now=NOW)
        for_all, for_us = map(given_fields, derived)
        assert for_all == {shared.pk: [], own.pk: ["own"]}
        assert for_us == for_all | {shared.pk: ["secret"]}
        del derived[:]
        seen = {"properties": {"open": {}}, "required": ["open"]}
        await self.saw(shared, None, seen)
        await run_in_database_thread(refresh.refresh_graph, now=NOW)
        assert given_fields(derived[0])[shared.pk] == ["open"]

    async def test_results_of_a_members_call_relate_tools_for_that_team_only(self):
        ours, theirs = [
            team.pk for team in await run_in_database_thread(TeamFactory.create_batch, 2)
        ]
        report, paint = await run_in_database_thread(widgets)
        await run_in_database_thread(refresh.refresh_graph, now=NOW)
        result = {"structuredContent": {"items": [{"widget_id": "w-17"}]}}
        await self.saw(report, ours, result)
        assert (
            await run_in_database_thread(refresh.refresh_graph, now=NOW)
        ).derived == RelationChanges(added=1)
        flow = (report.pk, paint.pk, RelationKind.PROVIDES)
        graph = GraphCache(clock=lambda: NOW)
        await graph.reload_stale()
        graph.topology(ours)
        await graph.reload_stale()
        seen = {team: graph.topology(team).get(*flow) for team in (ours, theirs, None)}
        assert (seen[theirs], seen[None]) == (None, None)
        assert seen[ours].detail["fields"] == [
            {"output": "/items/*/widget_id", "input": "/widget_id"}
        ]
        assert not await run_in_database_thread(ToolMetric.objects.exists)
        assert not await run_in_database_thread(refresh.is_due, now=NOW)
        await self.saw(report, None, result)
        assert (
            await run_in_database_thread(refresh.refresh_graph, now=NOW)
        ).derived == RelationChanges(changed=1)
        (record,) = await run_in_database_thread(relations.load)
        assert [one.source for one in record.evidence] == [EvidenceSource.SCHEMA]

    async def test_shape_relations_are_removed_with_their_definition(self):
        ours = (await run_in_database_thread(TeamFactory)).pk
        report, _ = await run_in_database_thread(widgets)
        await self.saw(report, ours, {"structuredContent": {"items": [{"widget_id": "w-17"}]}})
        await run_in_database_thread(refresh.refresh_graph, now=NOW)
        assert len(await run_in_database_thread(relations.load_topology, ours)) == 1
        await run_in_database_thread(redefine, report)
        assert (
            await run_in_database_thread(refresh.refresh_graph, now=NOW)
        ).derived == RelationChanges(removed=1)


def given_fields(tools):
    """Return the names of the fields that each tool gives."""
    return {one.tool.pk: [output.field.name for output in one.outputs] for one in tools}


def widgets():
    """Make a shared tool that says nothing of its results, and one that takes widgets."""
    takes = {"type": "object", "properties": {"widget_id": {"type": "string"}}}
    server = ServerFactory()
    return (
        ToolFactory(server=server, name="report", description="Report."),
        ToolFactory(server=server, name="paint", input_schema=takes | {"required": ["widget_id"]}),
    )


def redefine(tool):
    tool.definition = store_definition(
        tool,
        Definition(
            name=tool.name,
            title="",
            description="Report anew.",
            input_schema={"type": "object"},
            output_schema=None,
            annotations={},
        ),
    )
    tool.save()


class TestSnapshots:
    def test_at_most_one_snapshot_a_day_is_taken_of_a_changed_graph(self, tools, derived):
        first = refresh.refresh_graph(now=NOW).snapshot
        assert first is not None
        ToolFactory()
        assert refresh.refresh_graph(now=NOW + DAY / 2).snapshot is None
        assert refresh.refresh_graph(now=NOW + DAY).snapshot is not None
        assert refresh.refresh_graph(now=NOW + 2 * DAY).snapshot is None

    def test_thirty_scheduled_and_thirty_other_snapshots_are_kept(self):
        for number in range(33):
            for reason in ("scheduled", "by hand"):
                snapshots.store_snapshot(
                    {"tools": [], "relations": []},
                    digest=str(number),
                    statistics={},
                    reason=reason,
                    at=NOW + number * DAY,
                )
        assert GraphSnapshot.objects.count() == 60
        assert snapshots.load_headers()[-1].digest == "3"


@pytest.mark.django_db(transaction=True)
class TestTogether:
    async def test_two_at_once_derive_once(self, derived):
        await run_in_database_thread(ToolFactory.create_batch, 4)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(
                    run_in_database_thread(refresh.refresh_graph, now=NOW, wait_s=PATIENCE_S)
                )
                for _ in range(2)
            ]
        assert sorted(task.result().computed for task in tasks) == [False, True]
        assert len(derived) == 1

    def test_a_process_killed_midway_changes_nothing(self, derived, monkeypatch):
        ToolFactory.create_batch(4)

        def dies(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(refresh.state, "record_derived", dies)
        with pytest.raises(KeyboardInterrupt):
            refresh.refresh_graph(now=NOW)
        assert relations.load() == []
        monkeypatch.undo()
        assert refresh.refresh_graph(now=NOW, wait_s=0.0).derived is not None
