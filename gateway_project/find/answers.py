"""What a search and a description of a tool answer, and their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway_project.find import tool_card
from gateway_project.find.tool_card import Detail, ToolCard
from gateway_project.foundation.text import strip_invisible, strip_invisible_deep
from tools.catalogue import CatalogueServer, CatalogueTool
from tools.definition import cut_picture


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """Tools found for a query, within the token budget.

    Attributes:
        tools: Matches, best first, each followed by its required and related tools.
        run_order: Ids of the tools that relations order, in an order in which they can run.
        tokens_used: Tokens of this answer's tools, run order and warnings.
        tokens_budget: Upper limit of `tokens_used`.
        omitted_count: Matches that did not fit the budget.
        tokens_listing_all: Tokens that listing every tool would take.
        warnings: Limitations of the search and unknown names in the request.
        instructions: What the servers of the tools say about their use, by name.
    """

    tools: tuple[ToolCard, ...]
    run_order: tuple[str, ...]
    tokens_used: int
    tokens_budget: int
    omitted_count: int
    tokens_listing_all: int
    warnings: tuple[str, ...]
    instructions: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return it as clients see it."""
        answer = {
            "tools": [card.as_json() for card in self.tools],
            "run_order": list(self.run_order),
            "tokens": {
                "used": self.tokens_used,
                "budget": self.tokens_budget,
                "left_out": self.omitted_count,
                "listing_all": self.tokens_listing_all,
            },
            "warnings": list(self.warnings),
        }
        return answer | ({"instructions": dict(self.instructions)} if self.instructions else {})


@dataclass(frozen=True, kw_only=True)
class ToolDescription:
    """A tool with its server, relations and alternatives.

    Attributes:
        tool: From the catalogue.
        server: Its server.
        trouble: Why the server is unreliable right now; empty if it is healthy.
        warnings: Reasons against calling it, from relations.
        relations: Its relations to tools visible to the caller, strongest first.
        alternatives: Ids of tools that can replace it.
        instructions: What its server says about its use; empty: nothing.
    """

    tool: CatalogueTool
    server: CatalogueServer
    trouble: str
    warnings: tuple[str, ...]
    relations: tuple[Mapping[str, Any], ...]
    alternatives: tuple[str, ...]
    instructions: str = ""

    def as_json(self, name: str) -> dict[str, Any]:
        """Return it as clients see it.

        Args:
            name: Exposed name of the tool.
        """
        tool, server = self.tool, self.server
        return {
            "tool": tool.tool,
            "name": name,
            "title": strip_invisible(tool.title),
            "description": strip_invisible(tool.description),
            "input_schema": strip_invisible_deep(tool.input_schema),
            "output_schema": strip_invisible_deep(tool.output_schema),
            "annotations": strip_invisible_deep(tool.annotations),
            **({"extras": describe_extras(tool.extras)} if tool.extras else {}),
            "server": {
                "name": server.name,
                "description": strip_invisible(server.description),
                **({"instructions": self.instructions} if self.instructions else {}),
                "trusted": server.trusted,
                "enabled": server.enabled,
                "trouble": self.trouble,
            },
            "category": tool.category,
            "state": tool.state if tool.enabled else "disabled",
            "reads": not tool.read_doubt,
            "danger": {"level": tool.danger.value, "reasons": list(tool.danger_reasons)},
            "warnings": [*self.warnings, *tool_card.list_cautions(tool)],
            "relations": [dict(relation) for relation in self.relations],
            "alternatives": list(self.alternatives),
            "tokens": tool.token_count,
        }


def describe_extras(extras: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition's other members without the data of embedded pictures."""
    described: dict[str, Any] = strip_invisible_deep(extras)
    if icons := described.get("icons"):
        described["icons"] = [{**icon, "src": cut_picture(icon["src"])} for icon in icons]
    return described


@dataclass(frozen=True, kw_only=True)
class FindRequest:
    """A search for tools, as the caller states it.

    Attributes:
        query: The task, in words.
        limit: Maximum number of matches.
        server: Only tools of this server.
        category: Only tools of this category.
        token_budget: Upper limit of the answer's tokens; None: the installation's budget.
        detail: Level of detail of each tool.
        context_tools: Ids of tools the caller already uses or considers.
    """

    query: str
    limit: int
    server: str | None = None
    category: str | None = None
    token_budget: int | None = None
    detail: Detail = "summary"
    context_tools: tuple[str, ...] = ()
