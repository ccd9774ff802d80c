"""The shape of a tool's result: names, types and formats of what is there, never values.

A shape is a JSON Schema that the results seen so far conform to. It is what a server that
declares no output schema would have declared; only what a key or value *is* enters it. Keys that
are data themselves (ids, addresses, paths) are left out: an object of such keys becomes
`additionalProperties`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import islice
from typing import Any, Final

MAX_DEPTH = 8
"""Levels of nesting that are told; deeper parts are of any shape."""
MAX_PROPERTIES = 60
"""Keys that one object may have before they are taken for data."""
MAX_ITEMS = 20
"""Items of a list that are looked at."""
MAX_PARTS = 1_500
"""Values that are looked at in one result."""
MAX_SHAPE = 3_000
"""Parts of a shape; if results that keep changing add up to more, the deepest are not told."""
MAX_TEXT = 1_000_000
"""Characters of a text that may be read as JSON."""
MAX_BLOCKS = 20
"""Blocks of content that are looked through for text."""
MAX_KEY = 64
MAX_VALUE = 2_048
"""Characters of a string beyond which its format is not looked for."""
MAX_WORDS = 8
MAX_WORD = 20
"""Words of a key, and letters of each, beyond which it is taken for data."""
ALIKE = 4
"""Keys from which on an object is taken for a map if its values are objects of one shape."""

Shape = dict[str, Any]

_KEY: Final = re.compile(r"[A-Za-z_$@][A-Za-z0-9_$]*(?:-[A-Za-z0-9_$]+){0,6}")
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


def shape_of(result: Mapping[str, Any]) -> Shape | None:
    """Return the shape of a raw `tools/call` result; None where it holds no structure.

    Read are the structured content, else the JSON of the first text, where it is an object or a
    list. Time is bounded whatever the result holds.

    Args:
        result: As the server sent it.

    Example:
        >>> shape_of({"structuredContent": {"ids": [7]}})["properties"]
        {'ids': {'type': 'array', 'items': {'type': 'integer'}}}
        >>> shape_of({"content": [{"type": "text", "text": "done"}]}) is None
        True
    """
    if result.get("isError") is True:
        return None
    content = result.get("structuredContent")
    if not isinstance(content, dict | list):
        content = _of_text(result.get("content"))
    return None if content is None else _Reader().shape(content, 0)


def merge(one: Mapping[str, Any], other: Mapping[str, Any]) -> Shape:
    """Return a shape that both shapes conform to; the order does not matter.

    What only one of them has is not required; types and formats that differ are widened.

    Example:
        >>> merge({"type": "integer"}, {"type": "number"}), merge({"type": "null"}, {})
        ({'type': 'number'}, {})
        >>> merge({"type": "string", "format": "date"}, {"type": "null"})
        {'type': ['null', 'string'], 'format': 'date'}
    """
    merged = _merge(one, other, 0)
    levels = MAX_DEPTH
    while levels and _parts(merged) > MAX_SHAPE:
        levels -= 1
        merged = _shallow(merged, levels)
    return merged


def certain(shape: Mapping[str, Any]) -> Shape:
    """Return a shape without the fields that only some results had.

    A name that comes and goes may be a person's or a customer's, and so a value.

    Example:
        >>> certain(merge(shape_of({"structuredContent": {"id": 1, "ann": 2}}),
        ...               shape_of({"structuredContent": {"id": 3, "bob": 4}})))["properties"]
        {'id': {'type': 'integer'}}
    """
    found = dict(shape)
    if "properties" in found:
        always = {*found.get("required", ())}
        fields = found["properties"].items()
        found["properties"] = {name: certain(one) for name, one in fields if name in always}
    within = (key for key in _PARTS if isinstance(found.get(key), dict))
    return found | {key: certain(found[key]) for key in within}


def _parts(shape: Mapping[str, Any]) -> int:
    return 1 + sum(map(_parts, _inner(shape)))


def _inner(shape: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from shape.get("properties", {}).values()
    yield from (shape[key] for key in _PARTS if isinstance(shape.get(key), dict))


def _shallow(shape: Mapping[str, Any], levels: int) -> Shape:
    """Return a shape in which what lies deeper may be anything."""
    if not levels:
        return {}
    found = dict(shape)
    if "properties" in found:
        fields = found["properties"].items()
        found["properties"] = {name: _shallow(one, levels - 1) for name, one in fields}
    within = (key for key in _PARTS if isinstance(found.get(key), dict))
    return found | {key: _shallow(found[key], levels - 1) for key in within}


_PARTS: Final = ("items", "additionalProperties")


class _Reader:
    """Reads values within a budget of parts."""

    def __init__(self) -> None:
        self._left = MAX_PARTS

    def shape(self, value: object, depth: int) -> Shape:
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            return {}
        if isinstance(value, dict):
            return self._object(value, depth)
        if isinstance(value, list):
            return self._list(value, depth)
        return _scalar(value)

    def _object(self, value: Mapping[Any, Any], depth: int) -> Shape:
        if not value:
            return {"type": "object"}
        names = list(islice(value, MAX_PROPERTIES + 1))
        if len(names) > MAX_PROPERTIES or not all(map(is_name, names)):
            return self._map(value, depth)
        fields = {name: self.shape(value[name], depth + 1) for name in sorted(names)}
        if len(fields) >= ALIKE and _are_alike(fields.values()):
            return _map_of(fields.values())
        return {"type": "object", "properties": fields, "required": sorted(fields)}

    def _map(self, value: Mapping[Any, Any], depth: int) -> Shape:
        """Describe an object whose keys are data."""
        return _map_of(self.shape(one, depth + 1) for one in islice(value.values(), MAX_ITEMS))

    def _list(self, value: Sequence[Any], depth: int) -> Shape:
        if not value:
            return {"type": "array"}
        items = [self.shape(one, depth + 1) for one in islice(value, MAX_ITEMS)]
        return {"type": "array", "items": reduce(merge, items)}


def is_name(key: object) -> bool:
    """Tell whether a key names a field, rather than being data itself.

    Names are words, as a program would write them. Ids, numbers, addresses, paths, dates and
    long or odd words are data.

    Example:
        >>> [is_name(key) for key in ("userId", "line_2", "content-type", "@id")]
        [True, True, True, True]
        >>> [is_name(key) for key in ("a@b.org", "42", "9f3b2c77d1", "/etc", "John Smith")]
        [False, False, False, False, False]
    """
    if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY or not _KEY.fullmatch(key):
        return False
    words = _WORDS.findall(key)
    if len(words) > MAX_WORDS or max(map(len, words), default=0) > MAX_WORD:
        return False
    return len(_DIGITS.findall(key)) <= max(2, len(key) // 5)


def _map_of(shapes: Iterable[Shape]) -> Shape:
    return {"type": "object", "additionalProperties": reduce(merge, shapes, _NOTHING) or True}


def _are_alike(shapes: Iterable[Shape]) -> bool:
    """Tell whether values are objects or lists, all of one shape: then their keys are data."""
    first, *others = shapes
    has_parts = "properties" in first or "items" in first
    return has_parts and all(other == first for other in others)


def _are_data(left: Mapping[str, Shape], right: Mapping[str, Shape]) -> bool:
    """Tell whether the keys of two objects are data: none in common, and values of one kind."""
    if not (left and right and left.keys().isdisjoint(right)):
        return False
    values = (*left.values(), *right.values())
    if len(values) >= ALIKE and _are_alike(values):
        return True
    types = [_types(value) for value in values]
    kinds = set[str]().union(*types) - {"null"}
    return all(types) and kinds <= _SCALAR and len(_widened(kinds, kinds)) <= 1


def _scalar(value: object) -> Shape:
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
    found = format_of(value)
    return {"type": "string", "format": found} if found else {"type": "string"}


def format_of(text: str) -> str:
    """Return the JSON Schema format of a string, by how it is written; empty if none.

    Example:
        >>> [format_of(text) for text in ("2026-11-22", "a@b.org", "https://a.b/c", "word")]
        ['date', 'email', 'uri', '']
    """
    if not 2 < len(text) <= MAX_VALUE:
        return ""
    return next((name for name, pattern in _FORMATS if pattern.fullmatch(text)), "")


def _of_text(content: object) -> dict[Any, Any] | list[Any] | None:
    """Return the object or list that the first text of a result holds as JSON."""
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


_SCALAR: Final = frozenset({"boolean", "integer", "number", "string"})
_NOTHING: Final[Shape] = {"not": {}}
"""The shape of no value: what a merge begins with."""


def _merge(one: Mapping[str, Any], other: Mapping[str, Any], depth: int) -> Shape:
    if one == other or other == _NOTHING:
        return dict(one)
    if one == _NOTHING:
        return dict(other)
    types = _widened(_types(one), _types(other))
    if not types or depth > MAX_DEPTH:
        return {}
    merged: Shape = {"type": types[0] if len(types) == 1 else types}
    if _format(one, other):
        merged["format"] = _format(one, other)
    if "object" in types:
        merged |= _both(one, other, "object", lambda a, b: _merged_objects(a, b, depth))
    if "array" in types:
        merged |= _both(one, other, "array", lambda a, b: _merged_items(a, b, depth))
    return merged


def _types(shape: Mapping[str, Any]) -> set[str]:
    given = shape.get("type", ())
    return {given} if isinstance(given, str) else set(given)


def _widened(one: set[str], other: set[str]) -> list[str]:
    """Return the types of two shapes together; nothing where either is of any type."""
    if not one or not other:
        return []
    types = one | other
    return sorted(types - {"integer"} if "number" in types else types)


def _format(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return the format that the strings of both have, or of the only one that has strings."""
    formats = {shape.get("format", "") for shape in (one, other) if "string" in _types(shape)}
    return formats.pop() if len(formats) == 1 else ""


