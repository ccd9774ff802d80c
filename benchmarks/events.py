"""The cost of the memory's events: recording, loading, storing, and retrieving among a million."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from uuid import UUID

from django.db import connection

from benchmarks import tables
from learning.event_loader import EventLoader
from learning.memory.capture import Capture
from learning.memory.event import Event, EventKind, EventOutcome
from learning.memory.spool import Spool
from learning.store import events, retention
from tools.models import Team

EVENTS, TEAMS, CONTEXTS = 1_000_000, 100, 40
"""Each team has its 10,000, as the default retention keeps."""
BATCH = 5_000
CAPTURED, CAPTURE_BATCH = 40_000, 1_000
RETRIEVED = 400
SPOOL_BYTES = 1_000_000_000
START = 1_760_000_000.0
OBSERVATION = {
    "observation": {
        "tool": 4711,
        "after": [4710, 4708],
        "arguments": [["/path", "result", 4710, "/files/*/path"], ["/limit", "default"]],
    }
}


def run() -> str:
    """Measure everything and return a table."""
    draw = random.Random(7)  # noqa: S311 - no secret
    teams = [Team.objects.create(name=f"bench {number}").pk for number in range(TEAMS)]
    rows = [
        ("recording an event, processor", f"{_measure_capture({}):.1f} µs", "10 µs"),
        (
            "recording a call with an observation of 150 bytes, processor",
            f"{_measure_capture(OBSERVATION):.1f} µs",
            "10 µs",
        ),
    ]
    try:
        rows += _measure_loading(draw, teams)
        rows += _measure_size(draw, teams)
        rows += _measure_retrieval(draw, teams)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE learning_episodicevent, learning_eventspool")
        Team.objects.filter(pk__in=teams).delete()
    return tables.markdown(("events of the memory", "measured", "target"), rows)


def _make_event(
    draw: random.Random, team: int, number: int, data: Mapping[str, object] | None = None
) -> Event:
    is_predicted = number % 4 == 0
    return Event(
        kind=EventKind.SPECULATION_END if is_predicted else EventKind.TASK_COMPLETE,
        at=START + number,
        team=team,
        session=draw.getrandbits(63),
        tool=draw.randrange(1, 500),
        arguments_hash=draw.getrandbits(63),
        context_hash=_pick_context(draw, team),
        context_check=1,
        prediction=UUID(int=draw.getrandbits(128)) if is_predicted else None,
        outcome=EventOutcome.SUCCEEDED,
        duration_ms=12.5,
        data=data or {},
    )


def _pick_context(draw: random.Random, team: int) -> int:
    return team * 1_000_003 + draw.randrange(CONTEXTS)


def _measure_capture(data: Mapping[str, object]) -> float:
    """Return the median processor time of `record` in microseconds, by batches."""
    draw, times = random.Random(1), []  # noqa: S311 - no secret
    with tempfile.TemporaryDirectory() as folder:
        capture = Capture(Spool(Path(folder), max_bytes=SPOOL_BYTES))
        for _ in range(CAPTURED // CAPTURE_BATCH):
            batch = [_make_event(draw, 1, number, data) for number in range(CAPTURE_BATCH)]
            started = time.process_time()
            for event in batch:
                capture.record(event)
            times.append((time.process_time() - started) / CAPTURE_BATCH)
        capture.close()
    return statistics.median(times) * 1e6


Row = tuple[str, str, str]


def _measure_loading(draw: random.Random, teams: list[int]) -> Iterator[Row]:
    """Time the loader from the spool file to the committed rows."""
    with tempfile.TemporaryDirectory() as folder:
        capture = Capture(
            Spool(Path(folder), max_bytes=SPOOL_BYTES, rotate_bytes=SPOOL_BYTES // 4)
        )
        for number in range(100_000):
            capture.record(_make_event(draw, draw.choice(teams), number, OBSERVATION))
        loader = EventLoader(capture)
        started, processor = time.perf_counter(), time.process_time()
        loader.load_pending()
        took, cost = time.perf_counter() - started, time.process_time() - processor
        assert loader.counts["loaded"] == 100_000
        capture.close()
    yield "loading from the spool, wall time", f"{100_000 / took:,.0f}/s", "20,000/s"
    yield "loading, processor of the gateway", f"{cost * 10:.0f} µs an event", ""


def _measure_size(draw: random.Random, teams: list[int]) -> Iterator[Row]:
    """Fill the table with a million events; return bytes per 10,000 with and without `data`."""
    per_10_000 = 10_000 / EVENTS / 1e6
    for label, data in (("with observations", OBSERVATION), ("without", None)):
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE learning_episodicevent")
        started = time.perf_counter()
        for start in range(0, EVENTS, BATCH):
            batch = [
                _make_event(draw, teams[number % TEAMS], number, data)
                for number in range(start, start + BATCH)
            ]
            spool = UUID(int=draw.getrandbits(128))
            events.store_records(batch, spool=spool, start=0, end=1)
        took = time.perf_counter() - started
        size = retention.measure_memory().bytes * per_10_000
        yield f"10,000 of a million events with all indexes, {label}", f"{size:.2f} MB", "3.7 MB"
        if data is None:
            yield "storing a million, made and sent here", f"{EVENTS / took:,.0f}/s", "20,000/s"
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE learning_episodicevent")


def _measure_retrieval(draw: random.Random, teams: list[int]) -> Iterator[Row]:
    cases: dict[str, Callable[[int], int]] = {
        "present": lambda team: _pick_context(draw, team),
        "absent": lambda _team: -draw.getrandbits(62),
    }
    for label, pick in cases.items():
        times = []
        for _ in range(RETRIEVED):
            team = draw.choice(teams)
            context = pick(team)
            started = time.perf_counter()
            found = events.load_events_of_context(team, context, limit=10)
            times.append((time.perf_counter() - started) * 1_000)
            assert len(found) == (10 if label == "present" else 0)
        p50, p95 = statistics.median(times), tables.percentile(times, 0.95)
        yield f"ten events by {label} hash, p50 / p95", f"{p50:.2f} / {p95:.2f} ms", "p95 3 ms"
