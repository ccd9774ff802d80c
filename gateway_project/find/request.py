"""A request to find tools."""

from __future__ import annotations

from dataclasses import dataclass

from gateway_project.find.tool_card import Detail


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
