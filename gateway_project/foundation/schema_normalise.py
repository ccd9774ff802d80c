"""Normalises JSON Schema as published by servers to draft 2020-12.

Servers publish Python's names of types, formats in place of types, older drafts and incomplete
documents. Nothing is rejected: parts that cannot be interpreted accept anything, with a note.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gateway_project.foundation import schema_types

MAX_DEPTH = 64
"""Levels of nesting that are interpreted; deeper parts accept anything."""
MAX_NOTES = 20
"""Notes kept for one schema; a document that causes more is broken throughout."""


@dataclass(frozen=True, kw_only=True)
class NormalisedSchema:
    """A schema of draft 2020-12; its root describes an object if it is that of arguments.

    Attributes:
        schema: The schema; a new value that the caller may keep.
        notes: What was guessed or dropped, in words; empty for a valid schema.
    """

    schema: dict[str, Any]
    notes: tuple[str, ...]


def normalise(schema: object, *, is_result: bool = False) -> NormalisedSchema:
    """Normalise the schema of a tool's arguments to draft 2020-12; never raises.

    Args:
        schema: The schema as published; any JSON value.
        is_result: Whether it describes a result, whose root need not be an object.

    Example:
        >>> normalise({"type": "dict", "properties": {"n": {"type": "int"}}}).schema
        {'type': 'object', 'properties': {'n': {'type': 'integer'}}}
        >>> normalise(None).notes
        ('the schema is not an object; any arguments are accepted',)
    """
    position = _ReadPosition()
    if not isinstance(schema, Mapping):
        if schema is not True:
            position.add_note("the schema is not an object; any arguments are accepted")
        return NormalisedSchema(schema={"type": "object"}, notes=tuple(position.notes))
    root = _normalise_mapping(_wrap_bare_properties(schema, position), position)
    if root.get("type") != "object" and not (is_result and "type" in root):
        published_type = root.pop("type", "object")
        if "object" not in published_type:
            position.add_note("the root is not an object; arguments always are")
        root = {"type": "object", **root}
    return NormalisedSchema(schema=root, notes=tuple(position.notes))


@dataclass(frozen=True, kw_only=True)
class _ReadPosition:
    """Depth of the reader, and its notes so far (in order, each once)."""

    depth: int = 0
    notes: dict[str, None] = field(default_factory=dict)

    def add_note(self, text: str) -> None:
        if len(self.notes) < MAX_NOTES:
            self.notes[text] = None

    def read_subschema(self, schema: object) -> dict[str, Any] | bool:
        """Normalise a subschema one level below this position."""
        return _normalise_subschema(schema, replace(self, depth=self.depth + 1))


def _wrap_bare_properties(schema: Mapping[Any, Any], place: _ReadPosition) -> Mapping[Any, Any]:
    """Recognise a root that lists its fields without `properties`."""
    has_no_keywords = schema and not (_KEYWORDS & schema.keys())
    if has_no_keywords and all(isinstance(value, Mapping) for value in schema.values()):
        place.add_note("the root names its fields without `properties`")
        return {"type": "object", "properties": schema}
    return schema


def _normalise_subschema(schema: object, place: _ReadPosition) -> dict[str, Any] | bool:
    if isinstance(schema, bool):
        return schema
    if place.depth > MAX_DEPTH:
        place.add_note(f"parts nested deeper than {MAX_DEPTH} levels accept anything")
        return {}
    if isinstance(schema, str):
        schema = {"type": schema}
    if not isinstance(schema, Mapping):
        place.add_note("a part that is not a schema accepts anything")
        return {}
    return _normalise_mapping(schema, place)


def _normalise_mapping(schema: Mapping[Any, Any], place: _ReadPosition) -> dict[str, Any]:
    fixed: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _READERS:
            _READERS[key](key, value, fixed, place)
        elif isinstance(key, str) and key != "$schema":
            fixed[key] = value
    _convert_older_drafts(fixed)
    _convert_nullable(fixed)
    return fixed


def _read_type(_: str, value: object, fixed: dict[str, Any], place: _ReadPosition) -> None:
    if isinstance(value, Mapping):
        place.add_note("a `type` holds a whole schema")
        inner = place.read_subschema(value)
        fixed.update(inner if isinstance(inner, dict) else {})
        return
    names = [
        schema_types.read_type_name(name)
        for name in (value if isinstance(value, list) else [value])
    ]
    if not all(name.understood for name in names):
        place.add_note(f"{str(value)[:40]!r} is not a type; anything is accepted there")
    if names and all(name.types for name in names):
        types = list(dict.fromkeys(kind for name in names for kind in name.types))
        fixed["type"] = types[0] if len(types) == 1 else types
        if len(names) == 1 and names[0].format:
            fixed.setdefault("format", names[0].format)


def _read_properties(_: str, value: object, fixed: dict[str, Any], place: _ReadPosition) -> None:
    if isinstance(value, list) and all(_is_named(item) for item in value):
        value = {item["name"]: {k: v for k, v in item.items() if k != "name"} for item in value}
    if not isinstance(value, Mapping):
        place.add_note("`properties` is not an object")
        return
    fields = {name: item for name, item in value.items() if isinstance(name, str)}
    fixed["properties"] = {name: place.read_subschema(item) for name, item in fields.items()}
    marked = [  # drafts before 4 mark the property itself as required
        name
        for name, item in fields.items()
        if isinstance(item, Mapping) and item.get("required") is True
    ]
    if marked:
        fixed["required"] = list(dict.fromkeys([*fixed.get("required", []), *marked]))


def _is_named(item: object) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("name"), str)


def _read_required(key: str, value: object, fixed: dict[str, Any], place: _ReadPosition) -> None:
    if isinstance(value, bool):
        return
    names = _filter_strings([value] if isinstance(value, str) else value)
    if names or value == []:
        fixed[key] = list(dict.fromkeys([*fixed.get(key, []), *names]))
    elif value is not None:
        place.add_note("`required` is not a list of names")


def _read_schema(key: str, value: object, fixed: dict[str, Any], place: _ReadPosition) -> None:
    if key == "items" and isinstance(value, list):  # drafts before 2020-12
        _read_schema_list("prefixItems", value, fixed, place)
    else:
        fixed[key] = place.read_subschema(value)


def _read_schema_list(
    key: str, value: object, fixed: dict[str, Any], place: _ReadPosition
) -> None:
    if isinstance(value, list) and value:
        fixed[key] = [place.read_subschema(item) for item in value]
    else:
        place.add_note(f"`{key}` is not a list of schemas")


def _read_schema_map(key: str, value: object, fixed: dict[str, Any], place: _ReadPosition) -> None:
    if isinstance(value, Mapping):
        fixed[key] = {
            name: place.read_subschema(v) for name, v in value.items() if isinstance(name, str)
        }
    else:
        place.add_note(f"`{key}` is not an object")


def _read_dependencies(_: str, value: object, fixed: dict[str, Any], place: _ReadPosition) -> None:
    """Split into `dependentRequired` and `dependentSchemas`, as draft 2019-09 did."""
    entries = dict(value) if isinstance(value, Mapping) else {}
    lists = {name: item for name, item in entries.items() if isinstance(item, list)}
    if lists:
        _read_value("dependentRequired", lists, fixed, place)
    if len(lists) < len(entries) or not isinstance(value, Mapping):
        rest = {name: item for name, item in entries.items() if name not in lists}
        _read_schema_map("dependentSchemas", rest if entries else value, fixed, place)


def _read_value(key: str, value: object, fixed: dict[str, Any], place: _ReadPosition) -> None:
    convert, form = _CONVERTERS[key]
    converted = convert(value)
    if converted is None:
        place.add_note(f"`{key}` is {form}")
    else:
        fixed[key] = converted


def _convert_name_lists(value: object) -> dict[str, list[str]] | None:
    if not isinstance(value, Mapping):
        return None
    return {name: _filter_strings(v) for name, v in value.items() if isinstance(name, str)}


def _convert_enum(value: object) -> list[Any] | None:
    return (list(value) if isinstance(value, list | tuple | Mapping) else []) or None


def _convert_exclusive(value: object) -> float | None:
    return value if isinstance(value, bool) else _parse_number(value)  # draft 4 has booleans


def _convert_divisor(value: object) -> float | None:
    number = _parse_number(value)
    return number if number is not None and number > 0 else None


def _convert_count(value: object) -> int | None:
    number = _parse_number(value)
    return int(number) if number is not None and number >= 0 and number == int(number) else None


def _parse_number(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None


def _filter_strings(value: object) -> list[str]:
    items = value if isinstance(value, list | tuple) else ()
    return list(dict.fromkeys(item for item in items if isinstance(item, str)))


def _convert_older_drafts(fixed: dict[str, Any]) -> None:
    """Convert keywords of drafts 4 to 2019-09 to those of 2020-12."""
    rest = fixed.pop("additionalItems", None)
    if "prefixItems" in fixed and rest is not None:
        fixed.setdefault("items", rest)
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if not isinstance(fixed.get(exclusive), bool):
            continue
        if fixed.pop(exclusive) and limit in fixed:
            fixed[exclusive] = fixed.pop(limit)


def _convert_nullable(fixed: dict[str, Any]) -> None:
    """Convert `nullable` of OpenAPI 3.0 to the type "null"."""
    if fixed.get("nullable") is not True or "type" not in fixed:
        return
    types = fixed["type"] if isinstance(fixed["type"], list) else [fixed["type"]]
    fixed["type"] = list(dict.fromkeys([*types, "null"]))
    if "enum" in fixed and None not in fixed["enum"]:
        fixed["enum"] = [*fixed["enum"], None]


_NUMBER: Final = "not a number that fits"
_CONVERTERS: Final[Mapping[str, tuple[Callable[[object], Any], str]]] = {
    "dependentRequired": (_convert_name_lists, "not an object"),
    "enum": (_convert_enum, "not a list of values"),
    **dict.fromkeys(("minimum", "maximum"), (_parse_number, _NUMBER)),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), (_convert_exclusive, _NUMBER)),
    "multipleOf": (_convert_divisor, _NUMBER),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        (_convert_count, "not a count"),
    ),
    **dict.fromkeys(("minContains", "maxContains"), (_convert_count, "not a count")),
    **dict.fromkeys(
        ("$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "format", "pattern"),
        (lambda value: value if isinstance(value, str) else None, "not text"),
    ),
    "uniqueItems": (
        lambda value: value if isinstance(value, bool) else None,
        "neither true nor false",
    ),
}
"""Converter of a keyword's value, which returns None for one that cannot be interpreted, and what
such a value is."""
_KeywordReader = Callable[[str, object, dict[str, Any], _ReadPosition], None]
_KEYWORDS_BY_READER: Final[Mapping[_KeywordReader, tuple[str, ...]]] = {
    _read_type: ("type",),
    _read_properties: ("properties",),
    _read_required: ("required",),
    _read_schema: (
        *("additionalItems", "additionalProperties", "contains", "else", "if", "items", "not"),
        *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
    ),
    _read_schema_list: ("allOf", "anyOf", "oneOf", "prefixItems"),
    _read_schema_map: ("$defs", "definitions", "dependentSchemas", "patternProperties"),
    _read_dependencies: ("dependencies",),
    _read_value: tuple(_CONVERTERS),
}
_READERS: Final[Mapping[Any, _KeywordReader]] = {
    key: reader for reader, keys in _KEYWORDS_BY_READER.items() for key in keys
}
_KEYWORDS: Final = frozenset(_READERS) | {
    *("$schema", "const", "default", "description", "examples", "title"),
}
