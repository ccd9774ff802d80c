"""The catalogue: an immutable in-memory snapshot of all servers and tools."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Final, Literal

from gateway_project.foundation.caller import Caller
from gateway_project.foundation.user_error import UserError
from tools import definition_changes, ids, scan, ui_pages
from tools.danger import Danger
from tools.definition import Definition, identify
from tools.server_condition import limit_error

MAX_SUGGESTIONS = 3
SUGGESTION_CUTOFF = 0.5
NAME_CUTOFF = 0.6
ListName = Literal["tools", "prompts", "resources"]
_ITEM_LISTS: Final[tuple[ListName, ...]] = ("prompts", "resources")
MAX_COMPARED_CHARS = 200
"""Characters of an unknown id that are compared; the comparison is quadratic in them."""


@dataclass(frozen=True, kw_only=True)
class CatalogueServer:
    """An enabled or disabled server as the catalogue knows it.

    Attributes:
        name: First half of its tools' ids.
        team: Primary key of the owning team; None: shared.
        enabled: Whether its tools may be found and called.
        trusted: Whether a person trusts its annotations.
        description: What people say about it.
        instructions: What it says about its use, as approved; empty: nothing.
        last_error: The latest error; empty if there was none.
        unprefixed: Whether its tools are exposed by their bare names.
        session: `shared`, or `per_caller` if each caller has its own connection.
        authorization: `none`, `oauth`, or `oauth_per_user` if each user has their own connection.
        capabilities: Names of its declared capabilities; None if it was never connected.
        call_timeout_s: Longest that a call may take; None: the installation's limit.
        launch_hash: SHA-256 of its command or address.
        price_per_call: US dollars; None: unknown.
        groups: Names of the tool groups that hold any of its tools.
        whole_groups: Names of those that hold the server itself, with all its tools, resources
            and prompts.
    """

    name: str
    team: int | None
    enabled: bool
    trusted: bool
    description: str
    last_error: str
    instructions: str = ""
    unprefixed: bool = False
    session: str = "shared"
    authorization: str = "none"
    capabilities: frozenset[str] | None = None
    call_timeout_s: float | None = None
    launch_hash: str = ""
    price_per_call: Decimal | None = None
    groups: frozenset[str] = frozenset()
    whole_groups: frozenset[str] = frozenset()

    @property
    def is_private(self) -> bool:
        """Whether its lists may differ between callers."""
        return self.session == "per_caller" or self.authorization == "oauth_per_user"


@dataclass(frozen=True, kw_only=True)
class CatalogueTool:
    """A tool with its pinned definition and its danger class.

    Attributes:
        pk: Primary key.
        tool: Canonical id, server:tool.
        server: Its server's name.
        name: Its name at the server.
        title: Display name, may be empty.
        description: As pinned.
        input_schema: JSON Schema of the arguments, as pinned.
        output_schema: JSON Schema of the structured result, if declared.
        annotations: Hints of the server, as pinned.
        extras: All other members as pinned, such as `_meta` and icons; None: not known.
        definition_hash: SHA-256 of the pinned definition; empty while none is approved.
        token_count: Tokens of name, description and input schema.
        category: Name of its category, empty if none.
        danger: Danger class: the worst that a call may do.
        danger_reasons: Reasons for the class, the deciding one first.
        vetoed: Whether it may never be called ahead of a request, whatever is granted.
        state: active, pending, quarantined or removed.
        enabled: Whether an admin lets it be used.
        team: Team of its server; None: shared.
        pinned: Whether clients list it under `hybrid` exposure.
        findings: Content of its texts that is hidden from people or might instruct models, by
            kind and place; the texts themselves must not reach a model this way.
        repeatable: Whether an admin or its trusted server says that a call with an unknown
            outcome may be repeated: it only reads, or is idempotent.
        approval: An admin's rule for approvals: `always`, `never`, or empty if the danger class
            decides.
        destructive_by: Who declares it destructive: its `server`, an `admin`, or empty.
        ignored_places: JSON pointers excluded when its server's listing is compared with the
            pinned definition.
        changed_places: Where a quarantined tool differs from its approved definition; names that
            nobody approved are cut off.
        veto_reasons: Why it is vetoed, in plain words.
        read_doubt: Why it is not taken for one that only reads; empty: it is, by the word of an
            admin, of its trusted server or of its own definition.
        launch_hash: SHA-256 of the command or address of the server that listed the pinned
            definition; empty while none is approved.
        groups: Names of the tool groups that hold it.
    """

    pk: int
    tool: str
    server: str
    name: str
    title: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    annotations: Mapping[str, Any]
    definition_hash: str
    token_count: int
    category: str
    danger: Danger
    danger_reasons: tuple[str, ...]
    vetoed: bool
    state: str
    enabled: bool
    team: int | None
    pinned: bool = False
    findings: tuple[str, ...] = ()
    repeatable: bool = False
    approval: str = ""
    destructive_by: str = ""
    ignored_places: tuple[str, ...] = ()
    changed_places: tuple[str, ...] = ()
    veto_reasons: tuple[str, ...] = ()
    read_doubt: str = "nobody says that it only reads"
    launch_hash: str = ""
    groups: frozenset[str] = frozenset()
    extras: Mapping[str, Any] | None = field(default_factory=dict)

    @property
    def definition(self) -> Definition:
        """The pinned definition."""
        return Definition(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.input_schema,
            output_schema=self.output_schema,
            annotations=self.annotations,
            extras=self.extras,
        )

    @property
    def is_for_models(self) -> bool:
        """Whether models may know of it: its server does not keep it for its own pages."""
        return ui_pages.is_for_models(self.extras)

    @property
    def is_usable(self) -> bool:
        """Whether the tool itself may be listed and called; its server may still be disabled."""
        return self.enabled and self.state == "active"


class UnknownTool(UserError, LookupError):
    """No such tool is visible to the caller.

    Attributes:
        tool: The requested id.
        suggestions: Similar ids, best first.
    """

    code = "unknown_tool"

    def __init__(
        self, tool: str, suggestions: tuple[str, ...], *, server: CatalogueServer | None = None
    ) -> None:
        """Build the message.

        Args:
            tool: The requested id.
            suggestions: Similar ids, best first.
            server: The server it names, if that server's tools are not discovered yet.
        """
        self.tool = tool
        self.suggestions = suggestions
        if tool in ids.RESERVED_NAMES:
            super().__init__(_explain_reserved(tool))
        elif server is not None:
            super().__init__(_explain_not_discovered(server))
        else:
            super().__init__(_explain_unknown(tool, suggestions))


def _explain_reserved(tool: str) -> str:
    return (
        f"{tool!r} is one of the gateway's own tools: call it directly, or a server's tool of "
        f"the same name by its id, server{ids.SEPARATOR}{tool}"
    )


def _explain_not_discovered(server: CatalogueServer) -> str:
    status = f"server {server.name!r} is registered, but its tools are not known yet"
    if not server.enabled:
        return f"{status}: it is disabled"
    if not server.last_error:
        return f"{status}: it has not listed them so far; try again in a moment"
    return f"{status}: {server.last_error.removeprefix(f'server {server.name!r}: ')}"


def _explain_unknown(tool: str, suggestions: tuple[str, ...]) -> str:
    likely = " or ".join(suggestions)
    hint = f"did you mean {likely}?" if suggestions else "there is none like it."
    shown = tool if len(tool) <= MAX_COMPARED_CHARS else f"{tool[:MAX_COMPARED_CHARS]}…"
    return f"no tool {shown!r}; {hint} search_tools finds tools by what they do"


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """All servers and tools at one moment.

    Attributes:
        servers: By name.
        tools: By canonical id.
        approve_from: Lowest danger class of calls that need an approval, by the primary key of
            the caller's team; for teams not listed: `dangerous`.
        groups: Team of each tool group by its name; None: every team may use it.
    """

    servers: Mapping[str, CatalogueServer] = field(default_factory=dict)
    tools: Mapping[str, CatalogueTool] = field(default_factory=dict)
    approve_from: Mapping[int, Danger] = field(default_factory=dict)
    groups: Mapping[str, int | None] = field(default_factory=dict)

    def has_group(self, name: str, caller: Caller) -> bool:
        """Whether there is a tool group that the caller may be limited to."""
        return name in self.groups and caller.can_see_team(self.groups[name])

    def list_usable(self, caller: Caller, *, for_pages: bool = False) -> list[CatalogueTool]:
        """Return the tools that the caller's models may use, or also its pages, by id."""
        return [
            tool
            for _, tool in sorted(self.tools.items())
            if tool.is_usable
            and (for_pages or tool.is_for_models)
            and self._is_served_to(tool, caller)
        ]

    def list_quarantined(self, caller: Caller) -> list[CatalogueTool]:
        """Return the quarantined tools that the caller could otherwise use, by id."""
        return [
            tool
            for _, tool in sorted(self._quarantined_tools.items())
            if tool.enabled and self._is_served_to(tool, caller)
        ]

    def is_accepted(self, server: str, listed: Definition) -> bool:
        """Whether a listed definition differs from the pinned one in ignored places only.

        For a worker thread: takes about 20 ms for a definition of 45 kB.
        """
        tool = self.tools.get(ids.join_id(server, listed.name))
        if tool is None or not tool.definition_hash or not tool.ignored_places:
            return False
        return definition_changes.is_accepted(
            tool.definition, listed, tool.ignored_places, foreign=self._foreign_names(server)
        )

    def find_pinned_hash(self, server: str, name: str) -> str:
        """Return the hash of a tool's pinned definition; empty if there is none."""
        tool = self.tools.get(ids.join_id(server, name))
        return tool.definition_hash if tool else ""

    def identify(self, server: str, listed: Definition) -> str:
        """Return the hash of a listed definition, or the pinned one's if it is the same."""
        tool = self.tools.get(ids.join_id(server, listed.name))
        if tool is None or not tool.definition_hash:
            return listed.hash
        return identify(listed, pinned=tool.definition, pinned_hash=tool.definition_hash)

    def acceptance_key(self, server: str, name: str) -> tuple[str, tuple[str, ...]] | None:
        """Return a cache key for `is_accepted` of one tool; None if it accepts nothing.

        Names of other servers' tools are not part of the key: the text of an earlier listing
        cannot have been written for a tool that was added later.
        """
        tool = self.tools.get(ids.join_id(server, name))
        if tool is None or not tool.definition_hash or not tool.ignored_places:
            return None
        return tool.definition_hash, tool.ignored_places

    def _foreign_names(self, server: str) -> frozenset[str]:
        """Return the names of other servers' tools to look for in texts; cached per server."""
        key = ("foreign_names", server)
        if key not in self.derived_cache:
            others = (tool.name for tool in self.tools.values() if tool.server != server)
            self.derived_cache[key] = scan.foreign_names(others)
        names: frozenset[str] = self.derived_cache[key]
        return names

    def find_changed_places(self, server: str, listed: Definition) -> tuple[str, ...]:
        """Return where a listed definition differs from the pinned one, if one is pinned."""
        tool = self.tools.get(ids.join_id(server, listed.name))
        if tool is None or not tool.definition_hash:
            return ()
        return definition_changes.find_changed_places(tool.definition, listed)

    def find_tool(self, tool_id: str, caller: Caller) -> CatalogueTool:
        """Return a tool visible to the caller, usable or not.

        Also accepts the exposed form server__tool, and a bare name if only one server has it.

        Raises:
            UnknownTool: With similar ids.
        """
        tool = self.tools.get(tool_id) or self.find_exposed(tool_id, caller)
        if tool is None:
            tool = self.tools.get(self._find_only_id(tool_id, caller))
        if tool is None or not caller.can_see(tool):
            raise UnknownTool(
                tool_id,
                self.find_similar_ids(tool_id, caller),
                server=self._find_empty_server(tool_id, caller),
            )
        return tool

    def _find_empty_server(self, tool_id: str, caller: Caller) -> CatalogueServer | None:
        """Return the server named in an id, if it is visible to the caller and has no tools.

        Its error is limited to what the caller may know.
        """
        name = tool_id.partition(ids.SEPARATOR)[0]
        server = self.servers.get(name) or self.servers.get(
            tool_id.partition(ids.EXPOSED_SEPARATOR)[0]
        )
        if server is None or not caller.can_see(server):
            return None
        has_tools = any(tool.server == server.name for tool in self.tools.values())
        if has_tools:
            return None
        return replace(server, last_error=limit_error(server.last_error, caller))

    def exposed_name(self, tool_id: str, *, limit: int = ids.MAX_EXPOSED_LENGTH) -> str:
        """Return the name under which clients list a tool.

        Args:
            tool_id: Of the tool.
            limit: Characters that the client takes.

        Raises:
            KeyError: If there is no such tool.
        """
        return self._name_tools(limit)[1][tool_id]

    def find_exposed(
        self, name: str, caller: Caller, *, limit: int = ids.MAX_EXPOSED_LENGTH
    ) -> CatalogueTool | None:
        """Return the tool with an exposed name, usable or not, if visible to the caller.

        Args:
            name: As listed with the limit, or with the default one.
            caller: Who asks.
            limit: Characters that the client takes.
        """
        tool = self.tools.get(self._name_tools(limit)[0].get(name) or self.exposed_id(name))
        return tool if tool is not None and caller.can_see(tool) else None

    def exposed_id(self, name: str) -> str:
        """Return the id behind an exposed name; empty if there is none."""
        return self._name_tools(ids.MAX_EXPOSED_LENGTH)[0].get(name, "")

    def list_servers(self, caller: Caller) -> list[CatalogueServer]:
        """Return the enabled servers visible to the caller, by name."""
        return [
            server
            for _, server in sorted(self.servers.items())
            if server.enabled and caller.can_see(server)
        ]

    def find_similar_ids(self, tool_id: str, caller: Caller) -> tuple[str, ...]:
        """Return usable ids similar to a text, best first."""
        wanted = tool_id[:MAX_COMPARED_CHARS].casefold()
        id_by_folded = {tool.tool.casefold(): tool.tool for tool in self.list_usable(caller)}
        bare = wanted.rpartition(ids.SEPARATOR)[2].rpartition(ids.EXPOSED_SEPARATOR)[2]
        ids_by_bare: dict[str, list[str]] = {}
        for folded, full_id in id_by_folded.items():
            ids_by_bare.setdefault(ids.split_id(folded)[1], []).append(full_id)
        close_ids = difflib.get_close_matches(
            wanted.replace(ids.EXPOSED_SEPARATOR, ids.SEPARATOR, 1),
            id_by_folded,
            n=MAX_SUGGESTIONS,
            cutoff=SUGGESTION_CUTOFF,
        )
        close_names = difflib.get_close_matches(
            bare, ids_by_bare, n=MAX_SUGGESTIONS, cutoff=NAME_CUTOFF
        )
        ordered: Iterable[str] = [
            *(id_by_folded[folded] for folded in (wanted,) if folded in id_by_folded),
            *ids_by_bare.get(bare, ()),
            *(id_by_folded[folded] for folded in close_ids),
            *(full_id for name in close_names for full_id in ids_by_bare[name]),
        ]
        return tuple(dict.fromkeys(ordered))[:MAX_SUGGESTIONS]

    def find_changed_lists(self, old: Catalogue) -> tuple[ListName, ...]:
        """Return the lists that may have changed for clients since an older catalogue."""
        if self._server_fingerprints != old._server_fingerprints:
            return ("tools", "prompts", "resources")
        changed: list[ListName] = []
        if self._tool_fingerprints != old._tool_fingerprints:
            changed.append("tools")
        changed += [
            kind
            for kind in _ITEM_LISTS
            if self._servers_listing(kind) != old._servers_listing(kind)
        ]
        return tuple(changed)

    def _servers_listing(self, kind: ListName) -> frozenset[str]:
        """Return the names of the servers that declare a kind of list."""
        return frozenset(
            server.name for server in self.servers.values() if kind in (server.capabilities or ())
        )

    @cached_property
    def derived_cache(self) -> dict[Any, Any]:
        """Values that readers derived from this catalogue; lives as long as the catalogue."""
        return {}

    @cached_property
    def _quarantined_tools(self) -> Mapping[str, CatalogueTool]:
        return {name: tool for name, tool in self.tools.items() if tool.state == "quarantined"}

    @cached_property
    def _server_fingerprints(self) -> frozenset[tuple[Any, ...]]:
        return frozenset(
            (server.name, server.team, server.unprefixed, server.whole_groups)
            for server in self.servers.values()
            if server.enabled
        )

    @cached_property
    def _tool_fingerprints(self) -> frozenset[tuple[Any, ...]]:
        return frozenset(
            (tool.tool, tool.definition_hash, tool.extras is None, tool.pinned, tool.groups)
            for tool in self.tools.values()
            if tool.is_usable
        )

    def _name_tools(self, limit: int) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return ids by exposed name, and exposed names by id; cached per limit."""
        key = ("exposed_names", limit)
        if key not in self.derived_cache:
            bare = [server.name for server in self.servers.values() if server.unprefixed]
            by_name = ids.map_exposed_names(self.tools, bare=bare, limit=limit)
            by_id = {tool_id: name for name, tool_id in by_name.items()}
            self.derived_cache[key] = by_name, by_id
        named: tuple[Mapping[str, str], Mapping[str, str]] = self.derived_cache[key]
        return named

    @cached_property
    def _tools_by_bare_name(self) -> Mapping[str, list[CatalogueTool]]:
        by_name: dict[str, list[CatalogueTool]] = {}
        for tool in self.tools.values():
            by_name.setdefault(tool.name, []).append(tool)
        return by_name

    def _find_only_id(self, name: str, caller: Caller) -> str:
        """Return the id of the only tool with a bare name that the caller can use, else "".

        A name with a colon is an id: a server must not take the place of one that is gone. Nor
        may one take the place of the gateway's own tools.
        """
        if ids.SEPARATOR in name or name in ids.RESERVED_NAMES:
            return ""
        found = [
            tool.tool
            for tool in self._tools_by_bare_name.get(name, ())
            if tool.is_usable and tool.is_for_models and self._is_served_to(tool, caller)
        ]
        return found[0] if len(found) == 1 else ""

    def _is_served_to(self, tool: CatalogueTool, caller: Caller) -> bool:
        server = self.servers.get(tool.server)
        return server is not None and server.enabled and caller.can_see(tool)
