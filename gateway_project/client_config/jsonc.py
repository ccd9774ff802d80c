"""Parses JSON with comments and trailing commas, with the offsets of each member.

The offsets allow a file to be edited in place instead of rewritten. Plain JSON is parsed by the
standard library, at its speed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any, Final, NoReturn

MAX_DEPTH = 100
_TRIVIA: Final = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)


class JsonObject(dict[str, Any]):
    """A JSON object that records its repeated keys."""

    repeated_keys: tuple[str, ...] = ()

    def merge(self, other: JsonObject) -> JsonObject:
        """Return the members of both; of two with one key, this one's counts."""
        merged = JsonObject({**other, **self})
        merged.repeated_keys = (*self.repeated_keys, *other.repeated_keys)
        return merged

    @classmethod
    def from_pairs(cls, pairs: list[tuple[str, Any]]) -> JsonObject:
        """Build an object from its pairs; the last of equal keys counts, as in JSON libraries."""
        document = cls(pairs)
        if len(document) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            document.repeated_keys = tuple(key for key, count in counts.items() if count > 1)
        return document


@dataclass(frozen=True, kw_only=True)
class JsonMember:
    """A member of an object, by offsets into the text.

    Attributes:
        key: Its name.
        start: Start of the name.
        value_start: Start of the value.
        value_end: End of the value, exclusive.
        comma_end: End of the following comma, exclusive; None if there is none.
    """

    key: str
    start: int
    value_start: int
    value_end: int
    comma_end: int | None


@dataclass(frozen=True, kw_only=True)
class JsonMembers:
    """The members of one object.

    Attributes:
        opening: Offset of its opening brace.
        closing: Offset of its closing brace.
        items: The members in the order of the text.
    """

    opening: int
    closing: int
    items: tuple[JsonMember, ...]

    def find_member(self, key: str) -> JsonMember | None:
        """Return the member of a name; None if there is none.

        Raises:
            ValueError: If the name is repeated.
        """
        matching = [item for item in self.items if item.key == key]
        if len(matching) > 1:
            raise ValueError(f"{key!r} is given twice; remove one of the two")
        return matching[0] if matching else None


def loads(text: str) -> Any:
    """Parse a text.

    Raises:
        JSONDecodeError: If it is not JSON with comments and trailing commas.
        ValueError: If a number is too long.
        RecursionError: If it is nested too deeply.

    Example:
        >>> loads('{"a": [1, 2,], /* why */ } // end')
        {'a': [1, 2]}
    """
    try:
        return _DECODER.decode(text)
    except JSONDecodeError:
        value, end = read_value(text, skip_trivia(text, 0))
        end = skip_trivia(text, end)
        if end < len(text):
            _raise_decode_error("Extra data", text, end)
        return value


def skip_trivia(text: str, position: int) -> int:
    """Return the offset after whitespace and comments."""
    match = _TRIVIA.match(text, position)
    assert match is not None  # noqa: S101 - the pattern also matches the empty string
    if text.startswith("/*", match.end()):
        _raise_decode_error("Unterminated comment", text, match.end())
    return match.end()


def read_value(text: str, position: int, *, depth: int = 0) -> tuple[Any, int]:
    """Return the value that begins at an offset, and the offset after it."""
    if depth > MAX_DEPTH:
        raise RecursionError
    try:
        return _DECODER.raw_decode(text, position)
    except JSONDecodeError:
        if text.startswith("{", position):
            pairs, closing = _read_pairs(text, position, depth)
            return JsonObject.from_pairs(
                [(member.key, value) for member, value in pairs]
            ), closing + 1
        if text.startswith("[", position):
            return _read_list(text, position, depth)
        raise


def read_members(text: str, position: int) -> JsonMembers:
    """Return the members of the object that opens at an offset, with their offsets."""
    pairs, closing = _read_pairs(text, position, 0)
    items = tuple(member for member, _ in pairs)
    return JsonMembers(opening=position, closing=closing, items=items)


def _read_pairs(text: str, position: int, depth: int) -> tuple[list[tuple[JsonMember, Any]], int]:
    if not text.startswith("{", position):
        _raise_decode_error("Expecting an object", text, position)
    pairs: list[tuple[JsonMember, Any]] = []
    at = skip_trivia(text, position + 1)
    while not text.startswith("}", at):
        if pairs and pairs[-1][0].comma_end is None:
            _raise_decode_error("Expecting ',' delimiter", text, at)
        if not text.startswith('"', at):
            _raise_decode_error("Expecting property name enclosed in double quotes", text, at)
        key, end = _DECODER.raw_decode(text, at)
        colon = skip_trivia(text, end)
        if not text.startswith(":", colon):
            _raise_decode_error("Expecting ':' delimiter", text, colon)
        value_start = skip_trivia(text, colon + 1)
        value, value_end = read_value(text, value_start, depth=depth + 1)
        comma = skip_trivia(text, value_end)
        comma_end = comma + 1 if text.startswith(",", comma) else None
        member = JsonMember(
            key=key, start=at, value_start=value_start, value_end=value_end, comma_end=comma_end
        )
        pairs.append((member, value))
        at = skip_trivia(text, comma_end or value_end)
    return pairs, at


def _read_list(text: str, position: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    at = skip_trivia(text, position + 1)
    while not text.startswith("]", at):
        value, at = read_value(text, at, depth=depth + 1)
        items.append(value)
        at = skip_trivia(text, at)
        if text.startswith(",", at):
            at = skip_trivia(text, at + 1)
        elif not text.startswith("]", at):
            _raise_decode_error("Expecting ',' delimiter", text, at)
    return items, at + 1


def _raise_decode_error(message: str, text: str, position: int) -> NoReturn:
    raise JSONDecodeError(message, text, position)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=JsonObject.from_pairs)
