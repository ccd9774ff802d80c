"""Read relations as JSON Lines: one object per line, as in public data sets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from graph.exchange.check import RelationCollector, TooManyRelations
from graph.exchange.document import ParsedDocument


class NotAnObject(ValueError):
    """A line that is not one JSON object."""


def read_lines(text: str) -> ParsedDocument:
    """Read relations, one per line; empty lines are skipped.

    Each line is `{"source": …, "target": …, "kind": …}` with whatever else a relation has.
    Instead of `kind`, `type` may stand. Types of public data sets that end in `_DEPENDS_ON`, such
    as `TOOL_DIRECTLY_DEPENDS_ON`, are read the other way round: their source is the prerequisite
    of their target, so that the target depends on the source. Where such a type begins with
    `PARAMETER_`, the source also provides for the target.

    Returns:
        The relations between ids as they stand there, which need not be ids of tools, each with
        its line; and what is wrong, by line.
    """
    collector = RelationCollector()
    number = 0
    try:
        for number, line in enumerate(_iterate_lines(text), start=1):
            if not line or line.isspace():
                continue
            try:
                row = parse_object(line)
            except NotAnObject as error:
                collector.add_problem(number, f"not a JSON object: {error}")
            else:
                collector.add_row(number, row)
    except TooManyRelations as error:
        collector.problems.add_problem(number, str(error))
    return collector.build_result()


def _iterate_lines(text: str) -> Iterator[str]:
    """Yield lines lazily: a list of all would take several times the memory of the text."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def parse_object(text: str) -> dict[str, Any]:
    """Parse one JSON object.

    Raises:
        NotAnObject: If the text is not one JSON object; says why.
    """
    try:
        row = json.loads(text, object_pairs_hook=build_unique_object)
    except json.JSONDecodeError as error:
        raise NotAnObject(f"{describe_json_error(error)} at character {error.pos + 1}") from None
    except ValueError as error:
        raise NotAnObject(str(error)) from None
    except RecursionError:
        raise NotAnObject("nested too deeply") from None
    if not isinstance(row, dict):
        raise NotAnObject('expected one in braces, as in {"source": …, "target": …}')
    return row


def describe_json_error(error: json.JSONDecodeError) -> str:
    """Return the message of an error without its trailing "at"."""
    return error.msg.removesuffix(" at")


def build_unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object whose keys all differ.

    Raises:
        ValueError: If a key is given twice.
    """
    built = dict(pairs)
    if len(built) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in built if names.count(key) > 1)
        raise ValueError(f"the name {twice!r} is given twice")
    return built
