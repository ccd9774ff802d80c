"""A gateway process driven by bare JSON-RPC lines, so that only the gateway is measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

BASE = Path(__file__).resolve().parent.parent
PROTOCOL = "2025-11-25"


class GatewayProcess:
    """`manage.py run_gateway` with its pipes."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, str(BASE / "manage.py"), "run_gateway"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
        )
        self._next_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(timeout=20)

    def initialize(self) -> dict[str, Any]:
        """Perform the handshake of the handshake era."""
        answer = self.request(
            "initialize",
            {
                "protocolVersion": PROTOCOL,
                "capabilities": {},
                "clientInfo": {"name": "benchmark", "version": "1"},
            },
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call one of the gateway's tools."""
        return self.request("tools/call", {"name": tool, "arguments": dict(arguments)})

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and wait for its answer; ignore notifications."""
        self._next_id += 1
        self.send(
            {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": dict(params)}
        )
        assert self.process.stdout
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError("the gateway closed its output")
            message = json.loads(line)
            if message.get("id") == self._next_id:
                if "error" in message:
                    raise RuntimeError(str(message["error"]))
                result: dict[str, Any] = message["result"]
                return result

    def send(self, message: Mapping[str, Any]) -> None:
        """Write one line."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def elapsed_s(self) -> float:
        """Return the seconds since the process was started."""
        return time.perf_counter() - self.started

    def memory_mb(self) -> tuple[float, float]:
        """Return the gateway's resident and private memory without its children, in MB."""
        memory = psutil.Process(self.process.pid).memory_full_info()
        return memory.rss / 1e6, memory.uss / 1e6