_OF: Final = {
    "object": ("properties", "required", "additionalProperties"),
    "array": ("items",),
}


def _both(
    one: Mapping[str, Any],
    other: Mapping[str, Any],
    kind: str,
    merged: Callable[[Mapping[str, Any], Mapping[str, Any]], Shape],
) -> Shape:
    """Merge what says of objects or lists; of a shape that has none, the other's stands."""
    holders = [shape for shape in (one, other) if kind in _types(shape)]
    if len(holders) == 2:
        return merged(*holders)
    return {key: holders[0][key] for key in _OF[kind] if key in holders[0]}


def _merged_items(one: Mapping[str, Any], other: Mapping[str, Any], depth: int) -> Shape:
    """Merge lists; an empty one says nothing of items."""
    items = [shape["items"] for shape in (one, other) if "items" in shape]
    if not items:
        return {}
    return {"items": _merge(items[0], items[-1], depth + 1)}


def _merged_objects(one: Mapping[str, Any], other: Mapping[str, Any], depth: int) -> Shape:
    """Merge objects: named fields by name, and into a map where either is one."""
    if "additionalProperties" in one or "additionalProperties" in other:
        return _merged_maps(one, other, depth)
    left, right = one.get("properties", {}), other.get("properties", {})
    names = sorted({*left, *right})
    if len(names) > MAX_PROPERTIES or _are_data(left, right):
        return _merged_maps(one, other, depth)
    fields = {
        name: _merge(left.get(name, _NOTHING), right.get(name, _NOTHING), depth + 1)
        for name in names
    }
    required = sorted({*one.get("required", ())} & {*other.get("required", ())})
    found: Shape = {"properties": fields} if fields else {}
    return {**found, "required": required} if required else found


def _merged_maps(one: Mapping[str, Any], other: Mapping[str, Any], depth: int) -> Shape:
    values: list[Mapping[str, Any]] = []
    for shape in (one, other):
        values.extend(shape.get("properties", {}).values())
        rest = shape.get("additionalProperties")
        if rest is not None:
            values.append(rest if isinstance(rest, dict) else {})
    merged = reduce(lambda a, b: _merge(a, b, depth + 1), values)
    return {"additionalProperties": merged or True}
