"""Classifies lines that are not valid messages.

Stray prints on stdout are harmless. But if a broken line was the answer to a call, the call must
fail now instead of at its timeout.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

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
