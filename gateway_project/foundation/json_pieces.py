"""JSON of many megabytes, parsed and encoded in pieces.

The parser and the encoder are written in Rust and hold the interpreter's lock until they are
done: half a second for some messages. In pieces of a few kilobytes, on a thread of its own, they
block no other thread. This module finds where a document may be cut and joins the parsed pieces.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from pydantic_core import from_json, to_json

from gateway_project.foundation import canonical
from gateway_project.foundation.garbage import LONG_LIVED, pause_collection

LARGE_BYTES: Final = 256 * 1024
"""A longer message is parsed in pieces on a message thread; a shorter one takes 6 ms at most."""
MAX_VALUES = 500_000
"""Values of one message: freeing that many takes some 10 ms, in which no other thread runs."""
MAX_DEPTH: Final = 200
MAX_ENCODED_DEPTH: Final = 254
"""Levels of nesting that the encoder takes."""
PIECE_BYTES: Final = 64 * 1024
PIECE_VALUES: Final = 4_000
MAX_TEXT_PIECE: Final = 1024 * 1024
"""Length of a text beyond which it is parsed or encoded in several pieces."""
_MAX_STEPS_BACK: Final = 12
"""Bytes by which a cut within a text may move back: the length of an escaped surrogate pair."""

_OPENING, _CLOSING = (b"[", b"{"), (b"]", b"}")
# Tokens that tell where a document may be cut. One match skips many texts without escapes.
_STRUCTURAL: Final = re.compile(rb'(?>(?:"[^"\\]*+"[^"\[\]{}]*+)+)|["\[\]{}]')
_STRUCTURAL_OR_COMMA: Final = re.compile(rb'"[^"\\]*+"|["\[\]{},]')
_COUNTED: Final = re.compile(
    rb'"(?>(?:[^"\\]++|\\.)*)(?:"|(?P<text>))'  # `text`: one that goes on
    rb"|[\[{][ \t\r\n]*+(?:[\]}]|(?P<opening>))|(?P<comma>,)",
    re.DOTALL,
)
_TEXT: Final = re.compile(rb'(?>(?:[^"\\]++|\\.)*)', re.DOTALL)
_NON_SPACE: Final = re.compile(rb"[^ \t\r\n]")
_QUOTE, _COMMA, _COLON = b'"', b",", b":"
_MARKER_BYTES: Final = 16


class TooManyValues(ValueError):
    """A document contains more values than allowed."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"holds more than {limit:,} values")
        self.limit = limit


def parse_in_pieces(
    document: bytes,
    *,
    max_depth: int = MAX_DEPTH,
    max_values: int | None = None,
    allow_inf_nan: bool = True,
) -> Any:
    """Parse a JSON document in pieces; to be run outside the event loop's thread.

    O(size), like parsing it at once; between two pieces other threads run.

    Args:
        document: JSON in UTF-8.
        max_depth: Maximum nesting of objects and arrays, at most `MAX_DEPTH`.
        max_values: Maximum number of values; None: `MAX_VALUES`.
        allow_inf_nan: Whether numbers may be NaN or infinite, which JSON does not have.

    Raises:
        TooManyValues: If it contains more values.
        ValueError: If it is not a single JSON value, or is nested deeper.

    Example:
        >>> parse_in_pieces(b'{"a": [1, "b"]}')
        {'a': [1, 'b']}
    """
    check_value_count(document, MAX_VALUES if max_values is None else max_values)
    return _PieceReader(document, max_depth=max_depth, allow_inf_nan=allow_inf_nan).read()


def check_value_count(document: bytes, max_values: int) -> None:
    """Check the number of values in a JSON document before any of them is built.

    Every value follows a comma or opens a container that is not empty, so it is enough to count
    those outside texts. O(size), and most often much less: a document with few such bytes anywhere
    holds few values.

    Raises:
        TooManyValues: If there are more.
        ValueError: If a text does not end.

    Example:
        >>> check_value_count(b'{"a": [1, "b,,,"], "c": []}', 4)
        >>> check_value_count(b"[[],[],[]]", 2)
        Traceback (most recent call last):
        ...
        gateway_project.foundation.json_pieces.TooManyValues: holds more than 2 values
    """
    if not _may_hold_more(document, max_values):
        return
    count = position = 0
    while position < len(document):
        end = min(position + PIECE_BYTES, len(document))
        for match in _COUNTED.finditer(document, position, end):
            may_go_on = match.lastgroup == "text" or (
                match.lastgroup == "opening" and match.end() == end < len(document)
            )
            if may_go_on and match.start() > position:
                end = match.start()
                break
            if match.lastgroup == "text":
                end = _find_text_end(document, position)
            elif match.lastgroup is not None:
                count += 1
        if count > max_values:
            raise TooManyValues(max_values)
        position = end


