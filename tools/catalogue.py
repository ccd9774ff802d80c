"""The catalogue as one immutable value: what a process knows of servers and tools."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal

from gateway_project.foundation.caller import Caller
from tools import ids
from tools.danger import Danger

MAX_SUGGESTIONS = 3
SUGGESTION_CUTOFF = 0.5
NAME_CUTOFF = 0.6
Kind = Literal["tools", "prompts", "resources"]
_ITEMS: Final[tuple[Kind, ...]] = ("prompts", "resources")
MAX_COMPARED = 200
"""Characters of an unknown id that are compared; comparing costs their square."""


@dataclass(frozen=True, kw_only=True)
class CatalogueServer:
    """An enabled or disabled server as the catalogue knows it.

    Attributes:
        name: First half of its tools' ids.
        team: Primary key of the team it belongs to; None is shared.
        enabled: Whether its tools may be found and called.
        trusted: Whether a person trusts its annotations.
        description: What it says of itself.
        last_error: What went wrong last, empty if nothing did.
        unprefixed: Whether its tools are exposed by their bare names.
        session: `shared`, or `per_caller` where each caller has a connection.
        authorization: `none`, `oauth`, or `oauth_per_user` where each user has a connection.
        capabilities: Names of what it said it can do; None if it was never connected.
        call_timeout_s: Seconds a call may take; None: the installation's limit.
    """

    name: str
    team: int | None
    enabled: bool
    trusted: bool
    description: str
    last_error: str
    unprefixed: bool = False
    session: str = "shared"
    authorization: str = "none"
    capabilities: frozenset[str] | None = None
    call_timeout_s: float | None = None

    @property
    def private(self) -> bool:
        """Whether what it lists may differ from caller to caller."""
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
        definition_hash: SHA-256 of the pinned definition; empty while none is approved.
        token_count: Tokens of name, description and input schema.
        category: Name of its category, empty if none.
        danger: Worst that a call may do.
        danger_reasons: What led to the class, the deciding reason first.
        vetoed: Whether a curated dangerous operation matches.
        state: active, pending, quarantined or removed.
        enabled: Whether an admin lets it be used.
        team: Team of its server; None is shared.
        pinned: Whether clients of exposure `hybrid` see it.
        findings: What its texts hold that people would not see or models might obey, by kind
            and place; the texts themselves must not reach a model this way.
        repeatable: Whether an admin or its trusted server says that a call may be made again when
            nobody knows how the first ended: it only reads, or is idempotent.
        approval: An admin's word on whether a person has to approve each call: always, never, or
            empty where its danger decides.
        destructive_by: Who says that it destroys: `server` if it is trusted, `admin`, or empty.
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

    @property
    def usable(self) -> bool:
        """Whether it may be listed and called, as far as the tool itself is concerned."""
        return self.enabled and self.state == "active"


class UnknownTool(LookupError):
    """No such tool is visible to the caller.

    Attributes:
        tool: What was asked for.
        suggestions: Ids that look like it, best first.
    """

    def __init__(self, tool: str, suggestions: tuple[str, ...]) -> None:
        self.tool = tool
        self.suggestions = suggestions
        hint = (
            f"did you mean {' or '.join(suggestions)}?"
            if suggestions
            else "there is none like it."
        )
        shown = tool if len(tool) <= MAX_COMPARED else f"{tool[:MAX_COMPARED]}…"
        super().__init__(f"no tool {shown!r}; {hint} search_tools finds tools by what they do")


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """All servers and tools at one moment.

    Attributes:
        servers: By name.
        tools: By canonical id.
        approve_from: Least danger of a call that a person has to approve, by the primary key of
            the caller's team; teams that are not here ask for what is dangerous.
    """

    servers: Mapping[str, CatalogueServer] = field(default_factory=dict)
    tools: Mapping[str, CatalogueTool] = field(default_factory=dict)
    approve_from: Mapping[int, Danger] = field(default_factory=dict)

    def visible(self, caller: Caller) -> list[CatalogueTool]:
        """Return what the caller may use, by id."""
        return [
            tool
            for _, tool in sorted(self.tools.items())
            if tool.usable and self._serves(tool, caller)
        ]

    def find(self, tool_id: str, caller: Caller) -> CatalogueTool:
        """Return a tool the caller may know of, usable or not.

        The exposed form server__tool and a tool's bare name, where only one server has it, are
        understood too.

        Raises:
            UnknownTool: With ids that look alike.
        """
        tool = self.tools.get(tool_id) or self.exposed(tool_id, caller)
        if tool is None:
            tool = self.tools.get(self._only(tool_id, caller))
        if tool is None or not caller.sees(tool.team):
            raise UnknownTool(tool_id, self.similar(tool_id, caller))
        return tool

    def exposed_name(self, tool_id: str) -> str:
        """Return the name a client sees when a tool is listed by itself.

        Raises:
            KeyError: If there is no such tool.
        """
        return self._names[tool_id]

    def exposed(self, name: str, caller: Caller) -> CatalogueTool | None:
        """Return the tool of an exposed name, usable or not, that the caller may know of."""
        tool = self.tools.get(self.exposed_id(name))
        return tool if tool is not None and caller.sees(tool.team) else None

    def exposed_id(self, name: str) -> str:
        """Return the id behind an exposed name; empty if there is none."""
        return self._by_exposed.get(name, "")

    def servers_of(self, caller: Caller) -> list[CatalogueServer]:
        """Return the enabled servers that the caller sees, by name."""
        return [
            server
            for _, server in sorted(self.servers.items())
            if server.enabled and caller.sees(server.team)
        ]

    def similar(self, tool_id: str, caller: Caller) -> tuple[str, ...]:
        """Return usable ids that look like a text, best first."""
        wanted = tool_id[:MAX_COMPARED].casefold()
        known = {tool.tool.casefold(): tool.tool for tool in self.visible(caller)}
        bare = wanted.rpartition(ids.SEPARATOR)[2].rpartition(ids.EXPOSED_SEPARATOR)[2]
        by_bare: dict[str, list[str]] = {}
        for folded, name in known.items():
            by_bare.setdefault(ids.split(folded)[1], []).append(name)
        close = difflib.get_close_matches(
            wanted.replace(ids.EXPOSED_SEPARATOR, ids.SEPARATOR, 1),
            known,
            n=MAX_SUGGESTIONS,
            cutoff=SUGGESTION_CUTOFF,
        )
        near = difflib.get_close_matches(bare, by_bare, n=MAX_SUGGESTIONS, cutoff=NAME_CUTOFF)
        alike = [name for folded in near for name in by_bare[folded]]
        ordered: Iterable[str] = [
            *(known[name] for name in (wanted,) if name in known),
            *by_bare.get(bare, ()),
            *(known[name] for name in close),
            *alike,
        ]
        return tuple(dict.fromkeys(ordered))[:MAX_SUGGESTIONS]

    def changed_lists(self, old: Catalogue) -> tuple[Kind, ...]:
        """Name the lists that clients may see otherwise than from an older catalogue."""
        if self._seen_servers != old._seen_servers:
            return ("tools", "prompts", "resources")
        changed: list[Kind] = []
        if self._seen_tools != old._seen_tools:
            changed.append("tools")
        changed += [kind for kind in _ITEMS if self._listing(kind) != old._listing(kind)]
        return tuple(changed)

    def _listing(self, kind: Kind) -> frozenset[str]:
        """Name the servers that are known to list something."""
        servers = self.servers.values()
        return frozenset(one.name for one in servers if kind in (one.capabilities or ()))

    @cached_property
    def derived(self) -> dict[Any, Any]:
        """What others compute from this catalogue, kept as long as it is."""
        return {}

    @cached_property
    def _seen_servers(self) -> frozenset[tuple[Any, ...]]:
        return frozenset(
            (server.name, server.team, server.unprefixed)
            for server in self.servers.values()
            if server.enabled
        )

    @cached_property
    def _seen_tools(self) -> frozenset[tuple[Any, ...]]:
        return frozenset(
            (tool.tool, tool.definition_hash, tool.pinned)
            for tool in self.tools.values()
            if tool.usable
        )

    @cached_property
    def _by_exposed(self) -> Mapping[str, str]:
        bare = [server.name for server in self.servers.values() if server.unprefixed]
        return ids.by_exposed_name(self.tools, bare=bare)

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return {tool_id: name for name, tool_id in self._by_exposed.items()}

    @cached_property
    def _by_bare(self) -> Mapping[str, list[CatalogueTool]]:
        by_name: dict[str, list[CatalogueTool]] = {}
        for tool in self.tools.values():
            by_name.setdefault(tool.name, []).append(tool)
        return by_name

    def _only(self, name: str, caller: Caller) -> str:
        """Return the id of the one tool of a bare name that the caller can use, else nothing.

        A name with a colon is an id: a server may not stand in for another that is gone.
        """
        if ids.SEPARATOR in name:
            return ""
        found = [
            tool.tool
            for tool in self._by_bare.get(name, ())
            if tool.usable and self._serves(tool, caller)
        ]
        return found[0] if len(found) == 1 else ""

    def _serves(self, tool: CatalogueTool, caller: Caller) -> bool:
        server = self.servers.get(tool.server)
        return server is not None and server.enabled and caller.sees(tool.team)
