"""Observations packed into few bytes: texts by line, places of values by their regularity."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

FIELDS: Final = frozenset(
    {
        "tool", "read_only", "error", "arguments", "schema_arguments", "complete", "values",
        "statements", "shapes", "ms",
    }
)  # fmt: skip
"""Of an observation that can be packed."""
_LINE: Final = "\n"
_BLOCK: Final = "\0"
_BLOCKS: Final = 5
"""Names of arguments, of schema arguments, paths, shapes, statements; then come the integers."""
_READ_ONLY, _ERROR, _COMPLETE = 1, 2, 4
_LIKE_PREVIOUS, _IRREGULAR, _REGULAR = 0, 1, 2
"""How the places of a path are written. A regular path is `_REGULAR` + twice its values, or
one more if its first number and the distance between two of them are written too; 0 values stand
for one outside of any list."""

MAX_PLACES: Final = 100_000
"""Values of a path; damaged bytes may say any number."""

Places = Sequence[Sequence[int]]


class Unpackable(ValueError):
    """An observation has another form than calls leave."""


@dataclass(slots=True)
class _Run:
    """Places whose items are counted through and whose numbers have one distance.

    Attributes:
        count: Values; 0: one outside of any list.
        first: Number of the first.
        step: Distance between two numbers.
    """

    count: int
    first: int
    step: int


def pack_observation(observation: Mapping[str, Any]) -> bytes:
    """Return an observation as bytes; the inverse of `unpack_observation`.

    Raises:
        Unpackable: If it has another form than `CallObservation.to_json` returns.
    """
    if observation.keys() != FIELDS or list(observation["values"]) != sorted(
        observation["values"]
    ):
        raise Unpackable
    try:
        return _pack(observation)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise Unpackable from error


def _pack(observation: Mapping[str, Any]) -> bytes:
    arguments, positions = observation["arguments"], observation["schema_arguments"]
    values: dict[str, Places] = dict(
        sorted(observation["values"].items(), key=lambda item: item[1][0][0])
    )
    start, shapes = _split_shapes(observation["shapes"])
    said = observation["statements"]
    blocks = [
        _join_lines(arguments),
        _join_lines(positions),
        _join_lines(map(_shorten_path, values)),
        _join_lines(shapes),
        json.dumps(said, separators=(",", ":")) if said else "",
    ]
    numbers = [
        observation["tool"],
        _READ_ONLY * observation["read_only"]
        | _ERROR * observation["error"]
        | _COMPLETE * observation["complete"],
        round(10 * observation["ms"]),
        start,
        *(len(block) for block in (arguments, positions, values, shapes)),
        *arguments.values(),
        *positions.values(),
        *_list_places(values.values()),
    ]
    return _BLOCK.join([*blocks, ""]).encode() + b"".join(map(_encode_integer, numbers))


def unpack_observation(packed: bytes) -> dict[str, Any]:
    """Return a packed observation.

    Raises:
        ValueError: If the bytes are damaged.
    """
    *blocks, rest = packed.split(_BLOCK.encode(), _BLOCKS)
    if len(blocks) != _BLOCKS:
        raise ValueError("a block is missing")
    names, schema_names, paths, shapes, said = (block.decode() for block in blocks)
    numbers = _decode_integers(rest)
    tool, flags, ms, start, *counts = (next(numbers) for _ in range(8))
    observation: dict[str, Any] = {
        "tool": tool,
        "read_only": bool(flags & _READ_ONLY),
        "error": bool(flags & _ERROR),
        "arguments": {name: next(numbers) for name in _split_lines(names, counts[0])},
        "schema_arguments": {
            name: next(numbers) for name in _split_lines(schema_names, counts[1])
        },
        "complete": bool(flags & _COMPLETE),
    }
    values = dict(
        zip(
            (_restore_path(path) for path in _split_lines(paths, counts[2])),
            _read_places(numbers, counts[2]),
            strict=True,
        )
    )
    return {
        **observation,
        "values": dict(sorted(values.items())),
        "statements": json.loads(said) if said else [],
        "shapes": {
            str(number): shape
            for number, shape in enumerate(_split_lines(shapes, counts[3]), start)
        },
        "ms": ms / 10,
    }


def _shorten_path(path: str) -> str:
    short = path.removeprefix("/") if len(path) > 1 else path
    if _restore_path(short) != path:
        raise Unpackable
    return short


def _restore_path(path: str) -> str:
    return path if path in ("", "/") or path[0] in "~!" else f"/{path}"


def _join_lines(texts: Iterable[str]) -> str:
    lines = list(texts)
    if any(_LINE in line or _BLOCK in line for line in lines):
        raise Unpackable
    return _LINE.join(lines)


def _split_lines(text: str, count: int) -> list[str]:
    lines = text.split(_LINE) if count else []
    if len(lines) != count:
        raise ValueError("a text is missing")
    return lines


def _split_shapes(shapes: Mapping[str, str]) -> tuple[int, list[str]]:
    """Return the first number and the shapes of numbers that follow one another."""
    start = int(next(iter(shapes), 0))
    if list(shapes) != [str(number) for number in range(start, start + len(shapes))]:
        raise Unpackable
    return start, list(shapes.values())


def _list_places(values: Iterable[Places]) -> Iterator[int]:
    """Yield the integers that say where the values of each path stood."""
    previous, following = _Run(-1, 0, 0), 0
    for places in values:
        run = _find_run(places)
        if run is None:
            yield from _list_irregular(places, previous.first)
            previous = _Run(-1, places[0][0], 0)
        else:
            if (run.count, run.step) == (previous.count, previous.step) and (
                run.first == previous.first + 1
            ):
                yield _LIKE_PREVIOUS
            elif run.first == following and run.step == (run.count > 1):
                yield _REGULAR + 2 * run.count
            else:
                yield from (_REGULAR + 2 * run.count + 1, run.first - previous.first, run.step)
            previous = run
        following = max(following, *(place[0] + 1 for place in places))


def _find_run(places: Places) -> _Run | None:
    """Return what describes regular places; None: they are not regular."""
    numbers = [number for number, *_ in places]
    if len(places) == 1 and len(places[0]) == 1:
        return _Run(0, numbers[0], 0)
    step = numbers[1] - numbers[0] if len(numbers) > 1 else 0
    is_regular = all(
        len(place) == 2 and place[1] == index and place[0] == numbers[0] + index * step
        for index, place in enumerate(places)
    )
    return _Run(len(places), numbers[0], step) if is_regular else None


def _list_irregular(places: Places, before: int) -> Iterator[int]:
    width = len(places[0])
    if any(len(place) != width for place in places):
        raise Unpackable
    yield from (_IRREGULAR, len(places), width)
    for column in zip(*places, strict=True):
        yield from (later - earlier for earlier, later in pairwise((before, *column)))
        before = 0


def _read_places(numbers: Iterator[int], count: int) -> Iterator[list[list[int]]]:
    """Yield the places of each path; the inverse of `_list_places`."""
    run, following = _Run(-1, 0, 0), 0
    for _ in range(count):
        form = next(numbers)
        if form == _IRREGULAR:
            places = _read_irregular(numbers, run.first)
            run = _Run(-1, places[0][0], 0)
        else:
            run = _read_run(numbers, form, run, following)
            places = _place_run(run)
        yield places
        following = max(following, *(place[0] + 1 for place in places))


def _read_run(numbers: Iterator[int], form: int, previous: _Run, following: int) -> _Run:
    if form == _LIKE_PREVIOUS:
        return _Run(previous.count, previous.first + 1, previous.step)
    count = (form - _REGULAR) // 2
    if form % 2 == 0:
        return _Run(count, following, int(count > 1))
    return _Run(count, previous.first + next(numbers), next(numbers))


def _place_run(run: _Run) -> list[list[int]]:
    if run.count > MAX_PLACES:
        raise ValueError("a path has too many values")
    if run.count == 0:
        return [[run.first]]
    return [[run.first + index * run.step, index] for index in range(run.count)]


def _read_irregular(numbers: Iterator[int], before: int) -> list[list[int]]:
    count, width = next(numbers), next(numbers)
    if count < 1 or not 1 <= width <= MAX_PLACES:
        raise ValueError("a path has no values")
    columns = []
    for _ in range(width):
        column = []
        for _ in range(count):
            before += next(numbers)
            column.append(before)
        columns.append(column)
        before = 0
    return [list(place) for place in zip(*columns, strict=True)]


def _encode_integer(number: int) -> bytes:
    """Return an integer in base 128, low digits first; small ones take one byte."""
    rest = 2 * number if number >= 0 else -2 * number - 1
    encoded = bytearray()
    while rest > 127:
        encoded.append(rest & 127 | 128)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def _decode_integers(encoded: bytes) -> Iterator[int]:
    """Yield the integers that `_encode_integer` wrote; raise ValueError where one is missing."""
    number, shift = 0, 0
    for byte in encoded:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number // 2 if number % 2 == 0 else -(number + 1) // 2
            number, shift = 0, 0
    raise ValueError("an integer is missing")
