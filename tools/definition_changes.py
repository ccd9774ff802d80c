"""Differences between two definitions of a tool, and which of them a person may ignore.

Some servers build a default or a description from a set, so that its order changes at each start.
Such a place can be ignored when a listing is compared with the approved definition. Only
descriptions, defaults, examples, the order of enumerations and members of `_meta` are ignorable;
names, types, required properties and annotations always count.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from gateway_project.foundation import canonical
from gateway_project.foundation.text import shorten
from tools import scan
from tools.definition import Definition, find_differing_fields, make_storable
from tools.hidden_text import reveal_hidden

MAX_PLACES: Final = 8
"""Limit of reported changed places."""
MAX_SHOWN_CHARS: Final = 80
"""Characters shown of a changed value."""

_TEXT_KEYWORDS: Final = frozenset({"description", "default", "example", "examples"})
_SCHEMA_KEYWORDS: Final = frozenset(
    {
        "items", "additionalItems", "additionalProperties", "unevaluatedItems",
        "unevaluatedProperties", "contains", "propertyNames", "not", "if", "then", "else",
    }
)  # fmt: skip
_SCHEMA_MAP_KEYWORDS: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)
_SCHEMA_LIST_KEYWORDS: Final = frozenset({"items", "prefixItems", "anyOf", "oneOf", "allOf"})


class _Part(Enum):
    """Kind of a node in a definition."""

    DEFINITION = 0
    SCHEMA = 1
    SCHEMAS_BY_NAME = 2
    SCHEMA_LIST = 3
    TEXT = 4
    ENUMERATION = 5
    OTHER = 6
    EXTRAS = 7
    METADATA = 8


_IGNORABLE: Final = frozenset({_Part.TEXT, _Part.ENUMERATION})
_FIELD_PARTS: Final = {
    _Part.DEFINITION: {
        "description": _Part.TEXT,
        "input_schema": _Part.SCHEMA,
        "output_schema": _Part.SCHEMA,
        "extras": _Part.EXTRAS,
    },
    _Part.EXTRAS: {"_meta": _Part.METADATA},
}
"""Kinds of known members."""
_MEMBER_PARTS: Final = {_Part.SCHEMAS_BY_NAME: _Part.SCHEMA, _Part.METADATA: _Part.TEXT}
"""Kind of all members, whatever they are called."""


@dataclass(frozen=True, kw_only=True)
class DefinitionChange:
    """A place in which two definitions differ.

    Attributes:
        pointer: JSON pointer into the definition, such as `/input_schema/properties/a/default`.
        before: Value in the older one, as shortened JSON; empty if absent.
        after: Value in the newer one, likewise.
        is_ignorable: Whether it may be ignored in comparisons.
    """

    pointer: str
    before: str
    after: str
    is_ignorable: bool


class NotIgnorable(ValueError):
    """A place to be ignored is not ignorable, or does not exist."""

    def __init__(self, pointer: str) -> None:
        super().__init__(
            f"{pointer!r} cannot be left out: only descriptions, defaults, examples, members of "
            "_meta and the order of enumerations can, and only where the definition has one"
        )


def find_changes(old: Definition, new: Definition) -> tuple[DefinitionChange, ...]:
    """Return all differences between two definitions, ordered by pointer.

    Example:
        >>> [change.pointer for change in find_changes(
        ...     Definition(name="a", input_schema={"properties": {"b": {"default": "x,y"}}}),
        ...     Definition(name="a", input_schema={"properties": {"b": {"default": "y,x"}}}))]
        ['/input_schema/properties/b/default']
    """
    found = _iterate_changes(
        _definition_document(old), _definition_document(new), _Part.DEFINITION, ()
    )
    return tuple(sorted(found, key=lambda change: change.pointer))


def require_ignorable(definition: Definition, pointers: Collection[str]) -> None:
    """Check that places may be ignored.

    Raises:
        NotIgnorable: For the first one that may not.
    """
    document = _definition_document(definition)
    for pointer in pointers:
        if _locate(document, pointer) is None:
            raise NotIgnorable(pointer)


def filter_ignorable(definition: Definition, pointers: Collection[str]) -> tuple[str, ...]:
    """Return the ignorable ones of some places."""
    document = _definition_document(definition)
    return tuple(pointer for pointer in pointers if _locate(document, pointer) is not None)


def find_changed_places(approved: Definition, listed: Definition) -> tuple[str, ...]:
    """Return pointers to the changed places, cut to the approved definition.

    Names that exist only in the newer definition are cut off: they are not approved for models.

    Example:
        >>> old = Definition(name="a", input_schema={"properties": {}})
        >>> new = Definition(name="a", input_schema={"properties": {"obey me": {}}})
        >>> find_changed_places(old, new)
        ('/input_schema/properties',)
    """
    document = _definition_document(approved)
    found = (_cut_pointer(document, change.pointer) for change in find_changes(approved, listed))
    return tuple(dict.fromkeys(found))[:MAX_PLACES]


def _cut_pointer(document: Any, pointer: str) -> str:
    """Cut a pointer to its longest prefix that exists in a document."""
    while pointer:
        try:
            canonical.resolve_pointer(document, pointer)
        except canonical.PointerError:
            pointer = pointer.rpartition("/")[0]
        else:
            break
    return pointer


def comparable_hash(definition: Definition, ignored: Collection[str]) -> str:
    """Return the hash of a definition without the values of some places.

    The presence of a value, its JSON type, and the members of an enumeration still count.

    Args:
        definition: The definition.
        ignored: JSON pointers; those that are not ignorable or do not exist have no effect.
    """
    document = _definition_document(definition)
    places = [_locate(document, pointer) for pointer in ignored]
    for place in places:
        if place is not None:
            container, key, part = place
            container[key] = _make_placeholder(container[key], part)
    return canonical.hash_json(document)


def is_accepted(
    pinned: Definition,
    listed: Definition,
    ignored: Collection[str],
    *,
    foreign: frozenset[str] = frozenset(),
) -> bool:
    """Whether a definition differs from the pinned one in ignored places only, and harmlessly.

    A new text in an ignored place must not contain anything that would block a new tool from
    automatic approval, such as hidden characters or instructions to a model.

    Args:
        pinned: The approved definition.
        listed: The definition that its server lists now.
        ignored: JSON pointers to places that may differ.
        foreign: Names of other servers' tools, for the scan.
    """
    if not ignored:
        return False
    compared = replace(listed, extras=None) if pinned.extras is None else listed
    if comparable_hash(pinned, ignored) != comparable_hash(compared, ignored):
        return False
    return not adds_severe_finding(pinned, listed, foreign=foreign)


def adds_severe_finding(
    pinned: Definition, listed: Definition, *, foreign: frozenset[str] = frozenset()
) -> bool:
    """Whether a definition has a severe finding that the pinned one does not have."""
    known = {_finding_key(finding) for finding in scan.scan_definition(pinned, foreign=foreign)}
    found = scan.scan_definition(listed, foreign=foreign)
    return scan.is_severe(finding for finding in found if _finding_key(finding) not in known)


def _finding_key(finding: Mapping[str, str]) -> tuple[str, ...]:
    return (finding["kind"], finding["place"], finding["excerpt"])


def _definition_document(definition: Definition) -> dict[str, Any]:
    """Return a definition as a new JSON document, as it would be stored."""
    document: dict[str, Any] = make_storable(definition.as_document())
    return document


def _child_part(part: _Part, key: str | int, value: Any) -> _Part:
    """Return the kind of a child node."""
    if part in _FIELD_PARTS:
        return _FIELD_PARTS[part].get(str(key), _Part.OTHER)
    if part in _MEMBER_PARTS:
        return _MEMBER_PARTS[part]
    if part is _Part.SCHEMA:
        return _keyword_part(str(key), value)
    if part is _Part.SCHEMA_LIST and isinstance(key, int):
        return _Part.SCHEMA
    return _Part.OTHER


def _keyword_part(name: str, value: Any) -> _Part:
    if name in _TEXT_KEYWORDS:
        return _Part.TEXT
    if name == "enum" and isinstance(value, list):
        return _Part.ENUMERATION
    if name in _SCHEMA_MAP_KEYWORDS:
        return _Part.SCHEMAS_BY_NAME
    if name in _SCHEMA_LIST_KEYWORDS and isinstance(value, list):
        return _Part.SCHEMA_LIST
    return _Part.SCHEMA if name in _SCHEMA_KEYWORDS and isinstance(value, dict) else _Part.OTHER


def _locate(document: Any, pointer: str) -> tuple[Any, str | int, _Part] | None:
    """Return a place's container, key and kind; None if the place is not ignorable."""
    first, *tokens = pointer.split("/")
    if first or not tokens:
        return None
    part, node = _Part.DEFINITION, document
    container: Any = None
    key: str | int = ""
    for token in tokens:
        container = node
        key = _container_key(container, token)
        if part in _IGNORABLE or key == -1:
            return None
        node = container[key]
        part = _child_part(part, key, node)
    return (container, key, part) if part in _IGNORABLE else None


