"""The fixture server and a gateway before it, as processes of their own on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from tests.journeys.gateways import BASE, META, PYTHON, Installation, eventually, free_port
from tests.patience import PATIENCE_S

Transport = Literal["stdio", "http"]
Era = Literal["both", "legacy", "modern"]
Exposure = Literal["full", "meta"]
NAME = "fixture"
MODULE = ("-m", "tests.servers.conformance")


@contextmanager
def fixture_on_http(era: Era = "both") -> Iterator[str]:
    """Serve the fixture on a port of its own; yields its address."""
    command = [PYTHON, *MODULE, "--http", "0", "--era", era]
    with process(command, cwd=BASE) as fixture:
        yield first_line(fixture)


def fixture_entry(transport: Transport, url: str = "", *, era: Era = "both") -> dict[str, Any]:
    """Return the entry by which a gateway reaches the fixture."""
    if transport == "http":
        return {"type": "http", "url": url}
    return {"command": PYTHON, "args": [*MODULE, "--era", era], "cwd": str(BASE)}


@contextmanager
def process(
    command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run a process in a group of its own, and end that group."""
    started = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield started
    finally:
        started.terminate()
        try:
            started.wait(timeout=PATIENCE_S)
        finally:
            _kill_group(started.pid)
            started.wait(timeout=PATIENCE_S)
            assert started.stdout is not None
            started.stdout.close()


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def first_line(started: subprocess.Popen[str]) -> str:
    """Return what a process says first, which is where it listens."""
    watchdog = threading.Timer(PATIENCE_S, started.kill)
    watchdog.start()
    try:
        assert started.stdout is not None
        line = started.stdout.readline().strip()
    finally:
        watchdog.cancel()
    assert line, f"{started.args} ended before it listened"
    return line


def unprefix(installation: Installation) -> None:
    """List the fixture's tools under their own names."""
    found = f"from tools.models import Server; Server.objects.filter(name={NAME!r})"
    installation.manage("shell", "--command", f"{found}.update(unprefixed=True)")


def approve_nothing(installation: Installation, tool: str) -> None:
    """Let calls of a tool be made without a person's approval."""
    found = f"from tools.models import Tool; Tool.objects.filter(name={tool!r})"
    installation.manage("shell", "--command", f"{found}.update(approval='never')")


@contextmanager
def gateway_on_http(installation: Installation, exposure: Exposure) -> Iterator[str]:
    """Serve a gateway without sign-in on a port of its own; yields its address once it is of use.

    Args:
        installation: Whose gateway.
        exposure: What clients are shown.
    """
    port = free_port()
    command = installation.command(
        *("--http", f"127.0.0.1:{port}", "--no-auth", "--exposure", exposure)
    )
    shown = {"full": "test_simple_text", "meta": "call_tool"}[exposure]
    with process(command, env=installation.env) as gateway:
        url = f"http://127.0.0.1:{port}/mcp"
        eventually(lambda: _lists(url, shown) or _over(gateway))
        yield url


def _over(started: subprocess.Popen[str]) -> bool:
    """Complain if a process has ended by itself."""
    assert started.poll() is None, f"{started.args} ended"
    return False


def _lists(url: str, shown: str) -> bool:
    """Tell whether a gateway has loaded its catalogue."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/list",
    }
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return shown.encode() in answer.read()
    except OSError:
        return False
