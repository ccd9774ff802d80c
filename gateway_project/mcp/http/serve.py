"""Serve an application over HTTP, from a bound socket to a clean end."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvicorn
import uvloop

from gateway_project.mcp.http.application import Application
from gateway_project.mcp.http.protocol import BoundedProtocol

CALLS_END_S: Final = 5
"""Calls in flight have this long to end once the process is asked to stop."""
STOP_S: Final = 15.0
"""After this the process ends whatever still hangs; upstream children follow by themselves."""
KEEP_ALIVE_S: Final = 30
MAX_CONNECTIONS: Final = 2_000

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Tls:
    """Files of a certificate with its chain, and of its key; PEM."""

    certificate: Path
    key: Path | None = None


class TlsUnusable(Exception):
    """The certificate or the key cannot be used; the message says why."""


def check(tls: Tls) -> None:
    """Read a certificate and its key.

    Raises:
        TlsUnusable: If they cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls.certificate, tls.key)
    except OSError as error:  # ssl.SSLError is one
        reason = error.strerror or str(error)
        raise TlsUnusable(f"cannot use {tls.certificate} or its key: {reason}") from None


def serve(application: Application, listener: socket.socket, *, tls: Tls | None = None) -> None:
    """Serve until a signal asks to stop.

    Args:
        application: What is served.
        listener: Already bound, so that a port in use is known before anything is started.
        tls: How connections are encrypted, as checked; None: not at all.

    Raises:
        SystemExit: If the application broke down, as the log says.
    """
    configuration = uvicorn.Config(
        application,
        http=BoundedProtocol,
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=CALLS_END_S,
        ssl_certfile=str(tls.certificate) if tls else None,
        ssl_keyfile=str(tls.key) if tls and tls.key else None,
    )
    logging.getLogger("mcp.server").setLevel(logging.WARNING)  # tells of each session otherwise
    server = Server(configuration, application)
    with listener, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(server.serve(sockets=[listener]))
    if server.broke_down:
        raise SystemExit(1)


class Server(uvicorn.Server):
    """Ends what has no end of its own before it waits for the rest."""

    def __init__(self, configuration: uvicorn.Config, application: Application) -> None:
        super().__init__(configuration)
        self._application = application

    @property
    def broke_down(self) -> bool:
        """Whether what stands behind the application has ended by itself."""
        broke: bool = self.lifespan.error_occurred
        return broke

    async def on_tick(self, counter: int) -> bool:
        """Stop when asked to, and rather than go on without what requests are served with."""
        asked: bool = await super().on_tick(counter)
        return asked or self.broke_down

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, let calls end, and stop what stands behind them."""
        _leave_in_time()
        self._application.close()
        await super().shutdown(sockets)
        # uvicorn would raise the signal again, and the process would end by it, not in order.
        self._captured_signals.clear()


def _leave_in_time() -> None:
    """End the process in bounded time, even if a thread of a query or a model hangs."""
    if threading.current_thread() is not threading.main_thread():
        return
    watchdog = threading.Timer(STOP_S, os._exit, args=(0,))
    watchdog.daemon = True
    watchdog.start()
