"""From an event in one process to its viewers: over websockets, and in a browser.

This process writes the events of a run as a gateway does; a console process serves the viewers. A
time is from before the write to the arrival at a viewer, or to the change of the page. How often
events are read is counted by PostgreSQL. The browser is left out if there is none.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from benchmarks import browser
from benchmarks.gateway_cost.processes import free_port, started
from benchmarks.tables import markdown, percentile
from gateway_project.live.hub import VIEWERS as BOUND

EVENTS = 100
INTERVAL_S = 0.1
VIEWERS = (1, 20, 200)
SETTLE_S = 2.0
MS_PER_S = 1_000
TASKS = 10
OBSERVE = """
() => {
  window.seen = {};
  const page = document.querySelector("[data-last-seq]");
  new MutationObserver(() => {
    const now = Date.now();
    requestAnimationFrame(() => { window.seen[page.dataset.lastSeq] = [now, Date.now()]; });
  }).observe(page, { attributes: true, attributeFilter: ["data-last-seq"] });
}
"""


def run() -> str:
    """Measure the way of events to 1, 20 and 200 viewers of one run, and to a page."""
    port = free_port()
    env = dict(os.environ) | {"FOREGATE_CONSOLE_PORT": str(port)}
    users = 1 + max(VIEWERS) // BOUND.each
    cookies = [browser.sign_in(f"viewer{number}") for number in range(users)]
    with started(["manage.py", "run_console", "--no-password"], port=port, headers={}, env=env):
        browser.wait_until_served(port)
        rows = [_measure_viewers(port, cookies, viewers) for viewers in VIEWERS]
        if row := _measure_page(port, cookies[0]):
            rows.append(row)
    return markdown(["viewers of one run", "p50 ms", "p95 ms", "reads of events per event"], rows)


def _measure_viewers(port: int, cookies: Sequence[str], viewers: int) -> tuple[object, ...]:
    """Return a row: how long events took to all viewers, and what that cost the database."""
    run = _start_run()
    arrived: list[tuple[int, float]] = []
    written, statements = asyncio.run(_watch(port, cookies, run, viewers, arrived))
    times = [(at - written[seq]) * MS_PER_S for seq, at in arrived]
    if len(times) != EVENTS * viewers:
        raise RuntimeError(f"{len(times)} arrivals of {EVENTS * viewers}")
    p50, p95 = (f"{percentile(times, share):.0f}" for share in (0.5, 0.95))
    return f"{viewers:,} over websockets", p50, p95, f"{statements / EVENTS:.1f}"


async def _watch(
    port: int, cookies: Sequence[str], run: UUID, viewers: int, arrived: list[tuple[int, float]]
) -> tuple[dict[int, float], float]:
    from websockets.asyncio.client import connect

    address = f"ws://127.0.0.1:{port}/live/runs/{run}/?after=1"
    origin = f"http://127.0.0.1:{port}"
    ready = asyncio.Semaphore(0)

    async def view(cookie: str) -> None:
        headers = {"Cookie": cookie, "Origin": origin}
        async with connect(address, additional_headers=headers, compression=None) as line:
            last = 1
            while last < EVENTS + 1:
                message = json.loads(await line.recv())
                at = time.time()
                if message["type"] == "start":
                    ready.release()
                for event in message.get("events", ()):
                    if event["seq"] != last + 1:
                        raise RuntimeError(f"event {event['seq']} after {last}")
                    last = event["seq"]
                    arrived.append((last, at))

    async with asyncio.TaskGroup() as group:
        for number in range(viewers):
            group.create_task(view(cookies[number % len(cookies)]))
        for _ in range(viewers):
            await ready.acquire()
        await asyncio.sleep(SETTLE_S)
        before = await asyncio.to_thread(_count_statements)
        written = await asyncio.to_thread(_write_events, run)
    await asyncio.sleep(SETTLE_S)
    return written, await asyncio.to_thread(_count_statements) - before


def _measure_page(port: int, cookie: str) -> tuple[object, ...] | None:
    """Return a row: how long events took to the page of the run; None: there is no browser."""
    executable = browser.find_browser()
    if executable is None:
        return None
    run = _start_run()
    with browser.launch(executable) as launched:
        page = browser.open_context(launched, port, cookie).new_page()
        page.goto(f"/runs/{run}/")
        page.locator("[data-live]", has_text="live").wait_for()
        page.evaluate(OBSERVE)
        written = _in_thread(run)
        page.locator(f'[data-last-seq="{EVENTS + 1}"]').wait_for()
        page.wait_for_timeout(SETTLE_S * MS_PER_S)
        seen: dict[str, Sequence[float]] = page.evaluate("window.seen")
    times = [frame - written[int(seq)] * MS_PER_S for seq, (_, frame) in seen.items()]
    p50, p95 = (f"{percentile(times, share):.0f}" for share in (0.5, 0.95))
    return "1 page in a browser, to the frame", p50, p95, "-"


def _in_thread(run: UUID) -> dict[int, float]:
    """Write the events on a thread: Playwright's holds an event loop, in which Django refuses."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_write_events, run).result()


def _write_events(run: UUID) -> dict[int, float]:
    """Write events one by one; return when each was about to be written."""
    from django.conf import settings

    from execution.changes import RunChanges, RunEvent, TaskChange
    from execution.status import TaskStatus
    from execution.store import writing
    from gateway_project.foundation import sealing

    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)
    written = {}
    for seq in range(2, EVENTS + 2):
        task, now = f"t{seq % TASKS}", datetime.now(UTC)
        change = TaskChange(task, -1, TaskStatus.RUNNING, now, attempts=seq)
        event = RunEvent(seq=seq, kind="task_started", at=now, task=task)
        changes = RunChanges(run=run, epoch=1, tasks=(change,), events=(event,))
        written[seq] = time.time()
        writing.write_batch([changes], sealer=sealer, approval_expiry_s=60.0)
        time.sleep(INTERVAL_S)
    return written


def _start_run() -> UUID:
    """Store a run that this process holds."""
    from django.conf import settings

    from execution.store import runs
    from execution.workflow import RunOptions
    from gateway_project.foundation import sealing
    from gateway_project.foundation.caller import Caller

    tasks = [(f"t{number}", "bench:tool") for number in range(TASKS)]
    made = runs.create_run(
        runs.NewRun(
            caller=Caller(
                user="admin", team=None, person=None, scopes=frozenset({"*"}), kind="http"
            ),
            workflow={"tasks": [{"id": name, "tool": tool} for name, tool in tasks]},
            tasks=tasks,
            intent="",
            options=RunOptions(),
            idempotency_key=None,
            is_direct=False,
            owner="benchmark",
            lease_s=timedelta(hours=1).total_seconds(),
        ),
        sealer=sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS),
    )
    return made.run


def _count_statements() -> int:
    """Return how often other processes read the rows of one run since the database began."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(coalesce(seq_scan, 0) + coalesce(idx_scan, 0)) FROM pg_stat_user_tables "
            "WHERE relname = 'execution_executionevent'"
        )
        (count,) = cursor.fetchone()
    connection.close()
    return int(count)
