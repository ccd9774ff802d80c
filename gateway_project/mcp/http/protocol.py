"""HTTP on a connection, with bounds where the parser has none."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEADER_BYTES: Final = 64 * 1024
HEADERS_S: Final = 10.0
"""Longest from the first byte of a request, or a new connection, to the end of its headers."""
_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class BoundedProtocol(HttpToolsProtocol):
    """Drops a client whose headers never end, in bytes or in time."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_headers = True
        self._header_bytes = 0
        self._headers_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a first request."""
        super().connection_made(_Pairing(transport, self.loop))  # type: ignore[arg-type]
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what belongs to headers that are not complete."""
        super().data_received(data)
        if not self._in_headers:
            return
        self._header_bytes += len(data)
        if self._header_bytes > MAX_HEADER_BYTES:
            self.transport.write(_TOO_LARGE)
            self.transport.close()
        elif self._headers_due is None and not self.transport.is_closing():
            self._start_clock()

    def on_message_begin(self) -> None:
        """Take note that headers begin."""
        self._in_headers = True
        self._header_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header without the white space around it, of which the parser leaves some.

        References:
            RFC 9110, section 5.5.
        """
        super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        """Take note that headers end."""
        self._in_headers = False
        self._stop_clock()
        super().on_headers_complete()

    def _start_clock(self) -> None:
        self._headers_due = self.loop.call_later(HEADERS_S, self.transport.close)

    def _stop_clock(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None


class _Pairing:
    """A transport that sends two writes of one turn together.

    The server writes headers and body one after the other; sent apart, they cost two system calls
    here and wake the client twice.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held = b""

    def write(self, data: bytes) -> None:
        """Send what was held with this, or hold this until the end of the turn."""
        if self._held:
            held, self._held = self._held, b""
            self._transport.writelines((held, data))
        else:
            self._held = data
            self._loop.call_soon(self._flush)

    def close(self) -> None:
        """Send what is held, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
