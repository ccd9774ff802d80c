import asyncio
import contextlib

import django.db
import django.utils.timezone
import pytest
from psycopg.errors import ProgramLimitExceeded

from execution.models import WorkflowExecution
from gateway_project.foundation.database import run_in_database_thread
from graph.models import PatternEmbedding, ToolUsage
from learning import knowledge
from learning import learner as learner_module
from learning.dependencies import LearningDependencies
from learning.learner import MAX_ATTEMPTS, Learner
from tests.factories import ToolFactory
from tests.fakes import FakeEmbedder
from tests.learning.ended_runs import answered, called, ended_run
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)

INTENT = "Look for the log and mail it"


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(learner_module, "REST_FACTOR", 0)
    monkeypatch.setattr(learner_module, "DELAY_S", 0)
    monkeypatch.setattr(learner_module, "RETRY_S", 0)
    monkeypatch.setattr(learner_module, "FIRST_SCAN_S", 0)
    # What is told of is not found by looking: not within the time of a test.
    monkeypatch.setattr(learner_module, "SCAN_INTERVAL_S", 10 * PATIENCE_S)


@pytest.fixture
def means(sealer):
    return LearningDependencies(sealer=sealer, payload_sealer=sealer)


@pytest.fixture
def tool():
    return ToolFactory()


@pytest.fixture
def ended(tool, sealer):
    def make(**values):
        task = called("x", tool)
        return ended_run([task], [answered(task)], sealer=sealer, **values)

    return make


def unlearned():
    return set(WorkflowExecution.objects.filter(learned_at=None).values_list("pk", flat=True))


def calls():
    return sum(ToolUsage.objects.values_list("calls", flat=True))


class Told(list):
    """What was learned, and an event for each count of it."""

    def __init__(self):
        super().__init__()
        self.came = asyncio.Event()

    def __call__(self, learned):
        self.append(learned)
        self.came.set()

    async def until(self, count):
        async with asyncio.timeout(PATIENCE_S):
            while len(self) < count:
                self.came.clear()
                await self.came.wait()


class Running:
    """Runs a learner until left."""

    def __init__(self, learner):
        self._learner = learner

    async def __aenter__(self):
        self._task = asyncio.create_task(self._learner.run())
        return self._learner

    async def __aexit__(self, *_):
        self._task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self._task


async def test_at_its_start_runs_that_nobody_learned_from_are_learned_from(ended, means):
    for _ in range(3):
        await run_in_database_thread(ended)
    told = Told()
    async with Running(Learner(lambda: means, on_learned=told)):
        await told.until(3)
    assert await run_in_database_thread(unlearned) == set()
    assert await run_in_database_thread(calls) == 3


async def test_a_run_told_of_is_learned_from_at_once_and_twice_counts_once(ended, means):
    told = Told()
    async with Running(Learner(lambda: means, on_learned=told)) as learner:
        await learner.enqueue_ended_run(await run_in_database_thread(ended))
        await told.until(1)
        run = await run_in_database_thread(ended)
        await learner.enqueue_ended_run(run)
        await learner.enqueue_ended_run(run)
        await told.until(2)
    assert await run_in_database_thread(calls) == 2


async def test_two_processes_that_learn_side_by_side_count_every_run_once(ended, means):
    runs = [await run_in_database_thread(ended) for _ in range(10)]
    one, other = Told(), Told()
    async with (
        Running(Learner(lambda: means, on_learned=one)) as first,
        Running(Learner(lambda: means, on_learned=other)) as second,
    ):
        for run in runs:
            await first.enqueue_ended_run(run)
            await second.enqueue_ended_run(run)
        async with asyncio.timeout(PATIENCE_S):
            while len(one) + len(other) < 10:  # noqa: ASYNC110 - two lists, one condition
                await asyncio.sleep(0.01)
    assert await run_in_database_thread(calls) == 10


async def test_a_run_that_just_ended_is_left_to_whoever_ended_it(ended, means):
    settled = await run_in_database_thread(ended)
    fresh = await run_in_database_thread(ended, at=django.utils.timezone.now())
    learner = Learner(lambda: means)
    assert not await learner.scan(settled_s=10 * PATIENCE_S)
    await learner.drain()
    assert await run_in_database_thread(unlearned) == {fresh}
    assert settled != fresh


