"""Workflows over real stdio servers compared with the ideal duration, singly and concurrently.

    python -m benchmarks execution.real_servers

Everything is as in production: the product's runs, recorded in PostgreSQL before and after each
call, and a process for each server, whose calls take a fixed time.
"""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.execution.no_journal import NoJournal
from benchmarks.gateway_process import BASE
from benchmarks.tables import markdown, percentile

if TYPE_CHECKING:
    from execution.planning.plan import Plan
    from gateway_project.readiness import Gateway

SLOW_S, QUICK_S = 0.2, 0.02
SLOW = tuple(f"slow{number}" for number in range(5))
QUICK = "quick"
REPEATS = 20
WORKFLOWS = 100
AT_ONCE = 100
PATIENCE_S = 120.0
Needs = Mapping[str, tuple[str, Sequence[str]]]
"""Server and dependencies of each task."""

SIDE_BY_SIDE: Needs = {f"t{place}": (server, ()) for place, server in enumerate(SLOW)}
IN_A_ROW: Needs = {
    f"t{place}": (server, (f"t{place - 1}",) if place else ()) for place, server in enumerate(SLOW)
}
SKEWED: Needs = {
    "a1": (SLOW[0], ()),
    "a2": (QUICK, ("a1",)),
    "b1": (QUICK, ()),
    "b2": (SLOW[1], ("b1",)),
}
DIAMOND: Needs = {
    "find": (SLOW[0], ()),
    "read1": (SLOW[1], ("find",)),
    "read2": (SLOW[2], ("find",)),
    "read3": (SLOW[3], ("find",)),
    "tell": (SLOW[4], ("read1", "read2", "read3")),
}
DIAMOND_LAYERS = 3


def run() -> str:
    """Measure workflows one after the other, then many concurrently; return a table."""
    return asyncio.run(_run())


async def _run() -> str:
    await _register()
    async with _gateway() as gateway:
        bench = _Bench(gateway)
        await bench.warm()
        rows = [*await _shapes(bench), *await _many(bench)]
    return markdown(("workflow", "ideal ms", "P50 ms", "P95 ms", "share of the ideal"), rows)


