"""List the fields that a JSON Schema describes, with JSON pointers to them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from gateway_project.foundation import canonical, schema_normalise

MAX_FIELDS = 400
"""Fields of one schema that are read, the outermost first."""
MAX_STEPS = 4_000
"""Parts of one schema that are visited."""
MAX_DEPTH = 8
MAX_NAME = 120
"""Characters of a field's name; longer keys are skipped."""
_BRANCH_KEYWORDS: Final = ("allOf", "anyOf", "oneOf")


class SchemaField(NamedTuple):
    """A field with a name.

    Attributes:
        pointer: JSON pointer; `*` matches any item of an array.
        owner: Name of the nearest enclosing object with a name; empty at the root.
        types: JSON types; for a list, those of its items; empty: any.
        format: As in JSON Schema; may be empty.
        is_choice: Whether the schema enumerates its values.
        is_container: Whether it has fields of its own.
    """

    pointer: str
    name: str
    owner: str
    types: frozenset[str]
    format: str
    is_required: bool
    is_choice: bool
    is_container: bool


class _SchemaPart(NamedTuple):
    """A part of a schema that is still to be visited."""

    schema: Mapping[str, Any]
    pointer: str
    name: str
    owner: str
    depth: int
    is_required: bool
    enclosing_ids: frozenset[int] = frozenset()
    """Identities of the referenced schemas around it."""


def read_fields(schema: object) -> list[SchemaField]:
    """Return the named fields of a schema, outermost first; never raises.

    Local references are followed, recursive ones once. The root may describe a list, as results
    often are.

    Args:
        schema: A schema from a server, or an observed shape.

    Example:
        >>> [f.pointer for f in read_fields({"type": "array",
        ...     "items": {"properties": {"id": {}}}})]
        ['/*/id']
    """
    if not isinstance(schema, Mapping):
        return []
    is_array = schema.get("type") == "array"
    return _walk_schema(schema_normalise.normalise(schema, is_result=is_array))


def _walk_schema(root: Mapping[str, Any]) -> list[SchemaField]:
    fields: list[SchemaField] = []
    holders: set[str] = set()
    queue = deque([_SchemaPart(root, "", "", "", 0, False)])
    steps = 0
    while queue and steps < MAX_STEPS and len(fields) < MAX_FIELDS:
        steps += 1
        part = queue.popleft()
        views = _subschemas_of(part, root)
        if part.name and not part.pointer.endswith("/*"):
            fields.append(_make_field(part, views))
            holders.add(part.pointer.rpartition("/")[0])
        if part.depth < MAX_DEPTH:
            around = part.enclosing_ids.union(id(view) for view in views)
            queue.extend(islice(_child_parts(part, views, around), MAX_FIELDS))
    lists = {place.removesuffix("/*") for place in holders}
    return [f._replace(is_container=f.is_container or f.pointer in lists) for f in fields]


def _subschemas_of(part: _SchemaPart, root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a part with its reference targets and branches, each once, without recursion."""
    found: list[Mapping[str, Any]] = []
    seen = set(part.enclosing_ids)
    queue = [part.schema]
    while queue and len(found) < MAX_DEPTH:
        view = queue.pop(0)
        if id(view) in seen:
            continue
        seen.add(id(view))
        found.append(view)
        target = _resolve_reference(view.get("$ref"), root)
        if target is not None:
            queue.append(target)
        for key in _BRANCH_KEYWORDS:
            branches = view.get(key)
            if isinstance(branches, list):
                queue.extend(branch for branch in branches if isinstance(branch, Mapping))
    return found


def _resolve_reference(reference: object, root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    place: Any = root
    for step in reference[2:].split("/"):
        name = canonical.unescape_token(step)
        if not isinstance(place, Mapping) or name not in place:
            return None
        place = place[name]
    return place if isinstance(place, Mapping) else None


def _child_parts(
    part: _SchemaPart, views: list[Mapping[str, Any]], around: frozenset[int]
) -> Iterator[_SchemaPart]:
    owner = part.name or part.owner
    for view in views:
        required = view.get("required")
        names = frozenset(required) if isinstance(required, list) else frozenset()
        for name, inner in (view.get("properties") or {}).items():
            if isinstance(inner, Mapping) and len(name) <= MAX_NAME:
                pointer = f"{part.pointer}/{canonical.escape_token(name)}"
                yield _SchemaPart(
                    inner, pointer, name, owner, part.depth + 1, name in names, around
                )
        items = view.get("items")
        if isinstance(items, Mapping):
            pointer = f"{part.pointer}/*"
            yield _SchemaPart(items, pointer, part.name, owner, part.depth + 1, False, around)


def _make_field(part: _SchemaPart, views: list[Mapping[str, Any]]) -> SchemaField:
    types = frozenset[str]().union(*(_schema_types(view) for view in views))
    if "array" in types:
        items = [v["items"] for v in views if isinstance(v.get("items"), Mapping)]
        types = frozenset[str]().union(*(_schema_types(item) for item in items))
    formats = (view.get("format") for view in views)
    return SchemaField(
        pointer=part.pointer,
        name=part.name,
        owner=part.owner,
        types=types - {"null"},
        format=next((f for f in formats if isinstance(f, str)), ""),
        is_required=part.is_required,
        is_choice="boolean" in types or any("enum" in v or "const" in v for v in views),
        is_container="object" in types,
    )


def _schema_types(schema: Mapping[str, Any]) -> frozenset[str]:
    given = schema.get("type", ())
    return frozenset((given,) if isinstance(given, str) else given)
