"""Throughput and latency of runs through the queue, with one, two and four workers.

    python -m benchmarks execution.workers

Every worker has its own upstream server process, as in production.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from statistics import median
from uuid import UUID

from benchmarks.gateway_process import BASE, GatewayProcess
from benchmarks.tables import markdown, percentile

WORKERS = (1, 2, 4)
RUNS = 64
TASKS = 5
DELAY_S = 0.2
"""Duration of each call; a run takes at least one chain of them."""
CONCURRENCY = 16
AT_ONCE = CONCURRENCY // 2
"""Concurrent runs of a worker for one user, who owns all runs here."""
ONE_BY_ONE = 20
PATIENCE_S = 120.0
POLL_S = 0.05
SERVER = "slow"
READY = "workflows at once"


def run() -> str:
    """Measure the same runs with an increasing number of workers."""
    _register()
    env = {"FOREGATE_EXECUTION_BACKEND": "queue"}
    with _worker(env):  # makes the queue's tables
        pass
    with GatewayProcess(env) as gateway:
        gateway.initialize()
        rows = [(workers, *_run_through_queue(gateway, workers, env)) for workers in WORKERS]
    headings = [
        "workers",
        f"seconds for {RUNS} chains of {TASKS} calls of {DELAY_S * 1000:.0f} ms",
        "ideal",
        "runs a second",
        "tasks a second",
        "idle: request to first task, median ms",
        "P95",
    ]
    return markdown(headings, rows)


def _run_through_queue(
    gateway: GatewayProcess, workers: int, env: dict[str, str]
) -> tuple[str, ...]:
    with ExitStack() as stack:
        for _ in range(workers):
            stack.enter_context(_worker(env))
        _measure_seconds(
            [_start(gateway) for _ in range(workers * AT_ONCE)]
        )  # starts their servers
        took_s = _measure_seconds([_start(gateway) for _ in range(RUNS)])
        waits_ms = [_measure_wait_ms(_start(gateway)) for _ in range(ONE_BY_ONE)]
    ideal_s = RUNS * TASKS * DELAY_S / AT_ONCE / workers
    return (
        f"{took_s:.2f}",
        f"{ideal_s:.2f}",
        f"{RUNS / took_s:.1f}",
        f"{RUNS * TASKS / took_s:.0f}",
        f"{median(waits_ms):.1f}",
        f"{percentile(waits_ms, 0.95):.1f}",
    )


def _register() -> None:
    from django.conf import settings

    from gateway_project.foundation import sealing
    from gateway_project.use_cases.refresh_catalogue import refresh_catalogue
    from tools.registration import ServerRegistration
    from tools.store import servers

    registration = ServerRegistration(
        name=SERVER,
        command=sys.executable,
        args=("-m", "benchmarks.execution.slow_server", str(DELAY_S)),
        cwd=str(BASE),
    )
    servers.register_servers(
        [registration], sealer=sealing.load_or_create_sealer(settings.FOREGATE.home)
    )
    import asyncio

    asyncio.run(refresh_catalogue(settings.FOREGATE))


@contextmanager
def _worker(env: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, str(BASE / "manage.py"), "worker", f"--concurrency={CONCURRENCY}"],
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout
        for line in process.stdout:
            if READY in line:
                break
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)


def _start(gateway: GatewayProcess) -> UUID:
    tasks = [
        {
            "id": f"t{number}",
            "tool": f"{SERVER}:wait",
            "arguments": {},
            "depends_on": [f"t{number - 1}"] if number else [],
        }
        for number in range(TASKS)
    ]
    answer = gateway.call("run_workflow", {"workflow": {"tasks": tasks}, "options": {"wait_s": 0}})
    return UUID(answer["structuredContent"]["run_id"])


def _measure_seconds(runs: list[UUID]) -> float:
    """Wait for the runs, and return the seconds from the first request to the last result."""
    from django.db.models import Max, Min

    from execution.models import WorkflowExecution

    rows = WorkflowExecution.objects.filter(id__in=runs)
    _wait_until(lambda: not rows.exclude(status="succeeded").exists())
    times = rows.aggregate(first=Min("created_at"), last=Max("ended_at"))
    return float((times["last"] - times["first"]).total_seconds())


def _measure_wait_ms(run: UUID) -> float:
    from execution.models import TaskRun, WorkflowExecution

    row = WorkflowExecution.objects.filter(id=run)
    _wait_until(lambda: row.filter(status="succeeded").exists())
    first: datetime | None = TaskRun.objects.get(run=run, task="t0").started_at
    assert first
    return (first - row.get().created_at).total_seconds() * 1e3


def _wait_until(condition: object) -> None:
    deadline = time.monotonic() + PATIENCE_S
    assert callable(condition)
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("the runs did not end in time")
        time.sleep(POLL_S)
