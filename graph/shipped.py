"""Recognise well-known public servers in the catalogue, and return their shipped relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from graph.record import RelationClaim
from graph.relations import SHIPPED, RelationKind
from graph.shipped_table import (
    KNOWN_SERVERS,
    RELATIONS_BETWEEN_SERVERS,
    ShippedRelation,
    ShippedServer,
)
from tools.catalogue import Catalogue, CatalogueTool

ORIGIN: Final = SHIPPED
"""Origin of the evidence, which is curated."""
MIN_TYPICAL_SHARE: Final = 0.7
"""Share of a known server's typical tools that a server must have; versions differ."""
MIN_TYPICAL_TOOLS: Final = 3
MIN_KNOWN_SHARE: Final = 0.5
"""Share of a server's tools that must be known, if the known server has few typical tools."""

ToolsByName = Mapping[str, CatalogueTool]
"""The tools of one server by name."""


def find_shipped_relations(catalogue: Catalogue) -> list[RelationClaim]:
    """Return the shipped relations of the servers in the catalogue; O(tools).

    A server is recognised by the names of its tools, since its own name is the user's choice.
    Anybody can choose such names, so relations between two servers apply only if both are
    trusted; tools that no caller sees together get none.

    Returns:
        One claim per pair of tools and kind, sorted by source, target and kind.
    """
    found: dict[str, list[ToolsByName]] = {known: [] for known in KNOWN_SERVERS}
    for tools in _group_by_server(catalogue.tools.values()):
        for name, known in KNOWN_SERVERS.items():
            if _matches_server(known, tools):
                found[name].append(tools)
    claims = [
        claim
        for name, known in KNOWN_SERVERS.items()
        for tools in found[name]
        for claim in _iterate_claims(known.relations, tools, tools)
    ]
    for (source_name, target_name), relations in RELATIONS_BETWEEN_SERVERS.items():
        for tools in found[source_name]:
            for target_tools in found[target_name]:
                if tools is not target_tools and _is_trusted(catalogue, tools, target_tools):
                    claims += _iterate_claims(relations, tools, target_tools)
    return sorted(claims, key=lambda claim: claim.key)


def _is_trusted(catalogue: Catalogue, *servers: ToolsByName) -> bool:
    names = {tool.server for tools in servers for tool in tools.values()}
    return all(name in catalogue.servers and catalogue.servers[name].trusted for name in names)


def _group_by_server(tools: Iterable[CatalogueTool]) -> Iterable[ToolsByName]:
    servers: dict[str, dict[str, CatalogueTool]] = {}
    for tool in tools:
        servers.setdefault(tool.server, {})[tool.name] = tool
    return servers.values()


def _matches_server(known: ShippedServer, tools: ToolsByName) -> bool:
    present = known.typical_tools & tools.keys()
    if len(present) < MIN_TYPICAL_SHARE * len(known.typical_tools):
        return False
    if len(known.typical_tools) < MIN_TYPICAL_TOOLS and len(present) < MIN_KNOWN_SHARE * len(
        tools
    ):
        return False
    return all(
        _has_parameter(tools.get(name), parameter) for name, parameter in known.required_parameters
    )


def _has_parameter(tool: CatalogueTool | None, parameter: str) -> bool:
    properties = tool.input_schema.get("properties") if tool is not None else None
    return isinstance(properties, Mapping) and parameter in properties


def _iterate_claims(
    relations: Iterable[ShippedRelation], sources: ToolsByName, targets: ToolsByName
) -> Iterator[RelationClaim]:
    for shipped in relations:
        source, target = sources.get(shipped.source), targets.get(shipped.target)
        if source is None or target is None or not _is_visible_together(source, target):
            continue
        yield RelationClaim(
            source=source.pk,
            target=target.pk,
            kind=shipped.kind,
            confidence=shipped.confidence,
            required=shipped.kind is not RelationKind.DEPENDS_ON,
            reason=shipped.reason,
        )


def _is_visible_together(source: CatalogueTool, target: CatalogueTool) -> bool:
    return source.team is None or target.team is None or source.team == target.team