async def _shapes(bench: _Bench) -> list[tuple[str, ...]]:
    few = range(REPEATS // 4)
    sequence = [await bench.measure_calls_ms(SLOW) for _ in few]
    chain = [await bench.measure_run_ms(IN_A_ROW) for _ in few]
    wide = [await bench.measure_run_ms(SIDE_BY_SIDE) for _ in range(REPEATS)]
    unwritten = [await bench.measure_unwritten_ms(SIDE_BY_SIDE) for _ in range(REPEATS)]
    skewed = [await bench.measure_run_ms(SKEWED) for _ in range(REPEATS)]
    diamond = [await bench.measure_run_ms(DIAMOND) for _ in range(WORKFLOWS)]
    slow_ms, quick_ms, count = SLOW_S * 1e3, QUICK_S * 1e3, len(SLOW)
    tasks = f"{count} tasks of {slow_ms:.0f} ms"
    layered = f"layer by layer: {2 * slow_ms:.0f}"
    return [
        _row(f"{count} calls of {slow_ms:.0f} ms one by one, no run", count * slow_ms, sequence),
        _row(f"{tasks} in a row", count * slow_ms, chain),
        _row(f"{tasks} side by side", slow_ms, wide),
        _row(f"{tasks} side by side, nothing written down", slow_ms, unwritten),
        _speed_up("speed-up over the calls one by one", sequence, wide),
        _speed_up("the same, nothing written down", sequence, unwritten),
        _speed_up("speed-up over the same tasks in a row, as a run too", chain, wide),
        _row(
            f"chains of {slow_ms:.0f} then {quick_ms:.0f} ms, and {quick_ms:.0f} then "
            f"{slow_ms:.0f} ({layered})",
            slow_ms + quick_ms,
            skewed,
        ),
        _row(f"one, then three, then one of {slow_ms:.0f} ms", DIAMOND_LAYERS * slow_ms, diamond),
    ]


def _speed_up(label: str, sequence: Sequence[float], parallel: Sequence[float]) -> tuple[str, ...]:
    faster, ideal = median(sequence) / median(parallel), len(SLOW)
    return (label, f"{ideal} times", f"{faster:.2f} times", "", f"{faster / ideal:.3f}")


async def _many(bench: _Bench) -> list[tuple[str, ...]]:
    """Start many runs at once; the server that all begin with is the bottleneck."""
    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(bench.measure_run_ms(DIAMOND)) for _ in range(AT_ONCE)]
    wall_ms = (time.perf_counter() - started) * 1e3
    slow_ms, places = SLOW_S * 1e3, bench.tasks_per_server
    ideal = [(number // places + DIAMOND_LAYERS) * slow_ms for number in range(AT_ONCE)]
    rate = AT_ONCE * len(DIAMOND) / wall_ms * 1e3
    return [
        _row(
            f"{AT_ONCE} of these at once, {places} calls at once on each server: each run",
            median(ideal),
            [task.result() for task in tasks],
        ),
        _row(f"the same: all of them ({rate:.0f} tasks a second)", max(ideal), [wall_ms]),
    ]


def _row(label: str, ideal_ms: float, took: Sequence[float]) -> tuple[str, ...]:
    half = median(took)
    return (
        label,
        f"{ideal_ms:.0f}",
        f"{half:.1f}",
        f"{percentile(took, 0.95):.1f}" if len(took) > 1 else "",
        f"{ideal_ms / half:.3f}",
    )


@dataclass(frozen=True)
class _Bench:
    """A gateway without clients, driven through its flow."""

    gateway: Gateway

    @property
    def tasks_per_server(self) -> int:
        from django.conf import settings

        return int(settings.FOREGATE.tasks_per_server)

    async def warm(self) -> None:
        """Start every server and run every code path once."""
        await self.measure_calls_ms((*SLOW, QUICK))
        for needs in (SIDE_BY_SIDE, SKEWED):
            await self.measure_run_ms(needs)

    async def measure_calls_ms(self, servers: Sequence[str]) -> float:
        """Call the tool of each server one after the other; return the milliseconds taken."""
        from gateway_project import flow
        from tools.upstream.request import UpstreamRequest

        caller = self.gateway.caller
        assert caller is not None
        started = time.perf_counter()
        for server in servers:
            request = UpstreamRequest.to_call(f"{server}:wait", {})
            await flow.call_tool(self.gateway.effects, caller, request)
        return (time.perf_counter() - started) * 1e3

    async def measure_run_ms(self, needs: Needs) -> float:
        """Run a workflow; return the milliseconds that its caller waited."""
        from execution.status import RunStatus

        caller, runs = self.gateway.caller, self.gateway.effects.runs
        assert caller is not None
        started = time.perf_counter()
        begun = await runs.start(caller, self._plan(needs))
        view = await runs.wait(caller, begun.run, wait_s=PATIENCE_S)
        took_s = time.perf_counter() - started
        assert view.status is RunStatus.SUCCEEDED, view
        return took_s * 1e3

    async def measure_unwritten_ms(self, needs: Needs) -> float:
        """Run a workflow without a journal; return the milliseconds taken."""
        from cryptography.fernet import Fernet
        from django.conf import settings

        from execution.process import held_run
        from execution.process.progress_relay import ProgressRelay
        from execution.process.steady_clock import make_steady_clock
        from execution.run_dependencies import RunDependencies
        from execution.running.executor import Execution
        from execution.running.limits import CallSlots
        from execution.snapshot import RunSnapshot
        from gateway_project.foundation.sealing import Sealer

        effects, caller = self.gateway.effects, self.gateway.caller
        assert caller is not None
        dependencies = RunDependencies(
            home=settings.FOREGATE.home,
            catalogue=effects.catalogue,
            upstream=effects.upstream,
            sealer=Sealer([Fernet.generate_key()]),
            refresh_rights=lambda caller: caller,
        )
        started = time.perf_counter()
        snapshot = RunSnapshot(
            run=uuid.uuid4(),
            caller=caller,
            epoch=1,
            last_seq=1,
            workflow=self._plan(needs).workflow,
        )
        means = held_run.build_executor_dependencies(
            dependencies,
            snapshot,
            journal=NoJournal(),
            call_slots=CallSlots(total=64, per_server=self.tasks_per_server),
            clock=make_steady_clock(),
            reports=ProgressRelay(),
        )
        await Execution(snapshot, means).run()
        return (time.perf_counter() - started) * 1e3

    def _plan(self, needs: Needs) -> Plan:
        from execution.planning import parse, plan
        from execution.workflow import RunOptions

        tasks: list[dict[str, Any]] = [
            {"id": task, "tool": f"{server}:wait", "arguments": {}, "depends_on": list(after)}
            for task, (server, after) in needs.items()
        ]
        caller = self.gateway.caller
        assert caller is not None
        planned = plan.plan_workflow(
            parse.parse({"tasks": tasks}),
            RunOptions(),
            caller=caller,
            catalogue=self.gateway.effects.catalogue(),
        )
        assert not planned.problems, planned.problems
        return planned


@asynccontextmanager
async def _gateway() -> AsyncIterator[Gateway]:
    from django.conf import settings

    from gateway_project import wiring
    from gateway_project.access import callers
    from gateway_project.readiness import Readiness

    readiness = Readiness()
    wired = asyncio.create_task(
        wiring.run_gateway(
            readiness, config=settings.FOREGATE, user=callers.LOCAL_ADMIN, kind="command"
        )
    )
    try:
        while readiness.current is None:
            await asyncio.wait([wired], timeout=0.05)
            if wired.done():
                await wired
        yield await readiness.wait_for_gateway()
    finally:
        wired.cancel()
        await asyncio.wait([wired])


async def _register() -> None:
    from django.conf import settings

    from gateway_project.foundation import sealing
    from gateway_project.foundation.database import run_in_database_thread
    from gateway_project.use_cases.refresh_catalogue import refresh_catalogue
    from tools.registration import ServerRegistration
    from tools.store import servers

    delays = dict.fromkeys(SLOW, SLOW_S) | {QUICK: QUICK_S}
    registrations = [
        ServerRegistration(
            name=name,
            command=sys.executable,
            args=("-m", "benchmarks.execution.slow_server", str(delay_s)),
            cwd=str(BASE),
            trusted=True,
        )
        for name, delay_s in delays.items()
    ]
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home)
    await run_in_database_thread(servers.register_servers, registrations, sealer=sealer)
    await refresh_catalogue(settings.FOREGATE)
