"""Render a described tool's relations for clients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from gateway_project.find.relation_words import MAX_VERSION_CHARS, phrase_relation
from graph.relations import Relation, RelationKind, is_server_guess
from graph.topology import Topology
from tools.catalogue import CatalogueTool
from tools.foreign_text import is_instruction, quote_foreign
from tools.visibility import Visibility

MAX_RELATIONS: Final = 20
"""Relations listed of a described tool; a hub may have thousands."""
MAX_FIELDS: Final = 5
MAX_POINTER_CHARS: Final = 100
"""Characters of both pointers of a field pair: servers may choose any names."""
MIN_GUESS_CONFIDENCE: Final = 0.4
"""Minimum confidence of a listed data flow that only servers' texts support."""
_TEXT_LIMITS: Final = {
    "reason": 200,
    "version": MAX_VERSION_CHARS,
    "deprecated_at": MAX_VERSION_CHARS,
}
_NUMBER_KEYS: Final = ("seconds", "successes", "failures")
_DIGITS: Final = 2


def relation_rows(
    tool: CatalogueTool, topology: Topology, visibility: Visibility
) -> list[dict[str, Any]]:
    """Return a tool's relations to tools visible to the caller, strongest first."""
    return list(islice(_iterate_rows(tool, topology, visibility), MAX_RELATIONS))


def _iterate_rows(
    tool: CatalogueTool, topology: Topology, visibility: Visibility
) -> Iterator[dict[str, Any]]:
    for relation in sorted(topology.relations_of(tool.pk), key=_sort_key):
        other = visibility.find_tool(
            relation.target if relation.source == tool.pk else relation.source
        )
        if other is not None and _is_reported(relation):
            yield _relation_row(relation, tool, other, visibility)


def _is_reported(relation: Relation) -> bool:
    is_flow = relation.kind is RelationKind.PROVIDES
    return (
        not is_flow or relation.confidence >= MIN_GUESS_CONFIDENCE or not is_server_guess(relation)
    )


def _sort_key(relation: Relation) -> tuple[float, str, int, int]:
    return (-relation.confidence, relation.kind, relation.source, relation.target)


def _relation_row(
    relation: Relation, tool: CatalogueTool, other: CatalogueTool, visibility: Visibility
) -> dict[str, Any]:
    is_source = relation.source == tool.pk
    row: dict[str, Any] = {
        "says": phrase_relation(relation, tool.pk, visibility),
        "kind": relation.kind.value,
        "source": tool.tool if is_source else other.tool,
        "target": other.tool if is_source else tool.tool,
        "confidence": round(relation.confidence, _DIGITS),
        "sources": [source.value for source in relation.sources],
    }
    if relation.kind is RelationKind.DEPENDS_ON:
        row["required"] = relation.required
    if obstacle := visibility.find_obstacle(other):
        row["unusable"] = f"{other.tool} {obstacle}"
    return row | _detail_fields(relation.detail)


def _detail_fields(detail: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {
        key: quote_foreign(detail[key], most=most)
        for key, most in _TEXT_LIMITS.items()
        if detail.get(key)
    }
    if fields := list(islice(_iterate_safe_fields(detail.get("fields") or ()), MAX_FIELDS)):
        row["fields"] = fields
    for key in _NUMBER_KEYS:
        if detail.get(key) is not None:
            row[key] = round(detail[key], 1)
    return row


def _iterate_safe_fields(fields: Iterable[Mapping[str, str]]) -> Iterator[dict[str, str]]:
    """Yield the field pairs that are names; pairs that contain sentences are left out."""
    for pair in fields:
        text = " ".join(pair.values())
        if len(text) <= MAX_POINTER_CHARS and not is_instruction(text):
            yield {key: quote_foreign(value) for key, value in pair.items()}
