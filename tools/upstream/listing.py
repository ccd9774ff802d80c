"""Fetches all tools, resources or prompts of a server, page by page, and reports problems."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp_types import Tool, ToolAnnotations
from pydantic import ValidationError

from gateway_project.foundation import canonical, schema
from gateway_project.foundation.redaction import Redactor
from tools.definition import Definition
from tools.upstream import nesting
from tools.upstream.kinds import ITEMS, TOOLS, ItemKind, ListKind
from tools.upstream.limits import UpstreamLimits
from tools.upstream.redact_definitions import redact_definition
from tools.upstream.status import ServerPeer

FetchPage = Callable[[str | None], Awaitable[dict[str, Any]]]
"""Fetches the page at a cursor (None: the first page) as the raw result."""

MAX_PROBLEMS = 100  # reported per listing
_REFERENCES = frozenset({"$ref", "$dynamicRef"})
_OWN_FIELDS: Final = frozenset(
    {"name", "title", "description", "inputSchema", "outputSchema", "annotations"}
)
"""Members for which a definition has a field."""
_KNOWN_HINTS: Final = frozenset(
    str(field.alias) for field in ToolAnnotations.model_fields.values()
)


@dataclass(frozen=True, kw_only=True)
class ToolListing:
    """A server's tools, with its description of itself.

    Attributes:
        tools: In the server's order, each name once.
        complete: Whether the listing is complete; if not, a missing tool may still exist.
        problems: Problems found in the listing, one line each.
        omitted: Names of tools that are listed but unusable.
        ttl_s: Seconds the listing stays valid according to the server; None if not given.
        peer: The server's description of itself.
    """

    tools: tuple[Definition, ...]
    complete: bool = True
    problems: tuple[str, ...] = ()
    omitted: frozenset[str] = frozenset()
    ttl_s: float | None = None
    peer: ServerPeer = field(default_factory=ServerPeer)


@dataclass(frozen=True, kw_only=True)
class ItemListing:
    """A server's resources, resource templates or prompts.

    Attributes:
        items: As received, in the server's order, each name or URI once.
        complete: Whether the listing is complete.
        problems: Problems found in the listing, one line each.
    """

    items: tuple[dict[str, Any], ...] = ()
    complete: bool = True
    problems: tuple[str, ...] = ()


class UnusableEntry(Exception):
    """An entry is left out of the listing; the message says why."""


@dataclass(kw_only=True)
class _CollectedEntries:
    kind: ListKind
    limits: UpstreamLimits
    read: Callable[[dict[str, Any]], Any]
    items: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    omitted: set[str] = field(default_factory=set)
    complete: bool = True
    entries: int = 0
    size: int = 0
    ttl_s: float | None = None

    def stop(self, problem: str) -> None:
        self.problems.append(problem)
        self.complete = False

    def add_page(self, result: dict[str, Any]) -> None:
        entries, most = result.get(self.kind.field), self.limits.max_listed_items
        if not isinstance(entries, list):
            self.stop(f"the answer to {self.kind.method} contains no list of {self.kind.plural}")
            return
        self._note_ttl(result.get("ttlMs"))
        for raw in entries:
            self.entries += 1
            if self.entries > most:
                self.stop(f"the server lists more than {most} {self.kind.plural}; the rest is cut")
                return
            self._add_entry(raw)

    def next_cursor(self, result: dict[str, Any]) -> str | None:
        cursor = result.get("nextCursor")
        if cursor is None or isinstance(cursor, str):
            return cursor
        self.stop(f"the cursor of the list of {self.kind.plural} is not text; the rest is cut")
        return None

    def _add_entry(self, raw: Any) -> None:
        try:
            key = self._check_entry(raw)
            item = self.read(raw)
        except UnusableEntry as error:
            self.add_problem(f"{_describe_entry(self.kind, raw)} is left out: {error}")
            self.omitted.update(_entry_key(self.kind, raw))
            return
        if key in self.items:
            self.add_problem(
                f"{self.kind.noun} {key!r} is listed more than once; the first counts"
            )
        else:
            self.items[key] = item

    def add_problem(self, problem: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    def _check_entry(self, raw: Any) -> str:
        """Check an entry before any recursive code handles it, and return its key."""
        limits = self.limits
        size = nesting.measure_value(
            raw, max_depth=limits.max_item_depth, max_bytes=limits.max_item_bytes
        )
        if size == "deep":
            raise UnusableEntry(f"it is nested deeper than {limits.max_item_depth} levels")
        if size == "large":
            raise UnusableEntry(f"it has more than {limits.max_item_bytes:,} bytes")
        self.size += size
        for member in self.kind.required:
            if not isinstance(raw, dict) or not isinstance(raw.get(member), str):
                raise UnusableEntry(f"{member}: text is required")
        return str(raw[self.kind.key])

    def _note_ttl(self, ttl_ms: Any) -> None:
        if isinstance(ttl_ms, int | float) and not isinstance(ttl_ms, bool):
            ttl_s = max(0.0, ttl_ms / 1000)
            self.ttl_s = ttl_s if self.ttl_s is None else min(self.ttl_s, ttl_s)


async def gather_tools(
    page: FetchPage,
    *,
    limits: UpstreamLimits,
    over_http: bool = False,
    redactor: Redactor | None = None,
) -> ToolListing:
    """Fetch all pages of the list of tools.

    A listing that is endless or too long is cut and marked incomplete; a tool that is malformed,
    too large, too deep or refers to other documents is left out.

    Args:
        page: Fetches one page.
        limits: Maximum pages, tools and sizes.
        over_http: Whether to leave out tools whose `x-mcp-header` declarations are invalid.
        redactor: Removes the server's secrets from texts before they are stored or compared.
    """
    secrets_redactor = redactor or Redactor()

    def read(raw: dict[str, Any]) -> Definition:
        tool, ignored = _parse_tool(redact_definition(raw, secrets_redactor), over_http=over_http)
        extras, unusable = _select_extras(tool.extras or {}, limits)
        for problem in (*ignored, *unusable):
            gathered.add_problem(f"{_describe_entry(TOOLS, raw)}: {problem}; that is ignored")
        return replace(tool, extras=extras)

    gathered = _CollectedEntries(kind=TOOLS, limits=limits, read=read)
    await _gather_pages(page, gathered)
    return ToolListing(
        tools=tuple(gathered.items.values()),
        complete=gathered.complete,
        problems=tuple(gathered.problems),
        omitted=frozenset(gathered.omitted - gathered.items.keys()),
        ttl_s=gathered.ttl_s,
    )


async def gather_items(
    page: FetchPage, kind: ItemKind, *, limits: UpstreamLimits, redactor: Redactor | None = None
) -> ItemListing:
    """Fetch all pages of another list; as `gather_tools`."""
    secrets_redactor = redactor or Redactor()

    def read(raw: dict[str, Any]) -> Any:
        return redact_definition(raw, secrets_redactor)

    gathered = await _gather_pages(
        page, _CollectedEntries(kind=ITEMS[kind], limits=limits, read=read)
    )
    return ItemListing(
        items=tuple(gathered.items.values()),
        complete=gathered.complete,
        problems=tuple(gathered.problems),
    )


async def _gather_pages(page: FetchPage, gathered: _CollectedEntries) -> _CollectedEntries:
    limits, plural = gathered.limits, gathered.kind.plural
    cursor: str | None = None
    seen: set[str] = set()
    result: dict[str, Any] = {}
    for _ in range(limits.max_list_pages):
        previous, result = result, await page(cursor)
        if cursor is not None and result == previous:
            return gathered  # a server that sends a cursor, such as "", but reads none
        gathered.add_page(result)
        cursor = gathered.next_cursor(result)
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


def read_definition(raw: Mapping[str, Any]) -> Definition:
    """Return a tool as its server lists it.

    Raises:
        ValidationError: If it is malformed.
    """
    tool = Tool.model_validate(raw, by_name=False)
    hints = (
        tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else {}
    )
    unknown_hints = {
        name: value
        for name, value in (raw.get("annotations") or {}).items()
        if name not in _KNOWN_HINTS and value is not None
    }
    extras = {
        name: value for name, value in raw.items() if name not in _OWN_FIELDS and value is not None
    }
    return Definition(
        name=tool.name,
        title=tool.title or hints.get("title") or "",
        description=tool.description or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=hints,
        extras=extras | ({"annotations": unknown_hints} if unknown_hints else {}),
    )


def _select_extras(
    extras: Mapping[str, Any], limits: UpstreamLimits
) -> tuple[dict[str, Any], list[str]]:
    """Return the extras that are JSON and not too large, and what is wrong with the others."""
    kept: dict[str, Any] = {}
    problems: list[str] = []
    left = limits.max_extras_bytes
    # Of too much, the icons go first.
    for name in sorted(extras, key=lambda name: (name == "icons", name != "_meta")):
        value = extras[name]
        size = nesting.measure_value(value, max_depth=limits.max_item_depth, max_bytes=left)
        try:
            canonical.dumps(value)
        except canonical.NotCanonicalizable as error:
            problems.append(f"{name[:200]}: {error}")
            continue
        if isinstance(size, str):
            most = f"{limits.max_extras_bytes:,} bytes"
            problems.append(f"{name[:200]}: with it there is more than {most} of metadata")
            continue
        left -= size
        kept[name] = value
    return kept, problems


def _parse_tool(raw: dict[str, Any], *, over_http: bool) -> tuple[Definition, list[str]]:
    """Return a tool without its malformed optional parts, and what is wrong with them."""
    if not raw.get("inputSchema"):
        raw = {**raw, "inputSchema": {"type": "object"}}
    ignored: list[str] = []
    try:
        tool = read_definition(raw)
    except ValidationError as error:
        ignored = [*_list_errors(error)]
        try:
            tool = read_definition(_remove_malformed(raw, error))
        except ValidationError:
            raise UnusableEntry(ignored[0]) from None
    for published in (tool.input_schema, tool.output_schema):
        if published is not None and _has_outside_reference(published):
            try:
                schema.check_schema(published)
            except schema.UnusableSchema as error:
                raise UnusableEntry(str(error)) from None
    if over_http and (reason := find_invalid_x_mcp_header(tool.input_schema)) is not None:
        raise UnusableEntry(f"its arguments cannot be sent as headers: {reason}")
    return tool, ignored


def _remove_malformed(raw: dict[str, Any], error: ValidationError) -> dict[str, Any]:
    """Return a definition without the members that are malformed, or that hold such a member.

    Of objects such as the annotations only single members are removed.
    """
    kept = dict(raw)
    for place in {each["loc"][:2] for each in error.errors(include_url=False)}:
        member = kept.get(str(place[0]))
        if len(place) > 1 and isinstance(member, dict):
            kept[str(place[0])] = {key: member[key] for key in member if key != place[1]}
        else:
            kept.pop(str(place[0]), None)
    return kept


def _has_outside_reference(published: Mapping[str, Any]) -> bool:
    """Whether a reference may lead to another document; over-approximates."""
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


def _entry_key(kind: ListKind, raw: Any) -> tuple[str, ...]:
    key = raw.get(kind.key) if isinstance(raw, dict) else None
    return (key,) if isinstance(key, str) else ()


def _describe_entry(kind: ListKind, raw: Any) -> str:
    for key in _entry_key(kind, raw):
        return f"{kind.noun} {key[:200]!r}"
    return f"a {kind.noun} without a name"


def _list_errors(error: ValidationError) -> Iterator[str]:
    for each in error.errors(include_url=False, include_input=False):
        place = ".".join(str(part) for part in each["loc"]) or "the definition"
        yield f"{place}: {each['msg'].lower()}"
