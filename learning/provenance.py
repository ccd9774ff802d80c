"""Finds which earlier call of a session each argument came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from gateway_project.foundation import canonical
from learning.episodes import ValueSource
from tools.name_words import split_name_words

if TYPE_CHECKING:
    from graph.suggestion.next_call.observation import CallObservation, PlacedValue

ANY_ITEM: Final = "*"
UNNAMEABLE_MARKS: Final = ("{key}", "~", "!")
"""In an observed path: keys that are data, and words of a text, which no JSON pointer names."""
COMMON_SHAPES: Final = frozenset(
    {"9", "9.9", "9:9", "9x4-9-9", "a", "A", "A1", "A2", "A3", "A4", "A5", "Aa", "Aa Aa"}
)
"""Shapes of short numbers, times, dates, codes and names, which are often equal by chance."""


class _Origin(NamedTuple):
    """Where a session first saw a value: in a result, or (no call) in the client's words."""

    call: int | None
    tool: int = 0
    path: str = ""
    pointer: str | None = None


class SourceTracker:
    """Follows the values of one session by their numbers; see `CallObservation`."""

    def __init__(self) -> None:
        self._origins: dict[int, _Origin] = {}
        self._passed: dict[int, int] = {}
        self._shapes: dict[int, str] = {}

    def find_sources(self, call: int, observation: CallObservation) -> tuple[ValueSource, ...]:
        """Return the origins of a call's arguments, and take in the call.

        A value that the client stated, or passed before any result held it, came from no result.
        A common value came from a result only if a field there is named like the parameter. Of
        several results with a value, the first counts, or the latest from the same place.
        """
        self._take_in_statements(observation)
        found = [
            source
            for name, value in observation.arguments.items()
            if name not in observation.schema_arguments
            and (source := self._find_source(name, value)) is not None
        ]
        self._passed.update(dict.fromkeys(observation.arguments.values(), call))
        for placed in observation.values:
            origin = _Origin(call, observation.tool, placed.path, build_pointer(placed))
            known = self._origins.get(placed.number)
            is_again = known is not None and known[1:3] == origin[1:3]
            if is_again or (known is None and placed.number not in self._passed):
                self._origins[placed.number] = origin
        return tuple(found)

    def _take_in_statements(self, observation: CallObservation) -> None:
        if not self._shapes.keys().isdisjoint(observation.shapes):
            # The session has begun to number its values anew.
            self._origins, self._passed, self._shapes = {}, {}, {}
        self._shapes.update(observation.shapes)
        for statement in observation.statements:
            for _, _, value in statement.values:
                self._origins.setdefault(value, _Origin(None))

    def _find_source(self, name: str, value: int) -> ValueSource | None:
        argument = f"/{canonical.escape_token(name)}"
        is_common = self._shapes.get(value, "") in COMMON_SHAPES
        origin = self._origins.get(value)
        if origin is not None and origin.call is not None:
            if is_common and not is_named_alike(name, origin.path):
                return None
            return ValueSource(argument, origin.call, pointer=origin.pointer, is_common=is_common)
        if value in self._passed and not is_common:
            return ValueSource(argument, self._passed[value], is_result=False)
        return None


def build_pointer(placed: PlacedValue) -> str | None:
    """Return the JSON pointer of a value in a result; None: no pointer names its place.

    Example:
        >>> from types import SimpleNamespace
        >>> build_pointer(SimpleNamespace(path="/items/*/id", items=(2,)))
        '/items/2/id'
        >>> build_pointer(SimpleNamespace(path="/text~", items=(0,))) is None
        True
    """
    if any(mark in placed.path for mark in UNNAMEABLE_MARKS):
        return None
    items = iter(placed.items)
    steps = placed.path.split("/")[1:]
    return canonical.build_pointer(next(items, 0) if step == ANY_ITEM else step for step in steps)


def is_named_alike(parameter: str, path: str) -> bool:
    """Return whether a parameter and the field at the end of a path share their last word.

    Example:
        >>> is_named_alike("userId", "/users/*/id"), is_named_alike("limit", "/count")
        (True, False)
    """
    field = next((step for step in reversed(path.split("/")) if step != ANY_ITEM), "")
    return split_name_words(parameter)[-1:] == split_name_words(field)[-1:]
