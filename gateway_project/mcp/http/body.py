"""Bodies of requests: read whole before anything parses them, bounded in size and in time."""

from __future__ import annotations

import asyncio
from typing import Final

from mcp_types import JSONRPCError
from starlette.types import Message, Receive

from gateway_project.mcp import refused_lines
from gateway_project.mcp.http.answers import rejected
from gateway_project.mcp.refused_lines import MAX_LOOKED_AT

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
"""As long as a line over stdio may be: arguments may carry documents as base64."""
PAUSE_S: Final = 15.0
"""Longest pause between two pieces of a body."""
WHOLE_S: Final = 120.0
"""Longest that a body may take."""
_CLOSE: Final = ((b"connection", b"close"),)  # what is left of the body will not be read


class Gone(Exception):
    """The client left before its request was complete."""


async def read(receive: Receive, *, declared: str, max_bytes: int = MAX_BODY_BYTES) -> bytes:
    """Return the body of a request.

    Args:
        receive: Of the request.
        declared: Its `Content-Length`, if it has one.
        max_bytes: Largest that is taken.

    Raises:
        Rejected: If it is too large or too slow.
        Gone: If the client leaves.
    """
    if declared.isdigit() and int(declared) > max_bytes:
        raise _too_large(max_bytes)
    pieces: list[bytes] = []
    size = 0
    loop = asyncio.get_running_loop()
    last = loop.time() + WHOLE_S
    try:
        async with asyncio.timeout_at(min(last, loop.time() + PAUSE_S)) as limit:
            while True:
                message = await receive()
                piece = _piece(message)
                size += len(piece)
                if size > max_bytes:
                    raise _too_large(max_bytes)
                pieces.append(piece)
                if not message.get("more_body", False):
                    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
                limit.reschedule(min(last, loop.time() + PAUSE_S))
    except TimeoutError:
        raise rejected(
            408,
            "request_timed_out",
            "the body of the request came too slowly; send it again",
            headers=_CLOSE,
        ) from None


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that tells of a body that was read, and then of what follows."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


def _piece(message: Message) -> bytes:
    if message["type"] != "http.request":
        raise Gone
    piece: bytes = message.get("body", b"")
    return piece


def _too_large(max_bytes: int) -> Exception:
    return rejected(
        413,
        "message_too_large",
        f"a request may have {max_bytes:,} bytes at most; send less",
        headers=_CLOSE,
    )


def unreadable(whole: bytes, error: ValueError) -> JSONRPCError:
    """Return what is answered to a body that is no JSON that can be read."""
    shown = whole[: MAX_LOOKED_AT + 1].decode("utf-8", "replace")
    return refused_lines.unreadable(shown, f"Invalid JSON: {error}")
