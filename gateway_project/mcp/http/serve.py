"""Serves an application over HTTP, from a bound socket to a clean exit."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import uvicorn
import uvloop
from starlette.types import Receive, Scope, Send

from gateway_project.foundation import stop_guard
from gateway_project.mcp.http.protocol import BoundedProtocol, BoundedWebSocket, Connections
from tools.upstream.network import parse_networks

CALL_GRACE_S: Final = 5
"""Time for calls in flight to finish after a request to stop."""
STOP_TIMEOUT_S: Final = 15.0
"""After this the process exits even if something hangs; upstream children follow by themselves."""
KILL_TIMEOUT_S: Final = STOP_TIMEOUT_S + 3.0
"""Grace after a signal, enforced by the guard process even if the event loop is stuck."""
KEEP_ALIVE_S: Final = 30
MAX_WEBSOCKET_BYTES: Final = 4_096
"""Largest message of a websocket's client, which has nothing to send."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class TlsFiles:
    """PEM files of a certificate with its chain, and of its key."""

    certificate: Path
    key: Path | None = None


class ClosableApplication(Protocol):
    """An ASGI application that can end its endless streams."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve an ASGI connection."""

    def close(self) -> None:
        """End streams that would keep the server from stopping."""


class TlsUnusable(Exception):
    """The certificate or the key cannot be used; the message says why."""


def check_certificate(tls: TlsFiles) -> None:
    """Check that a certificate and its key can be loaded.

    Raises:
        TlsUnusable: If they cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls.certificate, tls.key)
    except OSError as error:  # ssl.SSLError is one
        reason = error.strerror or str(error)
        raise TlsUnusable(f"cannot use {tls.certificate} or its key: {reason}") from None


def serve_http(
    application: ClosableApplication,
    listener: socket.socket,
    *,
    tls: TlsFiles | None = None,
    websockets: bool = False,
    proxies: str = "",
) -> None:
    """Serve until a signal asks to stop.

    Args:
        application: The application to serve.
        listener: Already bound, so that a port in use is noticed before anything starts.
        tls: Checked certificate files; None for plain HTTP.
        websockets: Whether the application serves websockets too.
        proxies: Networks, separated by commas, of the proxies whose word on where a request comes
            from is believed.

    Raises:
        SystemExit: If the application failed; the log has the reason.
    """
    trusted = parse_networks(proxies)
    connections = Connections(proxies=trusted)
    configuration = uvicorn.Config(
        application,
        http=partial(BoundedProtocol, connections=connections),  # type: ignore[arg-type]
        ws=partial(BoundedWebSocket, connections=connections)  # type: ignore[arg-type]
        if websockets
        else "none",
        ws_max_size=MAX_WEBSOCKET_BYTES,
        ws_per_message_deflate=False,  # the same message would be compressed for each viewer
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=bool(trusted),
        forwarded_allow_ips=[str(network) for network in trusted],
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=CALL_GRACE_S,
        ssl_certfile=str(tls.certificate) if tls else None,
        ssl_keyfile=str(tls.key) if tls and tls.key else None,
    )
    logging.getLogger("mcp.server").setLevel(logging.WARNING)  # otherwise it logs each session
    server = HttpServer(configuration, application)
    with listener, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(server.serve(sockets=[listener]))
    if server.has_broken_down:
        raise SystemExit(1)


class HttpServer(uvicorn.Server):
    """Ends endless streams before it waits for the remaining requests."""

    def __init__(self, configuration: uvicorn.Config, application: ClosableApplication) -> None:
        super().__init__(configuration)
        self._application = application

    @property
    def has_broken_down(self) -> bool:
        """Whether the application has failed."""
        has_failed: bool = self.lifespan.error_occurred
        return has_failed

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to serve; the signal handlers are installed by now."""
        stop_guard.watch_signals()
        await super().startup(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Return whether to stop: on request, or because the application has failed."""
        should_stop: bool = await super().on_tick(counter)
        return should_stop or self.has_broken_down

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, let calls finish, and stop the application."""
        _exit_in_time()
        self._application.close()
        await super().shutdown(sockets)
        # uvicorn would raise the signal again, which would kill the process.
        self._captured_signals.clear()


def _exit_in_time() -> None:
    """Exit the process within `STOP_TIMEOUT_S`, even if a database or model thread hangs."""
    if threading.current_thread() is not threading.main_thread():
        return
    watchdog = threading.Timer(STOP_TIMEOUT_S, os._exit, args=(0,))
    watchdog.daemon = True
    watchdog.start()
