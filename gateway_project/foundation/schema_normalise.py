"""JSON Schema as it is found in the wild, brought to draft 2020-12.

Servers publish Python's names of types, formats in place of types, older drafts and half-empty
documents. Nothing here rejects: what cannot be understood becomes permissive, with a note.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gateway_project.foundation import schema_types

MAX_DEPTH = 64
"""Levels of nesting that are read; deeper parts accept anything."""
MAX_NOTES = 20
"""Notes kept of one schema; a document that earns more is broken throughout."""


@dataclass(frozen=True, kw_only=True)
class Normalised:
    """A schema of draft 2020-12 whose root describes an object.

    Attributes:
        schema: The schema; a fresh value, free to keep.
        notes: What had to be guessed or let go, in plain words; empty for a sound schema.
    """

    schema: dict[str, Any]
    notes: tuple[str, ...]


def normalise(schema: object) -> Normalised:
    """Bring the schema of a tool's arguments to draft 2020-12; never raises.

    Args:
        schema: Whatever a server gave.

    Example:
        >>> normalise({"type": "dict", "properties": {"n": {"type": "int"}}}).schema
        {'type': 'object', 'properties': {'n': {'type': 'integer'}}}
        >>> normalise(None).notes
        ('the schema is not an object; any arguments are accepted',)
    """
    place = _Place()
    if not isinstance(schema, Mapping):
        if schema is not True:
            place.note("the schema is not an object; any arguments are accepted")
        return Normalised(schema={"type": "object"}, notes=tuple(place.notes))
    root = _mapping(_with_properties(schema, place), place)
    if root.get("type") != "object":
        given = root.pop("type", "object")
        if "object" not in given:
            place.note("the root is not an object; arguments always are")
        root = {"type": "object", **root}
    return Normalised(schema=root, notes=tuple(place.notes))


@dataclass(frozen=True, kw_only=True)
class _Place:
    """How deep the reader is, and what it had to remark so far (in order, each once)."""

    depth: int = 0
    notes: dict[str, None] = field(default_factory=dict)

    def note(self, text: str) -> None:
        if len(self.notes) < MAX_NOTES:
            self.notes[text] = None

    def read(self, schema: object) -> dict[str, Any] | bool:
        """Normalise a schema that stands below this place."""
        return _subschema(schema, replace(self, depth=self.depth + 1))


def _with_properties(schema: Mapping[Any, Any], place: _Place) -> Mapping[Any, Any]:
    """Recognise a root that lists its fields without `properties`."""
    bare = schema and not (_KEYWORDS & schema.keys())
    if bare and all(isinstance(value, Mapping) for value in schema.values()):
        place.note("the root names its fields without `properties`")
        return {"type": "object", "properties": schema}
    return schema


def _subschema(schema: object, place: _Place) -> dict[str, Any] | bool:
    if isinstance(schema, bool):
        return schema
    if place.depth > MAX_DEPTH:
        place.note(f"parts nested deeper than {MAX_DEPTH} levels accept anything")
        return {}
    if isinstance(schema, str):
        schema = {"type": schema}
    if not isinstance(schema, Mapping):
        place.note("a part that is no schema accepts anything")
        return {}
    return _mapping(schema, place)


def _mapping(schema: Mapping[Any, Any], place: _Place) -> dict[str, Any]:
    fixed: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _READERS:
            _READERS[key](key, value, fixed, place)
        elif isinstance(key, str) and key != "$schema":
            fixed[key] = value
    _older_drafts(fixed)
    _nullable(fixed)
    return fixed


def _type(_: str, value: object, fixed: dict[str, Any], place: _Place) -> None:
    if isinstance(value, Mapping):
        place.note("a `type` holds a whole schema")
        inner = place.read(value)
        fixed.update(inner if isinstance(inner, dict) else {})
        return
    names = [schema_types.read(name) for name in (value if isinstance(value, list) else [value])]
    if not all(name.understood for name in names):
        place.note(f"{str(value)[:40]!r} is no type; anything is accepted there")
    if names and all(name.types for name in names):
        types = list(dict.fromkeys(one for name in names for one in name.types))
        fixed["type"] = types[0] if len(types) == 1 else types
        if len(names) == 1 and names[0].format:
            fixed.setdefault("format", names[0].format)


def _properties(_: str, value: object, fixed: dict[str, Any], place: _Place) -> None:
    if isinstance(value, list) and all(_is_named(item) for item in value):
        value = {item["name"]: {k: v for k, v in item.items() if k != "name"} for item in value}
    if not isinstance(value, Mapping):
        place.note("`properties` is not an object")
        return
    fields = {name: item for name, item in value.items() if isinstance(name, str)}
    fixed["properties"] = {name: place.read(item) for name, item in fields.items()}
    marked = [  # drafts before 4 say it at the property
        name
        for name, item in fields.items()
        if isinstance(item, Mapping) and item.get("required") is True
    ]
    if marked:
        fixed["required"] = list(dict.fromkeys([*fixed.get("required", []), *marked]))


def _is_named(item: object) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("name"), str)


def _required(key: str, value: object, fixed: dict[str, Any], place: _Place) -> None:
    if isinstance(value, bool):
        return
    names = _strings([value] if isinstance(value, str) else value)
    if names:
        fixed[key] = list(dict.fromkeys([*fixed.get(key, []), *names]))
    elif value not in ([], None):
        place.note("`required` is not a list of names")


def _one(key: str, value: object, fixed: dict[str, Any], place: _Place) -> None:
    if key == "items" and isinstance(value, list):  # drafts before 2020-12
        _several("prefixItems", value, fixed, place)
    else:
        fixed[key] = place.read(value)


def _several(key: str, value: object, fixed: dict[str, Any], place: _Place) -> None:
    if isinstance(value, list) and value:
        fixed[key] = [place.read(item) for item in value]
    else:
        place.note(f"`{key}` is not a list of schemas")


def _named(key: str, value: object, fixed: dict[str, Any], place: _Place) -> None:
    if isinstance(value, Mapping):
        fixed[key] = {name: place.read(v) for name, v in value.items() if isinstance(name, str)}
    else:
        place.note(f"`{key}` is not an object")


def _dependencies(_: str, value: object, fixed: dict[str, Any], place: _Place) -> None:
    """Split what draft 2019-09 split: lists of names, and schemas."""
    entries = dict(value) if isinstance(value, Mapping) else {}
    lists = {name: item for name, item in entries.items() if isinstance(item, list)}
    if lists:
        _dependent_required("dependentRequired", lists, fixed, place)
    if len(lists) < len(entries) or not isinstance(value, Mapping):
        rest = {name: item for name, item in entries.items() if name not in lists}
        _named("dependentSchemas", rest if entries else value, fixed, place)


def _dependent_required(key: str, value: object, fixed: dict[str, Any], place: _Place) -> None:
    if isinstance(value, Mapping):
        fixed[key] = {name: _strings(v) for name, v in value.items() if isinstance(name, str)}
    else:
        place.note(f"`{key}` is not an object")


def _enum(key: str, value: object, fixed: dict[str, Any], place: _Place) -> None:
    values = list(value) if isinstance(value, list | tuple | Mapping) else []
    if values:
        fixed[key] = values
    else:
        place.note("`enum` is not a list of values")


def _limit(key: str, value: object, fixed: dict[str, Any], place: _Place) -> None:
    if isinstance(value, bool) and key.startswith("exclusive"):
        fixed[key] = value  # draft 4: see _older_drafts
        return
    number = _number(value)
    if number is None or (key == "multipleOf" and number <= 0):
        place.note(f"`{key}` is not a number that fits")
    else:
        fixed[key] = number


def _count(key: str, value: object, fixed: dict[str, Any], place: _Place) -> None:
    number = _number(value)
    if number is None or number < 0 or number != int(number):
        place.note(f"`{key}` is not a count")
    else:
        fixed[key] = int(number)


def _number(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None


def _text(key: str, value: object, fixed: dict[str, Any], place: _Place) -> None:
    if isinstance(value, str):
        fixed[key] = value
    else:
        place.note(f"`{key}` is not text")


def _boolean(key: str, value: object, fixed: dict[str, Any], place: _Place) -> None:
    if isinstance(value, bool):
        fixed[key] = value
    else:
        place.note(f"`{key}` is neither true nor false")


def _strings(value: object) -> list[str]:
    items = value if isinstance(value, list | tuple) else ()
    return list(dict.fromkeys(item for item in items if isinstance(item, str)))


def _older_drafts(fixed: dict[str, Any]) -> None:
    """Turn what drafts 4 to 2019-09 spelt differently into what 2020-12 says."""
    rest = fixed.pop("additionalItems", None)
    if "prefixItems" in fixed and rest is not None:
        fixed.setdefault("items", rest)
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if not isinstance(fixed.get(exclusive), bool):
            continue
        if fixed.pop(exclusive) and limit in fixed:
            fixed[exclusive] = fixed.pop(limit)


def _nullable(fixed: dict[str, Any]) -> None:
    """Say as JSON Schema does what OpenAPI 3.0 says by `nullable`."""
    if fixed.get("nullable") is not True or "type" not in fixed:
        return
    types = fixed["type"] if isinstance(fixed["type"], list) else [fixed["type"]]
    fixed["type"] = list(dict.fromkeys([*types, "null"]))
    if "enum" in fixed and None not in fixed["enum"]:
        fixed["enum"] = [*fixed["enum"], None]


_Reader = Callable[[str, object, dict[str, Any], _Place], None]
_BY_READER: Final[Mapping[_Reader, tuple[str, ...]]] = {
    _type: ("type",),
    _properties: ("properties",),
    _required: ("required",),
    _one: (
        *("additionalItems", "additionalProperties", "contains", "else", "if", "items", "not"),
        *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
    ),
    _several: ("allOf", "anyOf", "oneOf", "prefixItems"),
    _named: ("$defs", "definitions", "dependentSchemas", "patternProperties"),
    _dependencies: ("dependencies",),
    _dependent_required: ("dependentRequired",),
    _enum: ("enum",),
    _limit: ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    _count: (
        *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        *("minContains", "maxContains"),
    ),
    _text: ("$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "format", "pattern"),
    _boolean: ("uniqueItems",),
}
_READERS: Final[Mapping[Any, _Reader]] = {
    key: reader for reader, keys in _BY_READER.items() for key in keys
}
_KEYWORDS: Final = frozenset(_READERS) | {
    *("$schema", "const", "default", "description", "examples", "title"),
}
