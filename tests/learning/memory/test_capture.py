"""Capture: it records, counts what it cannot record, and never raises."""

import errno

import pytest
from structlog.testing import capture_logs

from learning.memory import capture as capture_module
from learning.memory import encoding, spool
from learning.memory.capture import DROPPED, RECORDED, UNENCODABLE, Capture
from learning.memory.spool import Spool, SpoolUnavailable
from tests.learning.some_events import a_vector, an_event


@pytest.fixture
def capture(tmp_path):
    made = Capture(Spool(tmp_path / "spool", max_bytes=100_000))
    yield made
    made.close()


def recorded(capture):
    return [
        record
        for one in spool.list_files(capture.spool.folder)
        for _, record in encoding.iterate_records(
            spool.file_path(capture.spool.folder, one).read_bytes()
        )
    ]


def test_an_event_is_in_the_file_when_record_returns(capture):
    capture.record(an_event())
    assert recorded(capture) == [an_event()]
    assert capture.counts == {RECORDED: 1}


def test_a_vector_is_recorded_once(capture):
    key = {"team": None, "model": "m", "intent_hash": 3}
    assert not capture.has_vector(**key)
    capture.record_vector(a_vector())
    capture.record_vector(a_vector())
    assert capture.has_vector(**key)
    assert recorded(capture) == [a_vector()]


def test_the_memory_of_recorded_vectors_is_bounded(capture, monkeypatch):
    monkeypatch.setattr(capture_module, "MAX_KNOWN_VECTORS", 2)
    for number in range(4):
        capture.record_vector(a_vector(intent_hash=number))
    assert not capture.has_vector(team=None, model="m", intent_hash=0)
    assert capture.has_vector(team=None, model="m", intent_hash=3)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left"), "events.spool_unwritable"),
        (SpoolUnavailable(errno.EDQUOT, "full"), "events.spool_full"),
    ],
)
def test_what_the_spool_refuses_is_counted_and_logged_once(capture, monkeypatch, error, message):
    def refuse(_):
        raise error

    with capture_logs() as logs, monkeypatch.context() as patched:
        patched.setattr(capture.spool, "append", refuse)
        capture.record(an_event())
        capture.record(an_event())
        capture.record_vector(a_vector())
    assert [line["event"] for line in logs] == [message]
    assert capture.counts == {DROPPED: 3}
    assert not capture.has_vector(team=None, model="m", intent_hash=3)
    with capture_logs() as logs:
        capture.record(an_event())
        capture.record(an_event())
    assert [(line["event"], line["dropped"]) for line in logs] == [("events.recorded_again", 3)]


def test_a_defective_event_is_counted_and_logged_once_without_its_values(capture):
    with capture_logs() as logs:
        capture.record(an_event(session="canary"))
        capture.record(an_event(tool="canary"))
        capture.record_vector(a_vector(model=None))
    assert [line["event"] for line in logs] == ["events.unencodable"]
    assert "canary" not in str(logs)
    assert capture.counts == {UNENCODABLE: 3}
    assert recorded(capture) == []
