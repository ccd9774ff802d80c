"""Loading of spool files: each event is stored exactly once, whatever dies in between."""

import asyncio
import os

import pytest
from django.db import OperationalError
from structlog.testing import capture_logs

from gateway_project.foundation import telemetry
from gateway_project.foundation.database import run_in_database_thread
from learning import event_loader
from learning.event_loader import LOADED, ORPHANED, REFUSED, EventLoader
from learning.memory import spool
from learning.memory.capture import Capture
from learning.memory.spool import Spool
from learning.memory.stored_observation import restore_observation
from learning.models import EpisodicEvent, EventSpool, IntentVector
from learning.store import events as event_store
from tests.factories import TeamFactory
from tests.learning.some_events import PREDICTION, a_full_event, a_vector, an_event

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "spool"


@pytest.fixture
def make_capture(folder):
    opened = []

    def make(**limits):
        opened.append(Capture(Spool(folder, **({"max_bytes": 10_000_000} | limits))))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def sessions():
    return sorted(EpisodicEvent.objects.values_list("session", flat=True))


def test_recorded_events_are_stored_with_all_their_fields(make_capture):
    capture, team = make_capture(), TeamFactory()
    capture.record(a_full_event(team=team.pk))
    capture.record(an_event())
    loader = EventLoader(capture)
    loader.load_pending()
    full, bare = EpisodicEvent.objects.order_by("pk")
    assert (full.team_id, full.tool, full.kind, full.outcome) == (team.pk, 5, 1, 4)
    assert (full.arguments_hash, full.context_hash) == (-(2**63), 2**63 - 1)
    assert (full.context_check, full.intent_hash, full.prediction) == (0, -1, PREDICTION)
    assert (full.duration_ms, full.weight, bytes(full.sealed)) == (12.5, 0.5, b"\x00sealed\xff")
    assert restore_observation(full.observation) == a_full_event().data["observation"]
    assert full.data == {"form": "x"}
    assert (bare.team_id, bare.tool, bare.data, bare.sealed, bare.outcome) == (None,) * 5
    assert loader.counts[LOADED] == 2


def test_an_event_is_loaded_once_though_its_file_is_looked_at_again(make_capture):
    capture = make_capture()
    loader = EventLoader(capture)
    for session in (1, 2):
        capture.record(an_event(session=session))
        loader.load_pending()
        EventLoader(capture).load_pending()
    assert sessions() == [1, 2]


def test_the_file_of_a_process_that_ended_is_loaded_and_deleted_with_its_position(
    make_capture, folder
):
    ended = make_capture()
    ended.record(an_event())
    ended.close()
    EventLoader(make_capture()).load_pending()
    assert sessions() == [7]
    assert spool.list_files(folder) == []
    assert not EventSpool.objects.exists()


def test_the_file_of_a_living_process_is_left_to_it(make_capture, folder):
    living = make_capture()
    living.record(an_event())
    EventLoader(make_capture()).load_pending()
    assert sessions() == []
    assert len(spool.list_files(folder)) == 1


def test_events_are_not_doubled_if_their_file_could_not_be_deleted(
    make_capture, folder, monkeypatch
):
    ended = make_capture()
    ended.record(an_event())
    ended.close()

    def crash(*_):
        raise OSError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(spool, "delete_file", crash)
        with pytest.raises(OSError, match="killed"):
            EventLoader(make_capture()).load_pending()
    EventLoader(make_capture()).load_pending()
    assert sessions() == [7]
    assert spool.list_files(folder) == []


def test_a_record_that_a_crash_tore_is_ignored(make_capture, folder):
    ended = make_capture()
    ended.record(an_event(session=1))
    ended.record(an_event(session=2))
    [spool_id] = spool.list_files(folder)
    ended.close()
    path = spool.file_path(folder, spool_id)
    os.truncate(path, path.stat().st_size - 1)
    EventLoader(make_capture()).load_pending()
    assert sessions() == [1]
    assert spool.list_files(folder) == []


def test_what_a_restored_backup_lacks_is_loaded_again(make_capture):
    capture = make_capture()
    loader = EventLoader(capture)
    capture.record(an_event(session=1))
    loader.load_pending()
    EpisodicEvent.objects.all().delete()
    EventSpool.objects.all().delete()
    capture.record(an_event(session=2))
    loader.load_pending()
    loader.load_pending()
    assert sessions() == [1, 2]


def test_a_record_that_the_database_refuses_does_not_stop_the_others(make_capture):
    capture = make_capture()
    for session in range(1, 8):
        data = {"text": "\0"} if session in {3, 7} else {}
        capture.record(an_event(session=session, data=data))
    capture.record(an_event(session=8, at=1e300))
    loader = EventLoader(capture)
    loader.load_pending()
    loader.load_pending()
    assert sessions() == [1, 2, 4, 5, 6]
    assert (loader.counts[LOADED], loader.counts[REFUSED]) == (5, 3)


def test_events_of_a_deleted_team_are_counted_and_left_out(make_capture):
    capture, team = make_capture(), TeamFactory()
    team_pk = team.pk
    team.delete()
    capture.record(an_event(team=team_pk))
    capture.record_vector(a_vector(team=team_pk))
    capture.record(an_event(session=8))
    loader = EventLoader(capture)
    loader.load_pending()
    assert sessions() == [8]
    assert (loader.counts[LOADED], loader.counts[ORPHANED]) == (1, 2)


