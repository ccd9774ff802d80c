"""Follow a JSON pointer through the schema of a tool's result, before there is a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from gateway_project.foundation import canonical

Forms = tuple[Mapping[str, Any], ...]
"""Schemas of which a value has to fit one; none: there is no such value."""

ANYTHING: Final[Forms] = ({},)
MAX_STEPS: Final = 50
"""Steps of a pointer that are followed; what lies deeper may be anything."""
MAX_FORMS: Final = 100
"""Forms that are looked at; with more of them it may be anything."""
_FORMS: Final = ("anyOf", "oneOf", "allOf")
_JUDGING: Final = ("type", "properties", "items", "prefixItems", "additionalProperties")


def follow(schema: Mapping[str, Any], pointer: str) -> Forms:
    """Return what may be where a pointer leads in a result; nothing where its schema has no place.

    A property that the schema does not name has no place, unless it tells of further ones:
    servers seldom say that there are no others, and seldom send any.

    Args:
        schema: Of the result, normalised.
        pointer: A JSON pointer.

    Example:
        >>> listed = {"properties": {"ids": {"type": "array", "items": {"type": "integer"}}}}
        >>> follow(listed, "/ids/0"), follow(listed, "/names")
        (({'type': 'integer'},), ())
    """
    forms = _expanded((schema,), schema)
    for place, token in enumerate(pointer.split("/")[1:]):
        if place >= MAX_STEPS or ANYTHING[0] in forms:
            return ANYTHING
        step = canonical.unescape(token)
        forms = _expanded([inner for one in forms for inner in _members(one, step)], schema)
    return forms


def items(schema: Mapping[str, Any], pointer: str) -> Forms:
    """Return what may be an item of the list that a pointer leads to; nothing if it is no list."""
    lists = [one for one in follow(schema, pointer) if may_be(one, "array")]
    found = [one.get("items", {}) for one in lists]
    return _expanded([one for one in found if isinstance(one, Mapping)], schema)


def may_be(schema: Mapping[str, Any], kind: str) -> bool:
    """Whether a schema allows values of a type.

    Example:
        >>> may_be({"type": ["array", "null"]}, "array"), may_be({"properties": {}}, "array")
        (True, False)
    """
    given = schema.get("type")
    if given is None:
        return kind == "object" if "properties" in schema else True
    return kind in (given if isinstance(given, list) else [given])


def _members(schema: Mapping[str, Any], step: str) -> Iterator[Mapping[str, Any]]:
    """Yield what may be one step further inside a value."""
    if may_be(schema, "object"):
        yield from _property(schema, step)
    is_index = step.isascii() and step.isdecimal() and (step == "0" or step[0] != "0")
    if may_be(schema, "array") and is_index and "properties" not in schema:
        yield from _only_schemas([schema.get("items", {})])
        yield from _only_schemas(schema.get("prefixItems", ()))


def _property(schema: Mapping[str, Any], step: str) -> Iterator[Mapping[str, Any]]:
    fields = schema.get("properties", {})
    rest = schema.get("additionalProperties", not fields)
    if step in fields:
        yield from _only_schemas([fields[step]])
    elif schema.get("patternProperties"):
        yield {}
    elif rest is not False:
        yield from _only_schemas([rest])


def _only_schemas(given: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    for one in given:
        if one is True:
            yield {}
        elif isinstance(one, Mapping):
            yield one


def _expanded(forms: Sequence[Mapping[str, Any]], root: Mapping[str, Any]) -> Forms:
    """Return forms with references inside the schema followed and alternatives apart."""
    waiting, found = list(reversed(forms)), []
    looked_at = 0
    while waiting:
        one = waiting.pop()
        looked_at += 1
        if looked_at > MAX_FORMS:
            return ANYTHING
        inner = _inner(one, root)
        if inner is None:
            found.append(one if any(key in one for key in _JUDGING) else {})
        else:
            waiting.extend(reversed(inner))
    return tuple(found)


def _inner(schema: Mapping[str, Any], root: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """Return what a schema stands for; None: itself. Of all that has to fit, each part is one."""
    target = schema.get("$ref")
    if isinstance(target, str):
        return [_local(target, root)]
    parts = [
        part
        for keyword in _FORMS
        if isinstance(schema.get(keyword), list)
        for part in _only_schemas(schema[keyword])
    ]
    if not parts:
        return None
    own = {key: value for key, value in schema.items() if key not in _FORMS}
    return [*parts, own] if "properties" in own or "items" in own else parts


def _local(target: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    if not target.startswith("#"):
        return {}
    try:
        found = canonical.resolve(root, target[1:])
    except canonical.PointerError:
        return {}
    return found if isinstance(found, Mapping) else {}
