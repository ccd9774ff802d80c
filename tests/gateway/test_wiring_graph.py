"""The graph in a gateway: what its calls and its database tell it."""

import asyncio
import sys
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import django.db
import pytest
from django.conf import settings as django_settings

from gateway_project import wiring
from gateway_project.foundation import advisory, notify, sealing
from gateway_project.foundation.caller import Contributor
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.module_process import ModuleFailed
from gateway_project.readiness import Readiness
from gateway_project.wiring import follow_graph
from gateway_project.wiring.follow_graph import GraphKeeper, GraphRefresher
from graph import fit_models, output_shape, refresh, shape_recorder, usage_counter
from graph.models import FittedModel, GraphState, OutputShape, ToolUsage
from graph.ranker_cache import RankerCache
from graph.record import RelationClaim
from graph.record_runs import record_runs
from graph.relations import RelationKind
from graph.store import fitted_models, metrics, patterns, relations, state
from tests.factories import ToolFactory, UserFactory
from tests.fakes import FakeEmbedder
from tests.gateway.catalogues import tool
from tests.graph.histories import run, task
from tests.patience import PATIENCE_S
from tools.embed import load as embedding
from tools.embed.cache import CachedEmbedder
from tools.embed_catalogue import embed_missing
from tools.store import embeddings

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 11, 22, tzinfo=UTC)
NOBODY = Contributor(None, None)
MODEL = embedding.make_embedder(django_settings.FOREGATE).model


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    fake = FakeEmbedder(model=MODEL)
    monkeypatch.setattr(wiring.embedding, "make_embedder", lambda _config: CachedEmbedder(fake))
    monkeypatch.setattr(wiring.token_count, "count_tokens", len)
    for module, name in (
        (follow_graph, "DEBOUNCE_S"),
        (follow_graph, "MIN_INTERVAL_S"),
        (follow_graph, "RETRY_S"),
        (follow_graph, "REST_FACTOR"),
        (usage_counter, "FLUSH_INTERVAL_S"),
        (shape_recorder, "FLUSH_INTERVAL_S"),
    ):
        monkeypatch.setattr(module, name, 0.01)
    monkeypatch.setattr(usage_counter, "FINAL_WRITE_TIMEOUT_S", PATIENCE_S)


async def until(condition):
    """Wait for what another task or process brings about."""
    async with asyncio.timeout(PATIENCE_S):
        while not await run_in_database_thread(condition):  # noqa: ASYNC110 - the database sets no event
            await asyncio.sleep(0.02)


async def apart():
    """Stand for the process that refreshes: it has its own connections, and so has a thread."""
    return not (await run_in_database_thread(refresh.refresh_graph, now=NOW, wait_s=0.0)).is_busy


@asynccontextmanager
async def gateway(monkeypatch):
    monkeypatch.setattr(wiring, "GraphKeeper", lambda **_: GraphKeeper(apart))
    readiness = Readiness()
    async with asyncio.TaskGroup() as group:
        run = wiring.run_gateway(readiness, config=django_settings.FOREGATE, user="admin")
        task = group.create_task(run)
        async with asyncio.timeout(PATIENCE_S):
            yield readiness, (await readiness.wait_for_gateway()).effects
        task.cancel()


@pytest.fixture
async def tools():
    await run_in_database_thread(UserFactory, username="admin", superuser=True)
    return await run_in_database_thread(ToolFactory.create_batch, 2)


def curate(source, target):
    claim = RelationClaim(source=source.pk, target=target.pk, kind=RelationKind.DEPENDS_ON)
    return relations.curate_relation(claim, by="ann", at=NOW)


@pytest.mark.usefixtures("home")
async def test_relations_and_metrics_are_loaded_and_followed(tools, monkeypatch):
    one, other = tools
    await run_in_database_thread(curate, one, other)
    async with gateway(monkeypatch) as (readiness, effects):
        readiness.in_use.set()
        await until(lambda: effects.topology(None).get(one.pk, other.pk, RelationKind.DEPENDS_ON))
        await until(lambda: effects.metrics().keys() == {one.pk, other.pk})
        await run_in_database_thread(
            relations.reject_relation, one.pk, other.pk, RelationKind.DEPENDS_ON, at=NOW
        )
        await until(lambda: not len(effects.topology(None)) and not effects.metrics())


@pytest.mark.usefixtures("home")
async def test_a_gateway_serves_before_the_graph_is_read(tools, monkeypatch):
    await run_in_database_thread(curate, *tools)
    async with gateway(monkeypatch) as (_, effects):
        assert len(effects.topology(None)) == 0
        assert not effects.metrics()
        assert not effects.usage(None)


