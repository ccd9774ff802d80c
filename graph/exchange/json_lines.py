"""Relations as JSON Lines: one object a line, as public data sets give them too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from graph.exchange.check import Gathering, TooMany
from graph.exchange.document import Read


class NoObject(ValueError):
    """A line that is not one JSON object."""


def read_lines(text: str) -> Read:
    """Read relations, one a line; empty lines are passed over.

    Each line is `{"source": …, "target": …, "kind": …}` with whatever else a relation has.
    Instead of `kind`, `type` may stand. Types of public data sets that end in `_DEPENDS_ON`, such
    as `TOOL_DIRECTLY_DEPENDS_ON`, are read the other way round: their source is the prerequisite
    of their target, so that the target depends on the source. Where such a type begins with
    `PARAMETER_`, the source also provides for the target.

    Returns:
        The relations between ids as they stand there, which need not be ids of tools, each with
        its line; and what is wrong, by line.
    """
    gathering = Gathering()
    number = 0
    try:
        for number, line in enumerate(_lines(text), start=1):
            if not line or line.isspace():
                continue
            try:
                row = parse(line)
            except NoObject as error:
                gathering.refuse(number, f"no JSON object: {error}")
            else:
                gathering.add(number, row)
    except TooMany as error:
        gathering.problems.add(number, str(error))
    return gathering.result()


def _lines(text: str) -> Iterator[str]:
    """Yield the lines one by one, since all of them at once take many times their text."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def parse(text: str) -> dict[str, Any]:
    """Parse one JSON object.

    Raises:
        NoObject: If the text is not one JSON object; says why.
    """
    try:
        row = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise NoObject(f"{what(error)} at character {error.pos + 1}") from None
    except ValueError as error:
        raise NoObject(str(error)) from None
    except RecursionError:
        raise NoObject("nested too deeply") from None
    if not isinstance(row, dict):
        raise NoObject('expected one in braces, as in {"source": …, "target": …}')
    return row


def what(error: json.JSONDecodeError) -> str:
    """Return what is wrong, without the word that leads to where."""
    return error.msg.removesuffix(" at")


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object whose keys all differ.

    Raises:
        ValueError: If a key stands there twice.
    """
    built = dict(pairs)
    if len(built) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in built if names.count(key) > 1)
        raise ValueError(f"the name {twice!r} stands there twice")
    return built
