"""Overhead of a task beside its call: in memory with all controls, durable, and in LangGraph.

A call awaits once and answers. Everything else of the executor is as in production: limits,
dependencies, records of calls and outcomes, numbered events, references; `durable` writes all of
it to PostgreSQL, sealed, before and after each call. In memory, processor time of all threads is
measured; durable, wall-clock time. The best of several runs counts, to exclude other load.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks.execution import peers
from benchmarks.execution.no_journal import NoJournal
from benchmarks.execution.shapes import REPEATS, TASKS, shapes
from benchmarks.tables import markdown
from execution.call import CallOutcome, PreparedCall
from execution.changes import Journal
from execution.running.dependencies import ExecutorDependencies, Invocation
from execution.running.executor import Execution
from execution.running.limits import CallSlots
from execution.snapshot import RunSnapshot
from execution.status import RunStatus
from execution.workflow import RunOptions, Workflow, WorkflowTask
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from tools.upstream.result import UpstreamResult

ROOT = Path(__file__).resolve().parent.parent.parent
AT_ONCE = 64
DURABLE_REPEATS = 3
CALLER = Caller(
    user="admin", team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="command"
)
HEADINGS = (
    f"{TASKS:,} tasks",
    "in memory, µs of processor a task",
    f"LangGraph {peers.LANGGRAPH} in memory, likewise",
    "durable, µs that pass a task",
)
COMPLETED = CallOutcome(
    tool="s:t",
    definition_hash="",
    result=UpstreamResult(raw={"structuredContent": {"ok": True}}),
    duration_s=0.0,
)


def run() -> str:
    """Measure all shapes in all three ways; return a table."""
    theirs = _measure_langgraph()
    rows = []
    for name, waits in shapes().items():
        plan = workflow(waits)
        ours = min(asyncio.run(_in_memory(plan)) for _ in range(REPEATS))
        durable = min(asyncio.run(_durable(plan)) for _ in range(DURABLE_REPEATS))
        rows.append(
            (name, *(f"{1e6 * s / len(waits):,.1f}" for s in (ours, theirs[name], durable)))
        )
    return markdown(HEADINGS, rows)


def workflow(waits: Sequence[Sequence[int]]) -> Workflow:
    """Return a workflow with these dependencies; each task has an argument."""
    return Workflow(
        tasks=tuple(
            WorkflowTask(
                id=f"t{place}",
                tool="server:tool",
                arguments={"place": place},
                depends_on=tuple(f"t{other}" for other in needed),
            )
            for place, needed in enumerate(waits)
        )
    )


def prepare(tool: str, _arguments: Mapping[str, Any]) -> PreparedCall:
    """Allow any call."""
    return PreparedCall(
        tool=tool,
        server="server",
        definition_hash="d" * 64,
        arguments_digest="a" * 64,
        approval_reason="",
        repeatable=True,
    )


async def invoke(_invocation: Invocation) -> CallOutcome:
    """Await once, like a call."""
    await asyncio.sleep(0)
    return COMPLETED


def _make_dependencies(journal: Journal) -> ExecutorDependencies:
    async def recall(_tasks: object) -> Mapping[Any, Any]:
        return {}

    return ExecutorDependencies(
        prepare=prepare,
        invoke=invoke,
        journal=journal,
        call_slots=CallSlots(total=AT_ONCE, per_server=AT_ONCE),
        clock=lambda: datetime.now(UTC),
        reload_results=recall,
    )


async def _in_memory(plan: Workflow) -> float:
    standing = RunSnapshot(run=uuid4(), caller=CALLER, epoch=1, last_seq=0, workflow=plan)
    return await _measure(standing, NoJournal(), time.process_time)


async def _durable(plan: Workflow) -> float:
    async with _database() as (create, journal):
        created = await create(plan)
        standing = RunSnapshot(run=created.run, caller=CALLER, epoch=1, last_seq=1, workflow=plan)
        return await _measure(standing, journal, time.perf_counter)


async def _measure(standing: RunSnapshot, journal: Journal, clock: Callable[[], float]) -> float:
    started = clock()
    status = await Execution(standing, _make_dependencies(journal)).run()
    taken = clock() - started
    assert status is RunStatus.SUCCEEDED, status
    return taken


@asynccontextmanager
async def _database() -> AsyncIterator[tuple[Callable[[Workflow], Any], Journal]]:
    """Yield a function that creates a run's rows, and a journal that writes to them."""
    from django.conf import settings

    from execution.planning.parse import dump
    from execution.process.journal import DatabaseJournal
    from execution.store import runs, writing
    from gateway_project.foundation import sealing
    from gateway_project.foundation.database import run_in_database_thread

    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)

    async def create(plan: Workflow) -> Any:
        new = runs.NewRun(
            caller=CALLER,
            workflow=dump(plan),
            tasks=[(task.id, task.tool) for task in plan.tasks],
            options=RunOptions(),
            owner="benchmark",
            lease_s=600.0,
        )
        return await run_in_database_thread(runs.create_run, new, sealer=sealer)

    journal = DatabaseJournal(partial(writing.write_batch, sealer=sealer, approval_expiry_s=600.0))
    async with asyncio.TaskGroup() as group:
        group.create_task(journal.run())
        yield create, journal
        journal.close()


def _measure_langgraph() -> Mapping[str, float]:
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([*peers.langgraph(), file.name], cwd=ROOT, check=True)
        found: Mapping[str, float] = json.loads(Path(file.name).read_text(encoding="utf-8"))
    return found