@pytest.mark.usefixtures("home")
async def test_calls_and_shapes_are_recorded_until_shutdown(tools, monkeypatch):
    monkeypatch.setattr(output_shape, "describe_shape", lambda _: {"type": "object"})
    async with gateway(monkeypatch) as (readiness, effects):
        readiness.in_use.set()
        await until(lambda: effects.count_call.__self__.usage._is_loaded)
        tool = effects.catalogue().tools[f"{tools[0].server.name}:{tools[0].name}"]
        effects.count_call(tool.pk, NOBODY, True)
        effects.observe_result(tool, None, {"structuredContent": {"id": 1}})
        await until(
            lambda: OutputShape.objects.filter(definition_hash=tool.definition_hash).exists()
        )
        effects.count_call(tool.pk, NOBODY, False)
        assert effects.usage(None)[tool.pk] == 2
    stored = await run_in_database_thread(lambda: ToolUsage.objects.get())
    assert (stored.calls, stored.failures) == (2, 1)


@pytest.mark.usefixtures("home")
async def test_catalogue_changes_trigger_a_graph_refresh(tools, monkeypatch):
    async with gateway(monkeypatch) as (readiness, _):
        readiness.in_use.set()
        await until(lambda: not refresh.is_due(now=NOW))
        before = await run_in_database_thread(state.load_state)
        await run_in_database_thread(ToolFactory)
        await until(lambda: state.load_state().derived_from != before.derived_from)


async def until_nobody_refreshes():
    """Wait for threads of gateways that have ended: what they were at goes on to its end."""
    for name in (refresh.LOCK_NAME, fit_models.LOCK_NAME):
        async with advisory.hold_lock(name, timeout_s=PATIENCE_S):
            pass


async def test_the_graph_is_refreshed_in_a_process_of_its_own(tools):
    await until_nobody_refreshes()
    assert await follow_graph.refresh_in_subprocess()
    assert await run_in_database_thread(lambda: GraphState.objects.get().computed_at is not None)
    async with advisory.hold_lock(refresh.LOCK_NAME, timeout_s=PATIENCE_S):
        assert not await follow_graph.refresh_in_subprocess()


async def test_a_failed_process_reports_the_reason(monkeypatch):
    monkeypatch.setitem(follow_graph.connection.settings_dict, "NAME", "no_such_database")
    with pytest.raises(ModuleFailed, match="no_such_database"):
        await follow_graph.refresh_in_subprocess()


async def test_a_process_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(follow_graph, "WORK_TIMEOUT_S", 0)  # in a moment it might be done
    with pytest.raises(ModuleFailed, match="more than 0 s"):
        await follow_graph.refresh_in_subprocess()


async def test_a_process_is_ended_with_its_gateway(monkeypatch):
    started = []
    create = asyncio.create_subprocess_exec

    async def noted(*_, **named):
        # It has to be at work for as long as this one stands still.
        process = await create(sys.executable, "-c", "import time; time.sleep(300)", **named)
        started.append(process)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    task = asyncio.ensure_future(follow_graph.refresh_in_subprocess())
    while not started:  # noqa: ASYNC110 - a started process sets no event
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task], timeout=PATIENCE_S)
    assert started[0].returncode == -9


class TestRefresher:
    @asynccontextmanager
    async def running(self, work):
        refresher = GraphRefresher(work)
        task = asyncio.ensure_future(refresher.run())
        try:
            async with asyncio.timeout(PATIENCE_S):
                yield refresher
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def test_many_changes_at_once_are_one_refresh(self, monkeypatch):
        monkeypatch.setattr(refresh, "is_due", lambda *, now: True)
        done, begun = asyncio.Event(), []

        async def work():
            begun.append(1)
            done.set()
            return True

        async with self.running(work) as refresher:
            for _ in range(50):
                refresher.note_change()
                await asyncio.sleep(0)
            await done.wait()
            assert begun == [1]

    async def test_continuous_changes_still_trigger_a_refresh(self, monkeypatch):
        monkeypatch.setattr(refresh, "is_due", lambda *, now: True)
        monkeypatch.setattr(follow_graph, "DEBOUNCE_S", 0.05)
        monkeypatch.setattr(follow_graph, "MAX_DEBOUNCE_S", 0.2)
        done = asyncio.Event()

        async def work():
            done.set()
            return True

        async with self.running(work) as refresher:
            while not done.is_set():
                refresher.note_change()
                await asyncio.sleep(0.01)

    async def test_a_refresh_waits_for_another_process_or_the_database(self, monkeypatch):
        answers = [False, True]
        looks = []
        done = asyncio.Event()

        def is_due(*, now):
            looks.append(1)
            if len(looks) == 1:
                raise django.db.OperationalError("gone")
            return True

        async def work():
            answer = answers.pop(0)
            if answer:
                done.set()
            return answer

        monkeypatch.setattr(refresh, "is_due", is_due)
        async with self.running(work) as refresher:
            refresher.note_change()
            await done.wait()
        assert len(looks) == 3