async def test_a_run_that_cannot_be_learned_from_is_passed_over_in_the_end(
    ended, means, monkeypatch
):
    poison, good = await run_in_database_thread(ended), await run_in_database_thread(ended)
    learn = knowledge.learn_from_run

    def broken(run, *args, **kwargs):
        if run == poison:
            raise RuntimeError("cannot be")
        return learn(run, *args, **kwargs)

    monkeypatch.setattr(knowledge, "learn_from_run", broken)
    learner = Learner(lambda: means)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        await learner.scan(settled_s=0)
        await learner.drain()
        assert await run_in_database_thread(unlearned) == (
            {poison} if attempt < MAX_ATTEMPTS else set()
        )
    assert await run_in_database_thread(calls) == 1
    assert good != poison


async def test_while_the_database_is_away_runs_wait_and_none_is_given_up(
    ended, means, monkeypatch
):
    run = await run_in_database_thread(ended)
    learn = knowledge.learn_from_run
    failures = [django.db.OperationalError("away")] * (2 * MAX_ATTEMPTS)

    def away(*args, **kwargs):
        if failures:
            raise failures.pop()
        return learn(*args, **kwargs)

    monkeypatch.setattr(knowledge, "learn_from_run", away)
    told = Told()
    async with Running(Learner(lambda: means, on_learned=told)) as learner:
        await learner.enqueue_ended_run(run)
        await told.until(1)
    assert await run_in_database_thread(calls) == 1


async def test_a_run_that_ends_every_connection_blocks_none_and_is_passed_over(
    ended, means, monkeypatch
):
    poison = await run_in_database_thread(ended)
    learn = knowledge.learn_from_run

    def breaks(run, *args, **kwargs):
        if run == poison:
            raise django.db.OperationalError("server closed the connection unexpectedly")
        return learn(run, *args, **kwargs)

    monkeypatch.setattr(knowledge, "learn_from_run", breaks)
    learner = Learner(lambda: means)
    await learner.enqueue_ended_run(poison)
    for attempt in range(MAX_ATTEMPTS):
        assert await run_in_database_thread(unlearned) == {poison}, attempt
        await learner.enqueue_ended_run(await run_in_database_thread(ended))
        with contextlib.suppress(django.db.OperationalError):
            await learner.drain()
        with contextlib.suppress(django.db.OperationalError):
            await learner.drain()
    assert await run_in_database_thread(unlearned) == set()
    assert await run_in_database_thread(calls) == MAX_ATTEMPTS


async def test_a_run_too_large_for_the_database_is_passed_over_though_it_is_alone(
    ended, means, monkeypatch
):
    await run_in_database_thread(ended)

    def too_large(*args, **kwargs):
        raise django.db.OperationalError("too large") from ProgramLimitExceeded("54000")

    monkeypatch.setattr(knowledge, "learn_from_run", too_large)
    learner = Learner(lambda: means)
    for _ in range(MAX_ATTEMPTS):
        await learner.scan(settled_s=0)
        await learner.drain()
    assert await run_in_database_thread(unlearned) == set()


async def test_whatever_fails_learning_goes_on(ended, means, monkeypatch):
    monkeypatch.setattr(learner_module, "SCAN_INTERVAL_S", 0)
    await run_in_database_thread(ended)
    given = iter([ValueError("a defect")])

    def now():
        for error in given:
            raise error
        return means

    told = Told()
    async with Running(Learner(now, on_learned=told)):
        await told.until(1)


async def test_intents_recorded_without_a_model_are_embedded_once_there_is_one(ended, means):
    await run_in_database_thread(ended, intent=INTENT)
    models = [None]
    learner = Learner(
        lambda: LearningDependencies(
            sealer=means.sealer, payload_sealer=means.sealer, embedder=models[-1]
        )
    )
    await learner.scan(settled_s=0)
    await learner.drain()
    assert await run_in_database_thread(PatternEmbedding.objects.count) == 0
    models.append(FakeEmbedder())
    await learner.scan(settled_s=0)
    assert await run_in_database_thread(PatternEmbedding.objects.count) == 1
