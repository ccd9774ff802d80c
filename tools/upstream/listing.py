"""All tools, resources or prompts of a server, page by page, with whatever is wrong said."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp_types import Tool
from pydantic import ValidationError

from gateway_project.foundation import schema
from tools.upstream import nesting
from tools.upstream.kinds import ITEMS, TOOLS, ItemKind, ListKind
from tools.upstream.limits import Limits
from tools.upstream.status import ServerInfo

Page = Callable[[str | None], Awaitable[dict[str, Any]]]
"""Fetches the page at a cursor, the first one at None, as the raw result."""

MAX_PROBLEMS = 100  # told of one listing
_REFERENCES = frozenset({"$ref", "$dynamicRef"})


@dataclass(frozen=True, kw_only=True)
class ToolListing(Sequence[Tool]):
    """What a server offers; itself the sequence of its tools.

    Attributes:
        tools: In the server's order, each name once.
        complete: Whether this is all of it; if not, a tool that is missing may still exist.
        problems: What was wrong with the listing, a line each.
        left_out: Names of tools that are listed but unusable as they are.
        ttl_s: Seconds it stays true for, as the server says; None if it does not.
        instructions: What the server says about how to use it, empty if nothing.
        server_info: How it names itself, if it does.
        protocol_version: Version the listing was fetched with.
        capabilities: Names of what it says it can do; None if it was not asked.
    """

    tools: tuple[Tool, ...]
    complete: bool = True
    problems: tuple[str, ...] = ()
    left_out: frozenset[str] = frozenset()
    ttl_s: float | None = None
    instructions: str = ""
    server_info: ServerInfo | None = None
    protocol_version: str = ""
    capabilities: frozenset[str] | None = None

    @overload
    def __getitem__(self, index: int) -> Tool: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Tool]: ...
    def __getitem__(self, index: int | slice) -> Tool | Sequence[Tool]:
        return self.tools[index]

    def __len__(self) -> int:
        return len(self.tools)


@dataclass(frozen=True, kw_only=True)
class Listing:
    """What a server offers of another kind than tools.

    Attributes:
        items: As they came, in the server's order, each name or address once.
        complete: Whether this is all of it.
        problems: What was wrong with the listing, a line each.
    """

    items: tuple[dict[str, Any], ...] = ()
    complete: bool = True
    problems: tuple[str, ...] = ()


class Unusable(Exception):
    """An entry of a listing that is left out; says why."""


@dataclass(kw_only=True)
class _Gathered:
    kind: ListKind
    limits: Limits
    read: Callable[[dict[str, Any]], Any]
    items: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)
    complete: bool = True
    entries: int = 0
    size: int = 0
    ttl_s: float | None = None

    def stop(self, problem: str) -> None:
        self.problems.append(problem)
        self.complete = False

    def add_page(self, result: dict[str, Any]) -> None:
        entries, most = result.get(self.kind.field), self.limits.max_listed
        if not isinstance(entries, list):
            self.stop(f"the answer to {self.kind.method} holds no list of {self.kind.plural}")
            return
        self._note_ttl(result.get("ttlMs"))
        for raw in entries:
            self.entries += 1
            if self.entries > most:
                self.stop(f"the server lists more than {most} {self.kind.plural}; the rest is cut")
                return
            self._add(raw)

    def cursor(self, result: dict[str, Any]) -> str | None:
        cursor = result.get("nextCursor")
        if cursor is None or isinstance(cursor, str):
            return cursor
        self.stop(f"the cursor of the list of {self.kind.plural} is not text; the rest is cut")
        return None

    def _add(self, raw: Any) -> None:
        try:
            key = self._require_sound(raw)
            item = self.read(raw)
        except Unusable as error:
            self._tell(f"{_shown(self.kind, raw)} is left out: {error}")
            self.left_out.update(_key(self.kind, raw))
            return
        if key in self.items:
            self._tell(f"{self.kind.noun} {key!r} is listed more than once; the first counts")
        else:
            self.items[key] = item

    def _tell(self, problem: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    def _require_sound(self, raw: Any) -> str:
        """Judge an entry before anything that recurses sees it."""
        limits = self.limits
        size = nesting.measure(
            raw, max_depth=limits.max_item_depth, max_bytes=limits.max_item_bytes
        )
        if size == "deep":
            raise Unusable(f"it is nested deeper than {limits.max_item_depth} levels")
        if size == "large":
            raise Unusable(f"it has more than {limits.max_item_bytes:,} bytes")
        self.size += size
        for member in self.kind.required:
            if not isinstance(raw, dict) or not isinstance(raw.get(member), str):
                raise Unusable(f"{member}: text is required")
        return str(raw[self.kind.key])

    def _note_ttl(self, ttl_ms: Any) -> None:
        if isinstance(ttl_ms, int | float) and not isinstance(ttl_ms, bool):
            ttl_s = max(0.0, ttl_ms / 1000)
            self.ttl_s = ttl_s if self.ttl_s is None else min(self.ttl_s, ttl_s)


async def gather_tools(page: Page, *, limits: Limits, over_http: bool = False) -> ToolListing:
    """Fetch all pages of the list of tools.

    A listing that does not end, or is too long, is cut and marked as incomplete; a tool that is
    malformed, too large, too deep or refers to other documents is left out alone.

    Args:
        page: Fetches one page.
        limits: How many pages and tools at most, and how large.
        over_http: Whether a tool must be left out whose arguments cannot be sent as headers as
            it wishes.
    """

    def read(raw: dict[str, Any]) -> Tool:
        return _tool(raw, over_http=over_http)

    gathered = await _gather(page, _Gathered(kind=TOOLS, limits=limits, read=read))
    return ToolListing(
        tools=tuple(gathered.items.values()),
        complete=gathered.complete,
        problems=tuple(gathered.problems),
        left_out=frozenset(gathered.left_out - gathered.items.keys()),
        ttl_s=gathered.ttl_s,
    )


async def gather_items(page: Page, kind: ItemKind, *, limits: Limits) -> Listing:
    """Fetch all pages of another list, in the same way."""
    gathered = await _gather(
        page, _Gathered(kind=ITEMS[kind], limits=limits, read=lambda raw: raw)
    )
    return Listing(
        items=tuple(gathered.items.values()),
        complete=gathered.complete,
        problems=tuple(gathered.problems),
    )


async def _gather(page: Page, gathered: _Gathered) -> _Gathered:
    limits, plural = gathered.limits, gathered.kind.plural
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(limits.max_list_pages):
        result = await page(cursor)
        gathered.add_page(result)
        cursor = gathered.cursor(result)
        if cursor is None or not gathered.complete:
            return gathered
        if cursor in seen:
            gathered.stop(f"the list of {plural} repeats a cursor and would never end; it was cut")
            return gathered
        if gathered.size > limits.max_listing_bytes:
            gathered.stop(
                f"the list of {plural} has more than {limits.max_listing_bytes:,} bytes; "
                "it was cut"
            )
            return gathered
        seen.add(cursor)
    gathered.stop(f"the list of {plural} has more than {limits.max_list_pages} pages; it was cut")
    return gathered


def _tool(raw: dict[str, Any], *, over_http: bool) -> Tool:
    try:
        tool = Tool.model_validate(raw, by_name=False)
    except ValidationError as error:
        raise Unusable(_first(error)) from None
    for published in (tool.input_schema, tool.output_schema):
        if published is not None and _refers_outside(published):
            try:
                schema.check(published)
            except schema.SchemaUnusable as error:
                raise Unusable(str(error)) from None
    if over_http and (reason := find_invalid_x_mcp_header(tool.input_schema)) is not None:
        raise Unusable(f"its arguments cannot be sent as headers: {reason}")
    return tool


def _refers_outside(published: Mapping[str, Any]) -> bool:
    """Whether a reference may lead elsewhere; whether it does is for a closer look to say."""
    waiting: list[Any] = [published]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            for key in _REFERENCES & item.keys():
                if isinstance(item[key], str) and not item[key].startswith("#"):
                    return True
        waiting.extend(
            each
            for each in (item.values() if isinstance(item, dict) else item)
            if isinstance(each, dict | list)
        )
    return False


def _key(kind: ListKind, raw: Any) -> tuple[str, ...]:
    key = raw.get(kind.key) if isinstance(raw, dict) else None
    return (key,) if isinstance(key, str) else ()


def _shown(kind: ListKind, raw: Any) -> str:
    for key in _key(kind, raw):
        return f"{kind.noun} {key[:200]!r}"
    return f"a {kind.noun} without a name"


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the definition"
    return f"{place}: {first['msg'].lower()}"
