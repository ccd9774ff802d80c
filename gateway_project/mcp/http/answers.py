"""Answers that are given before a request reaches the protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_types import INVALID_REQUEST
from starlette.types import Send

JSON: Final = (b"content-type", b"application/json")
Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A whole HTTP response."""

    status: int
    headers: Headers = ()
    body: bytes = b""

    async def send(self, send: Send) -> None:
        """Send it."""
        length = (b"content-length", str(len(self.body)).encode())
        headers = [*self.headers, length]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


class Rejected(Exception):
    """A request that goes no further.

    Attributes:
        answer: What it is answered with.
    """

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


def rejected(
    status: int,
    word: str,
    message: str,
    *,
    code: int = INVALID_REQUEST,
    request_id: str | int | None = None,
    headers: Headers = (),
) -> Rejected:
    """Return a rejection that carries a JSON-RPC error.

    Args:
        status: Of HTTP.
        word: Stable code, listed in docs/errors.md.
        message: One line that says what to do.
        code: Of JSON-RPC.
        request_id: Of the JSON-RPC request, where it is known.
        headers: More headers.
    """
    error = {"code": code, "message": message, "data": {"code": word}}
    value = {"jsonrpc": "2.0", "id": request_id, "error": error}
    return Rejected(Answer(status=status, headers=(JSON, *headers), body=dumped(value)))


def json_answer(value: Mapping[str, Any], *, status: int = 200) -> Answer:
    """Return an answer that carries a JSON value."""
    return Answer(status=status, headers=(JSON,), body=dumped(value))


def dumped(value: Mapping[str, Any]) -> bytes:
    """Return a value as JSON in its shortest form."""
    return json.dumps(value, separators=(",", ":")).encode()
