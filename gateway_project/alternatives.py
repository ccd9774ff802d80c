"""Which tools may do instead of another, as one caller sees them."""

from __future__ import annotations

from collections.abc import Callable

from gateway_project.sight import Sight
from graph.enhance import instead
from graph.topology import Topology
from tools.catalogue import CatalogueTool


def alternatives(
    tool: CatalogueTool,
    topology: Topology,
    sight: Sight,
    *,
    troubled: Callable[[str], object],
    is_asked: bool = True,
) -> tuple[str, ...]:
    """Return the ids of tools that may do instead, those of servers in trouble last.

    What supersedes it comes first, then alternatives, then its namesakes on other servers, those
    of trusted ones before the rest. Any server can take a name to be offered instead of another:
    unless they are asked for, namesakes on servers that nobody trusts are left out.

    Args:
        tool: Which is to be replaced.
        topology: Relations as the caller sees them.
        sight: What the caller may see.
        troubled: Why a server cannot be relied on, by name; empty if it can.
        is_asked: Whether the caller wants to know, or is told unasked.
    """
    related = instead.alternatives(topology, tool.pk, usable=sight.usable)
    found = [other for one in related if (other := sight.tool(one.tool)) is not None]
    namesakes = [other for other in sight.namesakes(tool) if sight.usable(other.pk)]
    trusted = [other for other in namesakes if sight.catalogue.servers[other.server].trusted]
    found += [*trusted, *(namesakes if is_asked else ())]
    kept = {other.tool: other for other in found}.values()
    return tuple(other.tool for other in sorted(kept, key=lambda o: bool(troubled(o.server))))