def _container_key(container: Any, token: str) -> str | int:
    """Return the key or index of a pointer token; -1 if the container lacks it."""
    if isinstance(container, dict):
        name = canonical.unescape_token(token)
        return name if name in container else -1
    if isinstance(container, list) and token in map(str, range(len(container))):
        return int(token)
    return -1


def _make_placeholder(value: Any, part: _Part) -> Any:
    if part is _Part.ENUMERATION:
        return sorted(value, key=canonical.dumps)
    return {"left out": _json_type(value)}


def _json_type(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "boolean" if value is not None else "null"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _iterate_changes(
    old: Any, new: Any, part: _Part, path: tuple[str | int, ...]
) -> Iterator[DefinitionChange]:
    if canonical.dumps(old) == canonical.dumps(new):
        return
    if part in _IGNORABLE:
        yield _make_change(old, new, part, path)
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            if key in old and key in new:
                yield from _iterate_changes(
                    old[key], new[key], _common_child_part(part, key, old, new), (*path, key)
                )
            else:
                yield _make_one_sided_change(old, new, key, path)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _iterate_changes(
                before, after, _child_part(part, index, before), (*path, index)
            )
    else:
        yield _make_change(old, new, _Part.OTHER, path)


def _common_child_part(part: _Part, key: str, old: Any, new: Any) -> _Part:
    """Return the kind of a child node that is the same in both definitions, else `OTHER`."""
    before, after = _child_part(part, key, old[key]), _child_part(part, key, new[key])
    return before if before is after else _Part.OTHER


def _make_one_sided_change(
    old: Any, new: Any, key: str, path: tuple[str | int, ...]
) -> DefinitionChange:
    return DefinitionChange(
        pointer=canonical.build_pointer((*path, key)),
        before=_format_value(old[key]) if key in old else "",
        after=_format_value(new[key]) if key in new else "",
        is_ignorable=False,
    )


def _make_change(old: Any, new: Any, part: _Part, path: tuple[str | int, ...]) -> DefinitionChange:
    is_ignorable = part in _IGNORABLE and (
        canonical.dumps(_make_placeholder(old, part))
        == canonical.dumps(_make_placeholder(new, part))
    )
    return DefinitionChange(
        pointer=canonical.build_pointer(path),
        before=_format_value(old),
        after=_format_value(new),
        is_ignorable=is_ignorable,
    )


def _format_value(value: Any) -> str:
    return shorten(reveal_hidden(canonical.dumps(value)), MAX_SHOWN_CHARS)


def render_diff_lines(old: Definition, new: Definition) -> list[str]:
    """Return the differing fields as a unified diff, with hidden characters revealed.

    Example:
        >>> render_diff_lines(Definition(name="x", title="a"), Definition(name="x", title="b"))
        ['title', '-a', '+b']
    """
    lines: list[str] = []
    for name in find_differing_fields(old, new):
        before, after = (
            _format_field(old, name).splitlines(),
            _format_field(new, name).splitlines(),
        )
        diff = list(difflib.unified_diff(before, after, n=2, lineterm=""))
        lines += [name, *(line for line in diff[2:] if not line.startswith("@@"))]
    return lines


def _format_field(definition: Definition, field: str) -> str:
    value = definition.as_document()[field]
    return reveal_hidden(
        value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    )
