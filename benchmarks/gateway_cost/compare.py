"""Compares all ways to reach a tool: direct, bare forwarding, a peer, and this gateway."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.gateway_cost import foregate, peers
from benchmarks.gateway_cost.processes import (
    HERE,
    RunningServer,
    free_port,
    request,
    serving,
)
from benchmarks.tables import markdown

WARM_UP, ALONE, TOGETHER = 200, 1_000, 3_000
LISTINGS, MANY_TOOLS = 15, 1_000
BACKEND = str(HERE / "backend.py")
CALL = {"name": "echo", "arguments": {"text": "hello"}}


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to reach the echo tool.

    Attributes:
        name: Name in the table.
        start: Starts it in front of a backend given as ("http", URL) or ("stdio", command).
        call: Parameters of the call.
        behind: Kinds of backend it is measured with.
    """

    name: str
    start: Callable[[Sequence[str]], AbstractContextManager[RunningServer]]
    call: Mapping[str, Any]
    behind: tuple[str, ...] = ("http", "stdio")


def run() -> str:
    """Measure calls, then listings; each way has the machine to itself."""
    ours = foregate.wrap_in_call_tool(CALL)
    ways = [
        Way(name="floor: bytes forwarded", start=_floor, call=CALL),
        Way(name=f"FastMCP {peers.VERSION}, tuned", start=peers.fastmcp, call=CALL),
        Way(name="Foregate, full exposure", start=foregate.full, call=CALL),
        Way(name="Foregate, call_tool", start=foregate.meta, call=ours),
    ]
    calls = [_direct(), *(_measure_calls(way, kind) for way in ways for kind in way.behind)]
    lists = [_measure_listing("direct", _direct_backend)]
    lists += [_measure_listing(way.name, way.start) for way in ways[:3]]
    headings = ["way", "p50 ms", "p95 ms", "per s at 16", "per s at 64", "CPU ms", "start s", "MB"]
    listed = markdown([f"{MANY_TOOLS:,} tools listed", "median ms"], lists)
    return f"{markdown(headings, calls)}\n\n{listed}"


def load(
    running: RunningServer, method: str, params: Mapping[str, Any], *, n: int, at_once: int
) -> Any:
    """Send requests from a client process; return its output."""
    headers, body = request(method, params, running.headers)
    task = {"port": running.port, "headers": headers, "body": body}
    task |= {"requests": n, "at_once": at_once}
    done = subprocess.run(
        [sys.executable, str(HERE / "load.py"), json.dumps(task)],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def _direct() -> tuple[str, ...]:
    with _direct_backend(()) as backend:
        return ("direct, HTTP", *_measured(backend, CALL))


def _measure_calls(way: Way, kind: str) -> tuple[str, ...]:
    with _behind(kind, tools=1) as target, way.start(target) as running:
        return (f"{way.name}, {kind} behind", *_measured(running, way.call))


def _measured(running: RunningServer, call: Mapping[str, Any]) -> tuple[str, ...]:
    load(running, "tools/call", call, n=WARM_UP, at_once=4)
    running.settle()
    before_s = running.cpu_s()
    alone = load(running, "tools/call", call, n=ALONE, at_once=1)
    cpu_ms = 1_000 * (running.cpu_s() - before_s) / ALONE
    seconds = sorted(alone["seconds"])
    rates = [load(running, "tools/call", call, n=TOGETHER, at_once=n)["per_s"] for n in (16, 64)]
    return (
        f"{1_000 * statistics.median(seconds):.1f}",
        f"{1_000 * seconds[int(0.95 * len(seconds))]:.1f}",
        *(f"{rate:,.0f}" for rate in rates),
        f"{cpu_ms:.2f}",
        f"{running.cold_start_s:.1f}",
        f"{running.memory_mb()[0]:.0f}",
    )


def _measure_listing(name: str, start: Callable[[Sequence[str]], Any]) -> tuple[str, str]:
    with _behind("http", tools=MANY_TOOLS) as target, start(target) as running:
        running.settle()
        taken = load(running, "tools/list", {}, n=LISTINGS, at_once=1)["seconds"]
        return name, f"{1_000 * statistics.median(taken):.0f}"


@contextmanager
def _behind(kind: str, *, tools: int) -> Iterator[Sequence[str]]:
    """Run the backend if it is an HTTP server; yield how to reach it."""
    if kind == "stdio":
        yield ("stdio", sys.executable, BACKEND, str(tools))
        return
    port = free_port()
    with serving([BACKEND, str(tools), str(port)], port=port):
        yield ("http", f"http://127.0.0.1:{port}/mcp")


@contextmanager
def _direct_backend(target: Sequence[str]) -> Iterator[RunningServer]:
    port = free_port()
    with serving([BACKEND, str(MANY_TOOLS if target else 1), str(port)], port=port) as running:
        yield running


def _floor(target: Sequence[str]) -> AbstractContextManager[RunningServer]:
    port = free_port()
    return serving([str(HERE / "floor.py"), str(port), *target], port=port)
