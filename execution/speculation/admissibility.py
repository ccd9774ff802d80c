"""Decide what may be called ahead of a request, and explain every reason against it.

Confidence decides what is useful, admissibility what is permitted. So nothing here depends on a
probability or on anything learned: only on the pinned definition, on what people granted, and on
the call itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from execution import approval
from execution.argument_validation import validate_within_loop_budget
from execution.call_errors import CallError, CallNotPermitted
from execution.planning.plan import SCOPE, Plan
from execution.planning.read_arguments import (
    ArgumentBudget,
    UnreadableArguments,
    find_reference_marks,
)
from execution.speculation.calls import Reasons, SpeculativeCall
from execution.speculation.predicted_workflow import estimate_ends
from execution.speculation.provenance import (
    Provenance,
    find_steering_values,
    trace_references,
)
from execution.speculation.rules import (
    MAX_COST,
    AdmissibilityReason,
    AdmissibilityRules,
    ReasonCode,
    is_closed_world,
    list_definition_reasons,
    make_reason,
)
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.rounding import round_apart
from tools.catalogue import Catalogue, CatalogueTool, UnknownTool

MAX_TIME_S: Final = 5.0
"""Seconds that one speculation may take; also the time limit of a call of unknown duration."""
MAX_BYTES: Final = 64 * 1024
"""Approximate JSON size of the arguments of a call."""


def judge_call(call: SpeculativeCall, *, caller: Caller, rules: AdmissibilityRules) -> Reasons:
    """Return the reasons against making a call ahead of a request; empty: it is admissible.

    Every call is judged by this function right before it is dispatched, those of a workflow too,
    since the values of its references are known only then.

    Args:
        call: The call with its final arguments.
        caller: Whom it would be made for.
        rules: Catalogue and grants.
    """
    return tuple(_iterate_call_reasons(call, caller, rules))


def judge_workflow(
    plan: Plan,
    *,
    caller: Caller,
    rules: AdmissibilityRules,
    provenance: Mapping[str, Mapping[str, Provenance]],
    expected_s: Mapping[str, float],
) -> Reasons:
    """Return the reasons against running a whole workflow ahead: those against any task.

    References to results of the same server are accepted here, since only their values can tell;
    `judge_call` judges these before the task is dispatched.

    Args:
        plan: As planned for this caller, with its problems.
        caller: Whom it would run for.
        rules: Catalogue and grants.
        provenance: By task, where the values of its arguments come from; as in `SpeculativeCall`.
        expected_s: 95th percentile of the duration by canonical id; others are unknown.
    """
    return (
        *_iterate_plan_reasons(plan),
        *_iterate_task_reasons(plan, caller, rules, provenance),
        *_iterate_total_reasons(plan, rules.catalogue, expected_s),
    )


def estimate_ends_s(plan: Plan, expected_s: Mapping[str, float]) -> dict[str, float]:
    """Return after how many seconds each task would end; unknown durations count as none.

    Args:
        plan: The workflow.
        expected_s: Duration by canonical id.
    """
    return estimate_ends(plan.workflow.tasks, lambda task: expected_s.get(task.tool, 0.0))


def _iterate_call_reasons(
    call: SpeculativeCall, caller: Caller, rules: AdmissibilityRules
) -> Iterator[AdmissibilityReason]:
    if not caller.has_scope(SCOPE):
        yield make_reason(ReasonCode.NOT_PERMITTED, str(CallNotPermitted(caller)))
    try:
        tool = rules.catalogue.find_tool(call.tool, caller)
    except UnknownTool:
        yield make_reason(
            ReasonCode.UNKNOWN_TOOL, f"The caller sees no tool {call.tool}; teams see their own."
        )
        return
    yield from list_definition_reasons(tool, rules, team=caller.team)
    yield from _explain_approval(tool, caller, rules.catalogue)
    yield from _iterate_argument_reasons(tool, call.arguments)
    yield from _iterate_steering_reasons(tool, call.arguments, call.provenance, caller, rules)
    if call.expected_s is not None and not call.expected_s <= MAX_TIME_S:
        yield make_reason(
            ReasonCode.TOO_SLOW,
            f"{tool.tool} takes {call.expected_s:.1f} s, more than {MAX_TIME_S:g} s.",
        )


def _explain_approval(
    tool: CatalogueTool, caller: Caller, catalogue: Catalogue
) -> Iterator[AdmissibilityReason]:
    reason = approval.explain_approval(tool, caller=caller, catalogue=catalogue)
    if reason:
        yield make_reason(
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
        yield make_reason(
            ReasonCode.UNRESOLVED_REFERENCE,
            f"The arguments of {tool.tool} refer to results that are not known yet.",
        )
    except CallError as error:
        yield _refuse_arguments(tool, f"fail validation ({error.code})")


def _refuse_arguments(tool: CatalogueTool, why: str) -> AdmissibilityReason:
    return make_reason(ReasonCode.INVALID_ARGUMENTS, f"The arguments of {tool.tool} {why}.")


def _iterate_steering_reasons(
    tool: CatalogueTool,
    arguments: Mapping[str, Any],
    provenance: Mapping[str, Provenance],
    caller: Caller,
    rules: AdmissibilityRules,
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
    ):
        name = f"argument {value.parameter!r}" if value.parameter else "an argument"
        if closed:
            message = f"{name} of {tool.tool} {value.problem}; only the client may state it."
            yield make_reason(ReasonCode.FOREIGN_PLACE, message)
        else:
            message = (
                f"{tool.tool} may reach beyond its server, and {name} {value.problem}; an admin "
                "who knows that it does not can grant it as closed-world."
            )
            yield make_reason(ReasonCode.OPEN_WORLD, message)


def _iterate_plan_reasons(plan: Plan) -> Iterator[AdmissibilityReason]:
    if not plan.workflow.tasks:
        yield make_reason(ReasonCode.EMPTY_WORKFLOW, "The workflow has no tasks.")
    if plan.problems:
        yield make_reason(
            ReasonCode.INVALID_ARGUMENTS,
            "The workflow cannot run as it is; a dry run lists why.",
        )


def _iterate_task_reasons(
    plan: Plan,
    caller: Caller,
    rules: AdmissibilityRules,
    provenance: Mapping[str, Mapping[str, Provenance]],
) -> Iterator[AdmissibilityReason]:
    tools: dict[str, CatalogueTool] = {}
    if not caller.has_scope(SCOPE):
        yield make_reason(ReasonCode.NOT_PERMITTED, str(CallNotPermitted(caller)))
    for task in plan.workflow.tasks:
        try:
            tools[task.id] = rules.catalogue.find_tool(task.tool, caller)
        except UnknownTool:
            yield replace(
                make_reason(ReasonCode.UNKNOWN_TOOL, f"The caller sees no tool {task.tool}."),
                task=task.id,
            )
    for task in plan.workflow.tasks:
        if task.id in tools:
            tool = tools[task.id]
            reasons = (
                *list_definition_reasons(tool, rules, team=caller.team),
                *_explain_approval(tool, caller, rules.catalogue),
                *_iterate_steering_reasons(
                    tool,
                    task.arguments,
                    {**provenance.get(task.id, {}), **trace_references(task, plan.workflow)},
                    caller,
                    rules,
                ),
            )
            yield from (replace(reason, task=task.id) for reason in reasons)


def _iterate_total_reasons(
    plan: Plan, catalogue: Catalogue, expected_s: Mapping[str, float]
) -> Iterator[AdmissibilityReason]:
    """Limit what the whole workflow costs and how long it takes."""
    prices: list[Decimal] = []
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
    total = sum(prices, Decimal(0))
    if not total <= MAX_COST:
        yield make_reason(
            ReasonCode.TOO_EXPENSIVE, f"All calls together cost ${total:f}, more than ${MAX_COST}."
        )
    total_s = max(estimate_ends_s(plan, expected_s).values(), default=0.0)
    if not total_s <= MAX_TIME_S:
        told_s, limit_s = round_apart(total_s, MAX_TIME_S, digits=1)
        yield make_reason(
            ReasonCode.TOO_SLOW,
            f"The workflow takes {told_s:g} s, more than {limit_s:g} s.",
        )
