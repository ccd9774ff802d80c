"""The cost of the memory's events: recording, loading and storing."""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import UUID

from django.db import connection

from benchmarks import tables
from graph.suggestion.next_call.observation import CallObservation, PlacedValue
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
SPOOL_BYTES = 1_000_000_000
START = 1_760_000_000.0
OBSERVED, LOADED = 50_000, 100_000
RESULT_PATHS = 14
"""Paths of a result: an observation takes some 750 bytes of JSON then, as the mean of the calls of
recorded sessions with an airline's, a shop's and general tools does (1,081 calls)."""
WORDS = (
    *("account", "address", "amount", "author", "brand", "cabin", "channel", "city", "code"),
    *("commit", "country", "created", "currency", "date", "depth", "duration", "email", "file"),
    *("flight", "format", "group", "height", "id", "index", "items", "key", "label", "language"),
    *("level", "locale", "message", "method", "mode", "name", "number", "order", "origin"),
    *("owner", "page", "path", "payment", "phone", "price", "product", "quantity", "region"),
    *("source", "state", "street", "team", "title", "total", "type", "updated", "url", "user"),
)


def run() -> str:
    """Measure everything and return a table."""
    draw = random.Random(7)  # noqa: S311 - no secret
    teams = [Team.objects.create(name=f"bench {number}").pk for number in range(TEAMS)]
    try:
        rows = [
            *_measure_capture(draw),
            *_measure_loading(draw, teams),
            *_measure_size(draw, teams),
        ]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE learning_episodicevent, learning_eventspool")
        Team.objects.filter(pk__in=teams).delete()
    return tables.markdown(("events of the memory", "measured", "target"), rows)


def _observe(draw: random.Random) -> dict[str, object]:
    """Return an observation in the form in which calls leave them."""
    numbers = iter(range(draw.randrange(50), 1_000))
    observed = CallObservation(
        tool=draw.randrange(1, 500),
        is_read_only=True,
        is_error=False,
        arguments={"reservation_id": next(numbers), "user_id": next(numbers)},
        schema_arguments={"cabin": 1},
        is_complete=True,
        values=tuple(_place_values(draw, numbers)),
        duration_ms=12.5,
    )
    return {"observation": observed.to_json()}


def _place_values(draw: random.Random, numbers: Iterator[int]) -> Iterator[PlacedValue]:
    """Yield where the values of a result stood."""
    for _ in range(RESULT_PATHS):
        path = f"/{draw.choice(WORDS)}/*/{draw.choice(WORDS)}_{draw.choice(WORDS)}"
        for item in range(draw.randrange(1, 6)):
            yield PlacedValue(path, (item,), next(numbers))


def _make_event(
    draw: random.Random, team: int, number: int, data: Mapping[str, object] | None = None
) -> Event:
    if data is not None:
        return _make_observation(draw, team, number, data)
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
    )


def _make_observation(
    draw: random.Random, team: int, number: int, data: Mapping[str, object]
) -> Event:
    return Event(
        kind=EventKind.OBSERVATION,
        at=START + number,
        team=team,
        session=draw.getrandbits(63),
        tool=draw.randrange(1, 500),
        data=data,
    )


def _pick_context(draw: random.Random, team: int) -> int:
    return team * 1_000_003 + draw.randrange(CONTEXTS)


Row = tuple[str, str, str]


def _measure_capture(draw: random.Random) -> Iterator[Row]:
    """Yield the median processor time of `record`, by batches."""
    for label, is_observed in (("an event", False), ("an observation", True)):
        times = []
        with tempfile.TemporaryDirectory() as folder:
            capture = Capture(Spool(Path(folder), max_bytes=SPOOL_BYTES))
            for _ in range(CAPTURED // CAPTURE_BATCH):
                batch = [
                    _make_event(draw, 1, number, _observe(draw) if is_observed else None)
                    for number in range(CAPTURE_BATCH)
                ]
                started = time.process_time()
                for event in batch:
                    capture.record(event)
                times.append((time.process_time() - started) / CAPTURE_BATCH)
            capture.close()
        target = "" if is_observed else "10 µs"
        yield f"recording {label}, processor", f"{statistics.median(times) * 1e6:.1f} µs", target


def _measure_loading(draw: random.Random, teams: list[int]) -> Iterator[Row]:
    """Time the loader from the spool file to the committed rows."""
    with tempfile.TemporaryDirectory() as folder:
        capture = Capture(Spool(Path(folder), max_bytes=4 * SPOOL_BYTES, rotate_bytes=SPOOL_BYTES))
        for number in range(LOADED):
            capture.record(_make_event(draw, draw.choice(teams), number))
        loader = EventLoader(capture)
        started, processor, server = time.perf_counter(), time.process_time(), _server_seconds()
        loader.load_pending()
        took, cost = time.perf_counter() - started, time.process_time() - processor
        server = _server_seconds() - server
        assert loader.counts["loaded"] == LOADED
        capture.close()
    yield "loading from the spool, wall time", f"{LOADED / took:,.0f}/s", "20,000/s"
    yield "… processor of the gateway", f"{cost / LOADED * 1e6:.0f} µs an event", ""
    yield "… processor of PostgreSQL", f"{server / LOADED * 1e6:.0f} µs an event", ""


def _server_seconds() -> float:
    """Return the processor time of this connection's server process, in seconds (Linux)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid = int(cursor.fetchone()[0])
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _measure_size(draw: random.Random, teams: list[int]) -> Iterator[Row]:
    """Fill the table; yield bytes per 10,000 with all indexes."""
    cases = (
        ("all with an observation", OBSERVED, 1),
        ("a third with an observation", OBSERVED, 3),
        ("none with an observation, of a million", EVENTS, 0),
    )
    for label, count, observed_each in cases:
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE learning_episodicevent")
        for start in range(0, count, BATCH):
            batch = [
                _make_event(
                    draw,
                    teams[number % TEAMS],
                    number,
                    _observe(draw) if observed_each and number % observed_each == 0 else None,
                )
                for number in range(start, start + BATCH)
            ]
            events.store_records(batch, spool=UUID(int=draw.getrandbits(128)), start=0, end=1)
        megabytes = retention.measure_memory()[1] / count * 10_000 / 1e6
        yield f"10,000 events with all indexes, {label}", f"{megabytes:.2f} MB", "3.7 MB"
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE learning_episodicevent")
