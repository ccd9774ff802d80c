"""A quick yes to arguments that fit a plain schema; who gets no yes asks the whole validator.

The whole validator takes some 60 µs for the arguments of an ordinary tool, most of it to be able
to explain what is wrong. Most schemas consist of a few keywords, and most arguments fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

Fits = Callable[[Any], bool]
"""Whether a value fits; False may also mean that it cannot be told quickly."""

_SILENT: Final = frozenset(
    {"$comment", "$defs", "$id", "$schema", "default", "definitions", "deprecated", "description"}
    | {"examples", "format", "readOnly", "title", "writeOnly", "x-mcp-header"}
)
"""Keywords that judge nothing here."""
_JUDGING: Final = frozenset(
    {"additionalProperties", "enum", "items", "maxItems", "maxLength", "maximum", "minItems"}
    | {"minLength", "minimum", "properties", "required", "type"}
)


def compiled(schema: Any) -> Fits | None:
    """Return a quick check by a normalised schema; None if it has other than plain keywords.

    Example:
        >>> fits = compiled({"type": "integer", "minimum": 1})
        >>> fits(1), fits(0), fits(True)
        (True, False, False)
        >>> compiled({"not": {}}) is None
        True
    """
    if schema is True:
        return _anything
    if not isinstance(schema, Mapping) or not schema.keys() <= _SILENT | _JUDGING:
        return None
    if schema.keys() <= _SILENT:
        return _anything
    if "enum" in schema:
        return _one_of(schema)
    make = _MAKERS.get(schema["type"]) if isinstance(schema.get("type"), str) else None
    return make(schema) if make is not None else None


def _anything(_: Any) -> bool:
    return True


def _one_of(schema: Mapping[str, Any]) -> Fits | None:
    """Check for one of some texts; of other values equality has too many meanings."""
    allowed, others = schema["enum"], schema.keys() & _JUDGING - {"enum", "type"}
    texts = isinstance(allowed, list) and all(isinstance(value, str) for value in allowed)
    if not texts or others or schema.get("type", "string") != "string":
        return None
    known = frozenset(allowed)
    return lambda value: isinstance(value, str) and value in known


def _text(schema: Mapping[str, Any]) -> Fits | None:
    low, high = _limits(schema, "minLength", "maxLength")
    return lambda value: isinstance(value, str) and low <= len(value) <= high


def _number(schema: Mapping[str, Any]) -> Fits | None:
    low, high = _limits(schema, "minimum", "maximum")
    if schema["type"] == "integer":
        return lambda value: type(value) is int and low <= value <= high
    return lambda value: type(value) in (int, float) and low <= value <= high


def _truth(_: Mapping[str, Any]) -> Fits | None:
    return lambda value: isinstance(value, bool)


def _nothing(_: Mapping[str, Any]) -> Fits | None:
    return lambda value: value is None


def _array(schema: Mapping[str, Any]) -> Fits | None:
    low, high = _limits(schema, "minItems", "maxItems")
    item = compiled(schema.get("items", True))
    if item is None:
        return None
    return lambda value: (
        isinstance(value, list) and low <= len(value) <= high and all(map(item, value))
    )


def _object(schema: Mapping[str, Any]) -> Fits | None:
    required = frozenset(schema.get("required", ()))
    rest = schema.get("additionalProperties", True)
    members = {name: compiled(part) for name, part in schema.get("properties", {}).items()}
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


def _limits(schema: Mapping[str, Any], lower: str, upper: str) -> tuple[float, float]:
    """Return both limits; what is no number lets nothing pass."""
    low, high = schema.get(lower, -math.inf), schema.get(upper, math.inf)
    numbers = all(type(limit) in (int, float) for limit in (low, high))
    return (low, high) if numbers else (math.inf, -math.inf)


_MAKERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Fits | None]]] = {
    "array": _array,
    "boolean": _truth,
    "integer": _number,
    "null": _nothing,
    "number": _number,
    "object": _object,
    "string": _text,
}
