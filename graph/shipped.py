"""Find well-known public servers in the catalogue, and how their tools relate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from graph import record
from graph.record import Claim
from graph.relations import Kind
from graph.shipped_table import ACROSS, SERVERS, Known, KnownServer
from tools.catalogue import Catalogue, CatalogueTool

ORIGIN: Final = record.SHIPPED
"""Origin of the evidence, which is curated."""
SHARE_OF_MARKS: Final = 0.7
"""Of a known server's names that a server must have; versions differ."""
FEW_MARKS: Final = 3
SHARE_OF_TOOLS: Final = 0.5
"""Of a server's own tools that must be known ones, where its known names are few and common."""

Tools = Mapping[str, CatalogueTool]
"""Tools of one server by name."""


def matching(catalogue: Catalogue) -> list[Claim]:
    """Return the relations shipped for servers that are in the catalogue.

    A server is told by the names of its tools, since its own is its user's choice. Anybody can
    choose such names, so relations between two servers hold only where a person trusts both; and
    they are left out where no caller sees both. O(tools).

    Returns:
        One claim for each pair of tools and kind, by source, target and kind.
    """
    found: dict[str, list[Tools]] = {known: [] for known in SERVERS}
    for tools in _by_server(catalogue.tools.values()):
        for name, known in SERVERS.items():
            if _is(known, tools):
                found[name].append(tools)
    claims = [
        claim
        for name, known in SERVERS.items()
        for tools in found[name]
        for claim in _claims(known.relations, tools, tools)
    ]
    for (one, other), relations in ACROSS.items():
        for tools in found[one]:
            for others in found[other]:
                if tools is not others and _is_trusted(catalogue, tools, others):
                    claims += _claims(relations, tools, others)
    return sorted(claims, key=lambda claim: claim.key)


def _is_trusted(catalogue: Catalogue, *servers: Tools) -> bool:
    names = {tool.server for tools in servers for tool in tools.values()}
    return all(name in catalogue.servers and catalogue.servers[name].trusted for name in names)


def _by_server(tools: Iterable[CatalogueTool]) -> Iterable[Tools]:
    servers: dict[str, dict[str, CatalogueTool]] = {}
    for tool in tools:
        servers.setdefault(tool.server, {})[tool.name] = tool
    return servers.values()


def _is(known: KnownServer, tools: Tools) -> bool:
    present = known.marks & tools.keys()
    if len(present) < SHARE_OF_MARKS * len(known.marks):
        return False
    if len(known.marks) < FEW_MARKS and len(present) < SHARE_OF_TOOLS * len(tools):
        return False
    return all(_takes(tools.get(name), parameter) for name, parameter in known.parameters)


def _takes(tool: CatalogueTool | None, parameter: str) -> bool:
    properties = tool.input_schema.get("properties") if tool is not None else None
    return isinstance(properties, Mapping) and parameter in properties


def _claims(relations: Iterable[Known], sources: Tools, targets: Tools) -> Iterator[Claim]:
    for known in relations:
        source, target = sources.get(known.source), targets.get(known.target)
        if source is None or target is None or not _seen_together(source, target):
            continue
        yield Claim(
            source=source.pk,
            target=target.pk,
            kind=known.kind,
            confidence=known.confidence,
            required=known.kind is not Kind.DEPENDS_ON,
            reason=known.reason,
        )


def _seen_together(one: CatalogueTool, other: CatalogueTool) -> bool:
    return one.team is None or other.team is None or one.team == other.team
