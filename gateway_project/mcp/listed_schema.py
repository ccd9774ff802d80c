"""Schemas of listed tools, in a form that strict clients compile.

One schema that a client cannot read makes it drop the whole list. The official TypeScript client
parses every definition by zod and compiles output schemas by Ajv of draft-07 with `u` regular
expressions; the Python client checks them by their meta-schema and matches by `re`. What one of
them refuses is left out here, so that the schema accepts more, never less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from gateway_project.foundation.schema_normalise import normalise

_Pointer = tuple[str, ...]

_SCHEMA_MAPS: Final = frozenset(
    {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)
_SCHEMA_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SCHEMAS: Final = frozenset(
    {"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
_REFUSED_KEYWORDS: Final = frozenset(
    # Ajv keeps identifiers of all tools of a client in one table, so two tools can conflict.
    {"$dynamicAnchor", "$dynamicRef", "$id", "$recursiveAnchor", "$recursiveRef"}
    | {"$async", "$vocabulary", "id", "contentSchema"}
    | {"formatExclusiveMaximum", "formatExclusiveMinimum", "formatMaximum", "formatMinimum"}
)
_KEYWORD_TYPES: Final[Mapping[str, type]] = {
    **dict.fromkeys(("$comment", "contentEncoding", "contentMediaType"), str),
    **dict.fromkeys(("description", "title"), str),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly"), bool),
    "examples": list,
}
_DIALECTS: Final = (
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2020-12/schema",
)
_ANCHOR: Final = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_REFERENCE: Final = re.compile(r"#(?:/[\w$~%.+-]*)*", re.ASCII)
_SHARED_PATTERN: Final = re.compile(
    r"""(?:
        (?:
            [^\\^$.*+?()\[\]{}|]                          # a character
          | \\ [dDwWsStnrfv/^$\\.*+?()\[\]{}|]
          | \\ (?: x[0-9a-fA-F]{2} | u(?![dD][89a-fA-F])[0-9a-fA-F]{4} )
          | \[ \^?                                        # a set, without operators of sets
            (?: (?!--|&&|~~|\|\|) [^\\\[\]]
              | \\ (?: [dDwWsStnrfv/^$\\.*+?()\[\]{}|-] | x[0-9a-fA-F]{2} )
            )+ \]
          | \. | \)
        )
        (?: (?: [*+?] | \{\d{1,5}(?:,\d{0,5})?\} ) \?? )?
      | \( (?: \?: | \?<?[=!] )?                          # a group, or a look around
      | [\^$|] | \\[bB]
    )*""",
    re.VERBOSE,
)
"""Regular expressions that ECMAScript (with the flag `u`) and Python both read."""
_REPEATED_GROUP: Final = re.compile(r"\)[*+?{]")
_LOOK_AROUND: Final = re.compile(r"\(\?<?[=!]")
MAX_PATTERN_LENGTH: Final = 1_000
MAX_ROUNDS: Final = 8
"""Rounds in which references are left out; the last keeps none."""


def adapt_schema(published: Mapping[str, Any], *, is_result: bool = False) -> dict[str, Any]:
    """Return a schema in a form that strict clients compile; what they take is not changed.

    Args:
        published: The schema as approved.
        is_result: Whether it describes a result, whose root need not be an object.

    Returns:
        A schema of draft 2020-12, or the published one; every value that is valid by the
        published schema is valid by it.

    Example:
        >>> adapt_schema({"type": "object", "properties": {"a": True, "b": {"$ref": "#/$defs/B"}}})
        {'type': 'object', 'properties': {'a': {}, 'b': {}}}
    """
    normal = normalise(published, is_result=is_result)
    pointers = _list_pointers(normal)
    for rounds_left in reversed(range(MAX_ROUNDS)):
        adapted = _adapt_part(normal, pointers)
        left = _list_pointers(adapted)
        if pointers <= left:
            break
        # References to what was left out lead nowhere now.
        pointers = pointers & left if rounds_left > 1 else set()
    _keep_first_anchors(adapted)
    compared = {key: value for key, value in published.items() if key != "$schema"}
    dialect = published.get("$schema", _DIALECTS[-1])
    if adapted == compared and dialect in _DIALECTS:
        return dict(published)
    is_stated = "$schema" in published and dialect == _DIALECTS[-1]
    return {"$schema": dialect, **adapted} if is_stated else adapted


def _list_pointers(schema: Any) -> set[_Pointer]:
    """Return the JSON Pointers of a normalised schema and of its subschemas."""
    return {pointer for pointer, _ in _iterate_parts(schema)}


def _iterate_parts(schema: Any) -> Iterator[tuple[_Pointer, Any]]:
    pending: list[tuple[_Pointer, Any]] = [((), schema)]
    while pending:
        pointer, part = pending.pop()
        yield pointer, part
        for key, value in part.items() if isinstance(part, dict) else ():
            if key in _SCHEMA_MAPS:
                pending += (((*pointer, key, name), item) for name, item in value.items())
            elif key in _SCHEMA_LISTS:
                pending += (((*pointer, key, str(i)), item) for i, item in enumerate(value))
            elif key in _SCHEMAS:
                pending.append(((*pointer, key), value))


def _keep_first_anchors(adapted: dict[str, Any]) -> None:
    """Leave out anchors that Ajv refuses: those of another form, or used before."""
    found: set[str] = set()
    for _, part in _iterate_parts(adapted):
        if isinstance(part, dict) and "$anchor" in part:
            anchor = part["$anchor"]
            if not isinstance(anchor, str) or not _ANCHOR.fullmatch(anchor) or anchor in found:
                del part["$anchor"]
            else:
                found.add(anchor)


def _adapt_part(schema: Any, pointers: set[_Pointer], *, has_own_base: bool = False) -> Any:
    """Adapt a normalised schema or subschema.

    Args:
        schema: The subschema.
        pointers: What references may lead to.
        has_own_base: Whether an `$id` below the root changes what references are relative to.
    """
    if not isinstance(schema, dict):
        return schema

    def adapt(key: str, value: Any) -> Any:
        if key in _SCHEMA_MAPS:
            return {name: adapt_part(item) for name, item in value.items()}
        if key in _SCHEMA_LISTS:
            return [adapt_part(item) for item in value]
        return adapt_part(value) if key in _SCHEMAS else value

    def adapt_part(part: Any) -> Any:
        is_based = has_own_base or (isinstance(part, dict) and "$id" in part)
        return _adapt_part(part, pointers, has_own_base=is_based)

    adapted = {key: adapt(key, item) for key, item in schema.items() if _is_accepted(key, item)}
    if "$ref" in adapted and (has_own_base or _parse_reference(adapted["$ref"]) not in pointers):
        del adapted["$ref"]
    _replace_misread(adapted)
    _keep_lenient(adapted, schema)
    return adapted


def _replace_misread(adapted: dict[str, Any]) -> None:
    """Replace keywords that some clients read by older rules."""
    if "nullable" in adapted and not (adapted["nullable"] is True and "type" in adapted):
        del adapted["nullable"]
    if "properties" in adapted:  # zod takes no boolean there
        for name, item in adapted["properties"].items():
            if isinstance(item, bool):
                adapted["properties"][name] = {} if item else {"not": {}}
    if "prefixItems" in adapted and "items" in adapted:  # draft-07 applies it to all items
        adapted["items"] = {}


def _is_accepted(key: str, value: Any) -> bool:
    if key == "pattern":
        return _is_shared_pattern(value)
    return key not in _REFUSED_KEYWORDS and isinstance(value, _KEYWORD_TYPES.get(key, object))


def _keep_lenient(adapted: dict[str, Any], schema: Mapping[str, Any]) -> None:
    """Leave out what would accept less since a part of it accepts more."""
    patterns = adapted.get("patternProperties", {})
    if unread := [pattern for pattern in patterns if not _is_shared_pattern(pattern)]:
        adapted["patternProperties"] = {
            pattern: item for pattern, item in patterns.items() if pattern not in unread
        }
        for rest in ("additionalProperties", "unevaluatedProperties"):
            adapted.pop(rest, None)
    if adapted.get("not") != schema.get("not"):
        del adapted["not"]
    if adapted.get("if") != schema.get("if"):
        for key in ("if", "then", "else"):
            adapted.pop(key, None)
    if adapted.get("oneOf") != schema.get("oneOf"):
        adapted.setdefault("anyOf", adapted.pop("oneOf"))


def _parse_reference(reference: str) -> _Pointer | None:
    """Return the JSON Pointer of a reference; None if clients would read it differently."""
    if not _REFERENCE.fullmatch(reference):
        return None
    parts = unquote(reference[1:]).split("/")[1:]
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


def _is_shared_pattern(pattern: str) -> bool:
    """Whether ECMAScript (with the flag `u`) and Python both read a regular expression."""
    if len(pattern) > MAX_PATTERN_LENGTH or not _SHARED_PATTERN.fullmatch(pattern):
        return False
    if _LOOK_AROUND.search(pattern) and _REPEATED_GROUP.search(pattern):
        return False  # ECMAScript repeats no look around
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True
