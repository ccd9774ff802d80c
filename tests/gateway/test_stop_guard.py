"""A process ends within its grace period after a signal, whatever its event loop is doing."""

import faulthandler
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from gateway_project.foundation import stop_guard
from tests.patience import PATIENCE_S

ROOT = Path(stop_guard.__file__).parents[2]
GRACE_S = 0.2
HOLDS_THE_LOCK = "sum(range(10**15))"
"""One call into C: neither a handler nor another thread runs before it returns."""
BUSY_IN_PYTHON = "exec('while True: pass')"

STDIO = """
import os, sys
from gateway_project.foundation import stop_guard
from gateway_project.mcp import serve
from gateway_project.mcp.runtime import PreparedRuntime
from gateway_project.mcp.wire import ProtocolWire

async def handle(*_):
    pass

async def block(_readiness):
    print("blocked", file=sys.stderr, flush=True)
    {block}

client_fd = os.dup(0)
stop_guard.start_guard({grace_s}, client_fd=client_fd, client_grace_s={grace_s})
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
serve.STOP_TIMEOUT_S = serve.FINISH_TIMEOUT_S = {in_process_s}
wire = ProtocolWire(read_fd=client_fd, write_fd=1)
serve.serve_stdio(wire, prepare=lambda: PreparedRuntime(handle=handle, run_wiring=block))
"""
HTTP = """
import sys
from gateway_project.foundation import stop_guard
from gateway_project.mcp.http import address, serve

class Application:
    async def __call__(self, _scope, receive, send):
        await receive()
        if not {is_starting}:
            await send({{"type": "lifespan.startup.complete"}})
            await receive_soon()
        print("blocked", file=sys.stderr, flush=True)
        {block}

    def close(self):
        pass

async def receive_soon():
    import asyncio
    await asyncio.sleep(0)

stop_guard.start_guard({grace_s})
serve.serve_http(Application(), address.open_listener(address.parse_address("127.0.0.1:0")))
"""
WORKER = """
import asyncio, sys
import django
django.setup()
from gateway_project import wiring
from gateway_project.foundation import stop_guard
from gateway_project.foundation.config import Config
from gateway_project.wiring import worker

async def block(_readiness, **_options):
    await asyncio.sleep(0)  # the handlers are set after this has begun
    print("blocked", file=sys.stderr, flush=True)
    {block}

wiring.run_gateway = block
stop_guard.start_guard({grace_s})
running = worker.run_worker(Config(), concurrency=1, on_ready=lambda: None, on_end=lambda: None)
asyncio.run(running)
"""


def start(program, *, block=HOLDS_THE_LOCK, grace_s=GRACE_S, **more):
    """Start a program and return it once its event loop is blocked."""
    source = program.format(block=block, grace_s=grace_s, in_process_s=PATIENCE_S, **more)
    process = subprocess.Popen(
        [sys.executable, "-c", source],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "gateway_project.settings.test"},
    )
    said = b""
    while not said.endswith(b"blocked\n"):
        line = process.stderr.readline()
        assert line, said.decode()
        said += line
    return process


@pytest.fixture
def ended():
    """Wait for processes to end; kill those that do not."""
    processes = []

    def wait(process):
        processes.append(process)
        return process.wait(timeout=PATIENCE_S)

    yield wait
    for process in processes:
        process.kill()
        process.wait(timeout=PATIENCE_S)
        process.stdin.close()
        process.stderr.close()


@pytest.mark.parametrize(
    ("block", "number"), [(HOLDS_THE_LOCK, signal.SIGTERM), (BUSY_IN_PYTHON, signal.SIGINT)]
)
def test_a_gateway_on_stdio_whose_loop_is_blocked_ends_after_a_signal(ended, block, number):
    process = start(STDIO, block=block)
    process.send_signal(number)
    assert ended(process) == -signal.SIGKILL


def test_a_gateway_on_stdio_whose_loop_is_blocked_ends_after_its_client(ended):
    process = start(STDIO)
    process.stdin.close()
    assert ended(process) == -signal.SIGKILL


@pytest.mark.parametrize("is_starting", [True, False])
def test_a_server_over_http_whose_loop_is_blocked_ends_after_a_signal(ended, is_starting):
    process = start(HTTP, is_starting=is_starting)
    process.send_signal(signal.SIGTERM)
    assert ended(process) == -signal.SIGKILL


def test_a_worker_whose_loop_is_blocked_ends_after_a_signal(ended):
    process = start(WORKER)
    process.send_signal(signal.SIGTERM)
    assert ended(process) == -signal.SIGKILL


def test_a_process_that_stops_in_time_is_not_killed_and_its_guard_ends_with_it(ended):
    process = start(STDIO, block="await __import__('asyncio').sleep(600)", grace_s=PATIENCE_S)
    (guard,) = psutil.Process(process.pid).children()
    process.send_signal(signal.SIGTERM)
    assert ended(process) == 0
    guard.wait(timeout=PATIENCE_S)


@pytest.fixture
def guard_pipe(monkeypatch):
    """Read end of the pipe to a guard that is told of a signal which nothing else uses."""
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    monkeypatch.setattr(stop_guard, "_guard_pipes", [write_end])
    monkeypatch.setattr(stop_guard, "SIGNALS", (signal.SIGUSR1,))
    yield read_end
    faulthandler.unregister(signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    os.close(read_end)
    os.close(write_end)


@pytest.mark.parametrize("names", [["second"], ["first", "second"], ["first", "x", "second"]])
def test_the_guard_is_notified_however_often_handlers_change(guard_pipe, names):
    called = []
    stop_guard.watch_signals()
    for name in names:
        signal.signal(signal.SIGUSR1, lambda *_, name=name: called.append(name))
        stop_guard.watch_signals()
    signal.raise_signal(signal.SIGUSR1)
    assert os.read(guard_pipe, 65536)
    assert called == ["second"]
