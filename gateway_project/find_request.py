"""What is looked for, as whoever looks for it says."""

from __future__ import annotations

from dataclasses import dataclass

from gateway_project.tool_card import Detail


@dataclass(frozen=True, kw_only=True)
class FindRequest:
    """What is looked for.

    Attributes:
        query: In words.
        limit: Matches wanted at most.
        server: Only tools of this server.
        category: Only tools of this category.
        token_budget: Tokens the answer's tools may cost; None: the installation's budget.
        detail: How much is told of each tool.
        context_tools: Ids of tools the caller uses or considers already.
    """

    query: str
    limit: int
    server: str | None = None
    category: str | None = None
    token_budget: int | None = None
    detail: Detail = "summary"
    context_tools: tuple[str, ...] = ()
