"""The tools of a catalogue by primary key, as one caller sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway_project.foundation.caller import Caller
from tools.catalogue import Catalogue, CatalogueTool

if TYPE_CHECKING:
    from tools.search import Hit

_STATES: Final[Mapping[str, str]] = {
    "pending": "waits for an admin to approve it",
    "quarantined": "changed and waits for an admin to approve it",
    "removed": "is no longer offered by its server",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Sight:
    """What a caller may know of tools that relations name by their keys.

    Attributes:
        catalogue: All servers and tools.
        caller: Who looks.
    """

    catalogue: Catalogue
    caller: Caller

    def tool(self, pk: int) -> CatalogueTool | None:
        """Return a tool, usable or not, that the caller may know of."""
        found = _by_pk(self.catalogue).get(pk)
        return found if found is not None and self.caller.sees(found.team) else None

    def known(self, hits: Iterable[Hit]) -> list[tuple[Hit, CatalogueTool]]:
        """Return hits with their tools; one that is not in memory yet is left out."""
        found = ((hit, self.catalogue.tools.get(hit.tool)) for hit in hits)
        return [(hit, tool) for hit, tool in found if tool and self.caller.sees(tool.team)]

    def usable(self, pk: int) -> bool:
        """Whether the caller may call a tool now."""
        tool = self.tool(pk)
        return tool is not None and not self.obstacle(tool)

    def obstacle(self, tool: CatalogueTool) -> str:
        """Say why nobody may call a tool now; empty if there is no reason."""
        server = self.catalogue.servers.get(tool.server)
        if server is None or not server.enabled:
            return "belongs to a server that is switched off"
        if tool.state != "active":
            return _STATES.get(tool.state, f"is {tool.state}")
        return "" if tool.enabled else "is switched off"

    def vouched(self, one: int, other: int) -> bool:
        """Whether what servers say of two tools is believed: of their own, or where trusted."""
        tools = (self.tool(one), self.tool(other))
        servers = {tool.server for tool in tools if tool is not None}
        return len(servers) == 1 or all(self.catalogue.servers[name].trusted for name in servers)

    def namesakes(self, tool: CatalogueTool) -> tuple[CatalogueTool, ...]:
        """Return the tools of the same name on other servers that the caller may know of."""
        found = _by_name(self.catalogue).get(tool.name, ())
        return tuple(o for o in found if o.tool != tool.tool and self.caller.sees(o.team))

    def name(self, pk: int) -> str:
        """Return the canonical id of a tool; of one that the caller may not know, none."""
        tool = self.tool(pk)
        return tool.tool if tool is not None else "another tool"


def _by_pk(catalogue: Catalogue) -> Mapping[int, CatalogueTool]:
    key = "tools_by_pk"
    if key not in catalogue.derived:
        catalogue.derived[key] = {tool.pk: tool for tool in catalogue.tools.values()}
    found: Mapping[int, CatalogueTool] = catalogue.derived[key]
    return found


def _by_name(catalogue: Catalogue) -> Mapping[str, list[CatalogueTool]]:
    key = "tools_by_name"
    if key not in catalogue.derived:
        by_name: dict[str, list[CatalogueTool]] = {}
        for _, tool in sorted(catalogue.tools.items()):
            by_name.setdefault(tool.name, []).append(tool)
        catalogue.derived[key] = by_name
    found: Mapping[str, list[CatalogueTool]] = catalogue.derived[key]
    return found
