"""Answers to lines that are not messages: silence would leave their sender waiting."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCResponse,
)
from pydantic import ValidationError

from gateway_project.foundation import surrogates
from gateway_project.foundation.json_pieces import TooManyValues
from gateway_project.mcp.results import ERROR_KEY, report_failure
from tools.upstream.parse import find_id_at_end

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""Longest message accepted from a client; arguments may carry documents as base64."""
MAX_SEARCHED: Final = 1_000_000
"""Longest line, in characters, that is searched for its id."""
MAX_SEARCHED_ENDS: Final = 4_096
"""Characters searched at either end of a longer line."""
TOO_COSTLY_CODE: Final = "arguments_too_costly"
_INVALID_JSON_TYPE: Final = "json_invalid"
# The end of the line also ends a string, so that nothing is scanned twice.
_STRING: Final = r'"(?>(?:[^"\\]++|\\.?)*)(?:"|\Z)'
_TOKEN: Final = re.compile(
    rf"({_STRING})(\s*+:\s*+({_STRING}|-?\d++(?![.eE])))?|[\[\]{{}}]", re.DOTALL
)
_TOP_LEVEL: Final = 1


@dataclass(frozen=True)
class LineTooLong:
    """Placeholder of a line that was too long to read.

    Attributes:
        limit_bytes: Longest line that is accepted.
    """

    limit_bytes: int


Line = str | LineTooLong


def answer_too_long(line: LineTooLong) -> JSONRPCError:
    """Return the error for a line that was too long; its request id is unknown."""
    text = f"the line is longer than {line.limit_bytes:,} bytes; send less at a time"
    return JSONRPCError(
        jsonrpc="2.0",
        id=None,
        error=ErrorData(code=INVALID_REQUEST, message=f"not read: {text}"),
    )


def answer_refused(line: str, error: ValidationError) -> JSONRPCError:
    """Return the error for a line that is not a valid message.

    It carries the line's id only if that can be read and belongs to a request: a response has an
    id of ours, and an error under it would seem to answer another request of the client.

    Args:
        line: The received line.
        error: The validation error.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] == _INVALID_JSON_TYPE:
        return answer_unreadable(line, first["msg"])
    return _build_error(line, INVALID_REQUEST, "the line is JSON, but not a JSON-RPC 2.0 message")


def answer_wrong_id(message: JSONRPCMessage, value: Any) -> JSONRPCError | None:
    """Return the error for a request with an invalid id.

    The SDK would parse it as a notification and never answer.

    Args:
        message: The parsed message.
        value: The JSON value that it was parsed from.

    Returns:
        The error; None if the id is valid.
    """
    if not isinstance(message, JSONRPCNotification) or "id" not in value:
        return None
    text = "not read: a request id must be a string or an integer; a notification has none"
    return JSONRPCError(
        jsonrpc="2.0", id=None, error=ErrorData(code=INVALID_REQUEST, message=text)
    )


def answer_too_many_values(text: str, error: TooManyValues) -> JSONRPCMessage:
    """Return the answer to a message with more values than are accepted.

    For a tool call it is an error result, which the model reads.

    Args:
        text: The message, or both its ends joined.
        error: Names the exceeded limit.
    """
    head = _read_top_level(text[:MAX_SEARCHED_ENDS])
    identifier, method = head.get("id"), head.get("method")
    if identifier is None:
        identifier = find_id_at_end(text[-MAX_SEARCHED_ENDS:])
    identifier = _clean_id(identifier)
    advice = (
        f"the message {error}, and was not read; pass fewer or smaller items at a time, or a file"
    )
    if method == "tools/call" and identifier is not None:
        failure = report_failure(TOO_COSTLY_CODE, advice)
        result = {**failure.raw, "_meta": failure.meta}
        return JSONRPCResponse(jsonrpc="2.0", id=identifier, result=result)
    return JSONRPCError(
        jsonrpc="2.0",
        id=identifier if method is not None else None,
        error=ErrorData(
            code=INVALID_REQUEST,
            message=f"{TOO_COSTLY_CODE}: {advice}",
            data={ERROR_KEY: {"code": TOO_COSTLY_CODE}},
        ),
    )


def answer_unreadable(text: str, reason: str) -> JSONRPCError:
    """Return the error for a message that cannot be parsed as JSON.

    Args:
        text: The received message.
        reason: The parser's message.
    """
    advice = (
        "send one JSON value, nested less than 200 levels deep, without an unpaired surrogate "
        "or a number of thousands of digits"
    )
    return _build_error(text, PARSE_ERROR, f"{reason}; {advice}")


def answer_reading_failed(text: str) -> JSONRPCError:
    """Return the error for a line that the gateway failed to read because of a defect."""
    return _build_error(text, INTERNAL_ERROR, "the gateway failed to read it; see its log")


def _build_error(text: str, code: int, reason: str) -> JSONRPCError:
    """Return an error under the id of the request in a text, if that can be read."""
    head = _read_top_level(text) if len(text) <= MAX_SEARCHED else {}
    identifier = _clean_id(head.get("id")) if "method" in head else None
    return JSONRPCError(
        jsonrpc="2.0", id=identifier, error=ErrorData(code=code, message=f"not read: {reason}")
    )


def _clean_id(identifier: Any) -> Any:
    """Return an id; None if it holds an unpaired surrogate, which UTF-8 cannot encode."""
    return None if surrogates.has_lone_surrogate(identifier) else identifier


def _read_top_level(line: str) -> dict[str, Any]:
    """Return the string and integer members of the top-level object, at any nesting depth.

    Scans tokens without recursion, in time linear in the length of the line.

    Example:
        >>> _read_top_level('{"params": {"id": 1, "x": [[]]}, "id": 7, "method": "ping"}')
        {'id': 7, 'method': 'ping'}
    """
    members: dict[str, Any] = {}
    depth = 0
    for token in _TOKEN.finditer(line):
        match token[0]:
            case "{" | "[":
                depth += 1
            case "}" | "]":
                depth -= 1
            case _ if token[3] and depth == _TOP_LEVEL:
                key, value = _parse_token(token[1]), _parse_token(token[3])
                if isinstance(key, str) and value is not None:
                    members[key] = value
    return members


def _parse_token(token: str) -> Any:
    try:
        return json.loads(token)
    except ValueError:  # thousands of digits, or an invalid escape
        return None
