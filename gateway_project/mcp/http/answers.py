"""HTTP answers to requests that do not reach the protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_types import INVALID_REQUEST
from starlette.types import Send

JSON_HEADER: Final = (b"content-type", b"application/json")
HeaderPairs = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, kw_only=True)
class HttpAnswer:
    """A whole HTTP response."""

    status: int
    headers: HeaderPairs = ()
    body: bytes = b""

    async def send(self, send: Send) -> None:
        """Send the response."""
        length = (b"content-length", str(len(self.body)).encode())
        headers = [*self.headers, length]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


class RequestRejected(Exception):
    """A request was rejected before it reached the protocol.

    Attributes:
        answer: The response to it.
    """

    def __init__(self, answer: HttpAnswer) -> None:
        super().__init__(answer.status)
        self.answer = answer


def reject(
    status: int,
    word: str,
    message: str,
    *,
    code: int = INVALID_REQUEST,
    request_id: str | int | None = None,
    headers: HeaderPairs = (),
) -> RequestRejected:
    """Return a rejection that carries a JSON-RPC error.

    Args:
        status: Of HTTP.
        word: Stable code, listed in docs/errors.md.
        message: One line that says what to do.
        code: Of JSON-RPC.
        request_id: Of the JSON-RPC request; None if unknown.
        headers: More headers.
    """
    error = {"code": code, "message": message, "data": {"code": word}}
    value = {"jsonrpc": "2.0", "id": request_id, "error": error}
    return RequestRejected(
        HttpAnswer(status=status, headers=(JSON_HEADER, *headers), body=dump_json(value))
    )


def make_json_answer(value: Mapping[str, Any], *, status: int = 200) -> HttpAnswer:
    """Return an answer that carries a JSON value."""
    return HttpAnswer(status=status, headers=(JSON_HEADER,), body=dump_json(value))


def dump_json(value: Mapping[str, Any]) -> bytes:
    """Return a value as JSON in its shortest form."""
    return json.dumps(value, separators=(",", ":")).encode()