def _may_hold_more(document: bytes, max_values: int) -> bool:
    """Whether a document may hold more values, counting commas and brackets in texts too."""
    count = 0
    for start in range(0, len(document), PIECE_BYTES):
        count += sum(document.count(byte, start, start + PIECE_BYTES) for byte in b"[{,")
        if count > max_values:
            return True
    return False


@dataclass(slots=True)
class _OpenContainer:
    """An object or array that is open at the position of the scan.

    Attributes:
        is_object: Whether it is an object.
        start: Its offset in the document.
        parsed_to: Offset up to which its members are in `value`.
        value: Its members so far; None: it is parsed with the container that holds it.
    """

    is_object: bool
    start: int
    parsed_to: int
    value: Any = None


class _PieceReader:
    """Parses one document in pieces: some members of a container at a time.

    In a piece, a mark stands for the members that were parsed before, and one for a value that is
    parsed by itself: a container that is cut, or a long text. So the parser sees every comma and
    colon. The document is the only member of an array. Marks are random for each document, so
    that no document can contain them.
    """

    def __init__(self, document: bytes, *, max_depth: int, allow_inf_nan: bool) -> None:
        self._document = document
        self._max_depth = max_depth
        self._allow_inf_nan = allow_inf_nan
        self._whole = _OpenContainer(is_object=False, start=-1, parsed_to=0, value=[])
        self._stack = [self._whole]
        self._last_cut = 0
        self._mark = secrets.token_hex(_MARKER_BYTES)

    def read(self) -> Any:
        """Return the parsed value; pieces are cut as the scan proceeds."""
        document, position = self._document, 0
        while position < len(document):
            is_cut_due = position - self._last_cut >= PIECE_BYTES
            tokens = _STRUCTURAL_OR_COMMA if is_cut_due else _STRUCTURAL
            end = position + PIECE_BYTES
            match = tokens.search(document, position, end)
            position = min(end, len(document)) if match is None else self._handle_token(match)
        if len(self._stack) > 1:
            raise ValueError("the document ends too soon")
        if self._whole.parsed_to == 0:
            return from_json(document, allow_inf_nan=self._allow_inf_nan)
        self._parse_members(self._whole, len(document), b"]")
        if len(self._whole.value) != 1:
            raise ValueError("it is not a single value")
        return self._whole.value[0]

    def _handle_token(self, match: re.Match[bytes]) -> int:
        """Process one token, and return where to continue the scan."""
        token, start, end = match[0], match.start(), match.end()
        if token == _COMMA:
            self._cut_at_comma(start)
        elif token == _QUOTE:
            return self._skip_text(start)
        elif token in _OPENING:
            if len(self._stack) > self._max_depth:
                raise ValueError(f"it is nested deeper than {self._max_depth} levels")
            self._stack.append(_OpenContainer(token == b"{", start, end))
        elif token in _CLOSING:
            inner = self._stack.pop()
            if inner is self._whole:
                raise ValueError("more is closed than was opened")
            if inner.value is not None:
                self._parse_members(inner, end)
                self._stack[-1].parsed_to = end
        return end

    def _cut_at_comma(self, start: int) -> None:
        self._cut_holders()
        inner = self._stack[-1]
        self._parse_members(inner, start, b"}" if inner.is_object else b"]")
        if not inner.value:
            raise ValueError("a comma follows nothing")

    def _skip_text(self, start: int) -> int:
        """Skip a text that has escapes, or read one that is long; return its end."""
        end = _find_text_end(self._document, start)
        if end - start <= MAX_TEXT_PIECE:
            return end
        after = _NON_SPACE.search(self._document, end)
        if after is None or after[0] != _COLON:
            self._cut_holders()
            text = "".join(_iterate_text_pieces(self._document, start + 1, end - 1))
            self._add_value(self._stack[-1], start, text)
            self._stack[-1].parsed_to = end
        return end

    def _cut_holders(self) -> None:
        """Have the innermost container, and all that hold it, be parsed by themselves."""
        for holder, inner in pairwise(self._stack):
            if inner.value is None:
                inner.value = {} if inner.is_object else []
                self._add_value(holder, inner.start, inner.value)

    def _add_value(self, holder: _OpenContainer, start: int, value: Any) -> None:
        """Add a value that begins at an offset to a container, and the members before it."""
        if holder.is_object:
            part = self._parse_members(holder, start, b'"%b"}' % self._mark.encode())
            key = next(key for key, item in reversed(part.items()) if item == self._mark)
            holder.value[key] = value
        else:
            self._parse_members(holder, start, b'""]')
            holder.value[-1] = value

    def _parse_members(self, holder: _OpenContainer, end: int, tail: bytes = b"") -> Any:
        """Parse the members of a container up to an offset, at which `tail` closes it.

        Returns:
            What was parsed now; it was added to the container's value.
        """
        is_continued = holder.parsed_to > holder.start + 1
        head = b"{" if holder.is_object else b"["
        if is_continued:
            head += b'"%b":""' % self._mark.encode() if holder.is_object else b'""'
        piece = b"".join((head, self._document[holder.parsed_to : end], tail))
        with pause_collection():
            part = from_json(piece, allow_inf_nan=self._allow_inf_nan)
            LONG_LIVED.add_all()  # collecting garbage among so many values would block all threads
        if holder.is_object:
            part.pop(self._mark, None)
            holder.value.update(part)
        else:
            holder.value.extend(part[1:] if is_continued else part)
        holder.parsed_to = self._last_cut = end
        return part