@pytest.mark.parametrize(
    ("channel", "payload", "notes"),
    [
        (notify.GRAPH, "relations:1", 1),
        (notify.GRAPH, "all", 1),
        (notify.GRAPH, metrics.CHANGE_NOTICE, 0),
        (notify.GRAPH, patterns.CHANGE_NOTICE, 1),
        (notify.GRAPH, fitted_models.CHANGE_NOTICE, 0),
        (notify.CATALOGUE, "tools_tool", 1),
    ],
)
async def test_changes_that_trigger_a_refresh(channel, payload, notes, monkeypatch):
    noted = []
    keeper = GraphKeeper(apart)
    monkeypatch.setattr(keeper.refresher, "note_change", lambda: noted.append(1))
    keeper.handle_notification(notify.Notification(channel=channel, payload=payload))
    assert len(noted) == notes


@pytest.mark.parametrize("learns", [True, False])
async def test_calls_change_the_graph_unless_nothing_is_remembered(learns):
    keeper, seen = GraphKeeper(apart, learns=learns), []
    keeper.shapes.enqueue_result = lambda *taken: seen.append(taken)
    keeper.count_call(7, NOBODY, failed=False)
    keeper.observe_result(tool("s:a", pk=7), None, {"content": []})
    assert len(keeper.usage.usage_of_team(None)) == len(seen) == int(learns)


@pytest.fixture
def _no_index_left():
    """Drop the index that embedding makes: it outlasts the test, and is for one length."""
    yield
    embeddings.drop_index(MODEL)


def record_run(key):
    """Record a run of a tool that has a vector by the model of the settings."""
    model = CachedEmbedder(FakeEmbedder(model=MODEL))
    tool = ToolFactory()
    embed_missing(model)
    one = run(key, "Send the report", task("x", tool.pk))
    record_runs(
        [one],
        team=None,
        embedder=model,
        sealer=sealing.load_or_create_sealer(django_settings.FOREGATE.home),
    )


@pytest.mark.usefixtures("_no_index_left")
async def test_the_refresh_process_fits_models_to_runs():
    await until_nobody_refreshes()
    await run_in_database_thread(record_run, "r1")
    assert await run_in_database_thread(follow_graph._is_refresh_due)
    assert await follow_graph.refresh_in_subprocess()
    assert await run_in_database_thread(lambda: FittedModel.objects.get().figures["runs"] == 1)
    assert not await run_in_database_thread(follow_graph._is_refresh_due)
    async with advisory.hold_lock(fit_models.LOCK_NAME, timeout_s=PATIENCE_S):
        assert not await follow_graph.refresh_in_subprocess()


@pytest.mark.usefixtures("_no_index_left", "home", "tools")
async def test_fitted_models_are_used_by_the_gateway(monkeypatch):
    fitted_by = []

    async def work():
        fitted_by.append(1)
        return await apart() and await run_in_database_thread(fit) is not None

    def fit():
        return fit_models.fit_due_scopes(
            fit_models.load_settings(django_settings.FOREGATE), now=NOW
        )

    monkeypatch.setattr(wiring, "GraphKeeper", lambda **_: GraphKeeper(work))
    outdated, outdate = asyncio.Event(), RankerCache.invalidate
    readiness = Readiness()
    async with asyncio.TaskGroup() as group:
        served = wiring.run_gateway(readiness, config=django_settings.FOREGATE, user="admin")
        gateway = group.create_task(served)
        async with asyncio.timeout(PATIENCE_S):
            await readiness.wait_for_gateway()
            readiness.in_use.set()
            await until(lambda: GraphState.objects.filter(computed_at__isnull=False).exists())
            monkeypatch.setattr(
                RankerCache, "invalidate", lambda self: (outdate(self), outdated.set())
            )
            await run_in_database_thread(record_run, "r1")
            await until(FittedModel.objects.exists)
            await outdated.wait()
        gateway.cancel()
    assert fitted_by
