"""What remembering sessions costs a call, in processor time: two gateways, with and without.

Rounds alternate between them, so that both see the same machine; each row is the median of the
differences of its rounds. The processor time of PostgreSQL is not included. What is needed once
(reading the catalogue for prediction, loading modules) comes before them, in a row of its own.
Without memory nothing is learned from calls either, such as how often a tool is used.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from benchmarks.gateway_cost import compare, foregate
from benchmarks.gateway_cost.processes import RunningServer, post
from benchmarks.tables import markdown

TOOLS = 100
ROUNDS, CALLS_AT_ONCE, CALLS_PACED = 5, 400, 40
WARM_UP_PACED = 15
PAUSE_S = 0.15
"""Between calls, as of a fast language model: each call is analysed before the next one."""
CALL = foregate.wrap_in_call_tool(compare.CALL)


def run() -> str:
    """Measure calls one after the other, 16 at a time, and with pauses."""
    with compare._behind("http", tools=TOOLS) as target, ExitStack() as stack:
        token = foregate.register(target)
        _make_read_only()
        without, remembering = (
            stack.enter_context(foregate.gateway(token, FOREGATE_MEMORY=memory))
            for memory in ("false", "true")
        )
        pair = (without, remembering)
        first_ms = [_warm_up(running) for running in pair]
        once = (*first_ms, first_ms[1] - first_ms[0])
        rows: list[tuple[str, ...]] = [
            ("once: start and first calls", *(f"{one:,.0f}" for one in once)),
            _compare("one after the other", pair, lambda one: _measure_load(one, at_once=1)),
            _compare("16 at a time", pair, lambda one: _measure_load(one, at_once=16)),
            _compare("with pauses", pair, _measure_paced),
        ]
    return markdown(["calls", "CPU ms without", "CPU ms with", "difference ms"], rows)


def _warm_up(running: RunningServer) -> float:
    """Make the first calls; return the processor milliseconds since the start, all included."""
    compare.load(running, "tools/call", CALL, n=compare.WARM_UP, at_once=4)
    for _ in range(WARM_UP_PACED):
        post(running.port, "tools/call", CALL, running.headers)
        time.sleep(PAUSE_S)
    running.settle()
    return 1_000 * running.cpu_s()


def _make_read_only() -> None:
    """Let an admin call all tools read-only, so that calls of them may be predicted."""
    from tools.models import Tool

    Tool.objects.update(danger_override="read")


def _compare(
    name: str, pair: Sequence[RunningServer], measure: Callable[[RunningServer], float]
) -> tuple[str, ...]:
    rounds = [[measure(one) for one in pair] for _ in range(ROUNDS)]
    without, remembering = zip(*rounds, strict=True)
    differences = [one - other for other, one in rounds]
    medians = (statistics.median(one) for one in (without, remembering, differences))
    return (name, *(f"{one:.3f}" for one in medians))


def _measure_load(running: RunningServer, *, at_once: int) -> float:
    """Return the processor milliseconds of a call, of many without a pause."""
    before_s = running.cpu_s()
    compare.load(running, "tools/call", CALL, n=CALLS_AT_ONCE, at_once=at_once)
    return 1_000 * (running.cpu_s() - before_s) / CALLS_AT_ONCE


def _measure_paced(running: RunningServer) -> float:
    """Return the processor milliseconds of a call, of some with pauses."""
    before_s = running.cpu_s()
    for _ in range(CALLS_PACED):
        post(running.port, "tools/call", CALL, running.headers)
        time.sleep(PAUSE_S)
    return 1_000 * (running.cpu_s() - before_s) / CALLS_PACED
