"""Retention of the episodic memory, and the warnings about its size."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone
from structlog.testing import capture_logs

from gateway_project.foundation import advisory, telemetry
from learning import memory_keeper
from learning.memory import spool
from learning.memory.event import KIND_CODES, EventKind
from learning.memory_keeper import MemoryKeeper, load_state
from learning.models import EpisodicEvent, EventSpool, IntentVector
from learning.store import retention
from learning.store.retention import RetentionCounts
from tests.factories import TeamFactory, ToolFactory
from tests.learning.some_events import PREDICTION

pytestmark = pytest.mark.django_db

CALL, RESOLVED = KIND_CODES[EventKind.TASK_COMPLETE], KIND_CODES[EventKind.SPECULATION_END]


@pytest.fixture
def config(settings, tmp_path):
    limits = {"events_per_team": 3, "event_days": 30, "prediction_days": 365}
    return settings.FOREGATE.model_copy(update={"home": tmp_path, **limits})


def store(*, days=0.0, kind=CALL, **values):
    at = timezone.now() - timedelta(days=days)
    return EpisodicEvent.objects.create(**{"at": at, "kind": kind, "session": 1} | values)


def delete_expired(config):
    return retention.delete_expired(config)


def test_events_that_are_too_old_are_deleted(config):
    store(days=30.1)
    young = store(days=29.9)
    assert retention.count_expired(config) == RetentionCounts(events=1)
    assert delete_expired(config) == RetentionCounts(events=1)
    assert [*EpisodicEvent.objects.all()] == [young]


def test_each_team_keeps_its_newest_events(config, monkeypatch):
    monkeypatch.setattr(retention, "EVENTS_PER_CHUNK", 2)
    team, other = TeamFactory(), TeamFactory()
    at = timezone.now()
    rows = {
        team: [store(days=days, team=team) for days in (9, 1, 8, 2, 7, 3, 6)],
        None: [store(at=at) for _ in range(5)],
        other: [store(team=other)],
    }
    assert retention.count_expired(config).events == 6
    assert delete_expired(config) == RetentionCounts(events=6)
    kept = set(EpisodicEvent.objects.all())
    assert kept == {*rows[team][1::2], *rows[None][2:], *rows[other]}


def test_resolved_predictions_are_kept_for_a_year_whatever_their_number(config):
    kept = [store(days=days, kind=RESOLVED) for days in (100, 200, 300, 364)]
    store(days=366, kind=RESOLVED)
    assert retention.count_expired(config) == RetentionCounts(predictions=1)
    assert delete_expired(config) == RetentionCounts(predictions=1)
    assert set(EpisodicEvent.objects.all()) == set(kept)


def test_events_of_deleted_tools_are_deleted(config):
    kept = store(tool=ToolFactory().pk)
    store(tool=kept.tool + 1)
    assert delete_expired(config) == RetentionCounts(events_of_deleted_tools=1)
    assert [*EpisodicEvent.objects.all()] == [kept]


def test_vectors_without_an_event_of_their_team_are_deleted_after_a_day(config):
    team, now = TeamFactory(), timezone.now()

    def vector(**values):
        given = {"intent_hash": 1, "model": "m", "sealed": b"", "seen_at": now - timedelta(days=2)}
        return IntentVector.objects.create(**given | values)

    store(intent_hash=1)
    kept = [vector(), vector(intent_hash=2, seen_at=now)]
    vector(team=team)
    vector(intent_hash=3)
    assert delete_expired(config) == RetentionCounts(vectors=2)
    assert set(IntentVector.objects.all()) == set(kept)


def test_positions_of_long_forgotten_files_are_deleted(config):
    EventSpool.objects.create(
        id=PREDICTION, position=1, loaded_at=timezone.now() - timedelta(days=366)
    )
    delete_expired(config)
    assert not EventSpool.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_nothing_is_deleted_during_another_sweep(config):
    store(days=40)
    with connection.copy().cursor() as cursor:
        other = cursor.db
        cursor.execute(
            "SELECT pg_advisory_lock(%s)", [advisory._hash_lock_name(retention.LOCK_NAME)]
        )
        assert delete_expired(config) == RetentionCounts()
    other.close()
    assert EpisodicEvent.objects.count() == 1


def test_colliding_contexts_are_counted(config):
    for context, check in ((1, 10), (1, 10), (2, 20), (2, 21), (3, None), (None, 5)):
        store(context_hash=context, context_check=check)
    assert retention.count_collisions() == (2, 1)
    [problem] = load_state(config).problems
    assert "50%" not in problem
    assert "5%" in problem


def test_a_spool_that_is_half_full_and_a_large_table_are_problems(config, monkeypatch):
    folder = config.home / spool.FOLDER
    folder.mkdir()
    (folder / "x.spool").write_bytes(b"x" * 500_001)
    monkeypatch.setattr(memory_keeper, "BYTES_PER_MB", 1_000_000)
    small = config.model_copy(update={"spool_mb": 1})
    [problem] = load_state(small).problems
    assert "FOREGATE_SPOOL_MB" in problem
    monkeypatch.setattr(memory_keeper, "BYTES_PER_MB", 1)
    problems = load_state(small).problems
    assert any("FOREGATE_MEMORY_ALERT_MB" in one for one in problems)


def test_a_check_deletes_reports_each_problem_once_and_sets_the_gauges(config):
    store(days=40)
    folder = config.home / spool.FOLDER
    folder.mkdir()
    (folder / "x.spool").write_bytes(b"x" * 600_000)
    keeper = MemoryKeeper(config.model_copy(update={"spool_mb": 1}))
    with capture_logs() as logs:
        keeper.check()
        keeper.check()
    assert [line["event"] for line in logs] == ["events.expired", "events.problem"]
    assert telemetry.memory_bytes.labels("spool")._value.get() == 600_000
    assert telemetry.memory_bytes.labels("database")._value.get() > 0


def test_a_process_that_claims_no_work_deletes_nothing(config):
    store(days=40)
    MemoryKeeper(config, deletes=False).check()
    assert EpisodicEvent.objects.count() == 1


@pytest.mark.parametrize("error", [OperationalError("away"), RuntimeError("a defect")])
async def test_checks_go_on_after_an_error(config, monkeypatch, error):
    monkeypatch.setattr(memory_keeper, "FIRST_CHECK_S", 0)
    monkeypatch.setattr(memory_keeper, "CHECK_INTERVAL_S", 0)
    checks = []

    class Done(BaseException):
        pass

    def check():
        checks.append(1)
        raise error if len(checks) == 1 else Done

    keeper = MemoryKeeper(config)
    monkeypatch.setattr(keeper, "check", check)
    with pytest.raises(Done):
        await keeper.run()
    assert len(checks) == 2
