"""JSON of many megabytes, parsed and encoded in pieces.

The parser and the encoder are written in Rust and hold the interpreter's lock until they are
done: half a second for some messages. In pieces of a few kilobytes, on a thread of its own, they
block no other thread. This module finds where a document may be cut and joins the parsed pieces.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

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
_QUOTE, _COMMA, _COLON, _ESCAPE = b'"', b",", b":", b"\\"
_WHITESPACE: Final = b" \t\r\n"
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


class _OpenContainer(NamedTuple):
    """An object or array that is open at the position of the scan.

    Attributes:
        is_object: Whether it is an object.
        start: Its offset in the document.
    """

    is_object: bool
    start: int


class _PieceReader:
    """Parses one document in pieces.

    `_stack` holds the containers that are open at the scan's position, `_piece_stack` those that
    were open at the start of the current piece, and `_values` what has been parsed so far of each
    of the latter. `_continuation_key` is the key under which an object of the next piece holds
    the container that is still open in it; it is random for each document, so that no document
    can contain it.
    """

    def __init__(self, document: bytes, *, max_depth: int, allow_inf_nan: bool) -> None:
        self._document = document
        self._max_depth = max_depth
        self._allow_inf_nan = allow_inf_nan
        self._stack: list[_OpenContainer] = []
        self._piece_stack: list[_OpenContainer] = []
        self._values: list[Any] = []
        self._lowest_depth = 0
        self._piece_start = 0
        self._needs_member = False
        self._continuation_key = secrets.token_hex(_MARKER_BYTES)

    def read(self) -> Any:
        """Return the parsed value; pieces are cut as the scan proceeds."""
        document, position = self._document, 0
        if document.lstrip(_WHITESPACE)[:1] not in (b"{", b"["):
            return from_json(document, allow_inf_nan=self._allow_inf_nan)
        while position < len(document):
            is_cut_due = position - self._piece_start >= PIECE_BYTES and bool(self._stack)
            tokens = _STRUCTURAL_OR_COMMA if is_cut_due else _STRUCTURAL
            end = max(self._piece_start, position) + PIECE_BYTES
            match = tokens.search(document, position, end)
            position = min(end, len(document)) if match is None else self._handle_token(match)
        if self._stack:
            raise ValueError("the document ends too soon")
        return self._read_last_piece()

    def _handle_token(self, match: re.Match[bytes]) -> int:
        """Process one token, and return where to continue the scan."""
        token, start = match[0], match.start()
        if token == _COMMA:
            if _find_byte_before(self._document, start) in (b"", b",", *_OPENING):
                raise ValueError("a comma follows nothing")
            self._read_piece(start)
            self._piece_start, self._needs_member = start + 1, True
        elif token == _QUOTE:
            return self._skip_text(start)
        elif token in _OPENING:
            self._stack.append(_OpenContainer(token == b"{", start))
            if len(self._stack) > self._max_depth:
                raise ValueError(f"it is nested deeper than {self._max_depth} levels")
        elif token in _CLOSING:
            if not self._stack:
                raise ValueError("more is closed than was opened")
            self._stack.pop()
            self._lowest_depth = min(self._lowest_depth, len(self._stack))
        return match.end()

    def _skip_text(self, start: int) -> int:
        """Skip a text that has escapes or is long; return its end."""
        end = _find_text_end(self._document, start)
        after = _NON_SPACE.search(self._document, end)
        next_byte = after[0] if after else b""
        if end - start <= MAX_TEXT_PIECE or next_byte == _COLON or not self._stack:
            return end
        # End the piece with null in place of the text, and replace that afterwards.
        self._read_piece(start, b"null")
        text = "".join(_iterate_text_pieces(self._document, start + 1, end - 1))
        holder, last = self._values[-1], self._stack[-1]
        if last.is_object:
            holder[self._find_key_before(start)] = text
        else:
            holder[-1] = text
        if next_byte != _COMMA and next_byte not in _CLOSING:
            raise ValueError("a text is followed by what cannot follow it")
        self._needs_member = next_byte == _COMMA
        self._piece_start = self._document.index(_COMMA, end) + 1 if self._needs_member else end
        return self._piece_start

    def _read_piece(self, end: int, tail: bytes = b"") -> None:
        """Parse the piece that ends here, and merge it into the open containers."""
        base = max(min(self._lowest_depth, len(self._piece_stack)), 1) - 1
        if not self._piece_stack:
            part = self._parse_piece(b"", end, tail + self._build_suffix(0))
            self._values = [part]
            base = 0
        else:
            part = self._parse_piece(
                self._build_prefix(base), end, tail + self._build_suffix(base)
            )
            self._merge_piece(base, part)
            self._values = self._values[: base + 1]
        self._track_open(base)
        self._piece_stack = list(self._stack)
        self._lowest_depth = len(self._stack)

    def _read_last_piece(self) -> Any:
        if not self._piece_stack:
            return from_json(self._document, allow_inf_nan=self._allow_inf_nan)
        self._merge_piece(0, self._parse_piece(self._build_prefix(0), len(self._document), b""))
        return self._values[0]

    def _parse_piece(self, before: bytes, end: int, after: bytes) -> Any:
        piece = b"".join((before, self._document[self._piece_start : end], after))
        with pause_collection():
            part = from_json(piece, allow_inf_nan=self._allow_inf_nan)
            LONG_LIVED.add_all()  # collecting garbage among so many values would block all threads
        return part

    def _build_prefix(self, base: int) -> bytes:
        """Return the bytes that reopen the containers a piece continues."""
        member = b'{"%b":' % self._continuation_key.encode()
        outer = (member if item.is_object else b"[" for item in self._piece_stack[base:-1])
        return b"".join((*outer, b"{" if self._piece_stack[-1].is_object else b"["))

    def _build_suffix(self, base: int) -> bytes:
        """Return the bytes that close the containers which stay open after a piece."""
        return b"".join(b"}" if item.is_object else b"]" for item in reversed(self._stack[base:]))

    def _merge_piece(self, base: int, part: Any) -> None:
        """Merge a parsed piece into the values parsed so far, from level `base` on."""
        last = len(self._piece_stack) - 1
        for level in range(base, last + 1):
            value = self._values[level]
            if isinstance(value, dict):
                inner = part.pop(self._continuation_key) if level < last else None
                value.update(part)
            else:
                inner = part[0] if level < last else None
                value.extend(part[1:] if level < last else part)
            if level == last and self._needs_member and not part:
                raise ValueError("a comma is followed by nothing")
            part = inner

    def _track_open(self, base: int) -> None:
        """Find the containers that a piece left open below a level: the last of each level."""
        for level in range(base + 1, len(self._stack)):
            holder, opened = self._values[level - 1], self._stack[level]
            is_member = self._stack[level - 1].is_object
            self._values.append(
                holder[self._find_key_before(opened.start)] if is_member else holder[-1]
            )

    def _find_key_before(self, start: int) -> str:
        """Return the key of the member whose value begins at `start`."""
        colon = self._document.rindex(_COLON, 0, start)
        end = self._document.rindex(_QUOTE, 0, colon)
        quote = end
        while True:
            quote = self._document.rindex(_QUOTE, 0, quote)
            if _count_escapes_before(self._document, quote) % 2 == 0:
                return str(from_json(self._document[quote : end + 1]))


def _find_byte_before(document: bytes, end: int) -> bytes:
    """Return the last byte before `end` that is not whitespace; empty if there is none."""
    while end > 0:
        before = document[max(end - PIECE_BYTES, 0) : end].rstrip(_WHITESPACE)
        if before:
            return before[-1:]
        end -= PIECE_BYTES
    return b""


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


def _count_escapes_before(document: bytes, end: int) -> int:
    """Return the number of consecutive backslashes right before `end`."""
    if document[end - 1 : end] != _ESCAPE:
        return 0
    start = end
    while True:
        before = document[max(start - PIECE_BYTES, 0) : start]
        left = len(before.rstrip(_ESCAPE))
        start -= len(before) - left
        if left or not before:
            return end - start


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