def test_events_of_a_team_are_deleted_with_it(make_capture):
    capture, team = make_capture(), TeamFactory()
    capture.record(an_event(team=team.pk))
    capture.record_vector(a_vector(team=team.pk))
    EventLoader(capture).load_pending()
    team.delete()
    assert not EpisodicEvent.objects.exists()
    assert not IntentVector.objects.exists()


def test_the_vector_of_an_intent_is_stored_once(make_capture):
    for capture in (make_capture(), make_capture()):
        capture.record_vector(a_vector())
        capture.record_vector(a_vector())
        EventLoader(capture).load_pending()
    row = IntentVector.objects.get()
    assert (row.intent_hash, row.model, bytes(row.sealed)) == (3, "m", b"sealed")


def test_a_damaged_file_is_loaded_up_to_the_damage_and_reported(make_capture, folder):
    ended = make_capture()
    for session in (1, 2, 3):
        ended.record(an_event(session=session))
    [spool_id] = spool.list_files(folder)
    ended.close()
    path = spool.file_path(folder, spool_id)
    content = bytearray(path.read_bytes())
    content[len(content) * 2 // 3 - 1] ^= 1  # in the second record
    path.write_bytes(content)
    with capture_logs() as logs:
        EventLoader(make_capture()).load_pending()
    assert sessions() == [1]
    assert [(line["event"], line["reason"]) for line in logs] == [
        ("events.unreadable", "wrong checksum")
    ]
    assert spool.list_files(folder) == []


def test_a_loader_that_was_overtaken_goes_on_where_the_other_stopped(make_capture):
    capture = make_capture()
    slow = EventLoader(capture)
    capture.record(an_event(session=1))
    slow.load_pending()
    capture.record(an_event(session=2))
    EventLoader(capture).load_pending()
    capture.record(an_event(session=3))
    slow.load_pending()
    slow.load_pending()
    assert sessions() == [1, 2, 3]


def test_a_refused_record_that_another_loader_passed_is_not_passed_twice(
    make_capture, monkeypatch
):
    capture = make_capture()
    capture.record(an_event(data={"text": "\0"}))
    capture.record(an_event(session=2, data={"text": "\0"}))
    store_records = event_store.store_records

    def overtake(records, **positions):
        if not records:
            monkeypatch.setattr(event_store, "store_records", store_records)
            EventLoader(capture).load_pending()
        return store_records(records, **positions)

    monkeypatch.setattr(event_store, "store_records", overtake)
    EventLoader(capture).load_pending()
    assert sessions() == []
    assert EventSpool.objects.get().position == capture.spool.current_file[1]


def test_while_events_keep_coming_they_are_loaded_in_larger_batches(make_capture, monkeypatch):
    capture = make_capture()
    loader = EventLoader(capture)
    capture.record(an_event())
    assert loader.is_due(0.0)
    capture.record(an_event())
    assert not loader.is_due(2.0)
    assert loader.is_due(4.0)
    due = []
    for now in (6.0, 8.0, 10.0, 12.0, 14.0):
        capture.record(an_event())
        due.append(loader.is_due(now))
    assert due == [False, False, False, False, True]
    monkeypatch.setattr(event_loader, "LOAD_BYTES", 1)
    capture.record(an_event())
    assert loader.is_due(16.0)


class Stop(BaseException):
    """Ends a loader, which goes on after any ordinary exception."""


@pytest.fixture
def _at_once(monkeypatch):
    monkeypatch.setattr(event_loader, "LOAD_INTERVAL_S", 0)
    monkeypatch.setattr(event_loader, "RETRY_S", 0)


@pytest.mark.usefixtures("_at_once")
@pytest.mark.django_db(transaction=True)
async def test_loading_goes_on_after_errors_and_publishes_its_counts(make_capture, monkeypatch):
    capture = make_capture()
    loader = EventLoader(capture)
    load, errors = loader.load_pending, [OperationalError("away"), RuntimeError("a defect")]

    def fail_first():
        if errors:
            raise errors.pop(0)
        if sessions():
            raise Stop
        load()

    monkeypatch.setattr(loader, "load_pending", fail_first)
    before = telemetry.events.labels(LOADED)._value.get()
    capture.record(an_event())
    with capture_logs() as logs, pytest.raises(Stop):
        await loader.run()
    assert [line["event"] for line in logs] == [
        "events.loading_interrupted",
        "events.loading_failed",
    ]
    assert telemetry.events.labels(LOADED)._value.get() == before + 1


@pytest.mark.django_db(transaction=True)
async def test_a_loader_that_is_cancelled_loads_what_was_recorded_last(make_capture):
    capture = make_capture()
    task = asyncio.create_task(EventLoader(capture).run())
    await asyncio.sleep(0)
    capture.record(an_event())
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert await run_in_database_thread(sessions) == [7]


async def test_what_cannot_be_loaded_last_is_left_to_others(make_capture, monkeypatch):
    loader = EventLoader(make_capture())

    def fail():
        raise OSError("gone")

    monkeypatch.setattr(loader, "_load_own", fail)
    with capture_logs() as logs:
        await loader._load_last()
    assert [line["event"] for line in logs] == ["events.left_in_spool"]
