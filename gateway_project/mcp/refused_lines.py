"""Answers to lines that are no messages: silence would leave their sender waiting."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
)
from pydantic import ValidationError

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""Longest message taken from a client; arguments may carry documents as base64."""
MAX_LOOKED_AT: Final = 1_000_000
"""Characters of a line that are searched for what it is called; a longer one goes without."""
_UNREADABLE: Final = "json_invalid"
# An end of the line ends a string too, so that none is ever looked at twice.
_STRING: Final = r'"(?:[^"\\]|\\.?)*+(?:"|\Z)'
_TOKEN: Final = re.compile(
    rf"({_STRING})(\s*+:\s*+({_STRING}|-?\d++(?![.eE])))?|[\[\]{{}}]", re.DOTALL
)
_TOP: Final = 1


@dataclass(frozen=True)
class TooLong:
    """Stands where a line stood that was too long to be read.

    Attributes:
        limit_bytes: What it might have had.
    """

    limit_bytes: int


Line = str | TooLong


def too_long(line: TooLong) -> JSONRPCError:
    """Return what a client is told whose line was too long: which request it was, nobody knows."""
    said = f"the line is longer than {line.limit_bytes:,} bytes; send less at a time"
    return JSONRPCError(
        jsonrpc="2.0",
        id=None,
        error=ErrorData(code=INVALID_REQUEST, message=f"not read: {said}"),
    )


def refusal(line: str, error: ValidationError) -> JSONRPCError:
    """Return what a client is told whose line could not be read.

    Its id stands there if it can be made out and belongs to a request; what answers one of ours
    has its id from us, and an error under it would be taken for the end of another request.

    Args:
        line: As it came.
        error: What is wrong with it.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] == _UNREADABLE:
        return unreadable(line, first["msg"])
    return _error(line, INVALID_REQUEST, "the line is JSON, but no message of JSON-RPC 2.0")


def wrong_id(message: JSONRPCMessage, value: Any) -> JSONRPCError | None:
    """Return what a client is told whose request has an id that no request can have.

    The SDK takes it for a notification, which is never answered.

    Args:
        message: As it was read.
        value: The JSON that it was read from.

    Returns:
        The error; None: nothing is wrong.
    """
    if not isinstance(message, JSONRPCNotification) or "id" not in value:
        return None
    said = "not read: the id of a request is text or a whole number; a notification has none"
    return JSONRPCError(
        jsonrpc="2.0", id=None, error=ErrorData(code=INVALID_REQUEST, message=said)
    )


def unreadable(text: str, why: str) -> JSONRPCError:
    """Return what a client is told whose message is no JSON that can be read.

    Args:
        text: As it came.
        why: What the parser says.
    """
    advice = (
        "send one JSON value, nested in less than 200 levels, with no half of a surrogate pair "
        "and no number of thousands of digits"
    )
    return _error(text, PARSE_ERROR, f"{why}; {advice}")


def _error(text: str, code: int, said: str) -> JSONRPCError:
    """Return an error under the id of the request that it is for, where that can be made out."""
    found = _top_level(text) if len(text) <= MAX_LOOKED_AT else {}
    identifier = found.get("id") if "method" in found else None
    return JSONRPCError(
        jsonrpc="2.0", id=identifier, error=ErrorData(code=code, message=f"not read: {said}")
    )


def _top_level(line: str) -> dict[str, Any]:
    """Return the strings and whole numbers of an object itself, however deep others are nested.

    Reads no further than its tokens, without recursion, in time in proportion to the line.

    Example:
        >>> _top_level('{"params": {"id": 1, "x": [[]]}, "id": 7, "method": "ping"}')
        {'id': 7, 'method': 'ping'}
    """
    found: dict[str, Any] = {}
    depth = 0
    for token in _TOKEN.finditer(line):
        match token[0]:
            case "{" | "[":
                depth += 1
            case "}" | "]":
                depth -= 1
            case _ if token[3] and depth == _TOP:
                key, value = _text(token[1]), _text(token[3])
                if isinstance(key, str) and value is not None:
                    found[key] = value
    return found


def _text(token: str) -> Any:
    try:
        return json.loads(token)
    except ValueError:  # thousands of digits, or an escape that is none
        return None
