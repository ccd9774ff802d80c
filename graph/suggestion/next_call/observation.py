"""What one call teaches, without any value: the structure that connects the calls of a session.

Values are numbered in the order in which a session first sees them. An observation says which
numbers stood where; it holds no value, no digest and no word of the client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import Any


@dataclass(frozen=True, slots=True)
class PlacedValue:
    """A value of a result: where it stood, and its number.

    Attributes:
        path: Path with `*` for items and `{key}` for keys that are data.
        items: Position in each list or map on the way.
        number: Number of the value in its session.
    """

    path: str
    items: tuple[int, ...]
    number: int


@dataclass(frozen=True, slots=True)
class ObservedPlan:
    """A suggested call, without its values.

    Attributes:
        tool: Primary key of the tool.
        chance: Probability that the tool is needed, in [0, 1].
        arguments: Number of the value of each argument.
        schema_arguments: Arguments that equal a value of the schema: its position there.
        is_complete: Whether that is all that a call needs.
    """

    tool: int
    chance: float
    arguments: Mapping[str, int]
    schema_arguments: Mapping[str, int]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class ObservedStatement:
    """A statement of the client: the numbers of its values and the tools in its answer.

    Attributes:
        values: Shape, stems of parameter names that stand before it, and number of each value.
        schema_words: Stems of values that schemas list and the statement names.
        found: Tools in the answer to the statement, best first, each with the probability that it
            is needed.
        planned: Calls of the workflow suggested for it, in their order.
    """

    values: tuple[tuple[str, frozenset[str], int], ...]
    schema_words: frozenset[str] = frozenset()
    found: Mapping[int, float] = field(default_factory=dict)
    planned: tuple[ObservedPlan, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class CallObservation:
    """A call of a session, without its values.

    Attributes:
        tool: Primary key of the tool.
        is_read_only: Whether the call is known to change nothing.
        is_error: Whether the tool reported an error.
        arguments: Number of the value of each argument.
        schema_arguments: Arguments that equal a value of the schema: its position there.
        is_complete: Whether every argument is in one of the two.
        values: Values of the result, by path.
        statements: Statements since the previous call.
        shapes: Shape of each value that the session sees for the first time; their numbers follow
            one another.
        duration_ms: How long the call took.
        restarts: Whether the session had grown too long and forgot all before this call: values
            are numbered from 0 again.
    """

    tool: int
    is_read_only: bool
    is_error: bool
    arguments: Mapping[str, int]
    schema_arguments: Mapping[str, int]
    is_complete: bool
    values: tuple[PlacedValue, ...] = ()
    statements: tuple[ObservedStatement, ...] = ()
    shapes: Mapping[int, str] = field(default_factory=dict)
    duration_ms: float = 0.0
    restarts: bool = False

    def to_json(self) -> dict[str, Any]:
        """Serialize; the inverse of `from_json`."""
        return {
            "tool": self.tool,
            "read_only": self.is_read_only,
            "error": self.is_error,
            "arguments": dict(self.arguments),
            "schema_arguments": dict(self.schema_arguments),
            "complete": self.is_complete,
            "places": _write_places(self.values),
            "statements": [_write_statement(said) for said in self.statements],
            "first": min(self.shapes, default=0),
            "shapes": [shape for _, shape in sorted(self.shapes.items())],
            "ms": round(self.duration_ms, 1),
            **({"restarts": True} if self.restarts else {}),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> CallObservation:
        """Read the output of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: If the document has another form.
        """
        return cls(
            tool=int(document["tool"]),
            is_read_only=bool(document["read_only"]),
            is_error=bool(document["error"]),
            arguments={str(name): int(n) for name, n in document["arguments"].items()},
            schema_arguments={
                str(name): int(index) for name, index in document["schema_arguments"].items()
            },
            is_complete=bool(document["complete"]),
            values=tuple(_read_places(document["places"])),
            statements=tuple(_read_statement(said) for said in document["statements"]),
            shapes=dict(enumerate(map(str, document["shapes"]), int(document["first"]))),
            duration_ms=float(document["ms"]),
            restarts=bool(document.get("restarts", False)),
        )


def split_restarts(calls: Sequence[CallObservation]) -> list[list[CallObservation]]:
    """Return the parts of a session between which it forgot all; one is the rule."""
    parts: list[list[CallObservation]] = [[]]
    for call in calls:
        if call.restarts and parts[-1]:
            parts.append([])
        parts[-1].append(call)
    return parts


def _write_places(values: Sequence[PlacedValue]) -> dict[str, list[list[int]]]:
    """Return by path the numbers of its values, and their positions in each list on the way.

    Each is written as its distance from the one before: values are numbered as they are first
    seen, so that most distances are alike and a stored observation is small.
    """
    by_path: dict[str, list[tuple[int, ...]]] = {}
    for value in values:
        by_path.setdefault(value.path, []).append((value.number, *value.items))
    places: dict[str, list[list[int]]] = {}
    before = 0
    for path, rows in sorted(by_path.items(), key=lambda item: item[1][0][0]):
        numbers, *items = zip(*rows, strict=True)
        places[path] = [_list_distances(numbers, before), *map(_list_distances, items)]
        before = numbers[0]
    return places


def _list_distances(column: Sequence[int], start: int = 0) -> list[int]:
    return [later - earlier for earlier, later in pairwise((start, *column))]


def _read_places(places: Mapping[str, Sequence[Sequence[int]]]) -> list[PlacedValue]:
    """Return the values of a result by path; the inverse of `_write_places`."""
    values: list[PlacedValue] = []
    before = 0
    for path, (distances, *columns) in places.items():
        numbers = list(accumulate(distances, initial=before))[1:]
        rows = zip(numbers, *map(accumulate, columns), strict=True)
        values += [PlacedValue(path, tuple(items), number) for number, *items in rows]
        before = numbers[0]
    return sorted(values, key=attrgetter("path"))


def _write_statement(said: ObservedStatement) -> dict[str, Any]:
    return {
        "values": [[shape, sorted(near), n] for shape, near, n in said.values],
        **({"words": sorted(said.schema_words)} if said.schema_words else {}),
        **({"found": [[tool, score] for tool, score in said.found.items()]} if said.found else {}),
        **({"planned": [_write_plan(one) for one in said.planned]} if said.planned else {}),
    }


def _read_statement(document: Mapping[str, Any]) -> ObservedStatement:
    return ObservedStatement(
        values=tuple(
            (str(shape), frozenset(near), int(n)) for shape, near, n in document["values"]
        ),
        schema_words=frozenset(map(str, document.get("words", ()))),
        found={int(tool): float(score) for tool, score in document.get("found", ())},
        planned=tuple(_read_plan(*one) for one in document.get("planned", ())),
    )


def _write_plan(planned: ObservedPlan) -> list[Any]:
    return [
        planned.tool,
        planned.chance,
        dict(planned.arguments),
        dict(planned.schema_arguments),
        planned.is_complete,
    ]


def _read_plan(
    tool: Any, chance: Any, numbers: Mapping[str, Any], positions: Mapping[str, Any], complete: Any
) -> ObservedPlan:
    return ObservedPlan(
        int(tool),
        float(chance),
        {str(name): int(number) for name, number in numbers.items()},
        {str(name): int(position) for name, position in positions.items()},
        bool(complete),
    )
