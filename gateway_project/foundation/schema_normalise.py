"""Normalises JSON Schema as published by servers to draft 2020-12.

Servers publish Python's names of types, formats in place of types, older drafts and incomplete
documents. Nothing is rejected: parts that cannot be interpreted accept anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway_project.foundation import schema_types

MAX_DEPTH = 64
"""Levels of nesting that are interpreted; deeper parts accept anything."""


def normalise(schema: object, *, is_result: bool = False) -> dict[str, Any]:
    """Normalise the schema of a tool's arguments to draft 2020-12; never raises.

    Args:
        schema: The schema as published; any JSON value.
        is_result: Whether it describes a result, whose root need not be an object.

    Returns:
        A new schema that the caller may keep; that of arguments describes an object.

    Example:
        >>> normalise({"type": "dict", "properties": {"n": {"type": "int"}}})
        {'type': 'object', 'properties': {'n': {'type': 'integer'}}}
        >>> normalise(None)
        {'type': 'object'}
    """
    if not isinstance(schema, Mapping):
        return {"type": "object"}
    root = _normalise_mapping(_wrap_bare_properties(schema), 0)
    if root.get("type") != "object" and not (is_result and "type" in root):
        root.pop("type", None)
        return {"type": "object", **root}
    return root


def _wrap_bare_properties(schema: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Recognise a root that lists its fields without `properties`."""
    has_no_keywords = schema and not (_KEYWORDS & schema.keys())
    if has_no_keywords and all(isinstance(value, Mapping) for value in schema.values()):
        return {"type": "object", "properties": schema}
    return schema


def _normalise_subschema(schema: object, depth: int) -> dict[str, Any] | bool:
    if isinstance(schema, bool):
        return schema
    if isinstance(schema, str):
        schema = {"type": schema}
    if depth > MAX_DEPTH or not isinstance(schema, Mapping):
        return {}
    return _normalise_mapping(schema, depth)


def _normalise_mapping(schema: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    fixed: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _READERS:
            _READERS[key](key, value, fixed, depth + 1)
        elif isinstance(key, str) and key != "$schema":
            fixed[key] = value
    _convert_older_drafts(fixed)
    _convert_nullable(fixed)
    return fixed


def _read_type(_: str, value: object, fixed: dict[str, Any], depth: int) -> None:
    if isinstance(value, Mapping):  # a whole schema
        inner = _normalise_subschema(value, depth)
        fixed.update(inner if isinstance(inner, dict) else {})
        return
    names = [
        schema_types.read_type_name(name)
        for name in (value if isinstance(value, list) else [value])
    ]
    if names and all(name.types for name in names):
        types = list(dict.fromkeys(kind for name in names for kind in name.types))
        fixed["type"] = types[0] if len(types) == 1 else types
        if len(names) == 1 and names[0].format:
            fixed.setdefault("format", names[0].format)


def _read_properties(_: str, value: object, fixed: dict[str, Any], depth: int) -> None:
    if isinstance(value, list) and all(_is_named(item) for item in value):
        value = {item["name"]: {k: v for k, v in item.items() if k != "name"} for item in value}
    if not isinstance(value, Mapping):
        return
    fields = {name: item for name, item in value.items() if isinstance(name, str)}
    fixed["properties"] = {
        name: _normalise_subschema(item, depth) for name, item in fields.items()
    }
    marked = [  # drafts before 4 mark the property itself as required
        name
        for name, item in fields.items()
        if isinstance(item, Mapping) and item.get("required") is True
    ]
    if marked:
        fixed["required"] = list(dict.fromkeys([*fixed.get("required", []), *marked]))


def _is_named(item: object) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("name"), str)


def _read_required(key: str, value: object, fixed: dict[str, Any], _: int) -> None:
    if isinstance(value, bool):
        return
    names = _filter_strings([value] if isinstance(value, str) else value)
    if names or value == []:
        fixed[key] = list(dict.fromkeys([*fixed.get(key, []), *names]))


def _read_schema(key: str, value: object, fixed: dict[str, Any], depth: int) -> None:
    if key == "items" and isinstance(value, list):  # drafts before 2020-12
        _read_schema_list("prefixItems", value, fixed, depth)
    else:
        fixed[key] = _normalise_subschema(value, depth)


def _read_schema_list(key: str, value: object, fixed: dict[str, Any], depth: int) -> None:
    if isinstance(value, list) and value:
        fixed[key] = [_normalise_subschema(item, depth) for item in value]


def _read_schema_map(key: str, value: object, fixed: dict[str, Any], depth: int) -> None:
    if isinstance(value, Mapping):
        fixed[key] = {
            name: _normalise_subschema(v, depth)
            for name, v in value.items()
            if isinstance(name, str)
        }


def _read_dependencies(_: str, value: object, fixed: dict[str, Any], depth: int) -> None:
    """Split into `dependentRequired` and `dependentSchemas`, as draft 2019-09 did."""
    entries = dict(value) if isinstance(value, Mapping) else {}
    lists = {name: item for name, item in entries.items() if isinstance(item, list)}
    if lists:
        _read_value("dependentRequired", lists, fixed, depth)
    if len(lists) < len(entries):
        rest = {name: item for name, item in entries.items() if name not in lists}
        _read_schema_map("dependentSchemas", rest, fixed, depth)


def _read_value(key: str, value: object, fixed: dict[str, Any], _: int) -> None:
    converted = _CONVERTERS[key](value)
    if converted is not None:
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


_CONVERTERS: Final[Mapping[str, Callable[[object], Any]]] = {
    "dependentRequired": _convert_name_lists,
    "enum": _convert_enum,
    **dict.fromkeys(("minimum", "maximum"), _parse_number),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), _convert_exclusive),
    "multipleOf": _convert_divisor,
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        _convert_count,
    ),
    **dict.fromkeys(("minContains", "maxContains"), _convert_count),
    **dict.fromkeys(
        ("$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "format", "pattern"),
        lambda value: value if isinstance(value, str) else None,
    ),
    "uniqueItems": lambda value: value if isinstance(value, bool) else None,
}
"""Converter of a keyword's value; it returns None for one that cannot be interpreted."""
_KeywordReader = Callable[[str, object, dict[str, Any], int], None]
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
