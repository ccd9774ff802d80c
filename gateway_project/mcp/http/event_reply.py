"""The answer to a request of 2026-07-28: one JSON body, or a stream once something precedes it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from mcp_types import RequestId
from starlette.types import Send

from gateway_project.mcp import encoding

PING_S: Final = 15.0
PING: Final = b": ping\r\n\r\n"
OK: Final = 200
_STREAM: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
_JSON: Final = (b"content-type", b"application/json")


class EventReply:
    """Sends what belongs to one request, in order.

    Args:
        request_id: Of the request.
        send: Of its HTTP response.

    Attributes:
        ping_at: Time of the loop from which on the client would take the silence for a dead line.
    """

    def __init__(self, request_id: RequestId, send: Send) -> None:
        self._request_id = request_id
        self._send = send
        self._turn = asyncio.Lock()
        self._streams = False
        self._ended = False
        self._loop = asyncio.get_running_loop()
        self.ping_at = self._loop.time() + PING_S

    async def event(self, message: Mapping[str, Any]) -> None:
        """Send a message ahead of the result; one that comes after it is dropped."""
        text = encoding.news_text({"jsonrpc": "2.0", **message})
        if text is not None:
            await self._chunk(_event(text))

    async def ping(self) -> None:
        """Give a sign of life."""
        await self._chunk(PING)

    async def end(self, outcome: Mapping[str, Any], *, status: int) -> None:
        """Send the result, or the error, and nothing after it.

        Args:
            outcome: Member of JSON-RPC that the response has.
            status: Of HTTP, where it is not decided yet.
        """
        content = encoding.answer_text(self._request_id, outcome)
        async with self._turn:
            self._ended = True
            if self._streams:
                content = _event(content)
            else:
                length = (b"content-length", b"%d" % len(content))
                await self._start(status, [_JSON, length])
            await self._send({"type": "http.response.body", "body": content})

    async def _chunk(self, chunk: bytes) -> None:
        async with self._turn:
            if self._ended:
                return
            if not self._streams:
                self._streams = True
                await self._start(OK, [*_STREAM])
            self.ping_at = self._loop.time() + PING_S
            await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        await self._send({"type": "http.response.start", "status": status, "headers": headers})


def _event(message: bytes) -> bytes:
    return b"event: message\r\ndata: " + message + b"\r\n\r\n"
