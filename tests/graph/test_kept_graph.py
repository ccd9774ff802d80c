import asyncio
import gc
import sys
import threading
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import django.db
import pytest
from django.conf import settings
from django.db import connection

from gateway_project.foundation import notify
from gateway_project.foundation.database import in_database
from graph import kept_graph
from graph.kept_graph import KeptGraph
from graph.models import ToolDependency
from graph.record import Claim, Metric, Observation
from graph.relations import Kind
from graph.store import metrics, relations, views
from tests.factories import TeamFactory, ToolFactory
from tests.patience import PATIENCE_S
from tools.models import Server, Team, Tool

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 11, 22, tzinfo=UTC)
OTHER_PROCESS = """
import sys, django
django.setup()
from datetime import UTC, datetime
from django.db import connection
database, source, target = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
connection.settings_dict["NAME"] = database
from graph.record import Claim
from graph.relations import Kind
from graph.store import relations
claim = Claim(source=source, target=target, kind=Kind.DEPENDS_ON)
relations.curate(claim, by="another", at=datetime.now(UTC))
"""


@pytest.fixture
async def tools():
    return [tool.pk for tool in await in_database(ToolFactory.create_batch, 3)]


def claim(source, target, kind=Kind.PRECEDES, **more):
    return Claim(source=source, target=target, kind=kind, **more)


def curate(source, target, kind=Kind.PRECEDES, **more):
    return relations.curate(claim(source, target, kind, **more), by="ann", at=NOW)


def observe(team, source, target, *, successes=10.0, at=NOW):
    seen = Observation(
        source=source, target=target, kind=Kind.PRECEDES, successes=successes, at=at
    )
    relations.observe(team, [seen])


def keys(topology):
    return {relation.key for relation in topology.relations()}


@asynccontextmanager
async def following():
    """Keep a graph by what the database tells, and hand out a way to wait for its next state."""
    kept, read = KeptGraph(clock=lambda: NOW), asyncio.Event()
    catch_up = kept.catch_up

    async def watched():
        done = await catch_up()
        read.set()
        return done

    async def told(event=None):
        if event is None:
            kept.outdate()
        else:
            kept.notice(event.payload)

    async def until(condition):
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                read.clear()
                await read.wait()

    kept.catch_up = watched
    kept.want()
    listener = notify.Listener((notify.GRAPH,), on_event=told, on_resync=told)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in (listener.run(), kept.run())]
        await until(lambda: True)
        yield kept, until
        for task in tasks:
            task.cancel()


async def test_what_another_process_writes_is_seen(tools):
    a, b, _ = tools
    async with following() as (kept, until):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            OTHER_PROCESS,
            connection.settings_dict["NAME"],
            str(a),
            str(b),
            cwd=settings.BASE_DIR,
        )
        await until(lambda: kept.topology(None).get(a, b, Kind.DEPENDS_ON) is not None)
        assert await process.wait() == 0


async def test_what_changes_is_followed_one_by_one(tools):
    a, b, c = tools
    async with following() as (kept, until):
        pk = await in_database(curate, a, b)
        await until(lambda: keys(kept.topology(None)) == {(a, b, Kind.PRECEDES)})
        topology = kept.topology(None)
        await in_database(curate, a, b, confidence=0.25)
        await until(lambda: topology.get(a, b, Kind.PRECEDES).confidence == 0.25)
        await in_database(ToolDependency.objects.filter(pk=pk).update, target=c)
        await until(lambda: keys(topology) == {(a, c, Kind.PRECEDES)})
        await in_database(relations.reject, a, c, Kind.PRECEDES, at=NOW)
        await until(lambda: len(topology) == 0)
        assert kept.topology(None) is topology


@pytest.mark.parametrize("what", [Tool, Server])
async def test_what_goes_with_a_tool_or_server_is_forgotten(tools, what):
    a, b, c = tools
    await in_database(curate, a, b)
    await in_database(curate, b, c)
    async with following() as (kept, until):
        await until(lambda: len(kept.topology(None)) == 2)
        gone = what.objects.filter(pk=a) if what is Tool else what.objects.filter(tools=a)
        await in_database(gone.delete)
        await until(lambda: keys(kept.topology(None)) == {(b, c, Kind.PRECEDES)})


async def test_many_changes_at_once_are_all_seen():
    tools = [tool.pk for tool in await in_database(ToolFactory.create_batch, 25)]
    claims = [claim(a, b, confidence=0.5) for a in tools for b in tools if a != b]
    async with following() as (kept, until):
        await in_database(relations.replace_derived, claims, at=NOW)
        await until(lambda: len(kept.topology(None)) == len(claims) == 600)
        await in_database(relations.replace_derived, claims[:7], at=NOW)
        await until(lambda: len(kept.topology(None)) == 7)


