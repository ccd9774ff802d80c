"""Sends each hostile input to a real gateway over HTTP while a healthy caller keeps calling."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final

import psutil

from benchmarks.gateway_cost.foregate import SERVER, register, wrap_in_call_tool
from benchmarks.gateway_cost.processes import HERE, RunningServer, free_port, request, serving
from benchmarks.loop_stalls import hostile_server
from benchmarks.loop_stalls.heartbeat import Record
from benchmarks.loop_stalls.inputs import INPUTS, Input
from benchmarks.tables import markdown, percentile

MOST_S: Final = 60.0
"""Timeout of one input; after it the answer is `no answer`."""
BEFORE_S, AFTER_S = 0.5, 2.0
"""The healthy caller calls before and after the input, whose effects may block the loop later."""
ALONE_S: Final = 5.0
ECHO: Final = {"name": "echo", "arguments": {"text": "hello"}}
NO_ANSWER: Final = "no answer"


@dataclass(frozen=True, kw_only=True)
class StallMeasurement:
    """The effects of one input.

    Attributes:
        stall_s: Longest delay of a timer of the loop, in seconds.
        busy_s: Most processor time of the loop's thread between two timers, in seconds.
        healthy_s: Seconds of each call of the healthy caller.
        answer: Code of the answer.
        answered_s: Seconds until the answer.
    """

    stall_s: float
    busy_s: float
    healthy_s: Sequence[float]
    answer: str
    answered_s: float


def run(inputs: Sequence[Input] = INPUTS) -> str:
    """Measure all inputs; a gateway that an input kills or blocks is replaced."""
    token = register(("stdio", sys.executable, str(HERE / "backend.py"), "1"))
    _register_hostile()
    rows = [("none", *_cells(_measure_idle(token)))]
    waiting = list(inputs)
    while waiting:
        with _gateway(token) as (gateway, record):
            while waiting:
                one = waiting.pop(0)
                found = _measure_attack(gateway, record, one)
                rows.append((one.name, *_cells(found)))
                print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
                if found.answer == NO_ANSWER:
                    break
    headings = ("input", "longest stall ms", "of that CPU ms", "healthy p50 ms", "p95", "max")
    return markdown((*headings, "answer", "after s"), rows)


def _register_hostile() -> None:
    from django.conf import settings
    from django.core.management import call_command

    from gateway_project.foundation import sealing
    from tools.models import Server

    server = Server(name=hostile_server.NAME, transport="stdio", command=sys.executable)
    server.args = [hostile_server.__file__]
    server.env_sealed = sealing.load_or_create_sealer(settings.FOREGATE.home).seal({})
    server.save()
    call_command("discover", verbosity=0)


@contextmanager
def _gateway(token: str) -> Iterator[tuple[RunningServer, Record]]:
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "heartbeat"
        record = Record(path)
        program = ["-m", "benchmarks.loop_stalls.gateway", str(path)]
        program += ["run_gateway", "--http", f"127.0.0.1:{port}"]
        headers = {"Authorization": f"Bearer {token}"}
        with serving(program, port=port, headers=headers, env=dict(os.environ)) as running:
            for tool in (f"{SERVER}:echo", f"{hostile_server.NAME}:take"):
                _send(running, "call_tool", {"tool": tool, "arguments": {"text": ""}})
            _send(running, "run_intent", {"intent": "say hello"})
            running.settle()
            yield running, record


def _measure_idle(token: str) -> StallMeasurement:
    with _gateway(token) as (gateway, record), _healthy(gateway) as calls:
        record.clear()
        time.sleep(ALONE_S)
        stall_s, busy_s = record.longest()
    return StallMeasurement(
        stall_s=stall_s, busy_s=busy_s, healthy_s=calls, answer="-", answered_s=0.0
    )


def _measure_attack(gateway: RunningServer, record: Record, one: Input) -> StallMeasurement:
    arguments = one.arguments()
    sent = _encoded(gateway, one.tool, arguments)
    del arguments
    with _healthy(gateway) as calls:
        record.clear()
        started = time.perf_counter()
        answer = _post(gateway, *sent)
        answered_s = time.perf_counter() - started
        time.sleep(AFTER_S)
        stall_s, busy_s = record.longest()
    if answer == NO_ANSWER:
        stall_s = max(stall_s, answered_s)
    return StallMeasurement(
        stall_s=stall_s, busy_s=busy_s, healthy_s=calls, answer=answer, answered_s=answered_s
    )


@contextmanager
def _healthy(gateway: RunningServer) -> Iterator[list[float]]:
    """Run the healthy caller during the block; the list is filled with its times at the end."""
    headers, body = request("tools/call", wrap_in_call_tool(ECHO), gateway.headers)
    task = {"port": gateway.port, "headers": headers, "body": body}
    calls: list[float] = []
    with psutil.Popen(
        [sys.executable, "-m", "benchmarks.loop_stalls.healthy_caller", json.dumps(task)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=HERE.parent.parent,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(BEFORE_S)
        yield calls
        try:
            out, _ = process.communicate("", timeout=MOST_S)
            calls += json.loads(out)
        except (subprocess.TimeoutExpired, ValueError):
            process.kill()


def _send(gateway: RunningServer, tool: str, arguments: Mapping[str, Any]) -> str:
    return _post(gateway, *_encoded(gateway, tool, arguments))


def _encoded(
    gateway: RunningServer, tool: str, arguments: Mapping[str, Any]
) -> tuple[dict[str, str], bytes]:
    params = {"name": tool, "arguments": arguments}
    headers, body = request("tools/call", params, gateway.headers)
    return headers, json.dumps(body, ensure_ascii=False).encode()


def _post(gateway: RunningServer, headers: Mapping[str, str], body: bytes) -> str:
    """Send a request; return the code of its answer."""
    connection = HTTPConnection("127.0.0.1", gateway.port, timeout=MOST_S)
    try:
        connection.request("POST", "/mcp", body, dict(headers))
        text = connection.getresponse().read().decode()
    except (OSError, HTTPException):
        return NO_ANSWER
    finally:
        connection.close()
    lines = [line.removeprefix("data: ") for line in text.splitlines() if '"jsonrpc"' in line]
    answer = json.loads(lines[-1]) if lines else {}
    if "error" in answer:
        return str((answer["error"].get("data") or {}).get("code") or answer["error"]["code"])
    return _code(answer.get("result", {}))


def _code(result: Mapping[str, Any]) -> str:
    structured = result.get("structuredContent")
    told = structured if isinstance(structured, Mapping) else {}
    if result.get("isError"):
        error = told.get("error")
        meta = result.get("_meta") or {}
        code = error.get("code") if isinstance(error, Mapping) else meta.get("foregate/error")
        return str(code.get("code") if isinstance(code, Mapping) else code)
    error = told.get("error")
    if isinstance(error, Mapping):
        return f"{told.get('status')}: {error.get('code')}"
    problems = told.get("validation_errors")
    if problems:
        return f"{len(problems)} problems"
    return str(told.get("status", "ok"))


def _cells(found: StallMeasurement) -> tuple[str, ...]:
    healthy = [1_000 * one for one in found.healthy_s] or [float("nan")]
    return (
        f"{1_000 * found.stall_s:,.0f}",
        f"{1_000 * found.busy_s:,.0f}",
        f"{percentile(healthy, 0.5):,.1f}",
        f"{percentile(healthy, 0.95):,.1f}",
        f"{max(healthy):,.0f}",
        found.answer,
        f"{found.answered_s:,.1f}",
    )
