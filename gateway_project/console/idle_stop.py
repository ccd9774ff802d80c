"""Serves a console on demand and stops it when nobody needs it any more."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import cast

import django.db
import structlog
from django.core.asgi import get_asgi_application
from starlette.types import ASGIApp, Receive, Scope, Send

from execution.store import approvals
from gateway_project.access import callers
from gateway_project.console import on_demand
from gateway_project.console.database_wait import limit_database_wait
from gateway_project.foundation import stop_guard, telemetry
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.live.routing import make_live_application, serve_by_protocol
from gateway_project.mcp.http import serve as http
from gateway_project.mcp.http.request import AllowedNames, load_allowed_names

PROBE_PATH = "/health"
"""Requests below this path are probes and do not count as use."""

log = structlog.get_logger(__name__)


class IdleConsole:
    """The console as an ASGI application that stops when it is idle.

    Args:
        console: Serves the pages.
        idle_s: Seconds without a request after which it stops.
        is_needed: Whether it is still needed; called after each idle period.
        end: Asks the process to stop.
        monotonic: Clock in seconds.
        sleep: Sleeps for a number of seconds.
    """

    def __init__(
        self,
        console: ASGIApp,
        *,
        idle_s: float,
        is_needed: Callable[[], Awaitable[bool]],
        end: Callable[[], None],
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._console = console
        self._idle_s = idle_s
        self._is_needed = is_needed
        self._end = end
        self._monotonic = monotonic
        self._sleep = sleep
        self._last_used_at = monotonic()
        self._open_requests = 0

    def close(self) -> None:
        """Do nothing: the console has no endless streams."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve an ASGI connection; all but probes and live updates count as use.

        A page that was left open is no use.
        """
        if scope["type"] == "lifespan":
            await self._handle_lifespan(receive, send)
        elif scope["type"] == "websocket" or scope["path"].startswith(PROBE_PATH):
            await self._console(scope, receive, send)
        else:
            await self._serve_request(scope, receive, send)

    async def end_when_idle(self) -> None:
        """Wait until the console is idle and not needed, then stop it.

        An error stops it too: nothing else would.
        """
        try:
            await self._wait_until_idle()
        except Exception:
            # Top level of a task.
            log.exception("console.idle_watch_failed")
        self._end()

    async def _wait_until_idle(self) -> None:
        while True:
            unused_s = 0.0 if self._open_requests else self._monotonic() - self._last_used_at
            if unused_s < self._idle_s:
                await self._sleep(self._idle_s - unused_s)
            elif await self._is_needed():
                await self._sleep(self._idle_s)
            else:
                return

    async def _serve_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._open_requests += 1
        try:
            await self._console(scope, receive, send)
        finally:
            self._open_requests -= 1
            self._last_used_at = self._monotonic()

    async def _handle_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        idle_watch = asyncio.get_running_loop().create_task(self.end_when_idle(), name="idle")
        await send({"type": "lifespan.startup.complete"})
        await receive()
        idle_watch.cancel()
        with suppress(asyncio.CancelledError):
            await idle_watch
        await send({"type": "lifespan.shutdown.complete"})


def serve_until_idle(config: Config, *, listener: int, lock: int) -> None:
    """Serve the console on an inherited socket until nobody needs it.

    Args:
        config: Of the installation.
        listener: Descriptor of the listening socket.
        lock: Descriptor of the lock that this console holds while it lives.
    """
    for descriptor in (listener, lock):
        os.set_inheritable(descriptor, False)
    if os.fork():  # leaves the gateway's process tree, which may be killed whole
        os._exit(0)
    stop_guard.start_guard(http.KILL_TIMEOUT_S)  # guards the calling process: only after the fork
    inherited = socket.socket(fileno=listener)
    telemetry.configure_logging(config, process="console")
    on_demand.publish_record(config, inherited)
    callers.ensure_local_admin()
    django.db.connections.close_all()
    application = IdleConsole(
        serve_by_protocol(
            limit_database_wait(cast("ASGIApp", get_asgi_application())),
            make_live_application(_load_names(config)),
        ),
        idle_s=config.console_idle_s,
        is_needed=partial(_withdraw_unless_needed, config, inherited),
        end=partial(signal.raise_signal, signal.SIGTERM),
    )
    try:
        http.serve_http(application, inherited, websockets=True, proxies=config.trusted_proxies)
    finally:
        on_demand.withdraw_record(config)


def _load_names(config: Config) -> AllowedNames:
    return load_allowed_names(
        hosts=config.allowed_hosts, origins=config.allowed_origins, public_url=config.public_url
    )


async def _withdraw_unless_needed(config: Config, listener: socket.socket) -> bool:
    """Withdraw the address and publish it again if an approval is pending.

    In this order, a gateway that reads the address in between has stored its approval before, so
    the approval is found here.
    """
    on_demand.withdraw_record(config)
    try:
        is_needed = await run_in_database_thread(approvals.is_any_pending)
    except django.db.Error as error:
        log.warning("console.database_unavailable", reason=str(error).strip())
        return False
    if is_needed:
        on_demand.publish_record(config, listener)
    return is_needed
