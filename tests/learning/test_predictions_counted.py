"""Predictions of next calls are counted as their events are loaded: each exactly once."""

from datetime import UTC, datetime

import pytest
from django.db import DataError

from learning.event_loader import EventLoader
from learning.memory.capture import Capture
from learning.memory.event import Event, EventKind, EventOutcome
from learning.memory.spool import Spool
from learning.models import EpisodicEvent
from learning.store import totals
from tests.factories import ToolFactory

pytestmark = pytest.mark.django_db

AT = datetime(2026, 11, 23, 12, tzinfo=UTC)


@pytest.fixture
def capture(tmp_path):
    opened = Capture(Spool(tmp_path / "spool", max_bytes=1_000_000))
    yield opened
    opened.close()


def resolve(capture, tool, outcome=EventOutcome.HIT, chance=0.42):
    capture.record(
        Event(
            kind=EventKind.SPECULATION_END,
            at=AT.timestamp(),
            team=None,
            session=1,
            tool=tool.pk,
            outcome=outcome,
            data={"form": "next_call", "chance": chance, "saves_ms": 100.0, "shadow": True},
        )
    )


def counted():
    rows = totals.load_totals(None, since=AT.date())
    return [(row.decile, row.predictions, row.hits, row.saved_ms) for row in rows]


def test_an_event_is_counted_once_however_often_its_file_is_loaded(capture):
    tool = ToolFactory()
    resolve(capture, tool)
    resolve(capture, tool, EventOutcome.EXPIRED)
    for _ in range(2):
        EventLoader(capture).load_pending()
    assert counted() == [(4, 2, 1, 100.0)]


def test_a_batch_that_is_not_stored_is_not_counted(capture, monkeypatch):
    tool = ToolFactory()
    resolve(capture, tool)
    real = totals.add_events

    def count_and_fail(events):
        real(events)
        if events:
            raise DataError("after the totals")

    with monkeypatch.context() as patched:
        patched.setattr(totals, "add_events", count_and_fail)
        EventLoader(capture).load_pending()
    assert (counted(), EpisodicEvent.objects.count()) == ([], 0)
