"""Describe the shape of a tool's results: names, types and formats of fields, never values.

A shape is a JSON Schema that all observed results conform to, in place of the output schema that
the server did not declare. Keys that are data themselves (ids, addresses, paths) are left out: an
object with such keys becomes `additionalProperties`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import islice
from typing import Any, Final

MAX_DEPTH = 8
"""Levels of nesting that are described; deeper parts may have any shape."""
MAX_PROPERTIES = 60
"""Keys of an object beyond which they count as data."""
MAX_ITEMS = 20
"""Items of a list that are read."""
MAX_PARTS = 1_500
"""Values of one result that are read."""
MAX_SHAPE = 3_000
"""Parts of a shape; beyond this the deepest levels are dropped."""
MAX_TEXT = 1_000_000
"""Characters of a text that is parsed as JSON."""
MAX_BLOCKS = 20
"""Blocks of content that are searched for text."""
MAX_KEY = 64
MAX_VALUE = 2_048
"""Characters of a string beyond which its format is not detected."""
MAX_WORDS = 8
MAX_WORD = 20
"""Words of a key (`MAX_WORDS`) and letters of each, beyond which it counts as data."""
MIN_ALIKE_VALUES = 4
"""Keys from which an object counts as a map if all its values have one shape."""

Shape = dict[str, Any]

_FIELD_NAME: Final = re.compile(r"[A-Za-z_$@][A-Za-z0-9_$]*(?:-[A-Za-z0-9_$]+){0,6}")
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_DIGITS: Final = re.compile(r"\d")
_FORMATS: Final = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("uuid", r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
        (
            "date-time",
            r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d\d:?\d\d)?",
        ),
        ("date", r"\d{4}-\d\d-\d\d"),
        ("time", r"\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)?"),
        ("email", r"[^\s@<>\"]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}"),
        ("uri", r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s<>\"]{1,2000}"),
        ("ipv4", r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)"),
        ("ipv6", r"(?=[^:]*:[^:]*:)[0-9a-fA-F:]{2,39}"),
    )
)


def describe_shape(result: Mapping[str, Any]) -> Shape | None:
    """Return the shape of a raw `tools/call` result; None if it has no structure.

    Describes the structured content, or else the first text if it is a JSON object or list. Time
    is bounded for any result.

    Example:
        >>> describe_shape({"structuredContent": {"ids": [7]}})["properties"]
        {'ids': {'type': 'array', 'items': {'type': 'integer'}}}
        >>> describe_shape({"content": [{"type": "text", "text": "done"}]}) is None
        True
    """
    if result.get("isError") is True:
        return None
    content = result.get("structuredContent")
    if not isinstance(content, dict | list):
        content = _parse_text_content(result.get("content"))
    return None if content is None else _ShapeReader().describe_value(content, 0)


def merge_shapes(first: Mapping[str, Any], second: Mapping[str, Any]) -> Shape:
    """Return a shape that covers both shapes; commutative.

    Fields of only one are not required; types and formats that differ are widened.

    Example:
        >>> (merge_shapes({"type": "integer"}, {"type": "number"}),
        ...  merge_shapes({"type": "null"}, {}))
        ({'type': 'number'}, {})
        >>> merge_shapes({"type": "string", "format": "date"}, {"type": "null"})
        {'type': ['null', 'string'], 'format': 'date'}
    """
    merged = _merge_at_depth(first, second, 0)
    levels = MAX_DEPTH
    while levels and _count_parts(merged) > MAX_SHAPE:
        levels -= 1
        merged = _truncate_depth(merged, levels)
    return merged


def drop_uncertain_fields(shape: Mapping[str, Any]) -> Shape:
    """Return a shape without the fields that only some results had.

    A name that comes and goes may be a person's or a customer's, and so a value.

    Example:
        >>> drop_uncertain_fields(merge_shapes(describe_shape({"structuredContent": {"id": 1,
        ...     "ann": 2}}),
        ...               describe_shape({"structuredContent": {"id": 3,
        ...                   "bob": 4}})))["properties"]
        {'id': {'type': 'integer'}}
    """
    kept = dict(shape)
    if "properties" in kept:
        required = {*kept.get("required", ())}
        fields = kept["properties"].items()
        kept["properties"] = {
            name: drop_uncertain_fields(field) for name, field in fields if name in required
        }
    nested = (key for key in _NESTED_KEYWORDS if isinstance(kept.get(key), dict))
    return kept | {key: drop_uncertain_fields(kept[key]) for key in nested}


def _count_parts(shape: Mapping[str, Any]) -> int:
    return 1 + sum(map(_count_parts, _iterate_inner(shape)))


def _iterate_inner(shape: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from shape.get("properties", {}).values()
    yield from (shape[key] for key in _NESTED_KEYWORDS if isinstance(shape.get(key), dict))


def _truncate_depth(shape: Mapping[str, Any], levels: int) -> Shape:
    """Return a shape in which parts below some levels may be anything."""
    if not levels:
        return {}
    truncated = dict(shape)
    if "properties" in truncated:
        fields = truncated["properties"].items()
        truncated["properties"] = {
            name: _truncate_depth(field, levels - 1) for name, field in fields
        }
    nested = (key for key in _NESTED_KEYWORDS if isinstance(truncated.get(key), dict))
    return truncated | {key: _truncate_depth(truncated[key], levels - 1) for key in nested}


_NESTED_KEYWORDS: Final = ("items", "additionalProperties")


class _ShapeReader:
    """Describes values within a budget of parts."""

    def __init__(self) -> None:
        self._left = MAX_PARTS

    def describe_value(self, value: object, depth: int) -> Shape:
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            return {}
        if isinstance(value, dict):
            return self._describe_object(value, depth)
        if isinstance(value, list):
            return self._describe_list(value, depth)
        return _describe_scalar(value)

    def _describe_object(self, value: Mapping[Any, Any], depth: int) -> Shape:
        if not value:
            return {"type": "object"}
        names = list(islice(value, MAX_PROPERTIES + 1))
        if len(names) > MAX_PROPERTIES or not all(map(is_field_name, names)):
            return self._describe_map(value, depth)
        fields = {name: self.describe_value(value[name], depth + 1) for name in sorted(names)}
        if len(fields) >= MIN_ALIKE_VALUES and _has_uniform_values(fields.values()):
            return _make_map(fields.values())
        return {"type": "object", "properties": fields, "required": sorted(fields)}

    def _describe_map(self, value: Mapping[Any, Any], depth: int) -> Shape:
        return _make_map(
            self.describe_value(item, depth + 1) for item in islice(value.values(), MAX_ITEMS)
        )

    def _describe_list(self, value: Sequence[Any], depth: int) -> Shape:
        if not value:
            return {"type": "array"}
        items = [self.describe_value(item, depth + 1) for item in islice(value, MAX_ITEMS)]
        return {"type": "array", "items": reduce(merge_shapes, items)}


def is_field_name(key: object) -> bool:
    """Return whether a key names a field rather than being data itself.

    Names are words as a program would write them. Ids, numbers, addresses, paths, dates and
    long or odd words are data.

    Example:
        >>> [is_field_name(key) for key in ("userId", "line_2", "content-type", "@id")]
        [True, True, True, True]
        >>> [is_field_name(key) for key in ("a@b.org", "42", "9f3b2c77d1", "/etc", "John Smith")]
        [False, False, False, False, False]
    """
    if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY or not _FIELD_NAME.fullmatch(key):
        return False
    words = _WORDS.findall(key)
    if len(words) > MAX_WORDS or max(map(len, words), default=0) > MAX_WORD:
        return False
    return len(_DIGITS.findall(key)) <= max(2, len(key) // 5)


def _make_map(shapes: Iterable[Shape]) -> Shape:
    return {
        "type": "object",
        "additionalProperties": reduce(merge_shapes, shapes, _EMPTY_SHAPE) or True,
    }


def _has_uniform_values(shapes: Iterable[Shape]) -> bool:
    """Return whether values are objects or lists of one shape, so that their keys are data."""
    first, *others = shapes
    has_parts = "properties" in first or "items" in first
    return has_parts and all(other == first for other in others)


def _has_data_keys(left: Mapping[str, Shape], right: Mapping[str, Shape]) -> bool:
    """Return whether the keys of two objects are data: disjoint, with values of one kind."""
    if not (left and right and left.keys().isdisjoint(right)):
        return False
    values = (*left.values(), *right.values())
    if len(values) >= MIN_ALIKE_VALUES and _has_uniform_values(values):
        return True
    types = [_shape_types(value) for value in values]
    kinds = set[str]().union(*types) - {"null"}
    return all(types) and kinds <= _SCALAR_TYPES and len(_merge_types(kinds, kinds)) <= 1


def _describe_scalar(value: object) -> Shape:
    if value is None:
        return {"type": "null"}
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int):
        return {"type": "integer"}
    if isinstance(value, float):
        return {"type": "number"}
    if not isinstance(value, str):
        return {}
    detected = detect_format(value)
    return {"type": "string", "format": detected} if detected else {"type": "string"}


def detect_format(text: str) -> str:
    """Return the JSON Schema format that a string matches; empty if none.

    Example:
        >>> [detect_format(text) for text in ("2026-11-22", "a@b.org", "https://a.b/c", "word")]
        ['date', 'email', 'uri', '']
    """
    if not 2 < len(text) <= MAX_VALUE:
        return ""
    return next((name for name, pattern in _FORMATS if pattern.fullmatch(text)), "")


def _parse_text_content(content: object) -> dict[Any, Any] | list[Any] | None:
    blocks = islice(content, MAX_BLOCKS) if isinstance(content, list) else ()
    text = next(
        (b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") == "text"), None
    )
    if not isinstance(text, str) or not 1 < len(text) <= MAX_TEXT:
        return None
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


_SCALAR_TYPES: Final = frozenset({"boolean", "integer", "number", "string"})
_EMPTY_SHAPE: Final[Shape] = {"not": {}}
"""The shape of no value; neutral element of merging."""


def _merge_at_depth(first: Mapping[str, Any], second: Mapping[str, Any], depth: int) -> Shape:
    if first == second or second == _EMPTY_SHAPE:
        return dict(first)
    if first == _EMPTY_SHAPE:
        return dict(second)
    types = _merge_types(_shape_types(first), _shape_types(second))
    if not types or depth > MAX_DEPTH:
        return {}
    merged: Shape = {"type": types[0] if len(types) == 1 else types}
    if _merge_formats(first, second):
        merged["format"] = _merge_formats(first, second)
    if "object" in types:
        merged |= _merge_type_parts(
            first, second, "object", lambda a, b: _merge_objects(a, b, depth)
        )
    if "array" in types:
        merged |= _merge_type_parts(first, second, "array", lambda a, b: _merge_items(a, b, depth))
    return merged


def _shape_types(shape: Mapping[str, Any]) -> set[str]:
    types = shape.get("type", ())
    return {types} if isinstance(types, str) else set(types)


def _merge_types(first: set[str], second: set[str]) -> list[str]:
    """Return the union of types; empty (any) if either is any."""
    if not first or not second:
        return []
    types = first | second
    return sorted(types - {"integer"} if "number" in types else types)


def _merge_formats(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """Return the common format of strings, or that of the only shape with strings."""
    formats = {
        shape.get("format", "") for shape in (first, second) if "string" in _shape_types(shape)
    }
    return formats.pop() if len(formats) == 1 else ""


_KEYWORDS_BY_TYPE: Final = {
    "object": ("properties", "required", "additionalProperties"),
    "array": ("items",),
}


def _merge_type_parts(
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    kind: str,
    merged: Callable[[Mapping[str, Any], Mapping[str, Any]], Shape],
) -> Shape:
    """Merge the keywords of one type; if only one shape has the type, take its keywords."""
    holders = [shape for shape in (first, second) if kind in _shape_types(shape)]
    if len(holders) == 2:
        return merged(*holders)
    return {key: holders[0][key] for key in _KEYWORDS_BY_TYPE[kind] if key in holders[0]}


def _merge_items(first: Mapping[str, Any], second: Mapping[str, Any], depth: int) -> Shape:
    items = [shape["items"] for shape in (first, second) if "items" in shape]
    if not items:
        return {}
    return {"items": _merge_at_depth(items[0], items[-1], depth + 1)}


def _merge_objects(first: Mapping[str, Any], second: Mapping[str, Any], depth: int) -> Shape:
    if "additionalProperties" in first or "additionalProperties" in second:
        return _merge_maps(first, second, depth)
    left, right = first.get("properties", {}), second.get("properties", {})
    names = sorted({*left, *right})
    if len(names) > MAX_PROPERTIES or _has_data_keys(left, right):
        return _merge_maps(first, second, depth)
    fields = {
        name: _merge_at_depth(
            left.get(name, _EMPTY_SHAPE), right.get(name, _EMPTY_SHAPE), depth + 1
        )
        for name in names
    }
    required = sorted({*first.get("required", ())} & {*second.get("required", ())})
    found: Shape = {"properties": fields} if fields else {}
    return {**found, "required": required} if required else found


def _merge_maps(first: Mapping[str, Any], second: Mapping[str, Any], depth: int) -> Shape:
    values: list[Mapping[str, Any]] = []
    for shape in (first, second):
        values.extend(shape.get("properties", {}).values())
        rest = shape.get("additionalProperties")
        if rest is not None:
            values.append(rest if isinstance(rest, dict) else {})
    merged = reduce(lambda a, b: _merge_at_depth(a, b, depth + 1), values)
    return {"additionalProperties": merged or True}
