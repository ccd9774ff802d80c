"""The answer to a request of 2026-07-28: a JSON body, or a stream if events precede the result."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from mcp.server.streamable_http import check_accept_headers
from mcp_types import RequestId
from starlette.requests import Request
from starlette.types import Send

from gateway_project.mcp import encoding

PING_INTERVAL_S: Final = 15.0
PING: Final = b": ping\r\n\r\n"
HTTP_OK: Final = 200
_STREAM_HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
_JSON_HEADERS: Final = (b"content-type", b"application/json")


class AcceptedForms(NamedTuple):
    """In which forms a client takes an answer; it should take both, and many name one alone.

    Attributes:
        json: A JSON body.
        events: A stream of events.
    """

    json: bool
    events: bool


def read_accepted(request: Request) -> AcceptedForms:
    """Return what a request accepts; without the header, everything."""
    accepted = AcceptedForms(*check_accept_headers(request))
    if not any(accepted) and "accept" not in request.headers:
        return AcceptedForms(json=True, events=True)
    return accepted


class EventReply:
    """Sends the messages of one request, in order, in a form that its client takes.

    Args:
        request_id: Of the request.
        send: Of its HTTP response.
        accepted: Forms that the client takes. Without events, it gets the result alone.

    Attributes:
        ping_at: Loop time at which a ping is due, before the client gives up on a silent stream.
    """

    def __init__(self, request_id: RequestId, send: Send, accepted: AcceptedForms) -> None:
        self._request_id = request_id
        self._send = send
        self._accepted = accepted
        self._send_lock = asyncio.Lock()
        self._streams = False
        self._ended = False
        self._loop = asyncio.get_running_loop()
        self.ping_at = self._loop.time() + PING_INTERVAL_S

    async def send_event(self, message: Mapping[str, Any]) -> None:
        """Send a message ahead of the result; drops it if the result has been sent."""
        text = encoding.notification_to_json({"jsonrpc": "2.0", **message})
        if text is not None:
            await self._send_chunk(_format_event(text))

    async def send_ping(self) -> None:
        """Send a comment that keeps the stream alive."""
        await self._send_chunk(PING)

    async def send_result(self, outcome: Mapping[str, Any], *, status: int) -> None:
        """Send the result or the error, which ends the response.

        Args:
            outcome: The JSON-RPC member `result` or `error`.
            status: Of HTTP; ignored if a stream has started.
        """
        content = await encoding.write_answer(self._request_id, outcome)
        async with self._send_lock:
            self._ended = True
            if not self._streams and not self._accepted.json:
                await self._start_response(status, [*_STREAM_HEADERS])
                self._streams = True
            if self._streams:
                content = _format_event(content)
            else:
                length = (b"content-length", b"%d" % len(content))
                await self._start_response(status, [_JSON_HEADERS, length])
            await self._send({"type": "http.response.body", "body": content})

    async def _send_chunk(self, chunk: bytes) -> None:
        async with self._send_lock:
            if self._ended or not self._accepted.events:
                return
            if not self._streams:
                self._streams = True
                await self._start_response(HTTP_OK, [*_STREAM_HEADERS])
            self.ping_at = self._loop.time() + PING_INTERVAL_S
            await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def _start_response(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        await self._send({"type": "http.response.start", "status": status, "headers": headers})


def _format_event(message: bytes) -> bytes:
    return b"event: message\r\ndata: " + message + b"\r\n\r\n"
