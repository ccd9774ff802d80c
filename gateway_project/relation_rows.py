"""A described tool's relations, as clients are told them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from gateway_project.foreign_text import instructs, told
from gateway_project.relation_words import MAX_VERSION, says
from gateway_project.sight import Sight
from graph.relations import Kind, Relation, is_guess
from graph.topology import Topology
from tools.catalogue import CatalogueTool

MAX_RELATIONS: Final = 20
"""Of a described tool; a hub may have thousands."""
MAX_FIELDS: Final = 5
MAX_POINTERS: Final = 100
"""Fields told of a relation, and characters of both ends: servers may choose any names."""
LEAST_GUESSED: Final = 0.4
"""Confidence from which a data flow is told that only servers speak for."""
_TEXTS: Final = {"reason": 200, "version": MAX_VERSION, "deprecated_at": MAX_VERSION}
_NUMBERS: Final = ("seconds", "successes", "failures")
_DIGITS: Final = 2


def relations(tool: CatalogueTool, topology: Topology, sight: Sight) -> list[dict[str, Any]]:
    """Return what is known of a tool's relations to tools the caller may know; strongest first."""
    return list(islice(_rows(tool, topology, sight), MAX_RELATIONS))


def _rows(tool: CatalogueTool, topology: Topology, sight: Sight) -> Iterator[dict[str, Any]]:
    for relation in sorted(topology.of(tool.pk), key=_strength):
        other = sight.tool(relation.target if relation.source == tool.pk else relation.source)
        if other is not None and _is_worth_telling(relation):
            yield _row(relation, tool, other, sight)


def _is_worth_telling(relation: Relation) -> bool:
    is_flow = relation.kind is Kind.PROVIDES
    return not is_flow or relation.confidence >= LEAST_GUESSED or not is_guess(relation)


def _strength(relation: Relation) -> tuple[float, str, int, int]:
    return (-relation.confidence, relation.kind, relation.source, relation.target)


def _row(
    relation: Relation, tool: CatalogueTool, other: CatalogueTool, sight: Sight
) -> dict[str, Any]:
    is_source = relation.source == tool.pk
    row: dict[str, Any] = {
        "says": says(relation, tool.pk, sight),
        "kind": relation.kind.value,
        "source": tool.tool if is_source else other.tool,
        "target": other.tool if is_source else tool.tool,
        "confidence": round(relation.confidence, _DIGITS),
        "sources": [source.value for source in relation.sources],
    }
    if relation.kind is Kind.DEPENDS_ON:
        row["required"] = relation.required
    if obstacle := sight.obstacle(other):
        row["unusable"] = f"{other.tool} {obstacle}"
    return row | _detail(relation.detail)


def _detail(detail: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        key: told(detail[key], most=most) for key, most in _TEXTS.items() if detail.get(key)
    }
    if fields := list(islice(_fields(detail.get("fields") or ()), MAX_FIELDS)):
        found["fields"] = fields
    for key in _NUMBERS:
        if detail.get(key) is not None:
            found[key] = round(detail[key], 1)
    return found


def _fields(fields: Iterable[Mapping[str, str]]) -> Iterator[dict[str, str]]:
    """Yield the pairs that are names; what a server made of sentences is left out."""
    for pair in fields:
        text = " ".join(pair.values())
        if len(text) <= MAX_POINTERS and not instructs(text):
            yield {key: told(value) for key, value in pair.items()}
