"""Parses bytes into a JSON-RPC message, and classifies lines that are none.

The SDK's adapter validates the whole text against one model after the other: 6 ms for a message
of 2 MB, where parsing alone takes 0.2 ms. Here the members determine the model.

Stray prints on stdout are harmless. But if a broken line was the answer to a call, the call must
fail now instead of at its timeout.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from dataclasses import dataclass
from typing import Any, Literal

from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from gateway_project.foundation import json_pieces
from gateway_project.foundation.computing import run_in_message_thread
from gateway_project.foundation.json_pieces import LARGE_BYTES, TooManyValues
from tools.upstream import nesting
from tools.upstream.errors import ProtocolViolation, TooManyValuesSent, UpstreamError
from tools.upstream.lines import KEPT_EDGE_BYTES

LineKind = Literal["answer", "message", "text"]

MAX_PARSED_BYTES = 64 * 1024  # a longer line is classified by its ends alone

_ID = r'"id"\s*:\s*(?P<id>-?\d+|"(?:[^"\\]|\\.){0,200}")'
_VERSION = r'"jsonrpc"\s*:\s*"2\.0"'
# Most servers write version and id first; the TypeScript SDK writes them last.
_ID_AT_HEAD = re.compile(rf"\s*\{{\s*(?:{_VERSION}\s*,\s*)?{_ID}\s*,")
_ID_AT_TAIL = re.compile(rf"{_ID}\s*(?:,\s*{_VERSION}\s*)?\}}\s*$")
_VERSION_ANYWHERE = re.compile(_VERSION)
_METHOD_AT_HEAD = re.compile(rf"\s*\{{\s*(?:{_VERSION}\s*,\s*)?(?:{_ID}\s*,\s*)?\"method\"\s*:")

_PARSER_DEPTH = 201
_OPENED, _CLOSED = (sign * (_PARSER_DEPTH - nesting.PARSED_DEPTH) for sign in (b"[", b"]"))
_LISTS = ("tools", "resources", "resourceTemplates", "prompts")
# JavaScript leaves unpaired surrogates where it cuts a text within a character.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}"
    rb"|(?P<unpaired>u[dD][89a-fA-F][\da-fA-F]{2})|.)",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class BadLine:
    """What an invalid line appears to be.

    Attributes:
        kind: `answer` to a request, another JSON-RPC `message`, or plain `text`.
        request_id: Id of the request it answers, if readable.
    """

    kind: LineKind
    request_id: int | str | None = None


def examine_line(line: bytes) -> BadLine:
    r"""Classify a whole line.

    Example:
        >>> examine_line(b'{"jsonrpc":"2.0","id":7,"result":{"x":"\xff"}}')
        BadLine(kind='answer', request_id=7)
        >>> examine_line(b"Server started")
        BadLine(kind='text', request_id=None)
    """
    if len(line) > MAX_PARSED_BYTES:
        return examine_ends(line[:KEPT_EDGE_BYTES], line[-KEPT_EDGE_BYTES:])
    try:
        value = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        return examine_ends(line[:KEPT_EDGE_BYTES], b"")
    return _classify_value(value)


def examine_ends(head: bytes, tail: bytes) -> BadLine:
    """Classify a long line by its two ends.

    Args:
        head: First bytes of the line.
        tail: Last bytes; empty if the line's end is unknown.
    """
    start, end = head.decode(errors="replace"), tail.decode(errors="replace")
    if not start.lstrip().startswith("{"):
        return BadLine(kind="text")
    if _METHOD_AT_HEAD.match(start):
        return BadLine(kind="message")
    if not (_VERSION_ANYWHERE.search(start) or _VERSION_ANYWHERE.search(end)):
        return BadLine(kind="text")
    return BadLine(
        kind="answer", request_id=_parse_id(_ID_AT_HEAD.match(start) or _ID_AT_TAIL.search(end))
    )


def find_id_at_end(tail: str) -> int | str | None:
    """Return the id at the end of a message, or None."""
    return _parse_id(_ID_AT_TAIL.search(tail))


def _classify_value(value: Any) -> BadLine:
    if not isinstance(value, dict) or "jsonrpc" not in value:
        return BadLine(kind="text")
    if "method" in value:
        return BadLine(kind="message")
    request_id = value.get("id")
    named = isinstance(request_id, int | str) and not isinstance(request_id, bool)
    return BadLine(kind="answer", request_id=request_id if named else None)


def _parse_id(match: re.Match[str] | None) -> int | str | None:
    if match is None:
        return None
    try:
        value: int | str = json.loads(match["id"])
    except ValueError:  # an invalid escape, or an integer of thousands of digits
        return None
    return value


class MessageTooDeep(ValueError):
    """A message is nested too deeply to be parsed."""

    def __init__(self) -> None:
        super().__init__(f"is nested deeper than {nesting.PARSED_DEPTH} levels")


def make_unreadable_error(error: ValueError | None, *, server: str) -> UpstreamError:
    """Return the error of a call whose answer cannot be parsed, or is no answer at all."""
    if isinstance(error, TooManyValues):
        return TooManyValuesSent(server=server, limit=error.limit)
    problem = "is not valid JSON-RPC in UTF-8; update or repair the server"
    if isinstance(error, MessageTooDeep):
        problem = f"{error}; ask it for less"
    return ProtocolViolation(f"sent an answer that {problem}", server=server)


class NamelessResult(ValueError):
    """A result names no request."""


def read_message(text: bytes | bytearray) -> JSONRPCMessage:
    """Parse one message.

    In a page of a listing, values nested too deeply are replaced by null, so that one bad entry
    does not cost the others; its remaining depth still identifies it.

    As in most clients, some faults are tolerated: a byte order mark; a list around one message;
    bytes that are not UTF-8 and unpaired surrogates, which become U+FFFD; null for an absent
    member and, as PHP writes it, an empty list for an empty object; a float as id; an error in
    any form.

    Args:
        text: JSON in UTF-8.

    Raises:
        MessageTooDeep: If it is nested too deeply and is not a page of a listing.
        TooManyValues: If it contains more values than are parsed.
        NamelessResult: If it is a result without an id.
        ValueError: If it is not a JSON-RPC 2.0 message.

    Example:
        >>> read_message(b'{"jsonrpc": "2.0", "id": 1, "result": {}}')
        JSONRPCResponse(jsonrpc='2.0', id=1, result={})
    """
    value = _parse_text(text)
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    if not isinstance(value, dict):
        raise ValueError("a message is an object")  # noqa: TRY004 - as for any invalid message
    if isinstance(identifier := value.get("id"), float) and identifier.is_integer():
        value["id"] = int(identifier)
    if value.get("method") is not None:
        return _read_unsolicited(value)
    error = value.get("error")
    if error or (error is not None and value.get("result") is None):
        return JSONRPCError.model_validate({"id": None, **value, "error": _read_error(error)})
    return _read_result(value)


async def receive_message(text: bytes) -> JSONRPCMessage:
    """Parse a message as `read_message` does, a large one in a worker thread."""
    if len(text) > LARGE_BYTES:
        return await run_in_message_thread(read_message, text)
    return read_message(text)


def _read_unsolicited(value: dict[str, Any]) -> JSONRPCRequest | JSONRPCNotification:
    if value.get("params") == []:
        value["params"] = {}
    # As in the SDK, a request without a usable id is a notification.
    kind = JSONRPCRequest if _is_id(value.get("id")) else JSONRPCNotification
    return kind.model_validate(value)


def _read_result(value: dict[str, Any]) -> JSONRPCResponse:
    if "result" in value:
        if value.get("id") is None:
            raise NamelessResult
        if value["result"] in (None, []):
            value["result"] = {}
    return JSONRPCResponse.model_validate(value)


def _read_error(error: Any) -> ErrorData:
    try:
        return ErrorData.model_validate(error)
    except ValidationError:
        text = error if isinstance(error, str) else to_json(error, inf_nan_mode="null").decode()
        return ErrorData(code=INTERNAL_ERROR, message=text)


def _is_id(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _parse_text(text: bytes | bytearray) -> Any:
    try:
        return _parse_any_size(text)
    except TooManyValues:
        raise
    except ValueError:
        repaired = _repair_text(bytes(text))
        if not nesting.is_deep(repaired):
            if repaired == text:
                raise
            return _parse_any_size(repaired)
    value = json_pieces.parse_in_pieces(nesting.prune_document(repaired))
    if not _is_page(value):
        raise MessageTooDeep
    return value


def _parse_any_size(text: bytes | bytearray) -> Any:
    if len(text) > LARGE_BYTES:
        return json_pieces.parse_in_pieces(bytes(text), max_depth=nesting.PARSED_DEPTH)
    return _parse_bounded(text)


def _repair_text(text: bytes) -> bytes:
    r"""Remove a byte order mark, and replace invalid UTF-8 and unpaired surrogates by U+FFFD.

    Example:
        >>> _repair_text(b'["caf\xe9", "\\ud83d", "\\ud83d\\ude00", "\\\\ud83d"]').decode()
        '["caf�", "\\ufffd", "\\ud83d\\ude00", "\\\\ud83d"]'
    """
    unicode = text.removeprefix(BOM_UTF8).decode(errors="replace").encode()
    return _ESCAPE.sub(lambda match: rb"\ufffd" if match["unpaired"] else match[0], unicode)


def _parse_bounded(text: bytes | bytearray) -> Any:
    """Parse a JSON document nested at most `PARSED_DEPTH` levels deep.

    The parser's own limit is fixed, so arrays wrapped around the document use up the difference.

    Raises:
        ValueError: If it is not a single JSON value, or nested deeper.
    """
    value = from_json(b"".join((_OPENED, text, _CLOSED)))
    for _ in _OPENED:
        if len(value) != 1:  # "1], [2" is not a document
            raise ValueError("more than one value")
        (value,) = value
    return value


def _is_page(value: Any) -> bool:
    result = value.get("result") if isinstance(value, dict) else None
    return isinstance(result, dict) and any(isinstance(result.get(key), list) for key in _LISTS)
