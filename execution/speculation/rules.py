"""The rules of what may be called ahead of a request, as far as the tool itself matters.

A tool must be pinned, of a trusted server, granted by an admin or declared read-only, harmless by
its names and inputs, and cheap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from execution.availability import require_usable
from execution.call_errors import ToolUnavailable
from tools.catalogue import Catalogue, CatalogueServer, CatalogueTool
from tools.danger import Danger

MAX_COST: Final = Decimal("0.10")
"""US dollars that one speculation may cost: a call, or a whole workflow."""


class ReasonCode(StrEnum):
    """Stable codes of the reasons against calling ahead of a request."""

    NOT_PERMITTED = "not_permitted"
    UNKNOWN_TOOL = "unknown_tool"
    UNAVAILABLE = "unavailable"
    NOT_PINNED = "not_pinned"
    PLACES_IGNORED = "places_ignored"
    SERVER_CHANGED = "server_changed"
    SERVER_NOT_TRUSTED = "server_not_trusted"
    NOT_GRANTED = "not_granted"
    GRANT_OUTDATED = "grant_outdated"
    DECLARED_DESTRUCTIVE = "declared_destructive"
    CONTRADICTORY = "contradictory"
    DANGEROUS = "dangerous"
    VETOED = "vetoed"
    APPROVAL_REQUIRED = "approval_required"
    INVALID_ARGUMENTS = "invalid_arguments"
    UNRESOLVED_REFERENCE = "unresolved_reference"
    OPEN_WORLD = "open_world"
    FOREIGN_PLACE = "foreign_place"
    UNKNOWN_COST = "unknown_cost"
    TOO_EXPENSIVE = "too_expensive"
    TOO_SLOW = "too_slow"
    EMPTY_WORKFLOW = "empty_workflow"
    SWITCHED_OFF = "switched_off"
    NO_IDLE_PLACE = "no_idle_place"
    BACKING_OFF = "backing_off"
    NOT_WORTH_IT = "not_worth_it"
    OVER_RATE = "over_rate"
    OVER_BUDGET = "over_budget"
    UNSETTLED = "unsettled"
    UNUSABLE_RESULT = "unusable_result"
    CALL_FAILED = "call_failed"
    NEEDS_INPUT = "needs_input"
    BELOW_THRESHOLD = "below_threshold"
    SUSPENDED = "suspended"
    NOT_REQUESTED = "not_requested"


@dataclass(frozen=True, kw_only=True)
class AdmissibilityReason:
    """A reason against calling a tool ahead of a request.

    Attributes:
        code: Stable code.
        message: A sentence in plain words, with what an admin can do; without argument values.
        task: Id of the task; empty for a single call and for a workflow as a whole.
    """

    code: ReasonCode
    message: str
    task: str = ""


@dataclass(frozen=True, kw_only=True)
class GrantedDefinition:
    """An admin's permission to call one exact definition ahead of requests.

    Attributes:
        tool: Primary key of the tool.
        definition_hash: SHA-256 of the definition that was granted.
        launch_hash: SHA-256 of the server's command or address at that time.
        is_closed_world: Whether the admin says that the tool reaches nothing beyond its server.
        team: Primary key of the team it is for; None: everybody who sees the tool.
    """

    tool: int
    definition_hash: str
    launch_hash: str
    is_closed_world: bool = False
    team: int | None = None


@dataclass(frozen=True, kw_only=True)
class SpeculationGrants:
    """All grants in force at one moment.

    Attributes:
        by_tool: Grants by primary key of their tool.
    """

    by_tool: Mapping[int, tuple[GrantedDefinition, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )

    @classmethod
    def from_grants(cls, grants: Iterable[GrantedDefinition]) -> SpeculationGrants:
        """Group grants by tool."""
        by_tool: dict[int, tuple[GrantedDefinition, ...]] = {}
        for grant in grants:
            by_tool[grant.tool] = (*by_tool.get(grant.tool, ()), grant)
        return cls(by_tool=MappingProxyType(by_tool))

    def list_for(self, tool: CatalogueTool, *, team: int | None) -> tuple[GrantedDefinition, ...]:
        """Return the grants for a tool that count for a team, for whatever definition."""
        return tuple(
            grant for grant in self.by_tool.get(tool.pk, ()) if grant.team in (None, team)
        )


@dataclass(frozen=True, kw_only=True)
class AdmissibilityRules:
    """What people decided, at one moment."""

    catalogue: Catalogue
    grants: SpeculationGrants


def make_reason(code: ReasonCode, message: str) -> AdmissibilityReason:
    """Return a reason that is not of a certain task."""
    return AdmissibilityReason(code=code, message=message)


def list_definition_reasons(
    tool: CatalogueTool, rules: AdmissibilityRules, *, team: int | None
) -> tuple[AdmissibilityReason, ...]:
    """Return the reasons that do not depend on a call: definition, server, grants, price.

    Args:
        tool: From the catalogue.
        rules: Catalogue and grants.
        team: Primary key of the team that the calls would be made for.
    """
    return tuple(_iterate_definition_reasons(tool, rules, team))


def is_closed_world(tool: CatalogueTool, rules: AdmissibilityRules, *, team: int | None) -> bool:
    """Whether a tool reaches nothing beyond its server, by a trusted server or an admin's grant.

    An absent `openWorldHint` means open, as MCP defines it.
    """
    server = rules.catalogue.servers[tool.server]
    is_declared = server.trusted and tool.annotations.get("openWorldHint") is False
    grants = _list_valid_grants(tool, server, rules.grants, team)
    return is_declared or any(grant.is_closed_world for grant in grants)


def is_known_to_read(tool: CatalogueTool, rules: AdmissibilityRules, *, team: int | None) -> bool:
    """Whether calls of a tool change nothing, by the word of a trusted server or an admin."""
    if tool.vetoed:
        return False
    server = rules.catalogue.servers.get(tool.server)
    return tool.danger is Danger.READ or (
        server is not None and bool(_list_valid_grants(tool, server, rules.grants, team))
    )


def _iterate_definition_reasons(
    tool: CatalogueTool, rules: AdmissibilityRules, team: int | None
) -> Iterator[AdmissibilityReason]:
    try:
        require_usable(tool, rules.catalogue)
    except ToolUnavailable as error:
        yield make_reason(ReasonCode.UNAVAILABLE, f"{error}.")
    server = rules.catalogue.servers.get(tool.server)
    if server is None:
        return
    if not tool.definition_hash:
        yield make_reason(
            ReasonCode.NOT_PINNED, f"No definition of {tool.tool} is approved; approve it first."
        )
    if tool.ignored_places:
        yield make_reason(
            ReasonCode.PLACES_IGNORED,
            f"Changes in some places of the definition of {tool.tool} are ignored, so that it is "
            "not known exactly; an admin can have it compared in full.",
        )
    if not server.trusted:
        yield make_reason(
            ReasonCode.SERVER_NOT_TRUSTED,
            f"Server {server.name} is not trusted; an admin can mark it as trusted.",
        )
    yield from _iterate_grant_reasons(tool, server, rules.grants, team)
    yield from _iterate_danger_reasons(tool)
    yield from _explain_price(tool, server.price_per_call)


def _iterate_grant_reasons(
    tool: CatalogueTool, server: CatalogueServer, grants: SpeculationGrants, team: int | None
) -> Iterator[AdmissibilityReason]:
    """Require a grant for this exact definition, or a trusted server's declaration."""
    if _list_valid_grants(tool, server, grants, team):
        return
    can_be_granted = not any(_iterate_danger_reasons(tool))
    if _declares_read_only(tool):
        if tool.launch_hash != server.launch_hash:
            yield make_reason(
                ReasonCode.SERVER_CHANGED,
                f"The command or address of server {server.name} has changed since the "
                f"definition of {tool.tool} was approved"
                f"{'; an admin can grant it' if can_be_granted else ''}.",
            )
    elif grants.list_for(tool, team=team):
        if server.trusted:  # otherwise the grant may be exact, and the server is the reason
            yield make_reason(
                ReasonCode.GRANT_OUTDATED,
                f"The definition of {tool.tool}, or the command or address of its server, has "
                "changed since an admin granted it"
                f"{'; an admin can grant it again' if can_be_granted else ''}.",
            )
    elif _is_contradictory(tool):
        pass  # which is a reason by itself
    elif server.trusted or tool.annotations.get("readOnlyHint") is not True:
        word = (
            f"as {tool.danger.value} its server's word that it only reads is not enough"
            if tool.annotations.get("readOnlyHint") is True
            else "its server does not declare it read-only"
        )
        remedy = "; an admin can grant it" if can_be_granted else ""
        yield make_reason(  # else trust in the server is all that is missing
            ReasonCode.NOT_GRANTED,
            f"Nobody granted {tool.tool} for speculation, and {word}{remedy}.",
        )


