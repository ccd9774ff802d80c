"""List the tools that can replace another one, for one caller."""

from __future__ import annotations

from collections.abc import Callable

from graph.enhance import alternatives
from graph.topology import Topology
from tools.catalogue import CatalogueTool
from tools.visibility import Visibility


def list_alternatives(
    tool: CatalogueTool,
    topology: Topology,
    visibility: Visibility,
    *,
    describe_trouble: Callable[[str], object],
    is_asked: bool = True,
) -> tuple[str, ...]:
    """Return the ids of tools that can replace a tool; those on unreliable servers come last.

    Successors come first, then alternatives, then tools of the same name on other servers,
    trusted servers before the rest. Any server can copy a name to be offered as a replacement:
    unless the caller asked for alternatives, namesakes on untrusted servers are left out.

    Args:
        tool: The tool to replace.
        topology: Relations as the caller sees them.
        visibility: What the caller may see.
        describe_trouble: Why a server is unreliable, by name; falsy if it is healthy.
        is_asked: Whether the caller asked for alternatives.
    """
    related = alternatives.find_alternatives(topology, tool.pk, usable=visibility.is_usable)
    found = [
        other
        for alternative in related
        if (other := visibility.find_tool(alternative.tool)) is not None
    ]
    namesakes = [
        other for other in visibility.find_namesakes(tool) if visibility.is_usable(other.pk)
    ]
    trusted = [other for other in namesakes if visibility.catalogue.servers[other.server].trusted]
    found += [*trusted, *(namesakes if is_asked else ())]
    distinct = {other.tool: other for other in found}.values()
    return tuple(
        other.tool for other in sorted(distinct, key=lambda o: bool(describe_trouble(o.server)))
    )
