"""Find out what a line that is no valid message was meant to be.

Servers print to stdout what belongs on stderr; that costs nothing. But when the broken line was
the answer to a call, the call must fail now instead of waiting for its timeout.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from tools.upstream.lines import KEPT_BYTES

Kind = Literal["answer", "message", "text"]

MAX_PARSED_BYTES = 64 * 1024  # a longer line is judged by its ends alone

_ID = r'"id"\s*:\s*(?P<id>-?\d+|"(?:[^"\\]|\\.){0,200}")'
_VERSION = r'"jsonrpc"\s*:\s*"2\.0"'
# Most servers write version and id first; the TypeScript SDK writes them last.
_ID_AT_HEAD = re.compile(rf"\s*\{{\s*(?:{_VERSION}\s*,\s*)?{_ID}\s*,")
_ID_AT_TAIL = re.compile(rf"{_ID}\s*(?:,\s*{_VERSION}\s*)?\}}\s*$")
_VERSION_ANYWHERE = re.compile(_VERSION)
_METHOD_AT_HEAD = re.compile(rf"\s*\{{\s*(?:{_VERSION}\s*,\s*)?(?:{_ID}\s*,\s*)?\"method\"\s*:")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a bad line looks like.

    Attributes:
        kind: `answer` to a request, another JSON-RPC `message`, or plain `text`.
        request_id: Of the request it answers, where it can be read.
    """

    kind: Kind
    request_id: int | str | None = None


def examine(line: bytes) -> Finding:
    r"""Judge a whole line.

    Example:
        >>> examine(b'{"jsonrpc":"2.0","id":7,"result":{"x":"\xff"}}')
        Finding(kind='answer', request_id=7)
        >>> examine(b"Server started")
        Finding(kind='text', request_id=None)
    """
    if len(line) > MAX_PARSED_BYTES:
        return examine_ends(line[:KEPT_BYTES], line[-KEPT_BYTES:])
    try:
        value = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        return examine_ends(line[:KEPT_BYTES], b"")
    return _judge(value)


def examine_ends(head: bytes, tail: bytes) -> Finding:
    """Judge a long line by its two ends.

    Args:
        head: First bytes of the line.
        tail: Last bytes; empty if the line's end is not known.
    """
    start, end = head.decode(errors="replace"), tail.decode(errors="replace")
    if not start.lstrip().startswith("{"):
        return Finding(kind="text")
    if _METHOD_AT_HEAD.match(start):
        return Finding(kind="message")
    if not (_VERSION_ANYWHERE.search(start) or _VERSION_ANYWHERE.search(end)):
        return Finding(kind="text")
    return Finding(
        kind="answer", request_id=_id(_ID_AT_HEAD.match(start) or _ID_AT_TAIL.search(end))
    )


def _judge(value: Any) -> Finding:
    if not isinstance(value, dict) or "jsonrpc" not in value:
        return Finding(kind="text")
    if "method" in value:
        return Finding(kind="message")
    request_id = value.get("id")
    named = isinstance(request_id, int | str) and not isinstance(request_id, bool)
    return Finding(kind="answer", request_id=request_id if named else None)


def _id(match: re.Match[str] | None) -> int | str | None:
    if match is None:
        return None
    try:
        value: int | str = json.loads(match["id"])
    except ValueError:  # an escape that is none, or an integer of thousands of digits
        return None
    return value
