"""JSON in which comments and trailing commas may stand, read with the place of each member.

Written for editing: a file is changed between the characters that stay, never written anew. What
is plain JSON is read by the standard library, at its speed.
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


class Object(dict[str, Any]):
    """A JSON object that remembers which of its keys stood more than once."""

    repeated: tuple[str, ...] = ()

    @classmethod
    def of(cls, pairs: list[tuple[str, Any]]) -> Object:
        """Build it from its pairs; of two with one key the last counts, as in JSON's libraries."""
        built = cls(pairs)
        if len(built) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            built.repeated = tuple(key for key, count in counts.items() if count > 1)
        return built


@dataclass(frozen=True, kw_only=True)
class Member:
    """A member of an object, by offsets into the text.

    Attributes:
        key: Its name.
        start: Where the name begins.
        value_start: Where the value begins.
        value_end: Behind the value.
        comma_end: Behind the comma that follows; None if none does.
    """

    key: str
    start: int
    value_start: int
    value_end: int
    comma_end: int | None


@dataclass(frozen=True, kw_only=True)
class Members:
    """The members of one object.

    Attributes:
        opening: Where its brace opens.
        closing: Where it closes.
        items: In the order of the text.
    """

    opening: int
    closing: int
    items: tuple[Member, ...]

    def named(self, key: str) -> Member | None:
        """Return the one member of a name, None if there is none.

        Raises:
            ValueError: If it stands twice.
        """
        found = [item for item in self.items if item.key == key]
        if len(found) > 1:
            raise ValueError(f"{key!r} stands twice; remove one of the two")
        return found[0] if found else None


def loads(text: str) -> Any:
    """Read a text.

    Raises:
        JSONDecodeError: If it is not JSON, comments and trailing commas allowed.
        ValueError: If a number is too long.
        RecursionError: If it is nested too deeply.

    Example:
        >>> loads('{"a": [1, 2,], /* why */ } // end')
        {'a': [1, 2]}
    """
    try:
        return _DECODER.decode(text)
    except JSONDecodeError:
        value, end = read_value(text, skip(text, 0))
        end = skip(text, end)
        if end < len(text):
            _fail("Extra data", text, end)
        return value


def skip(text: str, position: int) -> int:
    """Return the offset behind whitespace and comments."""
    found = _TRIVIA.match(text, position)
    assert found is not None  # noqa: S101 - it matches nothing too
    if text.startswith("/*", found.end()):
        _fail("Unterminated comment", text, found.end())
    return found.end()


def read_value(text: str, position: int, *, depth: int = 0) -> tuple[Any, int]:
    """Return the value that begins at an offset, and the offset behind it."""
    if depth > MAX_DEPTH:
        raise RecursionError
    try:
        return _DECODER.raw_decode(text, position)
    except JSONDecodeError:
        if text.startswith("{", position):
            pairs, closing = _read_pairs(text, position, depth)
            return Object.of([(member.key, value) for member, value in pairs]), closing + 1
        if text.startswith("[", position):
            return _read_list(text, position, depth)
        raise


def read_members(text: str, position: int) -> Members:
    """Return the members of the object that opens at an offset, with their places."""
    pairs, closing = _read_pairs(text, position, 0)
    items = tuple(member for member, _ in pairs)
    return Members(opening=position, closing=closing, items=items)


def _read_pairs(text: str, position: int, depth: int) -> tuple[list[tuple[Member, Any]], int]:
    if not text.startswith("{", position):
        _fail("Expecting an object", text, position)
    pairs: list[tuple[Member, Any]] = []
    at = skip(text, position + 1)
    while not text.startswith("}", at):
        if pairs and pairs[-1][0].comma_end is None:
            _fail("Expecting ',' delimiter", text, at)
        if not text.startswith('"', at):
            _fail("Expecting property name enclosed in double quotes", text, at)
        key, end = _DECODER.raw_decode(text, at)
        colon = skip(text, end)
        if not text.startswith(":", colon):
            _fail("Expecting ':' delimiter", text, colon)
        value_start = skip(text, colon + 1)
        value, value_end = read_value(text, value_start, depth=depth + 1)
        comma = skip(text, value_end)
        comma_end = comma + 1 if text.startswith(",", comma) else None
        member = Member(
            key=key, start=at, value_start=value_start, value_end=value_end, comma_end=comma_end
        )
        pairs.append((member, value))
        at = skip(text, comma_end or value_end)
    return pairs, at


def _read_list(text: str, position: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    at = skip(text, position + 1)
    while not text.startswith("]", at):
        value, at = read_value(text, at, depth=depth + 1)
        items.append(value)
        at = skip(text, at)
        if text.startswith(",", at):
            at = skip(text, at + 1)
        elif not text.startswith("]", at):
            _fail("Expecting ',' delimiter", text, at)
    return items, at + 1


def _fail(message: str, text: str, position: int) -> NoReturn:
    raise JSONDecodeError(message, text, position)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=Object.of)
