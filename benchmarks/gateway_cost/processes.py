"""Server processes of a benchmark: started on a free port, ready once they list tools."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

HERE = Path(__file__).resolve().parent
VERSION = "2026-07-28"
READY_S = 60.0
SETTLE_S = 120.0
END_S = 15.0
QUIET_S, QUIET_TIMES, QUIET_SHARE = 0.4, 3, 0.08


@dataclass(frozen=True, kw_only=True)
class RunningServer:
    """A process that serves MCP over HTTP.

    Attributes:
        process: The process.
        port: The port that it listens on, at 127.0.0.1.
        headers: Headers sent with each request in addition to the protocol's.
        cold_start_s: Seconds from its start to its first answer to tools/list.
    """

    process: psutil.Popen
    port: int
    headers: Mapping[str, str] = field(default_factory=dict)
    cold_start_s: float = 0.0

    def cpu_s(self) -> float:
        """Return the processor seconds of the process, without its children."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def settle(self) -> None:
        """Wait until its background work, also that of its children, has finished.

        Loading a model is such work, or deriving relations between many new tools.
        """
        deadline = time.monotonic() + SETTLE_S
        quiet = 0
        while quiet < QUIET_TIMES and time.monotonic() < deadline:
            before = self._cpu_s_of_all()
            time.sleep(QUIET_S)
            used = self._cpu_s_of_all() - before
            quiet = quiet + 1 if abs(used) < QUIET_SHARE * QUIET_S else 0

    def _cpu_s_of_all(self) -> float:
        """Return the processor seconds of the process and of its living children."""
        total = self.cpu_s()
        for child in self.process.children(recursive=True):
            with suppress(psutil.Error):
                times = child.cpu_times()
                total += times.user + times.system
        return total

    def memory_mb(self) -> tuple[float, float]:
        """Return the resident and private memory of the process without its children, in MB."""
        memory = self.process.memory_full_info()
        return memory.rss / 1e6, memory.uss / 1e6


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def request(
    method: str, params: Mapping[str, Any], headers: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return headers and body of a request of the stateless era."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    sent = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": method,
        **({"Mcp-Name": params["name"]} if "name" in params else {}),
        **headers,
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    return sent, body


def post(
    port: int, method: str, params: Mapping[str, Any], headers: Mapping[str, str]
) -> dict[str, Any]:
    """Send one request and return its result.

    Raises:
        OSError: If nothing listens.
        ValueError: If the response has no result.
    """
    sent, body = request(method, params, headers)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=READY_S)
    connection.request("POST", "/mcp", json.dumps(body), sent)
    text = connection.getresponse().read().decode()
    connection.close()
    answers = [line.removeprefix("data: ") for line in text.splitlines() if '"result"' in line]
    if not answers:
        raise ValueError(text)
    result: dict[str, Any] = json.loads(answers[0])["result"]
    return result


@contextmanager
def serving(
    arguments: Sequence[str],
    *,
    port: int,
    headers: Mapping[str, str] | None = None,
    python: str = sys.executable,
    env: Mapping[str, str] | None = None,
) -> Iterator[RunningServer]:
    """Run a Python program within the block, which is entered once it lists its tools.

    Args:
        arguments: Program and arguments.
        port: Port that it will listen on.
        headers: Headers sent with each request.
        python: Interpreter.
        env: Environment variables in addition to those of this process.

    Raises:
        RuntimeError: If it does not list its tools in time.
    """
    begun = time.perf_counter()
    with started(arguments, port=port, headers=headers, python=python, env=env) as running:
        _wait_for(running.process, port, running.headers)
        yield replace(running, cold_start_s=time.perf_counter() - begun)


@contextmanager
def started(
    arguments: Sequence[str],
    *,
    port: int,
    headers: Mapping[str, str] | None = None,
    python: str = sys.executable,
    env: Mapping[str, str] | None = None,
) -> Iterator[RunningServer]:
    """Run a Python program within the block without waiting until it is ready; see `serving`."""
    process = psutil.Popen(
        [python, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=None if os.environ.get("BENCH_VERBOSE") else subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
        cwd=HERE.parent.parent,
    )
    try:
        yield RunningServer(process=process, port=port, headers=headers or {})
    finally:
        process.terminate()
        try:
            process.wait(END_S)
        except psutil.TimeoutExpired:
            process.kill()


def _wait_for(process: psutil.Popen, port: int, headers: Mapping[str, str]) -> None:
    deadline = time.monotonic() + READY_S
    reason = "it does not listen"
    while time.monotonic() < deadline and process.is_running():
        try:
            post(port, "tools/list", {}, headers)
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = str(error)
            time.sleep(0.01)
        else:
            return
    raise RuntimeError(f"not ready on port {port}: {reason}")
