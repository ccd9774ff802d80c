"""How fast a change of the graph reaches other processes, and what keeping them current costs."""

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

from benchmarks import bulk_load, tables
from benchmarks.definitions import definitions
from gateway_project.foundation import notify
from gateway_project.foundation.database import close_connections, run_in_database_thread
from gateway_project.wiring import follow_graph
from graph import refresh
from graph.graph_cache import GraphCache
from graph.record import RelationClaim, RelationObservation
from graph.relations import EvidenceSource, RelationKind
from graph.store import metrics, relations, state
from graph.usage_counter import UsageCounter
from tools.models import Tool

TOOLS, RELATIONS = 10_000, 100_000
PER_SERVER = 250
UPDATES = 200
REPEATS = 5
WAIT_S = 30.0
KINDS = (RelationKind.DEPENDS_ON, RelationKind.PRECEDES, RelationKind.PROVIDES)


def run() -> str:
    """Measure with 10,000 tools and 100,000 relations, and return a table."""
    pks = _fill()
    rows = [
        *asyncio.run(_measure_visibility(pks)),
        *asyncio.run(_usage(pks)),
        ("ten observations written", *_measure(lambda: _observe(pks))),
        ("all read from the database", *asyncio.run(_read())),
        *asyncio.run(_measure_refreshes()),
        ("looking whether a refresh is due", *_measure(lambda: refresh.is_due(now=_now()))),
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
    bulk_load.load_tools(tools, at=_now())
    pks = list(Tool.objects.order_by("pk").values_list("pk", flat=True))
    drawn = random.Random(1)  # noqa: S311 - no secret
    claims: dict[Any, RelationClaim] = {}
    while len(claims) < RELATIONS:
        source, target = drawn.sample(pks, 2)
        claim = RelationClaim(
            source=source,
            target=target,
            kind=drawn.choice(KINDS),
            confidence=drawn.uniform(0.3, 1.0),
        )
        claims[claim.key] = claim
    relations.replace_derived(
        claims.values(), at=_now(), source=EvidenceSource.IMPORTED, origin="benchmark"
    )
    return pks


Row = tuple[str, float, float | None]


def _row(label: str, times_s: list[float]) -> Row:
    return label, statistics.median(times_s) * 1_000, tables.percentile(times_s, 0.95) * 1_000


def _ms(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def _measure(work: Callable[[], object], repeats: int = 50) -> tuple[float, float | None]:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return _row("", times)[1:]


async def _measure_visibility(pks: list[int]) -> list[Row]:
    """Time from a commit in another process until this one's graph has the change."""
    kept, seen = GraphCache(), asyncio.Event()
    await kept.reload_stale()

    async def told(event: notify.Notification | None = None) -> None:
        if event is not None:
            kept.handle_notification(event.payload)
            await kept.reload_stale()
            seen.set()

    async def listening() -> None:
        await notify.NotificationListener((notify.GRAPH,), on_event=told, on_resync=told).run()

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
                while not _is_visible(kept, source, target, number):
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


def _is_visible(kept: GraphCache, source: int, target: int, number: int) -> bool:
    found = kept.topology(None).get(source, target, RelationKind.VALIDATES)
    return found is not None and found.confidence == number / 1_000


async def _usage(pks: list[int]) -> list[Row]:
    kept, counting, writing = UsageCounter(), [], []
    await kept.load()
    for _ in range(50):
        started = time.perf_counter()
        for pk in pks[:100]:
            kept.count_call(pk, None, False)
        counting.append((time.perf_counter() - started) / 100)
        started = time.perf_counter()
        await kept.flush()
        writing.append(time.perf_counter() - started)
    await close_connections()
    return [_row("one call counted", counting), _row("calls of 100 tools written", writing)]


def _observe(pks: list[int]) -> None:
    pairs = zip(pks[:10], pks[10:20], strict=True)
    seen = [
        RelationObservation(
            source=a, target=b, kind=RelationKind.PRECEDES, successes=1.0, seconds=1.0, at=_now()
        )
        for a, b in pairs
    ]
    relations.observe_relations(None, seen)


async def _read() -> tuple[float, float | None]:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        await GraphCache().reload_stale()
        times.append(time.perf_counter() - started)
    await close_connections()
    return _row("", times)[1], None


async def _measure_refreshes() -> list[Row]:
    """Time refreshes, and the longest stall of the event loop during each."""
    rows: list[Row] = []
    for label, work in (
        ("refresh in a process of its own", _refresh_in_process),
        ("refresh in a thread", _refresh_in_thread),
    ):
        await run_in_database_thread(_mark_stale)
        started = time.perf_counter()
        stall_s = await _measure_longest_stall(work)
        rows.append((label, (time.perf_counter() - started) * 1_000, None))
        rows.append(("… longest stall of the event loop", stall_s * 1_000, None))
    rows.append(
        (
            "metrics of all tools written",
            await run_in_database_thread(_measure_metrics_write),
            None,
        )
    )
    await close_connections()
    return rows


async def _refresh_in_process() -> None:
    assert await follow_graph.refresh_in_subprocess()


async def _refresh_in_thread() -> None:
    await run_in_database_thread(refresh.refresh_graph, now=_now())


def _mark_stale() -> None:
    state.record_derived("", at=_now(), since=state.load_state().derived_from)
    state.record_computed("", at=_now(), statistics={})


def _measure_metrics_write() -> float:
    changed = {
        tool: metric._replace(pagerank=metric.pagerank / 2)
        for tool, metric in metrics.load_metrics().items()
    }
    started = time.perf_counter()
    metrics.replace_metrics(changed)
    return (time.perf_counter() - started) * 1_000


async def _measure_longest_stall(work: Callable[[], Awaitable[None]]) -> float:
    """Return the longest stall of the event loop while work is done, in seconds."""
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
