"""Fast path: accepts plainly valid arguments; otherwise the full validator decides.

The full validator takes ten times as long for the arguments of an ordinary tool, mostly to be able
to explain errors. Most schemas consist of a few keywords, and most arguments are valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

QuickCheck = Callable[[Any], bool]
"""Whether a value is valid; False may also mean that the quick check cannot tell."""

_ANNOTATIONS: Final = frozenset(
    {"$comment", "$defs", "$id", "$schema", "default", "definitions", "deprecated", "description"}
    | {"examples", "format", "readOnly", "title", "writeOnly", "x-mcp-header"}
)
"""Keywords that are not enforced here."""
_ASSERTIONS: Final = frozenset(
    {"additionalProperties", "enum", "items", "maxItems", "maxLength", "maximum", "minItems"}
    | {"minLength", "minimum", "properties", "required", "type"}
)


def compile_quick_check(schema: Any) -> QuickCheck | None:
    """Return a quick check for a normalised schema; None if it uses any other keyword.

    Example:
        >>> fits = compile_quick_check({"type": "integer", "minimum": 1})
        >>> fits(1), fits(0), fits(True)
        (True, False, False)
        >>> compile_quick_check({"not": {}}) is None
        True
    """
    if schema is True:
        return _accept_anything
    if not isinstance(schema, Mapping) or not schema.keys() <= _ANNOTATIONS | _ASSERTIONS:
        return None
    if schema.keys() <= _ANNOTATIONS:
        return _accept_anything
    if "enum" in schema:
        return _compile_enum(schema)
    make = _COMPILERS.get(schema["type"]) if isinstance(schema.get("type"), str) else None
    return make(schema) if make is not None else None


def _accept_anything(_: Any) -> bool:
    return True


def _compile_enum(schema: Mapping[str, Any]) -> QuickCheck | None:
    """Compile an enumeration of texts; equality of other values is left to the full validator."""
    allowed, other_keywords = schema["enum"], schema.keys() & _ASSERTIONS - {"enum", "type"}
    are_texts = isinstance(allowed, list) and all(isinstance(value, str) for value in allowed)
    if not are_texts or other_keywords or schema.get("type", "string") != "string":
        return None
    texts = frozenset(allowed)
    return lambda value: isinstance(value, str) and value in texts


def _compile_string(schema: Mapping[str, Any]) -> QuickCheck | None:
    low, high = _read_limits(schema, "minLength", "maxLength")
    return lambda value: isinstance(value, str) and low <= len(value) <= high


def _compile_number(schema: Mapping[str, Any]) -> QuickCheck | None:
    low, high = _read_limits(schema, "minimum", "maximum")
    if schema["type"] == "integer":
        return lambda value: type(value) is int and low <= value <= high
    return lambda value: type(value) in (int, float) and low <= value <= high


def _compile_boolean(_: Mapping[str, Any]) -> QuickCheck | None:
    return lambda value: isinstance(value, bool)


def _compile_null(_: Mapping[str, Any]) -> QuickCheck | None:
    return lambda value: value is None


def _compile_array(schema: Mapping[str, Any]) -> QuickCheck | None:
    low, high = _read_limits(schema, "minItems", "maxItems")
    item = compile_quick_check(schema.get("items", True))
    if item is None:
        return None
    return lambda value: (
        isinstance(value, list) and low <= len(value) <= high and all(map(item, value))
    )


def _compile_object(schema: Mapping[str, Any]) -> QuickCheck | None:
    required = frozenset(schema.get("required", ()))
    rest = schema.get("additionalProperties", True)
    members = {
        name: compile_quick_check(part) for name, part in schema.get("properties", {}).items()
    }
    if None in members.values() or not isinstance(rest, bool):
        return None

    def fits(value: Any) -> bool:
        if not isinstance(value, dict) or not required <= value.keys():
            return False
        for name, item in value.items():
            member = members.get(name)
            if not (rest if member is None else member(item)):
                return False
        return True

    return fits


def _read_limits(schema: Mapping[str, Any], lower: str, upper: str) -> tuple[float, float]:
    """Return both limits; if one is not a number, limits that no value satisfies."""
    low, high = schema.get(lower, -math.inf), schema.get(upper, math.inf)
    are_numbers = all(type(limit) in (int, float) for limit in (low, high))
    return (low, high) if are_numbers else (math.inf, -math.inf)


_COMPILERS: Final[Mapping[str, Callable[[Mapping[str, Any]], QuickCheck | None]]] = {
    "array": _compile_array,
    "boolean": _compile_boolean,
    "integer": _compile_number,
    "null": _compile_null,
    "number": _compile_number,
    "object": _compile_object,
    "string": _compile_string,
}