async def test_new_metrics_are_seen(tools):
    async with following() as (kept, until):
        await in_database(metrics.replace, {tools[0]: Metric(1.0, 0, 0.0, 0.0)})
        await until(lambda: kept.metrics == {tools[0]: Metric(1.0, 0, 0.0, 0.0)})


async def test_a_team_sees_what_is_shared_and_what_it_did_itself(tools):
    a, b, c = tools
    ours, theirs = [team.pk for team in await in_database(TeamFactory.create_batch, 2)]
    await in_database(curate, a, b)
    await in_database(observe, ours, b, c)
    async with following() as (kept, until):
        await until(lambda: len(kept.topology(ours)) == 2)
        assert keys(kept.topology(theirs)) == keys(kept.topology(None)) == {(a, b, Kind.PRECEDES)}
        assert kept.topology(theirs) is kept.topology(None)
        await in_database(curate, c, a)
        await until(lambda: (c, a, Kind.PRECEDES) in keys(kept.topology(ours)))
        await in_database(observe, theirs, b, c, successes=1.0)
        await until(lambda: len(kept.topology(theirs)) == 3)
        sure = [kept.topology(team).get(b, c, Kind.PRECEDES) for team in (ours, theirs)]
        assert sure[0].confidence > sure[1].confidence
        await in_database(Team.objects.filter(pk=ours).delete)
        await until(lambda: kept.topology(ours) is kept.topology(None))
        assert (b, c, Kind.PRECEDES) in keys(kept.topology(theirs))
        assert (b, c, Kind.PRECEDES) not in keys(kept.topology(None))


async def test_a_teams_relation_that_others_share_looks_different_to_it(tools):
    a, b, _ = tools
    team = (await in_database(TeamFactory)).pk
    await in_database(relations.replace_derived, [claim(a, b, confidence=0.5)], at=NOW)
    kept = KeptGraph(clock=lambda: NOW)
    await kept.catch_up()
    await in_database(observe, team, a, b)
    pk = await in_database(lambda: ToolDependency.objects.get().pk)
    kept.notice(f"relations:{pk}")
    await kept.catch_up()
    assert kept.topology(None).get(a, b, Kind.PRECEDES).confidence == 0.5
    kept.topology(team)
    await kept.catch_up()
    assert kept.topology(team).get(a, b, Kind.PRECEDES).confidence > 0.5
    await in_database(lambda: Team.objects.get().delete())
    kept.notice(f"relations:{pk}")
    await kept.catch_up()
    assert kept.topology(team) is kept.topology(None)
    assert len(kept.topology(None)) == 1


async def test_what_a_team_observed_is_put_together_beside_the_event_loop(tools, monkeypatch):
    a, b, c = tools
    teams = [team.pk for team in await in_database(TeamFactory.create_batch, 2)]
    await in_database(curate, a, b)
    for team in teams:
        await in_database(observe, team, b, c)
    makers, made = [], kept_graph._made

    def watched(read, teams):
        makers.append((threading.current_thread(), sorted(teams)))
        return made(read, teams)

    monkeypatch.setattr(kept_graph, "_made", watched)
    kept = KeptGraph(clock=lambda: NOW)
    await kept.catch_up()
    assert kept.topology(teams[0]) is kept.topology(None)
    await kept.catch_up()
    assert keys(kept.topology(teams[0])) == {(a, b, Kind.PRECEDES), (b, c, Kind.PRECEDES)}
    kept.outdate()
    await kept.catch_up()
    assert len(kept.topology(teams[0])) == 2
    assert [asked for _, asked in makers] == [[], [teams[0]], [teams[0]]]
    assert threading.current_thread() not in {thread for thread, _ in makers}


async def test_what_a_team_observed_is_followed_once_it_is_there(tools):
    a, b, c = tools
    team = (await in_database(TeamFactory)).pk
    await in_database(observe, team, a, b)
    kept = KeptGraph(clock=lambda: NOW)
    await kept.catch_up()
    kept.topology(team)
    await kept.catch_up()
    seen = kept.topology(team)
    await in_database(observe, team, b, c)
    pks = await in_database(lambda: list(ToolDependency.objects.values_list("pk", flat=True)))
    told = f"relations:{','.join(map(str, pks))}"
    kept.notice(told)
    await kept.catch_up()
    assert kept.topology(team) is seen
    assert keys(seen) == {(a, b, Kind.PRECEDES), (b, c, Kind.PRECEDES)}
    await in_database(relations.reject, a, b, Kind.PRECEDES, at=NOW)
    kept.notice(told)
    await kept.catch_up()
    assert keys(kept.topology(team)) == {(b, c, Kind.PRECEDES)}
    await in_database(relations.reject, b, c, Kind.PRECEDES, at=NOW)
    kept.notice(told)
    await kept.catch_up()
    assert kept.topology(team) is kept.topology(None)


