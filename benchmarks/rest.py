"""Requests a second and latency of the REST API, with many tools and many runs.

A console serves; clients keep their connections. Searches have words that differ each time, so
each of them is embedded. The list of runs is asked for its first page, for pages far behind, and
for those of one status.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from benchmarks.definitions import definitions
from benchmarks.gateway_cost.processes import END_S, READY_S, RunningServer, free_port, started
from benchmarks.search_catalogue import questions
from benchmarks.tables import markdown, percentile

TOOLS, RUNS = 5_000, 100_000
REQUESTS, WARM_UP = 400, 40
AT_ONCE = (1, 8)
PER_SERVER = 250

_COPY_RUNS = """
WITH made AS (
    INSERT INTO execution_workflowexecution ({columns})
    SELECT {values}
    FROM execution_workflowexecution AS run, generate_series(1, %(count)s) AS number
    RETURNING id, created_at
)
INSERT INTO execution_taskrun ({task_columns})
SELECT {task_values} FROM made, (SELECT * FROM execution_taskrun LIMIT 2) AS task
"""
_CHANGED = {
    "id": "gen_random_uuid()",
    "created_at": "run.created_at - number * interval '1 minute'",
    "status": "CASE WHEN number %% 100 = 0 THEN 'failed' ELSE 'succeeded' END",
}


def run() -> str:
    """Measure searches and the list of runs."""
    token = prepare()
    port = free_port()
    env = {"FOREGATE_CONSOLE_PORT": str(port), "FOREGATE_API_PER_MINUTE": "0"}
    headers: Mapping[str, str] = {"Authorization": f"Bearer {token}"}
    program = ["manage.py", "run_console", "--no-password"]
    with started(program, port=port, headers=headers, env=dict(os.environ) | env) as running:
        wait_until_ready(running)
        running.settle()
        rows = [
            _measure(running, name, address, at_once)
            for name, address in _requests(running)
            for at_once in AT_ONCE
        ]
    return markdown(["request", "at once", "requests/s", "p50 ms", "p95 ms"], rows)


def prepare() -> str:
    """Store tools and runs; return the token of a superuser."""
    from django.contrib.auth import get_user_model
    from django.db import connections

    from gateway_project.access import tokens

    store_tools_and_runs()
    admin = get_user_model().objects.get(username="admin")
    _, token = tokens.create_token(admin, name="benchmark", scopes=["*"])
    connections.close_all()
    return token


def store_tools_and_runs() -> None:
    """Store 5,000 tools with their vectors, and 100,000 runs."""
    from django.core.management import call_command

    from benchmarks import bulk_load
    from benchmarks.bulk_load import DefinedTool

    bulk_load.load_tools(
        [
            DefinedTool(server=f"bench{number // PER_SERVER}", definition=definition, category="")
            for number, definition in enumerate(itertools.islice(definitions(TOOLS), TOOLS))
        ],
        at=datetime.now(UTC),
    )
    call_command("embed", verbosity=0)
    _store_runs()


def _store_runs() -> None:
    """Store one run of two tasks, and copies of it, one a minute."""
    from django.conf import settings
    from django.db import connection

    from execution.models import TaskRun, WorkflowExecution
    from execution.store import runs
    from execution.workflow import RunOptions
    from gateway_project.foundation import sealing
    from gateway_project.foundation.caller import Caller

    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)
    tasks = [("a", "bench0:a"), ("b", "bench0:b")]
    workflow = {"tasks": [{"id": name, "tool": tool, "arguments": {}} for name, tool in tasks]}
    runs.create_run(
        runs.NewRun(
            caller=Caller(
                user="admin", team=None, person=None, scopes=frozenset({"*"}), kind="http"
            ),
            workflow=workflow,
            tasks=tasks,
            intent="",
            options=RunOptions(),
            idempotency_key=None,
            is_direct=False,
            owner="benchmark",
            lease_s=60.0,
        ),
        sealer=sealer,
    )
    WorkflowExecution.objects.update(
        status="succeeded", ended_at=datetime.now(UTC), learned_at=datetime.now(UTC)
    )
    columns = [field.column for field in WorkflowExecution._meta.concrete_fields]
    task_columns = [
        field.column for field in TaskRun._meta.concrete_fields if not field.primary_key
    ]
    sql = _COPY_RUNS.format(
        columns=", ".join(f'"{name}"' for name in columns),
        values=", ".join(_CHANGED.get(str(name), f'run."{name}"') for name in columns),
        task_columns=", ".join(f'"{name}"' for name in task_columns),
        task_values=", ".join(
            "made.id" if name == "run_id" else f'task."{name}"' for name in task_columns
        ),
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, {"count": RUNS})
        cursor.execute("ANALYZE execution_workflowexecution, execution_taskrun")


def wait_until_ready(running: RunningServer) -> None:
    """Wait until the gateway in the console's process serves.

    Raises:
        RuntimeError: If it does not in time.
    """
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        try:
            if json.loads(_get(_connect(running), running, "health/"))["status"] == "ok":
                return
        except OSError:
            pass
        time.sleep(END_S / 100)
    raise RuntimeError("the console is not ready in time")


def _requests(running: RunningServer) -> Iterator[tuple[str, Callable[[int], str]]]:
    """Yield what is measured, with the address of each request."""
    words = questions(REQUESTS)

    def search(number: int) -> str:
        text = f"{words[number % len(words)]} {number}"
        return "search/?" + urllib.parse.urlencode({"query": text})

    yield "search/, 5,000 tools", search
    yield "tools/, first page", lambda _: "tools/"
    yield "runs/, first page of 100,000", lambda _: "runs/"
    yield "runs/, failed ones", lambda _: "runs/?status=failed"
    far = _find_far_page(running)
    yield "runs/, the page after 50,000", lambda _: far


def _find_far_page(running: RunningServer) -> str:
    """Return the address of the page after the run in the middle."""
    from django.db import connections

    from execution.models import WorkflowExecution
    from gateway_project.api import pages

    row = WorkflowExecution.objects.order_by("-created_at")[RUNS // 2]
    connections.close_all()
    del running
    cursor = pages.encode_cursor((row.created_at.isoformat(), str(row.pk)))
    return f"runs/?cursor={cursor}"


def _measure(
    running: RunningServer, name: str, address: Callable[[int], str], at_once: int
) -> tuple[object, ...]:
    """Return a row: how many requests a second, and how long they take."""
    numbers = itertools.count()

    def work(count: int) -> list[float]:
        connection, times = _connect(running), []
        for _ in range(count):
            began = time.perf_counter()
            _get(connection, running, address(next(numbers)))
            times.append((time.perf_counter() - began) * 1_000)
        connection.close()
        return times

    work(WARM_UP)
    began = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        found = [ms for times in pool.map(work, [REQUESTS // at_once] * at_once) for ms in times]
    rate = len(found) / (time.perf_counter() - began)
    p50, p95 = (f"{percentile(found, share):.1f}" for share in (0.5, 0.95))
    return name, at_once, f"{rate:,.0f}", p50, p95


def _connect(running: RunningServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", running.port, timeout=READY_S)


def _get(connection: http.client.HTTPConnection, running: RunningServer, path: str) -> bytes:
    connection.request("GET", f"/api/v1/{path}", headers=dict(running.headers))
    response = connection.getresponse()
    content = response.read()
    if response.status != http.HTTPStatus.OK:
        raise RuntimeError(f"{path}: {response.status}: {content[:200]!r}")
    return content
