"""HTTP answers to requests that do not reach the protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final

from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError, JSONRPCMessage
from starlette.types import Send

from gateway_project.foundation import telemetry

JSON_HEADER: Final = (b"content-type", b"application/json")
PROBLEM_CONTENT_TYPE: Final = "application/problem+json"
PROBLEM_HEADER: Final = (b"content-type", PROBLEM_CONTENT_TYPE.encode())
PROBLEM_TYPE_PREFIX: Final = "urn:foregate:error:"
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
        answer: The response to it, with a JSON-RPC error.
        word: Stable code, listed in docs/errors.md.
        message: One line that says what to do.
    """

    def __init__(self, answer: HttpAnswer, *, word: str = "", message: str = "") -> None:
        super().__init__(answer.status)
        self.answer = answer
        self.word = word
        self.message = message

    @classmethod
    def from_message(
        cls, message: JSONRPCMessage, status: int, *, headers: HeaderPairs = ()
    ) -> RequestRejected:
        """Return the rejection that a JSON-RPC message answers."""
        dumped = message.model_dump(mode="json", by_alias=True, exclude_none=True)
        dumped.setdefault("id", None)
        answer = make_json_answer(dumped, status=status)
        return cls(replace(answer, headers=(*answer.headers, *headers)))

    @property
    def problem(self) -> HttpAnswer:
        """The response to it as problem details, for requests that are not of the protocol."""
        value = make_problem(self.answer.status, self.word, self.message)
        return HttpAnswer(
            status=self.answer.status,
            headers=(PROBLEM_HEADER, *self.answer.headers[1:]),
            body=dump_json(value),
        )


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
    answer = HttpAnswer(status=status, headers=(JSON_HEADER, *headers), body=dump_json(value))
    return RequestRejected(answer, word=word, message=message)


def refuse(status: int, code: int, message: str, *, headers: HeaderPairs = ()) -> RequestRejected:
    """Return a rejection whose JSON-RPC error is the protocol's own, as the SDK's are.

    Args:
        status: Of HTTP.
        code: Of JSON-RPC.
        message: One line.
        headers: More headers.
    """
    error = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message))
    return RequestRejected.from_message(error, status, headers=headers)


def make_problem(status: int, code: str, detail: str) -> dict[str, Any]:
    """Return the members that all problem details have.

    Args:
        status: Of HTTP.
        code: Stable code, listed in docs/errors.md.
        detail: One line that says what to do.

    References:
        RFC 9457, Problem Details for HTTP APIs.
    """
    return {
        "type": f"{PROBLEM_TYPE_PREFIX}{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
        "request_id": telemetry.current_request_id(),
    }


def make_json_answer(value: Mapping[str, Any], *, status: int = 200) -> HttpAnswer:
    """Return an answer that carries a JSON value."""
    return HttpAnswer(status=status, headers=(JSON_HEADER,), body=dump_json(value))


def dump_json(value: Mapping[str, Any]) -> bytes:
    """Return a value as JSON in its shortest form."""
    return json.dumps(value, separators=(",", ":")).encode()
