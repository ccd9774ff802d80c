"""Follows JSON pointers through a tool's output schema, before there is a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gateway_project.foundation import canonical

SchemaAlternatives = tuple[Mapping[str, Any], ...]
"""Alternative schemas of a value; none: no such value exists."""

ANY_SCHEMA: Final[SchemaAlternatives] = ({},)
MAX_POINTER_STEPS: Final = 50
"""Pointer steps followed; anything may lie deeper."""
MAX_ALTERNATIVES: Final = 100
"""Alternatives examined; beyond that, any value is assumed."""
MAX_WORKFLOW_ALTERNATIVES: Final = 200_000
"""Alternatives examined per workflow, for all pointers; some tenths of a second."""
_COMBINATORS: Final = ("anyOf", "oneOf", "allOf")
_CONSTRAINING_KEYWORDS: Final = (
    "type",
    "properties",
    "items",
    "prefixItems",
    "additionalProperties",
)


@dataclass(kw_only=True)
class WorkBudget:
    """The remaining budget of alternatives to examine.

    Attributes:
        remaining: Count; below 0, any value is assumed.
    """

    remaining: int = MAX_WORKFLOW_ALTERNATIVES


@dataclass(kw_only=True)
class _SchemaNode:
    """A node of a result: its alternatives, and its examined children."""

    alternatives: SchemaAlternatives
    children: dict[str, _SchemaNode] = field(default_factory=dict)


class OutputSchema:
    """A tool's output schema; shared steps of many pointers are followed once.

    Args:
        schema: The normalised schema.
        budget: Shared by all schemas of a workflow.
    """

    def __init__(self, schema: Mapping[str, Any], budget: WorkBudget) -> None:
        self._schema = schema
        self._budget = budget
        self._root = _SchemaNode(alternatives=_expand_alternatives((schema,), schema, budget))

    def resolve_schemas(self, pointer: str) -> SchemaAlternatives:
        """Return the possible schemas at a pointer into a result; none if it leads nowhere.

        A property that the schema does not name is assumed absent, unless it mentions additional
        ones: servers seldom exclude them explicitly, and seldom send any.

        Example:
            >>> listed = {"properties": {"ids": {"type": "array", "items": {"type": "integer"}}}}
            >>> output = OutputSchema(listed, WorkBudget())
            >>> output.resolve_schemas("/ids/0"), output.resolve_schemas("/names")
            (({'type': 'integer'},), ())
        """
        node = self._root
        for index, token in enumerate(pointer.split("/")[1:]):
            if index >= MAX_POINTER_STEPS or ANY_SCHEMA[0] in node.alternatives:
                return ANY_SCHEMA
            child = node.children.get(token)
            if child is None:
                child = node.children[token] = _SchemaNode(
                    alternatives=self._resolve_step(node.alternatives, token)
                )
            node = child
        return node.alternatives

    def resolve_item_schemas(self, pointer: str) -> SchemaAlternatives:
        """Return the possible schemas of items of the list at a pointer; none: it is no list."""
        lists = [
            schema_part
            for schema_part in self.resolve_schemas(pointer)
            if allows_type(schema_part, "array")
        ]
        found = [schema_part.get("items", {}) for schema_part in lists]
        inner = [schema_part for schema_part in found if isinstance(schema_part, Mapping)]
        return _expand_alternatives(inner, self._schema, self._budget)

    def _resolve_step(self, alternatives: SchemaAlternatives, token: str) -> SchemaAlternatives:
        step = canonical.unescape_token(token)
        inner = [
            below
            for schema_part in alternatives
            for below in _iterate_step_schemas(schema_part, step)
        ]
        return _expand_alternatives(inner, self._schema, self._budget)


def allows_type(schema: Mapping[str, Any], kind: str) -> bool:
    """Whether a schema allows values of a type.

    Example:
        >>> (allows_type({"type": ["array", "null"]}, "array"),
        ...  allows_type({"properties": {}}, "array"))
        (True, False)
    """
    values = schema.get("type")
    if values is None:
        return kind == "object" if "properties" in schema else True
    return kind in (values if isinstance(values, list) else [values])


def _iterate_step_schemas(schema: Mapping[str, Any], step: str) -> Iterator[Mapping[str, Any]]:
    """Yield the possible schemas one step deeper."""
    if allows_type(schema, "object"):
        yield from _iterate_property_schemas(schema, step)
    is_index = step.isascii() and step.isdecimal() and (step == "0" or step[0] != "0")
    if allows_type(schema, "array") and is_index and "properties" not in schema:
        yield from _iterate_schemas([schema.get("items", {})])
        yield from _iterate_schemas(schema.get("prefixItems", ()))


def _iterate_property_schemas(schema: Mapping[str, Any], step: str) -> Iterator[Mapping[str, Any]]:
    fields = schema.get("properties", {})
    rest = schema.get("additionalProperties", not fields)
    if step in fields:
        yield from _iterate_schemas([fields[step]])
    elif schema.get("patternProperties"):
        yield {}
    elif rest is not False:
        yield from _iterate_schemas([rest])


def _iterate_schemas(values: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    for schema_part in values:
        if schema_part is True:
            yield {}
        elif isinstance(schema_part, Mapping):
            yield schema_part


def _expand_alternatives(
    alternatives: Sequence[Mapping[str, Any]], root: Mapping[str, Any], budget: WorkBudget
) -> SchemaAlternatives:
    """Expand schemas: follow local references, and separate alternatives."""
    waiting, found = list(reversed(alternatives)), []
    examined = 0
    while waiting:
        schema_part = waiting.pop()
        examined += 1
        budget.remaining -= 1
        if examined > MAX_ALTERNATIVES or budget.remaining < 0:
            return ANY_SCHEMA
        inner = _find_alternatives(schema_part, root)
        if inner is None:
            found.append(
                schema_part if any(key in schema_part for key in _CONSTRAINING_KEYWORDS) else {}
            )
        else:
            budget.remaining -= len(inner)
            waiting.extend(reversed(inner))
    return tuple(found)


def _find_alternatives(
    schema: Mapping[str, Any], root: Mapping[str, Any]
) -> list[Mapping[str, Any]] | None:
    """Return a schema's parts; None: it has none. Parts of `allOf` count as alternatives."""
    target = schema.get("$ref")
    if isinstance(target, str):
        return [_resolve_local_ref(target, root)]
    parts = [
        part
        for keyword in _COMBINATORS
        if isinstance(schema.get(keyword), list)
        for part in _iterate_schemas(schema[keyword])
    ]
    if not parts:
        return None
    own = {key: value for key, value in schema.items() if key not in _COMBINATORS}
    return [*parts, own] if "properties" in own or "items" in own else parts


def _resolve_local_ref(target: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    if not target.startswith("#"):
        return {}
    try:
        found = canonical.resolve_pointer(root, target[1:])
    except canonical.PointerError:
        return {}
    return found if isinstance(found, Mapping) else {}
