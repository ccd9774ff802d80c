"""HTTP protocol of a connection, with limits on headers that the parser lacks."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEADER_BYTES: Final = 64 * 1024
HEADERS_TIMEOUT_S: Final = 10.0
"""Time limit from the connection, or a request's first byte, to the end of its headers."""
_TOO_LARGE_RESPONSE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class BoundedProtocol(HttpToolsProtocol):
    """Drops a client whose headers are too long or take too long."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_headers = True
        self._header_bytes = 0
        self._headers_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the header timer for the first request."""
        super().connection_made(_PairingTransport(transport, self.loop))  # type: ignore[arg-type]
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the header timer."""
        self._stop_clock()
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
        super().on_headers_complete()

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
