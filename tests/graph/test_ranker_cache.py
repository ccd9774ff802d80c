import asyncio

import django.db
import pytest
import structlog.testing
from cryptography.fernet import Fernet

from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.sealing import Sealer
from graph import fit_models, ranker_cache
from graph.fit_models import FitSettings
from graph.models import FittedModel
from graph.ranker_cache import RankerCache
from graph.record_runs import record_runs
from graph.store import fitted_models
from graph.suggestion.ranking import ranker as ranker_module
from tests.factories import TeamFactory, ToolFactory
from tests.fakes import FakeEmbedder
from tests.graph.histories import NOW, run, task
from tests.patience import PATIENCE_S
from tools.embed_catalogue import embed_missing
from tools.store import embeddings

pytestmark = pytest.mark.django_db(transaction=True)

EMBEDDER = FakeEmbedder()
SEALER = Sealer([Fernet.generate_key()])
TERMS = FitSettings(embedding_model=EMBEDDER.model, max_bytes=10_000_000, sealer=SEALER)


@pytest.fixture
def sealer():
    return SEALER


@pytest.fixture
async def tools():
    def make():
        made = [ToolFactory(name=name).pk for name in ("read", "send")]
        embed_missing(EMBEDDER)
        return made

    yield await run_in_database_thread(make)
    # An index outlasts the test, and is for vectors of one length.
    await run_in_database_thread(embeddings.drop_index, EMBEDDER.model)


@pytest.fixture
def learn(sealer):
    def work(*runs, team=None):
        record_runs(runs, team=team, embedder=EMBEDDER, sealer=sealer)
        fit_models.fit_due_scopes(TERMS, now=NOW)

    async def learned(*runs, team=None):
        await run_in_database_thread(work, *runs, team=team)

    return learned


@pytest.fixture
def kept(sealer):
    return RankerCache(EMBEDDER.model, sealer=sealer)


@pytest.fixture
def reads(monkeypatch):
    """Note which teams' models are read."""
    seen, load = [], fitted_models.load_model

    def noted(team, model):
        seen.append(team)
        return load(team, model)

    monkeypatch.setattr(fitted_models, "load_model", noted)
    return seen


async def test_without_history_the_shipped_models_are_used(tools, kept):
    found = await kept.load(None)
    assert (found.ranker.past_intent_count, found.digest) == (0, "")
    assert found.knowledge.totals == {}


async def test_concurrent_requests_load_a_fitted_model_once(tools, learn, kept, reads):
    await learn(run("r1", "Send it", task("x", tools[1], to="ann")))
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(kept.load(None)) for _ in range(5)]
    assert {one.result().ranker.past_intent_count for one in asked} == {1}
    assert (await kept.load(None)).knowledge.run_counts == {tools[1]: 1}
    assert reads == [None]


async def test_a_team_without_runs_uses_the_shared_model(tools, learn, kept, reads):
    mine, other = await run_in_database_thread(TeamFactory.create_batch, 2)
    await learn(run("r1", "Send it", task("x", tools[1])))
    await learn(run("r2", "Read it", task("x", tools[0])), team=mine.pk)
    shared, theirs, own = [await kept.load(team) for team in (None, other.pk, mine.pk)]
    assert shared.ranker is theirs.ranker
    assert (shared.ranker.past_intent_count, own.ranker.past_intent_count) == (1, 2)
    assert reads == [None, mine.pk]


async def test_a_refitted_model_replaces_the_old_one(tools, learn, kept):
    await learn(run("r1", "Send it", task("x", tools[1])))
    before = await kept.load(None)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        follows = group.create_task(kept.run())
        await learn(run("r2", "Read it", task("x", tools[0])))
        assert await kept.load(None) is before
        kept.invalidate()
        while (await kept.load(None)).ranker.past_intent_count != 2:  # noqa: ASYNC110 - it sets no event
            await asyncio.sleep(0.01)
        follows.cancel()


async def test_without_a_database_the_old_model_serves(tools, learn, kept, monkeypatch):
    monkeypatch.setattr(ranker_cache, "RETRY_S", 0.01)
    await learn(run("r1", "Send it", task("x", tools[1])))
    before = await kept.load(None)
    tries, digest = [], fitted_models.load_digest

    def away(team, model):
        tries.append(1)
        if len(tries) <= 2:
            raise django.db.OperationalError("gone")
        return digest(team, model)

    monkeypatch.setattr(fitted_models, "load_digest", away)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        follows = group.create_task(kept.run())
        kept.invalidate()
        while len(tries) < 3:
            assert (await kept.load(None)).ranker is before.ranker
            await asyncio.sleep(0.01)
        follows.cancel()


async def test_an_unexpected_error_does_not_end_the_task(tools, learn, kept, monkeypatch):
    monkeypatch.setattr(ranker_cache, "RETRY_S", 0.01)
    await learn(run("r1", "Send it", task("x", tools[1])))
    await kept.load(None)
    tries, load = [], ranker_cache._load_team_models

    def broken(*given, **named):
        tries.append(1)
        if len(tries) <= 2:
            raise RuntimeError("unforeseen")
        return load(*given, **named)

    monkeypatch.setattr(ranker_cache, "_load_team_models", broken)
    await learn(run("r2", "Read it", task("x", tools[0])))
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        follows = group.create_task(kept.run())
        kept.invalidate()
        while (await kept.load(None)).ranker.past_intent_count != 2:  # noqa: ASYNC110 - it sets no event
            await asyncio.sleep(0.01)
        follows.cancel()


async def test_an_unreadable_model_falls_back_to_the_shipped_one(tools, learn, kept):
    await learn(run("r1", "Send it", task("x", tools[1])))
    await run_in_database_thread(FittedModel.objects.update, content=b"torn")
    found = await kept.load(None)
    assert found.ranker.past_intent_count == 0
    assert found.digest


async def test_a_ranker_of_other_features_is_replaced_until_refitted(
    tools, learn, kept, sealer, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(ranker_module, "FEATURES", ("others",))
        patch.setattr(fit_models, "FEATURES_DIGEST", "others")
        await learn(run("r1", "Send it", task("x", tools[1])))
    with structlog.testing.capture_logs() as logs:
        found = await kept.load(None)
    assert found.ranker.past_intent_count == 0
    assert [one["event"] for one in logs] == ["rankers.model_unusable"]
    assert await run_in_database_thread(fit_models.is_due, TERMS)
    await learn()
    again = await RankerCache(EMBEDDER.model, sealer=sealer).load(None)
    assert again.ranker.past_intent_count == 1


async def test_with_another_key_shipped_and_unsealed_models_are_used(tools, learn):
    await learn(*(run(f"r{n}", "Send it", task("x", tools[1], to="ann")) for n in range(3)))
    with structlog.testing.capture_logs() as logs:
        found = await RankerCache(EMBEDDER.model, sealer=Sealer([Fernet.generate_key()])).load(
            None
        )
    assert found.ranker.past_intent_count == 0
    assert found.knowledge.run_counts == {tools[1]: 3}
    assert [one["event"] for one in logs] == ["rankers.model_unusable"]


async def test_requested_models_are_loaded_in_the_background(tools, learn, kept):
    await learn(run("r1", "Send it", task("x", tools[1])))
    assert kept.find_or_request(None) is None
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        loading = group.create_task(kept.run())
        while (found := kept.find_or_request(None)) is None:  # noqa: ASYNC110 - it sets no event
            await asyncio.sleep(0.01)
        loading.cancel()
    assert found.ranker.past_intent_count == 1
