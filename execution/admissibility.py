"""Decide what may be called ahead of a request, and explain every reason against it.

Confidence decides what is useful, admissibility what is permitted. So nothing here depends on a
probability or on anything learned: only on the pinned definition, on what people granted, and on
the call itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from execution import approval
from execution.argument_provenance import (
    UNKNOWN,
    Provenance,
    ProvenanceKind,
    find_steering_values,
)
from execution.argument_validation import validate_within_loop_budget
from execution.availability import require_usable
from execution.call_errors import CallError, CallNotPermitted, ToolUnavailable
from execution.planning.check_task import SCOPE
from execution.planning.plan import Plan
from execution.planning.read_arguments import (
    ArgumentBudget,
    UnreadableArguments,
    find_reference_marks,
)
from execution.workflow import WorkflowTask
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.references import REFERENCE
from tools.catalogue import Catalogue, CatalogueServer, CatalogueTool, UnknownTool
from tools.danger import Danger

MAX_COST: Final = Decimal("0.10")
"""US dollars that one speculation may cost: a call, or a whole workflow."""
MAX_TIME_S: Final = 5.0
"""Seconds that one speculation may take; also the time limit of a call of unknown duration."""
MAX_BYTES: Final = 64 * 1024
"""Approximate JSON size of the arguments of a call."""


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
class AdmissibilityVerdict:
    """Whether a call or a workflow may run ahead of a request.

    Attributes:
        reasons: Every reason against it.
    """

    reasons: tuple[AdmissibilityReason, ...] = ()

    @property
    def is_admissible(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.reasons


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
class ProposedCall:
    """A call that may be made ahead of a request, with its final arguments.

    Attributes:
        tool: Canonical id.
        arguments: As they would be sent.
        provenance: Where the values come from, by JSON pointer into the arguments; a value
            without one is of unknown origin.
        expected_s: 95th percentile of the tool's duration; None: unknown, and then the call is
            cancelled after `MAX_TIME_S`.
    """

    tool: str
    arguments: Mapping[str, Any]
    provenance: Mapping[str, Provenance] = field(default_factory=dict)
    expected_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class AdmissibilityRules:
    """What people decided, at one moment.

    Attributes:
        catalogue: Servers and tools.
        grants: Grants in force.
    """

    catalogue: Catalogue
    grants: SpeculationGrants


def judge_call(
    call: ProposedCall, *, caller: Caller, rules: AdmissibilityRules
) -> AdmissibilityVerdict:
    """Judge whether a call may be made ahead of a request.

    Every call is judged by this function right before it is dispatched, those of a workflow too,
    since the values of its references are known only then.

    Args:
        call: The call with its final arguments.
        caller: Whom it would be made for.
        rules: Catalogue and grants.
    """
    return AdmissibilityVerdict(reasons=tuple(_iterate_call_reasons(call, caller, rules)))


def judge_workflow(
    plan: Plan,
    *,
    caller: Caller,
    rules: AdmissibilityRules,
    provenance: Mapping[str, Mapping[str, Provenance]],
    expected_s: Mapping[str, float],
) -> AdmissibilityVerdict:
    """Judge whether a whole workflow may run ahead of a request: only if each task may.

    References to results of the same server are accepted here, since only their values can tell;
    `judge_call` judges these before the task is dispatched.

    Args:
        plan: As planned for this caller, with its problems.
        caller: Whom it would run for.
        rules: Catalogue and grants.
        provenance: By task, where the values of its arguments come from; as in `ProposedCall`.
        expected_s: 95th percentile of the duration by canonical id; others are unknown.
    """
    return AdmissibilityVerdict(
        reasons=(
            *_iterate_plan_reasons(plan),
            *_iterate_task_reasons(plan, caller, rules, provenance),
            *_iterate_total_reasons(plan, rules.catalogue, expected_s),
        )
    )


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


def _iterate_call_reasons(
    call: ProposedCall, caller: Caller, rules: AdmissibilityRules
) -> Iterator[AdmissibilityReason]:
    if not caller.has_scope(SCOPE):
        yield _make_reason(ReasonCode.NOT_PERMITTED, str(CallNotPermitted(caller)))
    try:
        tool = rules.catalogue.find_tool(call.tool, caller)
    except UnknownTool:
        yield _make_reason(
            ReasonCode.UNKNOWN_TOOL, f"The caller sees no tool {call.tool}; teams see their own."
        )
        return
    yield from _iterate_definition_reasons(tool, rules, caller.team)
    yield from _explain_approval(tool, caller, rules.catalogue)
    yield from _iterate_argument_reasons(tool, call.arguments)
    yield from _iterate_steering_reasons(tool, call.arguments, call.provenance, caller, rules)
    if call.expected_s is not None and not call.expected_s <= MAX_TIME_S:
        yield _make_reason(
            ReasonCode.TOO_SLOW,
            f"{tool.tool} takes {call.expected_s:.1f} s, more than {MAX_TIME_S:g} s.",
        )


def _iterate_definition_reasons(
    tool: CatalogueTool, rules: AdmissibilityRules, team: int | None
) -> Iterator[AdmissibilityReason]:
    try:
        require_usable(tool, rules.catalogue)
    except ToolUnavailable as error:
        yield _make_reason(ReasonCode.UNAVAILABLE, f"{error}.")
    server = rules.catalogue.servers.get(tool.server)
    if server is None:
        return
    if not tool.definition_hash:
        yield _make_reason(
            ReasonCode.NOT_PINNED, f"No definition of {tool.tool} is approved; approve it first."
        )
    if tool.ignored_places:
        yield _make_reason(
            ReasonCode.PLACES_IGNORED,
            f"Changes in some places of the definition of {tool.tool} are ignored, so that it is "
            "not known exactly; an admin can have it compared in full.",
        )
    if not server.trusted:
        yield _make_reason(
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
    if _declares_read_only(tool):
        if tool.launch_hash != server.launch_hash:
            yield _make_reason(
                ReasonCode.SERVER_CHANGED,
                f"The command or address of server {server.name} has changed since the "
                f"definition of {tool.tool} was approved; an admin can grant it.",
            )
    elif grants.list_for(tool, team=team):
        yield _make_reason(
            ReasonCode.GRANT_OUTDATED,
            f"The definition of {tool.tool}, or the command or address of its server, has changed "
            "since an admin granted it; an admin can grant it again.",
        )
    else:
        yield _make_reason(
            ReasonCode.NOT_GRANTED,
            f"Nobody granted {tool.tool} for speculation, and its server does not declare it "
            "read-only; an admin can grant it.",
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
        yield _make_reason(
            ReasonCode.CONTRADICTORY,
            f"Its server declares {tool.tool} both read-only and destructive; no grant covers it.",
        )
    elif tool.annotations.get("destructiveHint") is True:
        yield _make_reason(
            ReasonCode.DECLARED_DESTRUCTIVE,
            f"Its server declares {tool.tool} destructive; no grant covers it.",
        )
    if tool.danger not in (Danger.READ, Danger.WRITE):
        yield _make_reason(
            ReasonCode.DANGEROUS,
            f"The danger class of {tool.tool} is {tool.danger.value}; no grant covers it.",
        )
    if tool.vetoed or tool.veto_reasons:
        why = ", ".join(tool.veto_reasons) or "a dangerous operation matches"
        yield _make_reason(
            ReasonCode.VETOED, f"{tool.tool} may do harm: {why}; no grant covers it."
        )


def _explain_price(tool: CatalogueTool, price: Decimal | None) -> Iterator[AdmissibilityReason]:
    if price is None:
        yield _make_reason(
            ReasonCode.UNKNOWN_COST,
            f"The price of a call of {tool.tool} is unknown; an admin can set its server's price.",
        )
    elif not price <= MAX_COST:
        yield _make_reason(
            ReasonCode.TOO_EXPENSIVE,
            f"A call of {tool.tool} costs ${price:f}, more than ${MAX_COST}.",
        )


def _explain_approval(
    tool: CatalogueTool, caller: Caller, catalogue: Catalogue
) -> Iterator[AdmissibilityReason]:
    reason = approval.explain_approval(tool, caller=caller, catalogue=catalogue)
    if reason:
        yield _make_reason(
            ReasonCode.APPROVAL_REQUIRED, f"{tool.tool} needs a person's approval: {reason}."
        )


def _iterate_argument_reasons(
    tool: CatalogueTool, arguments: Mapping[str, Any]
) -> Iterator[AdmissibilityReason]:
    """Require final arguments that fit the schema and are small enough to say so at once."""
    budget = ArgumentBudget(bytes_left=MAX_BYTES, values_left=MAX_BYTES, marks_left=0, depth=100)
    try:
        find_reference_marks(arguments, budget)
        if not validate_within_loop_budget(tool, arguments):
            yield _refuse_arguments(tool, "take too long to validate")
    except UnreadableArguments as error:
        if budget.marks_left >= 0:
            yield _refuse_arguments(tool, str(error))
            return
        yield _make_reason(
            ReasonCode.UNRESOLVED_REFERENCE,
            f"The arguments of {tool.tool} refer to results that are not known yet.",
        )
    except CallError as error:
        yield _refuse_arguments(tool, f"fail validation ({error.code})")


def _refuse_arguments(tool: CatalogueTool, why: str) -> AdmissibilityReason:
    return _make_reason(ReasonCode.INVALID_ARGUMENTS, f"The arguments of {tool.tool} {why}.")


def _iterate_steering_reasons(
    tool: CatalogueTool,
    arguments: Mapping[str, Any],
    provenance: Mapping[str, Provenance],
    caller: Caller,
    rules: AdmissibilityRules,
    *,
    find_source: Callable[[Mapping[str, Any]], Provenance] = lambda _mark: UNKNOWN,
) -> Iterator[AdmissibilityReason]:
    if tool.server not in rules.catalogue.servers:
        return
    closed = is_closed_world(tool, rules, team=caller.team)
    for value in find_steering_values(
        arguments,
        provenance,
        input_schema=tool.input_schema,
        server=tool.server,
        is_closed_world=closed,
        find_source=find_source,
    ):
        name = f"argument {value.parameter!r}" if value.parameter else "an argument"
        if closed:
            message = f"{name} of {tool.tool} {value.problem}; only the client may state it."
            yield _make_reason(ReasonCode.FOREIGN_PLACE, message)
        else:
            message = (
                f"{tool.tool} may reach beyond its server, and {name} {value.problem}; an admin "
                "who knows that it does not can grant it as closed-world."
            )
            yield _make_reason(ReasonCode.OPEN_WORLD, message)


def _iterate_plan_reasons(plan: Plan) -> Iterator[AdmissibilityReason]:
    if not plan.workflow.tasks:
        yield _make_reason(ReasonCode.EMPTY_WORKFLOW, "The workflow has no tasks.")
    if plan.problems:
        yield _make_reason(
            ReasonCode.INVALID_ARGUMENTS,
            f"The workflow has {len(plan.problems)} problems, which a dry run lists.",
        )


def _iterate_task_reasons(
    plan: Plan,
    caller: Caller,
    rules: AdmissibilityRules,
    provenance: Mapping[str, Mapping[str, Provenance]],
) -> Iterator[AdmissibilityReason]:
    servers: dict[str, str] = {}
    tools: dict[str, CatalogueTool] = {}
    if not caller.has_scope(SCOPE):
        yield _make_reason(ReasonCode.NOT_PERMITTED, str(CallNotPermitted(caller)))
    for task in plan.workflow.tasks:
        try:
            tools[task.id] = rules.catalogue.find_tool(task.tool, caller)
        except UnknownTool:
            yield replace(
                _make_reason(ReasonCode.UNKNOWN_TOOL, f"The caller sees no tool {task.tool}."),
                task=task.id,
            )
        else:
            servers[task.id] = tools[task.id].server
    for task in plan.workflow.tasks:
        if task.id in tools:
            tool = tools[task.id]
            reasons = (
                *_iterate_definition_reasons(tool, rules, caller.team),
                *_explain_approval(tool, caller, rules.catalogue),
                *_iterate_steering_reasons(
                    tool,
                    task.arguments,
                    provenance.get(task.id, {}),
                    caller,
                    rules,
                    find_source=partial(_find_source, task=task, servers=servers),
                ),
            )
            yield from (replace(reason, task=task.id) for reason in reasons)


def _find_source(
    mark: Mapping[str, Any], *, task: WorkflowTask, servers: Mapping[str, str]
) -> Provenance:
    """Return the server whose result a reference or an item of a list stands for."""
    named = mark.get(REFERENCE)
    if named is None and task.for_each is not None:
        named = task.for_each.task
    server = servers.get(named) if isinstance(named, str) else None
    if server is None:
        return UNKNOWN
    return Provenance(kind=ProvenanceKind.RESULT, server=server)


def _iterate_total_reasons(
    plan: Plan, catalogue: Catalogue, expected_s: Mapping[str, float]
) -> Iterator[AdmissibilityReason]:
    """Limit what the whole workflow costs and how long it takes."""
    prices: list[Decimal] = []
    ends_s: dict[str, float] = {}
    by_id = plan.workflow.by_id
    for task_id in (task_id for layer in plan.layers for task_id in layer):
        task = by_id[task_id]
        tool = catalogue.tools.get(task.tool)
        server = catalogue.servers.get(tool.server) if tool is not None else None
        price = (server.price_per_call if server is not None else None) or Decimal(0)
        if task.for_each is not None and price:
            yield AdmissibilityReason(
                code=ReasonCode.UNKNOWN_COST,
                message=f"{task.tool} is priced, and how often it would be called is unknown.",
                task=task_id,
            )
        prices.append(price)
        begins_s = max((ends_s.get(other, 0.0) for other in task.waits_for), default=0.0)
        ends_s[task_id] = begins_s + expected_s.get(task.tool, 0.0)
    total = sum(prices, Decimal(0))
    if not total <= MAX_COST:
        yield _make_reason(
            ReasonCode.TOO_EXPENSIVE, f"All calls together cost ${total:f}, more than ${MAX_COST}."
        )
    total_s = max(ends_s.values(), default=0.0)
    if not total_s <= MAX_TIME_S:
        yield _make_reason(
            ReasonCode.TOO_SLOW,
            f"The workflow takes {total_s:.1f} s, more than {MAX_TIME_S:g} s.",
        )


def _make_reason(code: ReasonCode, message: str) -> AdmissibilityReason:
    return AdmissibilityReason(code=code, message=message)
