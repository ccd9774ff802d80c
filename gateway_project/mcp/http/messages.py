"""The JSON-RPC message in the body of a request, read completely, bounded in size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from typing import Any, Final

from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.types import Message, Receive

from gateway_project.foundation import json_pieces
from gateway_project.foundation.computing import run_in_message_thread
from gateway_project.foundation.json_pieces import LARGE_BYTES, TooManyValues
from gateway_project.foundation.shares import Bound, Shares
from gateway_project.mcp import refused_lines
from gateway_project.mcp.http.answers import RequestRejected, refuse, reject
from gateway_project.mcp.http.request import HttpRequest
from gateway_project.mcp.refused_lines import MAX_SEARCHED, MAX_SEARCHED_ENDS

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
"""The same limit as for a line over stdio: arguments may carry documents as base64."""
BODY_BYTES: Final = Bound(total=256 * 1024 * 1024, each=MAX_BODY_BYTES, fraction=0.5)
"""Bytes of bodies in memory at once, and those that one holder sent."""
UNCOUNTED_BYTES: Final = 16 * 1024
"""Smaller bodies are not counted: the requests that may be open at once hold some MiB of them."""
CHUNK_TIMEOUT_S: Final = 15.0
"""Longest pause between two chunks of a body."""
BODY_TIMEOUT_S: Final = 120.0
"""Longest time that a body may take."""
HTTP_OK: Final = 200
HTTP_BAD_REQUEST: Final = 400
_CLOSE: Final = ((b"connection", b"close"),)  # the rest of the body is not read


body_bytes: Final = Shares(BODY_BYTES)
"""The process's, by who sent them."""

_REQUEST_MEMBERS: Final = {"jsonrpc", "id", "method", "params"}
_NO_MESSAGE: Final = "not a single JSON-RPC message"


class ClientGone(Exception):
    """The client disconnected before its request was complete."""


class hold_body:  # noqa: N801 - used like a function; a generator would cost each call 3 %
    """Yields the body of a request, whose bytes count as the holder's until the block is left.

    Args:
        receive: Of the request.
        declared: Its `Content-Length`; empty if it has none.
        holder: Who sent it.
        max_bytes: Largest body that is accepted.

    Raises:
        RequestRejected: If the body is too large or too slow, or too much is held.
        ClientGone: If the client disconnects.
    """

    def __init__(
        self, receive: Receive, *, declared: str, holder: Hashable, max_bytes: int = MAX_BODY_BYTES
    ) -> None:
        self._receive = receive
        self._declared = int(declared) if declared.isdigit() else 0
        self._holder = holder
        self._held = 0
        self._max_bytes = max_bytes

    async def __aenter__(self) -> bytes:
        try:
            self._take(self._declared)
            return await self._read()
        except BaseException:
            self._give_back()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._give_back()

    def _take(self, size: int) -> None:
        """Take what is missing from a size."""
        if size > self._max_bytes:
            raise reject(
                413,
                "message_too_large",
                f"a request may have {self._max_bytes:,} bytes at most; send less",
                headers=_CLOSE,
            )
        missing = size - self._held
        if missing <= 0 or size <= UNCOUNTED_BYTES:
            return
        if not body_bytes.take(self._holder, missing):
            raise reject(
                429,
                "throttled",
                "too many large requests are being read; wait for one to end",
                headers=(*_CLOSE, (b"retry-after", b"1")),
            )
        self._held = size

    def _give_back(self) -> None:
        if self._held:
            body_bytes.give_back(self._holder, self._held)
            self._held = 0

    async def _read(self) -> bytes:
        chunks: list[bytes] = []
        size = 0
        loop = asyncio.get_running_loop()
        last = loop.time() + BODY_TIMEOUT_S
        try:
            async with asyncio.timeout_at(min(last, loop.time() + CHUNK_TIMEOUT_S)) as limit:
                while True:
                    message = await self._receive()
                    chunk = _extract_chunk(message)
                    size += len(chunk)
                    self._take(size)
                    chunks.append(chunk)
                    if not message.get("more_body", False):
                        return chunks[0] if len(chunks) == 1 else b"".join(chunks)
                    limit.reschedule(min(last, loop.time() + CHUNK_TIMEOUT_S))
        except TimeoutError:
            raise reject(
                408,
                "request_timed_out",
                "the body of the request came too slowly; send it again",
                headers=_CLOSE,
            ) from None


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that replays a body and then continues with the original messages."""
    replayed: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_next() -> Message:
        return replayed.pop() if replayed else await receive()

    return receive_next


def _extract_chunk(message: Message) -> bytes:
    if message["type"] != "http.request":
        raise ClientGone
    chunk: bytes = message.get("body", b"")
    return chunk


def check_accepted(request: HttpRequest) -> None:
    """Check that a client takes an answer in any form.

    Raises:
        RequestRejected: If it takes none.
    """
    if not any(request.accepted):
        raise refuse(
            406,
            INVALID_REQUEST,
            "Not Acceptable: take application/json or text/event-stream",
        )


async def parse(content: bytes) -> Any:
    """Return the JSON value of a body; a large one is parsed in a side thread.

    Raises:
        RequestRejected: If it cannot be parsed, or holds too many values.
    """
    answer: JSONRPCMessage
    try:
        if len(content) > LARGE_BYTES:
            return await run_in_message_thread(json_pieces.parse_in_pieces, content)
        return from_json(content)
    except TooManyValues as error:
        ends = content[:MAX_SEARCHED_ENDS] + content[-MAX_SEARCHED_ENDS:]
        answer = refused_lines.answer_too_many_values(ends.decode("utf-8", "replace"), error)
    except ValueError as error:
        shown = content[: MAX_SEARCHED + 1].decode("utf-8", "replace")
        answer = refused_lines.answer_unreadable(shown, f"Invalid JSON: {error}")
    status = HTTP_OK if isinstance(answer, JSONRPCResponse) else HTTP_BAD_REQUEST
    raise RequestRejected.from_message(answer, status)


def is_plain_request(value: Any) -> bool:
    """Whether a JSON value is a request at a glance."""
    return (
        isinstance(value, dict)
        and value.keys() <= _REQUEST_MEMBERS
        and value.get("jsonrpc") == "2.0"
        and type(value.get("id")) in (int, str)
        and isinstance(value.get("method"), str)
        and isinstance(value.get("params", {}), dict)
    )


def read_message(
    value: Any,
) -> JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError:
    """Return the message that a JSON value is.

    Raises:
        RequestRejected: If it is none.
    """
    try:
        message = jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        raise refuse(400, INVALID_PARAMS, _NO_MESSAGE) from None
    if (invalid := refused_lines.answer_wrong_id(message, value)) is not None:
        raise RequestRejected.from_message(invalid, HTTP_BAD_REQUEST)
    return message
