"""Serves an application over HTTP, from a bound socket to a clean exit.

Connections have limits that uvicorn lacks: how many there may be, and how long headers may take.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Protocol

import uvicorn
import uvloop
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.utils import get_remote_addr
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from gateway_project.access.throttle import client_network
from gateway_project.foundation import stop_guard
from gateway_project.foundation.shares import Bound, Shares
from tools.upstream.network import Network, parse_networks

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


CONNECTIONS: Final = Bound(total=2_000, each=1_000, fraction=1.0)
"""Connections of the process and of one address."""
MAX_PROBES: Final = 32
"""Further connections, which are answered only if they ask for the health of the process."""
PROBE_PATHS: Final = frozenset({b"/health", b"/health/ready"})
MAX_HEADER_BYTES: Final = 64 * 1024
HEADERS_TIMEOUT_S: Final = 10.0
"""Time limit from the connection, or a request's first byte, to the end of its headers."""
_TOO_LARGE_RESPONSE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class Connections:
    """Admits connections: so many of an address; idle ones give way to new ones.

    A connection is idle while no request of it is being served. Those on which none was ever
    served give way first, then those that have been idle for longest.

    Args:
        bound: How many there may be.
        proxies: Networks of proxies, whose connections are those of many people.
    """

    def __init__(self, bound: Bound = CONNECTIONS, *, proxies: Sequence[Network] = ()) -> None:
        self._shares = Shares(bound)
        self._proxies = proxies
        self._probes = 0
        self._addresses: dict[asyncio.Transport, str] = {}
        self._unused: dict[str, dict[asyncio.Transport, None]] = {}
        self._idle: dict[str, dict[asyncio.Transport, None]] = {}

    def __len__(self) -> int:
        return len(self._shares)

    def admit(self, transport: asyncio.Transport) -> bool:
        """Count a new connection; False: it may only be used to probe, or was closed."""
        remote = get_remote_addr(transport)
        address = client_network(remote[0]) if remote else ""
        if remote and self._is_proxy(remote[0]):
            address = f"{remote[0]} {remote[1]}"
        while not self._shares.take(address):
            if not self._close_idle(address):
                self._admit_probe(transport)
                return False
        self._addresses[transport] = address
        self._unused.setdefault(address, {})[transport] = None
        return True

    def note_busy(self, transport: asyncio.Transport) -> None:
        """Note that a request of a connection is being served."""
        self._forget_idle(transport)

    def note_idle(self, transport: asyncio.Transport) -> None:
        """Note that a connection waits for another request."""
        if transport in self._addresses:
            self._idle.setdefault(self._addresses[transport], {})[transport] = None

    def leave(self, transport: asyncio.Transport) -> None:
        """Count a connection no longer; does nothing if it is not counted."""
        self._forget_idle(transport)
        address = self._addresses.pop(transport, None)
        if address is not None:
            self._shares.give_back(address)

    def leave_probe(self) -> None:
        """Count a connection that could only be used to probe no longer."""
        self._probes -= 1

    def _admit_probe(self, transport: asyncio.Transport) -> None:
        self._probes += 1
        if self._probes > MAX_PROBES:
            transport.abort()

    def _close_idle(self, address: str) -> bool:
        """Close an idle connection to make room; return whether there was one.

        It is one of the same address, or, if the process is full, of the address with most.
        """
        for idle in (self._unused, self._idle):
            own = idle.get(address)
            if own is None and len(self._shares) >= self._shares.bound.total:
                own = max(idle.values(), key=len, default=None)
            if own:
                transport = next(iter(own))
                self.leave(transport)
                transport.close()
                return True
        return False

    def _forget_idle(self, transport: asyncio.Transport) -> None:
        address = self._addresses.get(transport, "")
        for idle in (self._unused, self._idle):
            own = idle.get(address)
            if own is not None:
                own.pop(transport, None)
                if not own:
                    del idle[address]

    def _is_proxy(self, host: str) -> bool:
        return bool(self._proxies) and any(ip_address(host) in each for each in self._proxies)


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """A websocket, which has the place of the connection that became it.

    Args:
        connections: Those of the process.
    """

    def __init__(self, *, connections: Connections, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._places = connections

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave the place to others."""
        self._places.leave(self.transport)
        super().connection_lost(exc)


class BoundedProtocol(HttpToolsProtocol):
    """Drops a client whose headers are too long or take too long.

    Args:
        connections: Those of the process.
    """

    def __init__(self, *args: Any, connections: Connections, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._places = connections
        self._is_admitted = True
        self._in_headers = True
        self._header_bytes = 0
        self._headers_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the header timer for the first request."""
        super().connection_made(_PairingTransport(transport, self.loop))  # type: ignore[arg-type]
        self._start_clock()
        self._is_admitted = self._places.admit(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the header timer."""
        self._stop_clock()
        if self._is_admitted:
            self._places.leave(self.transport)
        else:
            self._places.leave_probe()
        super().connection_lost(exc)

    def _unsupported_upgrade_warning(self) -> None:
        """Ignore requests to upgrade, as servers may: no other protocol is supported.

        References:
            RFC 9110, section 7.8.
        """

    def data_received(self, data: bytes) -> None:
        """Count the bytes of incomplete headers."""
        super().data_received(data)
        if not self._in_headers:
            return
        self._header_bytes += len(data)
        if self._header_bytes > MAX_HEADER_BYTES:
            self.transport.write(_TOO_LARGE_RESPONSE)
            self.transport.close()
        elif self._headers_due is None and not self.transport.is_closing():
            self._start_clock()

    def on_message_begin(self) -> None:
        """Note the start of headers."""
        self._in_headers = True
        self._header_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Strip the white space around a header's value, of which the parser leaves some.

        References:
            RFC 9110, section 5.5.
        """
        super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        """Note the end of headers."""
        self._in_headers = False
        self._stop_clock()
        if self._is_admitted:
            self._places.note_busy(self.transport)
        else:  # the server answers 503 once there are as many connections as this
            self.limit_concurrency = None if self._is_probe() else 0
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Note that the connection is idle, unless the next request has come already."""
        super().on_response_complete()
        if self._is_admitted and (self.cycle is None or self.cycle.response_complete):
            self._places.note_idle(self.transport)

    def handle_websocket_upgrade(self) -> None:
        """Let a websocket take over the connection, and its place, if it has one."""
        if self._is_admitted:
            super().handle_websocket_upgrade()
        else:
            self.transport.close()

    def _is_probe(self) -> bool:
        return self.url.partition(b"?")[0] in PROBE_PATHS

    def _start_clock(self) -> None:
        self._headers_due = self.loop.call_later(HEADERS_TIMEOUT_S, self.transport.close)

    def _stop_clock(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None


class _PairingTransport:
    """A transport that combines two writes of one loop iteration.

    The server writes headers and body separately, which would cost two system calls and wake the
    client twice.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._buffered = b""

    def write(self, data: bytes) -> None:
        """Send data together with buffered data, or buffer it until the next loop iteration."""
        if self._buffered:
            buffered, self._buffered = self._buffered, b""
            self._transport.writelines((buffered, data))
        else:
            self._buffered = data
            self._loop.call_soon(self._flush)

    def close(self) -> None:
        """Flush and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._buffered:
            buffered, self._buffered = self._buffered, b""
            self._transport.write(buffered)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


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