async def test_it_begins_empty_and_is_read_once_it_is_wanted(tools, monkeypatch):
    await in_database(curate, *tools[:2])
    kept = KeptGraph()
    task = asyncio.ensure_future(kept.run())
    for _ in range(3):
        await asyncio.sleep(0)
    assert len(kept._views.shared) == 0
    assert len(kept.topology(None)) == 0
    async with asyncio.timeout(PATIENCE_S):
        while not len(kept.topology(None)):  # noqa: ASYNC110 - the first reading sets no event
            await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])


async def test_while_the_database_is_away_the_last_graph_stays_and_nothing_is_missed(
    tools, monkeypatch
):
    a, b, c = tools
    await in_database(curate, a, b)
    kept = KeptGraph()
    await kept.catch_up()
    pk = await in_database(curate, b, c)

    def away(*_, **__):
        raise django.db.OperationalError("gone")

    load = views.load
    monkeypatch.setattr(views, "load", away)
    kept.notice(f"relations:{pk}")
    await kept.catch_up()
    assert not await kept.catch_up()
    assert keys(kept.topology(None)) == {(a, b, Kind.PRECEDES)}
    monkeypatch.setattr(views, "load", load)
    assert await kept.catch_up()
    assert len(kept.topology(None)) == 2


async def test_what_is_observed_counts_less_as_time_goes_by(tools, monkeypatch):
    a, b, _ = tools
    await in_database(observe, None, a, b)
    times = [NOW]
    kept = KeptGraph(clock=lambda: times[-1])
    await kept.catch_up()
    at_first = kept.topology(None).get(a, b, Kind.PRECEDES).confidence
    times.append(NOW + timedelta(days=60))
    monkeypatch.setattr(kept_graph, "RELOAD_S", 0.01)
    task = asyncio.ensure_future(kept.run())
    async with asyncio.timeout(PATIENCE_S):
        while kept.topology(None).get(a, b, Kind.PRECEDES).confidence == at_first:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert kept.topology(None).get(a, b, Kind.PRECEDES).confidence < at_first
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize("payload", ["relations:", "relations:x", "unheard of", "relations:1,,2"])
async def test_a_notification_that_says_nothing_known_has_everything_read(tools, payload):
    kept = KeptGraph()
    await kept.catch_up()
    await in_database(curate, *tools[:2])
    kept.notice(payload)
    await kept.catch_up()
    assert len(kept.topology(None)) == 1


async def test_what_is_named_while_everything_is_to_be_read_is_not_kept():
    kept = KeptGraph()
    kept.notice("relations:1,2")
    assert not kept._outdated.relations
    kept._outdated.everything = False
    kept.notice("relations:1,2")
    assert list(kept._outdated.relations) == [1, 2]
    kept.outdate()
    assert not kept._outdated.relations


@pytest.mark.parametrize("many", [1, 2])
async def test_many_relations_are_not_looked_through_as_new_objects(tools, monkeypatch, many):
    aged = []
    monkeypatch.setattr(kept_graph, "MANY", many)
    monkeypatch.setattr(kept_graph.garbage, "age", lambda: aged.append(gc.isenabled()))
    await in_database(curate, *tools[:2])
    await KeptGraph().catch_up()
    assert aged == ([False] if many == 1 else [])
    assert gc.isenabled()


async def test_of_more_relations_than_it_keeps_note_of_everything_is_read(tools, monkeypatch):
    monkeypatch.setattr(kept_graph, "MAX_NAMED", 2)
    await in_database(curate, *tools[:2])
    kept = KeptGraph()
    await kept.catch_up()
    kept.notice("relations:1,2")
    kept.notice("relations:2,3")
    assert (kept._outdated.everything, kept._outdated.relations) == (True, {})
    assert await kept.catch_up()
    assert len(kept.topology(None)) == 1


async def test_what_changes_while_everything_is_read_is_not_missed(tools, monkeypatch):
    a, b, c = tools
    await in_database(curate, a, b)
    kept, load = KeptGraph(), views.load
    loop = asyncio.get_running_loop()

    def slow(pks=None, *, now):
        loaded = load(pks, now=now)
        if pks is None:
            pk = curate(b, c)
            loop.call_soon_threadsafe(kept.notice, f"relations:{pk}")
        return loaded

    monkeypatch.setattr(views, "load", slow)
    await kept.catch_up()
    await kept.catch_up()
    assert len(kept.topology(None)) == 2
