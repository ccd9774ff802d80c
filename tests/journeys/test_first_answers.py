"""A client's first requests are answered before anything but the standard library is loaded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.journeys.gateways import BASE, JOURNEY_S, META, PYTHON, Installation

BLOCKED = """
import os, runpy, sys, time

RELEASE, *sys.argv = sys.argv[1:]
FREE = {*sys.stdlib_module_names, "gateway_project", "platformdirs", "org"}  # org: tried by copy

class Blocker:
    def find_spec(self, name, path=None, target=None):
        while name.partition(".")[0] not in FREE and not os.path.exists(RELEASE):
            time.sleep(0.01)

sys.meta_path.insert(0, Blocker())
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a program in which every import of what is neither ours nor of Python waits for a file."""

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"roots": {"listChanged": True}},
    "clientInfo": {"name": "test", "version": "1"},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
CALL = {"name": "search_tools", "arguments": {"query": "x"}}


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    return message | ({"params": params} if params else {})


CONVERSATIONS = {
    "handshake": [
        request(1, "initialize", **HELLO),
        INITIALIZED,
        request(2, "tools/list"),
    ],
    "stateless": [
        request(1, "server/discover", _meta=META),
        request(2, "tools/list", _meta=META),
    ],
}


class Process:
    """A gateway; with a file to wait for, one that loads nothing until that exists."""

    def __init__(self, home: Path, release: Path | None = None) -> None:
        command = [str(BASE / "manage.py"), "run_gateway"]
        # No database is needed here, and none is waited for.
        env = Installation(home=home).env | {
            "DATABASE_URL": "postgresql://x@127.0.0.1:1/x",
            "FOREGATE_EXPOSURE": "meta",
        }
        self.process = subprocess.Popen(
            [PYTHON, *(["-c", BLOCKED, str(release)] if release else []), *command],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def send(self, *messages: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(json.dumps(m).encode() + b"\n" for m in messages))
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        received: dict[str, Any] = json.loads(self.process.stdout.readline())
        return received

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(JOURNEY_S)


@pytest.fixture
def begin(home: Path) -> Iterator[Callable[..., Process]]:
    """Begin processes of one installation; those that the test leaves are killed."""
    begun: list[Process] = []

    def begin_process(release: Path | None = None) -> Process:
        begun.append(Process(home, release))
        return begun[-1]

    yield begin_process
    for one in begun:
        one.process.kill()
        with one.process:
            pass


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.mark.parametrize("era", CONVERSATIONS)
def test_the_second_process_answers_before_it_loads_anything(
    begin: Callable[..., Process], tmp_path: Path, era: str
) -> None:
    messages = CONVERSATIONS[era]
    meta = {"_meta": META} if era == "stateless" else {}
    cold = begin()
    cold.send(*messages)
    expected = [cold.receive(), cold.receive()]
    assert cold.close() == 0

    release = tmp_path / "release"
    warm = begin(release)
    warm.send(*messages, request(3, "tools/call", **CALL, **meta), request(4, "prompts/list"))
    assert [warm.receive(), warm.receive()] == expected
    release.touch()
    waiting = [warm.receive(), warm.receive()]
    assert warm.close() == 0
    assert sorted(answer["id"] for answer in waiting) == [3, 4]


def test_a_client_that_only_looks_loads_nothing(
    begin: Callable[..., Process], tmp_path: Path
) -> None:
    cold = begin()
    cold.send(*CONVERSATIONS["handshake"])
    expected = [cold.receive(), cold.receive()]
    cold.close()

    warm = begin(tmp_path / "never")
    warm.send(*CONVERSATIONS["handshake"])
    assert [warm.receive(), warm.receive()] == expected
    assert warm.close() == 0


def test_a_client_that_kills_a_start_before_it_answers_is_answered_at_the_next_one(
    begin: Callable[..., Process], tmp_path: Path, home: Path
) -> None:
    release = tmp_path / "release"
    impatient = {**HELLO, "clientInfo": {"name": "codex-mcp-client", "version": "1"}}
    cold = begin(release)
    cold.send(request(1, "initialize", **impatient))
    deadline = time.monotonic() + JOURNEY_S
    while not psutil.Process(cold.process.pid).children():  # of the process that asks again
        assert time.monotonic() < deadline
        time.sleep(0.01)
    watching = psutil.Process(cold.process.pid).children()[0]
    while os.getpgid(watching.pid) == cold.process.pid:  # it is not in a session of its own yet
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(cold.process.pid, signal.SIGKILL)
    release.touch()
    psutil.wait_procs([watching], JOURNEY_S)
    release.unlink()

    warm = begin(release)
    warm.send(request(1, "initialize", **impatient), INITIALIZED, request(2, "tools/list"))
    assert [warm.receive()["id"], warm.receive()["id"]] == [1, 2]
    assert warm.close() == 0
