"""All tools of a server, page by page, with whatever is wrong with them said."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from mcp_types import Tool
from pydantic import ValidationError

from tools.upstream.limits import Limits
from tools.upstream.status import ServerInfo

Page = Callable[[str | None], Awaitable[dict[str, Any]]]
"""Fetches the page at a cursor, the first one at None, as the raw result of tools/list."""


@dataclass(frozen=True, kw_only=True)
class ToolListing(Sequence[Tool]):
    """What a server offers; itself the sequence of its tools.

    Attributes:
        tools: In the server's order, each name once.
        complete: Whether this is all of it; if not, a tool that is missing may still exist.
        problems: What was wrong with the listing, a line each.
        instructions: What the server says about how to use it, empty if nothing.
        server_info: How it names itself, if it does.
        protocol_version: Version the listing was fetched with.
    """

    tools: tuple[Tool, ...]
    complete: bool = True
    problems: tuple[str, ...] = ()
    instructions: str = ""
    server_info: ServerInfo | None = None
    protocol_version: str = ""

    @overload
    def __getitem__(self, index: int) -> Tool: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Tool]: ...
    def __getitem__(self, index: int | slice) -> Tool | Sequence[Tool]:
        return self.tools[index]

    def __len__(self) -> int:
        return len(self.tools)


@dataclass(kw_only=True)
class _Gathered:
    tools: dict[str, Tool] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    complete: bool = True
    entries: int = 0

    def stop(self, problem: str) -> None:
        self.problems.append(problem)
        self.complete = False

    def add(self, raw: Any) -> None:
        try:
            tool = Tool.model_validate(raw, by_name=False)
        except ValidationError as error:
            self.problems.append(f"{_name(raw)} is left out: {_first(error)}")
            return
        if tool.name in self.tools:
            self.problems.append(f"tool {tool.name!r} is listed more than once; the first counts")
        else:
            self.tools[tool.name] = tool


async def gather_tools(page: Page, *, limits: Limits) -> ToolListing:
    """Fetch all pages of a listing.

    A listing that does not end, or is too long, is cut and marked as incomplete; a tool that is
    malformed is left out alone.

    Args:
        page: Fetches one page.
        limits: How many pages and tools at most.
    """
    gathered = _Gathered()
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(limits.max_list_pages):
        result = await page(cursor)
        _add_page(result, gathered, limits)
        cursor = _next_cursor(result, gathered)
        if cursor is None or not gathered.complete:
            break
        if cursor in seen:
            gathered.stop("the list of tools repeats a cursor and would never end; it was cut")
            break
        seen.add(cursor)
    else:
        gathered.stop(f"the list of tools has more than {limits.max_list_pages} pages; it was cut")
    return ToolListing(
        tools=tuple(gathered.tools.values()),
        complete=gathered.complete,
        problems=tuple(gathered.problems),
    )


def _add_page(result: dict[str, Any], gathered: _Gathered, limits: Limits) -> None:
    tools = result.get("tools")
    if not isinstance(tools, list):
        gathered.stop("the answer to tools/list holds no list of tools")
        return
    for raw in tools:
        gathered.entries += 1
        if gathered.entries > limits.max_tools:
            gathered.stop(f"the server lists more than {limits.max_tools} tools; the rest is cut")
            return
        gathered.add(raw)


def _next_cursor(result: dict[str, Any], gathered: _Gathered) -> str | None:
    cursor = result.get("nextCursor")
    if cursor is None or isinstance(cursor, str):
        return cursor
    gathered.stop("the cursor of the list of tools is not text; the rest is cut")
    return None


def _name(raw: Any) -> str:
    name = raw.get("name") if isinstance(raw, dict) else None
    return f"tool {name!r}" if isinstance(name, str) else "a tool without a name"


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the definition"
    return f"{place}: {first['msg'].lower()}"
