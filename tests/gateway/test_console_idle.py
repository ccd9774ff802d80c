import asyncio
import os
import socket

import structlog

from gateway_project.console import idle_stop, serve
from gateway_project.console.idle_stop import IdleConsole
from gateway_project.foundation.config import Config

IDLE_S = 900.0


class Life:
    """A console with a clock of its own, in whose sleeps things happen."""

    def __init__(self, *events, needed=()):
        self.now = 0.0
        self.ended_at = None
        self.needed = list(needed)
        self.events = list(events)
        self.console = IdleConsole(
            self.serve,
            idle_s=IDLE_S,
            is_needed=self.is_needed,
            end=self.end,
            monotonic=lambda: self.now,
            sleep=self.sleep,
        )

    async def serve(self, scope, _receive, _send):
        self.served = scope["path"]

    async def is_needed(self):
        return self.needed.pop(0) if self.needed else False

    def end(self):
        self.ended_at = self.now

    async def sleep(self, seconds):
        until = self.now + seconds
        if self.events:
            after_s, path = self.events.pop(0)
            self.now += after_s
            await self.console({"type": "http", "path": path}, None, None)
        self.now = until


async def test_an_idle_console_ends():
    life = Life()
    await life.console.end_when_idle()
    assert life.ended_at == IDLE_S


async def test_each_request_restarts_the_idle_time():
    life = Life((100.0, "/approvals/"), (50.0, "/admin/"))
    await life.console.end_when_idle()
    assert life.ended_at == IDLE_S + 50.0 + IDLE_S


async def test_a_probe_does_not_keep_a_console_running():
    life = Life((100.0, "/health/console"))
    await life.console.end_when_idle()
    assert life.ended_at == IDLE_S
    assert life.served == "/health/console"


async def test_a_pending_approval_keeps_a_console_until_it_is_decided():
    life = Life(needed=[True, True])
    await life.console.end_when_idle()
    assert life.ended_at == 3 * IDLE_S


async def test_a_request_in_progress_keeps_a_console():
    life, may_end = Life(), asyncio.Event()
    slept = []

    async def serve(_scope, _receive, _send):
        await may_end.wait()

    async def sleep(seconds):
        slept.append(seconds)
        life.now += seconds
        if len(slept) == 2:
            may_end.set()
            await request

    life.console._console, life.console._sleep = serve, sleep
    request = asyncio.ensure_future(life.console({"type": "http", "path": "/admin/"}, None, None))
    await asyncio.sleep(0)
    await life.console.end_when_idle()
    assert slept == [IDLE_S, IDLE_S, IDLE_S]


async def test_a_console_whose_record_cannot_be_written_says_so_and_ends():
    life = Life()

    async def fail():
        raise OSError("no space left on device")

    life.console._is_needed = fail
    with structlog.testing.capture_logs() as entries:
        await life.console.end_when_idle()
    assert life.ended_at == IDLE_S
    assert [entry["event"] for entry in entries] == ["console.idle_watch_failed"]


def test_a_console_on_demand_is_guarded_once_it_is_a_process_of_its_own(monkeypatch, tmp_path):
    done = []
    monkeypatch.setattr(idle_stop.os, "fork", lambda: done.append("fork") or 0)
    monkeypatch.setattr(idle_stop.stop_guard, "start_guard", lambda _grace_s: done.append("guard"))

    def serve_http(_console, bound, *, websockets, proxies):
        done.append("serve with websockets" if websockets else "serve")
        bound.close()

    monkeypatch.setattr(idle_stop.http, "serve_http", serve_http)
    monkeypatch.setattr(idle_stop.telemetry, "configure_logging", lambda *_, **__: None)
    monkeypatch.setattr(idle_stop.callers, "ensure_local_admin", lambda: None)
    monkeypatch.setattr(idle_stop.django.db.connections, "close_all", lambda: None)
    for name in ("publish_record", "withdraw_record"):
        monkeypatch.setattr(idle_stop.on_demand, name, lambda *_: None)
    lock = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        idle_stop.serve_until_idle(
            Config(home=tmp_path), listener=os.dup(listener.fileno()), lock=lock
        )
    os.close(lock)
    assert done == ["fork", "guard", "serve with websockets"]


def test_a_console_that_a_command_serves_is_guarded(monkeypatch):
    done = []
    monkeypatch.setattr(serve.stop_guard, "start_guard", lambda _grace_s: done.append("guard"))
    monkeypatch.setattr(
        serve.http,
        "serve_http",
        lambda *_, websockets, proxies: done.append(f"serve {websockets}"),
    )
    serve.serve_console(None)
    assert done == ["guard", "serve True"]
