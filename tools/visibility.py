"""One caller's view of the catalogue, with tools by primary key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway_project.foundation.caller import Caller
from tools import ui_pages
from tools.catalogue import Catalogue, CatalogueTool
from tools.danger import SEVERITY, Danger

if TYPE_CHECKING:
    from tools.search import SearchHit

_STATE_TEXTS: Final[Mapping[str, str]] = {
    "pending": "waits for an admin to approve it",
    "quarantined": "changed and waits for an admin to approve it",
    "removed": "is no longer offered by its server",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Visibility:
    """Which tools a caller may know of, looked up by primary key.

    Attributes:
        catalogue: All servers and tools.
        caller: The viewer.
    """

    catalogue: Catalogue
    caller: Caller

    def find_tool(self, pk: int) -> CatalogueTool | None:
        """Return a tool visible to the caller, usable or not."""
        tool = _index_by_pk(self.catalogue).get(pk)
        return tool if tool is not None and self.caller.can_see(tool) else None

    def is_changing(self, pk: int) -> bool:
        """Whether a tool's class, name or title says that it changes things.

        A tool of which nothing is known is not meant: most have no annotations.
        """
        tool = self.find_tool(pk)
        return tool is not None and (
            tool.vetoed or SEVERITY[tool.danger] >= SEVERITY[Danger.DESTRUCTIVE]
        )

    def resolve_hits(self, hits: Iterable[SearchHit]) -> list[tuple[SearchHit, CatalogueTool]]:
        """Return hits with their tools, without those that are not in memory yet, or for pages."""
        pairs = ((hit, self.catalogue.tools.get(hit.tool)) for hit in hits)
        visible = [(hit, tool) for hit, tool in pairs if tool and self.caller.can_see(tool)]
        return [(hit, tool) for hit, tool in visible if tool.is_for_models]

    def collect_group_tools(self) -> frozenset[int] | None:
        """Return the primary keys of the only tools that exist for the caller.

        Returns:
            None if the caller is limited to no group.
        """
        if self.caller.group is None:
            return None
        key = ("group_tools", self.caller.team, self.caller.group)
        cache = self.catalogue.derived_cache
        if key not in cache:
            tools = self.catalogue.tools.values()
            cache[key] = frozenset(tool.pk for tool in tools if self.caller.can_see(tool))
        found: frozenset[int] = cache[key]
        return found

    def may_destroy(self, pk: int) -> bool:
        """Whether a tool visible to the caller is destructive or dangerous."""
        tool = self.find_tool(pk)
        return tool is not None and tool.danger.may_destroy

    def only_read(self, tools: Iterable[str]) -> bool:
        """Whether all these tools only read, by their ids; False for those unknown."""
        found = [self.catalogue.tools.get(one) for one in tools]
        return all(tool is not None and not tool.read_doubt for tool in found)

    def is_usable(self, pk: int) -> bool:
        """Whether the caller may call a tool now."""
        tool = self.find_tool(pk)
        return tool is not None and not self.find_obstacle(tool)

    def find_obstacle(self, tool: CatalogueTool) -> str:
        """Return why no model may call a tool now; empty if it can be called."""
        server = self.catalogue.servers.get(tool.server)
        if server is None or not server.enabled:
            return "belongs to a server that is disabled"
        if tool.state != "active":
            return _STATE_TEXTS.get(tool.state, f"is {tool.state}")
        if not tool.is_for_models:
            return "is for the pages of its server, not for models"
        return "" if tool.enabled else "is disabled"

    def is_trusted_pair(self, source: int, target: int) -> bool:
        """Whether declarations about two tools count: both are of one server, or all trusted."""
        tools = (self.find_tool(source), self.find_tool(target))
        servers = {tool.server for tool in tools if tool is not None}
        return len(servers) == 1 or all(self.catalogue.servers[name].trusted for name in servers)

    def find_namesakes(self, tool: CatalogueTool) -> tuple[CatalogueTool, ...]:
        """Return the visible tools of the same name on other servers."""
        same_name = _index_by_name(self.catalogue).get(tool.name, ())
        return tuple(
            other for other in same_name if other.tool != tool.tool and self.caller.can_see(other)
        )

    def find_for_pages(self, name: str) -> tuple[CatalogueTool, ...]:
        """Return the tools that a page may mean by a name: it knows those of its server alone."""
        return tuple(
            tool
            for tool in _index_by_name(self.catalogue).get(name, ())
            if tool.server in list_servers_with_pages(self.catalogue)
            and ui_pages.is_for_pages(tool.extras)
            and tool.is_usable
            and self.catalogue.servers[tool.server].enabled
            and self.caller.can_see(tool)
        )

    def get_tool_id(self, pk: int) -> str:
        """Return the canonical id of a tool, or "another tool" if the caller may not see it."""
        tool = self.find_tool(pk)
        return tool.tool if tool is not None else "another tool"


def list_servers_with_pages(catalogue: Catalogue) -> frozenset[str]:
    """Return the names of the servers of which a usable tool has a page (MCP Apps)."""
    key = "servers_with_pages"
    if key not in catalogue.derived_cache:
        usable = (tool for tool in catalogue.tools.values() if tool.is_usable)
        catalogue.derived_cache[key] = frozenset(
            tool.server for tool in usable if ui_pages.find_page(tool.extras)
        )
    found: frozenset[str] = catalogue.derived_cache[key]
    return found


def _index_by_pk(catalogue: Catalogue) -> Mapping[int, CatalogueTool]:
    key = "tools_by_pk"
    if key not in catalogue.derived_cache:
        catalogue.derived_cache[key] = {tool.pk: tool for tool in catalogue.tools.values()}
    found: Mapping[int, CatalogueTool] = catalogue.derived_cache[key]
    return found


def _index_by_name(catalogue: Catalogue) -> Mapping[str, list[CatalogueTool]]:
    key = "tools_by_name"
    if key not in catalogue.derived_cache:
        by_name: dict[str, list[CatalogueTool]] = {}
        for _, tool in sorted(catalogue.tools.items()):
            by_name.setdefault(tool.name, []).append(tool)
        catalogue.derived_cache[key] = by_name
    found: Mapping[str, list[CatalogueTool]] = catalogue.derived_cache[key]
    return found