def _find_text_end(document: bytes, start: int) -> int:
    """Return the offset after the closing quote of the text that begins at `start`."""
    position, end = start, start + 1
    while end > position:
        position = end
        match = _TEXT.match(document, position, position + PIECE_BYTES + 1)
        end = match.end() if match else position
        if document[end : end + 1] == _QUOTE:
            return end + 1
    raise ValueError("a text does not end")


def _iterate_text_pieces(document: bytes, start: int, end: int) -> Iterator[str]:
    """Yield the pieces of a long text; no cut splits an escape or a character."""
    while start < end:
        cut = min(start + MAX_TEXT_PIECE, end)
        for back in range(_MAX_STEPS_BACK + 1):
            try:
                text = from_json(b'"%b"' % document[start : cut - back])
            except ValueError:
                if back == _MAX_STEPS_BACK or cut - back <= start + 1 or cut == end:
                    raise
            else:
                yield text
                start = cut - back
                break


def encode_in_pieces(value: Any, *, outer_levels: int = 0) -> bytes:
    """Encode a JSON value in pieces, as `to_json` does; to be run outside the event loop's thread.

    Args:
        value: Any JSON value.
        outer_levels: Levels of nesting around the value, taken off `MAX_ENCODED_DEPTH`.

    Raises:
        PydanticSerializationError: If it is not encodable in UTF-8.
        ValueError: If it is nested too deeply.

    Example:
        >>> encode_in_pieces({"a": [1, float("nan")], "b": "é"}).decode()
        '{"a":[1,null],"b":"é"}'
    """
    if canonical.is_deeper_than(value, MAX_ENCODED_DEPTH - outer_levels):
        raise ValueError(f"nested deeper than {MAX_ENCODED_DEPTH - outer_levels} levels")
    return b"".join(_encode_value(value))


def _encode_value(value: Any) -> Iterator[bytes]:
    if isinstance(value, str) and len(value) > MAX_TEXT_PIECE:
        yield _QUOTE
        for start in range(0, len(value), MAX_TEXT_PIECE):
            yield to_json(value[start : start + MAX_TEXT_PIECE])[1:-1]
        yield _QUOTE
    elif isinstance(value, Mapping):
        yield from _encode_members(value.items(), value, is_object=True)
    elif isinstance(value, list | tuple):
        yield from _encode_members(value, value, is_object=False)
    else:
        yield _encode_at_once(value)


def _encode_members(members: Iterable[Any], value: Any, *, is_object: bool) -> Iterator[bytes]:
    """Yield an object or array: at once, or small members in batches and large ones singly."""
    if _estimate_weight(value) <= PIECE_VALUES:
        yield _encode_at_once(value)
        return
    batch: list[Any] = []
    weight = 0
    separator = b"{" if is_object else b"["
    for member in members:
        item = member[1] if is_object else member
        item_weight = _estimate_weight(item)
        if batch and weight + item_weight > PIECE_VALUES:
            yield separator + _encode_at_once(dict(batch) if is_object else batch)[1:-1]
            batch, weight, separator = [], 0, _COMMA
        if item_weight <= PIECE_VALUES:
            batch.append(member)
            weight += item_weight
            continue
        yield separator + (to_json({member[0]: None})[1:-5] if is_object else b"")
        yield from _encode_value(item)
        separator = _COMMA
    if batch:
        yield separator + _encode_at_once(dict(batch) if is_object else batch)[1:-1]
    yield b"}" if is_object else b"]"


def _encode_at_once(value: Any) -> bytes:
    return to_json(value, inf_nan_mode="null")


def _estimate_weight(value: Any) -> int:
    """Return the cost of encoding a value, in values; stops at more than `PIECE_VALUES`."""
    weight = 0
    pending = [value]
    while pending and weight <= PIECE_VALUES:
        item = pending.pop()
        weight += 1
        if isinstance(item, str):
            weight += len(item) // _CHARACTERS_PER_VALUE
        elif isinstance(item, Mapping | list | tuple):
            if len(item) > PIECE_VALUES:
                return PIECE_VALUES + 1
            pending.extend(item.values() if isinstance(item, Mapping) else item)
    return weight


_CHARACTERS_PER_VALUE: Final = 256