def _list_valid_grants(
    tool: CatalogueTool, server: CatalogueServer, grants: SpeculationGrants, team: int | None
) -> tuple[GrantedDefinition, ...]:
    """Return the grants for exactly the pinned definition and the server as it is started now."""
    exact = (tool.definition_hash, server.launch_hash)
    return tuple(
        grant
        for grant in grants.list_for(tool, team=team)
        if (grant.definition_hash, grant.launch_hash) == exact and server.trusted
    )


def _declares_read_only(tool: CatalogueTool) -> bool:
    """Whether the server declares the tool read-only, and an admin's class does not disagree.

    The danger class is `read` only if the server is trusted.
    """
    is_declared = tool.annotations.get("readOnlyHint") is True
    return is_declared and not _is_contradictory(tool) and tool.danger is Danger.READ


def _is_contradictory(tool: CatalogueTool) -> bool:
    annotations = tool.annotations
    return annotations.get("readOnlyHint") is True and annotations.get("destructiveHint") is True


def _iterate_danger_reasons(tool: CatalogueTool) -> Iterator[AdmissibilityReason]:
    """Yield what no grant can outweigh."""
    if _is_contradictory(tool):
        yield make_reason(
            ReasonCode.CONTRADICTORY,
            f"Its server declares {tool.tool} both read-only and destructive; no grant covers it.",
        )
    elif tool.annotations.get("destructiveHint") is True:
        yield make_reason(
            ReasonCode.DECLARED_DESTRUCTIVE,
            f"Its server declares {tool.tool} destructive; no grant covers it.",
        )
    if tool.danger not in (Danger.READ, Danger.WRITE):
        yield make_reason(
            ReasonCode.DANGEROUS,
            f"The danger class of {tool.tool} is {tool.danger.value}; no grant covers it.",
        )
    if tool.vetoed or tool.veto_reasons:
        why = ", ".join(tool.veto_reasons) or "a dangerous operation matches"
        yield make_reason(
            ReasonCode.VETOED, f"{tool.tool} may do harm: {why}; no grant covers it."
        )


def _explain_price(tool: CatalogueTool, price: Decimal | None) -> Iterator[AdmissibilityReason]:
    if price is None:
        yield make_reason(
            ReasonCode.UNKNOWN_COST,
            f"The price of a call of {tool.tool} is unknown; an admin can set its server's price.",
        )
    elif not price <= MAX_COST:
        yield make_reason(
            ReasonCode.TOO_EXPENSIVE,
            f"A call of {tool.tool} costs ${price:f}, more than ${MAX_COST}.",
        )
