import asyncio
import sys
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import django.db
import pytest
from django.conf import settings
from django.db import connection

from gateway_project.foundation import notify
from gateway_project.foundation.database import run_in_database_thread
from graph import graph_cache
from graph.graph_cache import GraphCache
from graph.models import ToolDependency
from graph.record import RelationClaim, RelationObservation
from graph.relations import RelationKind
from graph.store import relations, views
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
from graph.record import RelationClaim
from graph.relations import RelationKind
from graph.store import relations
claim = RelationClaim(source=source, target=target, kind=RelationKind.DEPENDS_ON)
relations.curate_relation(claim, by="another", at=datetime.now(UTC))
"""


@pytest.fixture
async def tools():
    return [tool.pk for tool in await run_in_database_thread(ToolFactory.create_batch, 3)]


def claim(source, target, kind=RelationKind.PRECEDES, **more):
    return RelationClaim(source=source, target=target, kind=kind, **more)


def curate(source, target, kind=RelationKind.PRECEDES, **more):
    return relations.curate_relation(claim(source, target, kind, **more), by="ann", at=NOW)


def observe(team, source, target, *, successes=10.0, at=NOW):
    seen = RelationObservation(
        source=source, target=target, kind=RelationKind.PRECEDES, successes=successes, at=at
    )
    relations.observe_relations(team, [seen])


def keys(topology):
    return {relation.key for relation in topology.iterate_relations()}


@asynccontextmanager
async def following():
    """Keep a graph by what the database tells, and hand out a way to wait for its next state."""
    kept, read, listens = GraphCache(clock=lambda: NOW), asyncio.Event(), asyncio.Event()
    catch_up = kept.reload_stale

    async def watched():
        done = await catch_up()
        read.set()
        return done

    async def told(event=None):
        if event is None:
            read.clear()
            kept.invalidate()
            listens.set()
        else:
            kept.handle_notification(event.payload)

    async def until(condition):
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                read.clear()
                await read.wait()

    kept.reload_stale = watched
    kept.request_loading()
    listener = notify.NotificationListener((notify.GRAPH,), on_event=told, on_resync=told)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in (listener.run(), kept.run())]
        async with asyncio.timeout(PATIENCE_S):
            await listens.wait()  # what it begins with is read anew, into another topology
            await read.wait()
        yield kept, until
        for task in tasks:
            task.cancel()


async def test_writes_of_other_processes_are_followed(tools):
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
        await until(lambda: kept.topology(None).get(a, b, RelationKind.DEPENDS_ON) is not None)
        assert await process.wait() == 0


@pytest.mark.parametrize("what", [Tool, Server])
async def test_relations_of_deleted_tools_and_servers_are_dropped(tools, what):
    a, b, c = tools
    await run_in_database_thread(curate, a, b)
    await run_in_database_thread(curate, b, c)
    async with following() as (kept, until):
        await until(lambda: len(kept.topology(None)) == 2)
        gone = what.objects.filter(pk=a) if what is Tool else what.objects.filter(tools=a)
        await run_in_database_thread(gone.delete)
        await until(lambda: keys(kept.topology(None)) == {(b, c, RelationKind.PRECEDES)})


async def test_a_team_sees_shared_and_own_relations(tools):
    a, b, c = tools
    ours, theirs = [team.pk for team in await run_in_database_thread(TeamFactory.create_batch, 2)]
    await run_in_database_thread(curate, a, b)
    await run_in_database_thread(observe, ours, b, c)
    async with following() as (kept, until):
        await until(lambda: len(kept.topology(ours)) == 2)
        assert (
            keys(kept.topology(theirs))
            == keys(kept.topology(None))
            == {(a, b, RelationKind.PRECEDES)}
        )
        assert kept.topology(theirs) is kept.topology(None)
        await run_in_database_thread(curate, c, a)
        await until(lambda: (c, a, RelationKind.PRECEDES) in keys(kept.topology(ours)))
        await run_in_database_thread(observe, theirs, b, c, successes=1.0)
        await until(lambda: len(kept.topology(theirs)) == 3)
        sure = [kept.topology(team).get(b, c, RelationKind.PRECEDES) for team in (ours, theirs)]
        assert sure[0].confidence > sure[1].confidence
        await run_in_database_thread(Team.objects.filter(pk=ours).delete)
        await until(lambda: kept.topology(ours) is kept.topology(None))
        assert (b, c, RelationKind.PRECEDES) in keys(kept.topology(theirs))
        assert (b, c, RelationKind.PRECEDES) not in keys(kept.topology(None))


async def test_a_teams_relation_that_others_share_looks_different_to_it(tools):
    a, b, _ = tools
    team = (await run_in_database_thread(TeamFactory)).pk
    await run_in_database_thread(relations.replace_derived, [claim(a, b, confidence=0.5)], at=NOW)
    kept = GraphCache(clock=lambda: NOW)
    await kept.reload_stale()
    await run_in_database_thread(observe, team, a, b)
    pk = await run_in_database_thread(lambda: ToolDependency.objects.get().pk)
    kept.handle_notification(f"relations:{pk}")
    await kept.reload_stale()
    assert kept.topology(None).get(a, b, RelationKind.PRECEDES).confidence == 0.5
    kept.topology(team)
    await kept.reload_stale()
    assert kept.topology(team).get(a, b, RelationKind.PRECEDES).confidence > 0.5
    await run_in_database_thread(lambda: Team.objects.get().delete())
    kept.handle_notification(f"relations:{pk}")
    await kept.reload_stale()
    assert kept.topology(team) is kept.topology(None)
    assert len(kept.topology(None)) == 1


async def test_team_graphs_are_updated_once_built(tools):
    a, b, c = tools
    team = (await run_in_database_thread(TeamFactory)).pk
    await run_in_database_thread(observe, team, a, b)
    kept = GraphCache(clock=lambda: NOW)
    await kept.reload_stale()
    kept.topology(team)
    await kept.reload_stale()
    seen = kept.topology(team)
    await run_in_database_thread(observe, team, b, c)
    pks = await run_in_database_thread(
        lambda: list(ToolDependency.objects.values_list("pk", flat=True))
    )
    told = f"relations:{','.join(map(str, pks))}"
    kept.handle_notification(told)
    await kept.reload_stale()
    assert keys(seen) == {(a, b, RelationKind.PRECEDES)}
    assert keys(kept.topology(team)) == {
        (a, b, RelationKind.PRECEDES),
        (b, c, RelationKind.PRECEDES),
    }
    await run_in_database_thread(relations.reject_relation, a, b, RelationKind.PRECEDES, at=NOW)
    kept.handle_notification(told)
    await kept.reload_stale()
    assert keys(kept.topology(team)) == {(b, c, RelationKind.PRECEDES)}
    await run_in_database_thread(relations.reject_relation, b, c, RelationKind.PRECEDES, at=NOW)
    kept.handle_notification(told)
    await kept.reload_stale()
    assert kept.topology(team) is kept.topology(None)


async def test_the_graph_is_empty_until_first_requested(tools, monkeypatch):
    await run_in_database_thread(curate, *tools[:2])
    kept = GraphCache()
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


async def test_without_a_database_the_last_graph_is_kept_and_nothing_missed(tools, monkeypatch):
    a, b, c = tools
    await run_in_database_thread(curate, a, b)
    kept = GraphCache()
    await kept.reload_stale()
    pk = await run_in_database_thread(curate, b, c)

    def away(*_, **__):
        raise django.db.OperationalError("gone")

    load = views.load_views
    monkeypatch.setattr(views, "load_views", away)
    kept.handle_notification(f"relations:{pk}")
    await kept.reload_stale()
    assert not await kept.reload_stale()
    assert keys(kept.topology(None)) == {(a, b, RelationKind.PRECEDES)}
    monkeypatch.setattr(views, "load_views", load)
    assert await kept.reload_stale()
    assert len(kept.topology(None)) == 2


async def test_observed_relations_decay_over_time(tools, monkeypatch):
    a, b, _ = tools
    await run_in_database_thread(observe, None, a, b)
    times = [NOW]
    kept = GraphCache(clock=lambda: times[-1])
    await kept.reload_stale()
    at_first = kept.topology(None).get(a, b, RelationKind.PRECEDES).confidence
    times.append(NOW + timedelta(days=60))
    monkeypatch.setattr(graph_cache, "RELOAD_S", 0.01)
    task = asyncio.ensure_future(kept.run())
    async with asyncio.timeout(PATIENCE_S):
        while kept.topology(None).get(a, b, RelationKind.PRECEDES).confidence == at_first:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert kept.topology(None).get(a, b, RelationKind.PRECEDES).confidence < at_first
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize("payload", ["relations:", "relations:x", "unheard of", "relations:1,,2"])
async def test_an_unknown_notification_reloads_everything(tools, payload):
    kept = GraphCache()
    await kept.reload_stale()
    await run_in_database_thread(curate, *tools[:2])
    kept.handle_notification(payload)
    await kept.reload_stale()
    assert len(kept.topology(None)) == 1


async def test_changes_during_a_full_reload_are_not_missed(tools, monkeypatch):
    a, b, c = tools
    await run_in_database_thread(curate, a, b)
    kept, load = GraphCache(), views.load_views
    loop = asyncio.get_running_loop()

    def slow(pks=None, *, now):
        loaded = load(pks, now=now)
        if pks is None:
            pk = curate(b, c)
            loop.call_soon_threadsafe(kept.handle_notification, f"relations:{pk}")
        return loaded

    monkeypatch.setattr(views, "load_views", slow)
    await kept.reload_stale()
    await kept.reload_stale()
    assert len(kept.topology(None)) == 2
