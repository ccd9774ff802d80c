"""How soon a change of the graph is known elsewhere, and what keeping processes current costs."""

from __future__ import annotations

import asyncio
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from benchmarks import tables
from benchmarks.definitions import definitions
from gateway_project.foundation import notify
from gateway_project.foundation.database import close_connections, in_database
from gateway_project.wiring import follow_graph
from graph import refresh
from graph.kept_graph import KeptGraph
from graph.kept_usage import KeptUsage
from graph.record import Claim, Observation
from graph.relations import Kind, Source
from graph.store import metrics, relations, state
from tools.models import Tool
from tools.store import bulk_load

TOOLS, RELATIONS = 10_000, 100_000
PER_SERVER = 250
UPDATES = 200
REPEATS = 5
WAIT_S = 30.0
KINDS = (Kind.DEPENDS_ON, Kind.PRECEDES, Kind.PROVIDES)


def run() -> str:
    """Measure on 10,000 tools and 100,000 relations, and return a table."""
    pks = _fill()
    rows = [
        *asyncio.run(_visible(pks)),
        *asyncio.run(_usage(pks)),
        ("ten observations written", *_timed(lambda: _observe(pks))),
        ("all read from the database", *asyncio.run(_read())),
        *asyncio.run(_refreshed()),
        ("looking whether a refresh is due", *_timed(lambda: refresh.is_due(now=_now()))),
    ]
    return tables.markdown(
        ("10,000 tools, 100,000 relations", "p50 ms", "p95 ms"),
        [(label, _ms(p50), "" if p95 is None else _ms(p95)) for label, p50, p95 in rows],
    )


def _now() -> datetime:
    return datetime.now(UTC)


def _fill() -> list[int]:
    """Store tools, and relations between pairs drawn at random with a fixed seed."""
    tools = [
        bulk_load.DefinedTool(server=f"bench{number // PER_SERVER}", definition=definition)
        for number, definition in enumerate(definitions(TOOLS))
    ]
    bulk_load.load(tools, at=_now())
    pks = list(Tool.objects.order_by("pk").values_list("pk", flat=True))
    drawn = random.Random(1)  # noqa: S311 - no secret
    claims: dict[Any, Claim] = {}
    while len(claims) < RELATIONS:
        source, target = drawn.sample(pks, 2)
        claim = Claim(
            source=source,
            target=target,
            kind=drawn.choice(KINDS),
            confidence=drawn.uniform(0.3, 1.0),
        )
        claims[claim.key] = claim
    relations.replace_derived(
        claims.values(), at=_now(), source=Source.IMPORTED, origin="benchmark"
    )
    return pks


Row = tuple[str, float, float | None]


def _row(label: str, times_s: list[float]) -> Row:
    return label, statistics.median(times_s) * 1_000, tables.percentile(times_s, 0.95) * 1_000


def _ms(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def _timed(work: Callable[[], object], repeats: int = 50) -> tuple[float, float | None]:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return _row("", times)[1:]


async def _visible(pks: list[int]) -> list[Row]:
    """Time from the commit in another process until this one's graph shows what it wrote."""
    kept, seen = KeptGraph(), asyncio.Event()
    await kept.catch_up()

    async def told(event: notify.Event | None = None) -> None:
        if event is not None:
            kept.notice(event.payload)
            await kept.catch_up()
            seen.set()

    async def listening() -> None:
        await notify.Listener((notify.GRAPH,), on_event=told, on_resync=told).run()

    source, target = pks[0], pks[1]
    writer = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.graph_writer", str(source), str(target)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert writer.stdin is not None
    assert writer.stdout is not None
    times = []
    async with asyncio.TaskGroup() as group:
        listener = group.create_task(listening())
        await writer.stdout.readline()
        for number in range(1, UPDATES + 1):
            writer.stdin.write(b"%d\n" % number)
            async with asyncio.timeout(WAIT_S):
                while not _shows(kept, source, target, number):
                    seen.clear()
                    await seen.wait()
                shown_at = time.monotonic()
                committed_at = float(await writer.stdout.readline())
            times.append(shown_at - committed_at)
        writer.stdin.close()
        await writer.wait()
        listener.cancel()
    await close_connections()
    return [_row("relation written in one process, seen in another", times)]


def _shows(kept: KeptGraph, source: int, target: int, number: int) -> bool:
    found = kept.topology(None).get(source, target, Kind.VALIDATES)
    return found is not None and found.confidence == number / 1_000


async def _usage(pks: list[int]) -> list[Row]:
    kept, counting, writing = KeptUsage(), [], []
    await kept.load()
    for _ in range(50):
        started = time.perf_counter()
        for pk in pks[:100]:
            kept.count(pk, None, False)
        counting.append((time.perf_counter() - started) / 100)
        started = time.perf_counter()
        await kept.flush()
        writing.append(time.perf_counter() - started)
    await close_connections()
    return [_row("one call counted", counting), _row("calls of 100 tools written", writing)]


def _observe(pks: list[int]) -> None:
    pairs = zip(pks[:10], pks[10:20], strict=True)
    seen = [
        Observation(source=a, target=b, kind=Kind.PRECEDES, successes=1.0, seconds=1.0, at=_now())
        for a, b in pairs
    ]
    relations.observe(None, seen)


async def _read() -> tuple[float, float | None]:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        await KeptGraph().catch_up()
        times.append(time.perf_counter() - started)
    await close_connections()
    return _row("", times)[1], None


async def _refreshed() -> list[Row]:
    """Time a refresh, and how long the event loop was held up meanwhile."""
    rows: list[Row] = []
    for label, work in (
        ("refresh in a process of its own", _apart),
        ("refresh in a thread", _beside),
    ):
        await in_database(_unsettle)
        started = time.perf_counter()
        stall_s = await _longest_stall(work)
        rows.append((label, (time.perf_counter() - started) * 1_000, None))
        rows.append(("… longest stall of the event loop", stall_s * 1_000, None))
    rows.append(("metrics of all tools written", await in_database(_metrics_written), None))
    await close_connections()
    return rows


async def _apart() -> None:
    assert await follow_graph.in_own_process()


async def _beside() -> None:
    await in_database(refresh.refresh, now=_now())


def _unsettle() -> None:
    state.note_derived("", at=_now(), since=state.load().derived_from)
    state.note_computed("", at=_now(), statistics={})


def _metrics_written() -> float:
    changed = {
        tool: metric._replace(pagerank=metric.pagerank / 2)
        for tool, metric in metrics.load().items()
    }
    started = time.perf_counter()
    metrics.replace(changed)
    return (time.perf_counter() - started) * 1_000


async def _longest_stall(work: Callable[[], Awaitable[None]]) -> float:
    """Return the longest time for which the event loop did not come round, while work is done."""
    longest, done = 0.0, threading.Event()

    async def watch() -> None:
        nonlocal longest
        before = time.perf_counter()
        while not done.is_set():
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            longest, before = max(longest, now - before - 0.001), now

    async with asyncio.TaskGroup() as group:
        group.create_task(watch())
        await work()
        done.set()
    return longest
