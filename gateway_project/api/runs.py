"""Runs: what ran and what runs, control over it as a person, and approvals of its calls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, cast, get_args
from uuid import UUID

from django.utils.dateparse import parse_datetime
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.response import Response

from execution.control import Action
from execution.status import RunStatus
from execution.store import views
from execution.view import RunFilter, RunSort, RunSummary, RunView
from gateway_project.access.roles import APPROVE, CONTROL, READ
from gateway_project.api.operations import Operation
from gateway_project.api.pages import (
    AnyRequest,
    Page,
    cut_page,
    make_page_schema,
    read_choice,
    read_page_request,
    read_time,
)
from gateway_project.api.problems import InvalidInput
from gateway_project.api.views import ApiView
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.schema_parts import TEXT, describe_object
from gateway_project.mcp.meta_tools.runs import GET_RUN, RUN_WORKFLOW
from gateway_project.runs import plan as run_plan
from gateway_project.runs import run_json
from gateway_project.use_cases import control_run as use_case
from gateway_project.use_cases import decide_approval as approvals
from gateway_project.use_cases.control_run import RunControl
from gateway_project.use_cases.decide_approval import load_approver

APPLY_WAIT_S: Final = 5.0
"""Longest wait until a run has carried out a command; it is carried out later otherwise."""
MAX_TEAM_DIGITS: Final = 18
"""More would not fit into a column of 64 bits."""
MAX_DURATION_S: Final = 31_536_000.0
MAX_TEXT_CHARS: Final = 200
_TIME: Final = {"type": ["string", "null"], "format": "date-time"}
_STATUSES: Final = [status.value for status in RunStatus]
_SUMMARY: Final = describe_object(
    {
        "run_id": {"type": "string", "format": "uuid"},
        "status": {"enum": _STATUSES},
        "user": TEXT,
        "team": {"type": ["integer", "null"]},
        "is_direct": {"type": "boolean", "description": "A single call that became a run"},
        "tools": {"type": "array", "items": TEXT, "description": "The first ones"},
        "more_tools": {"type": "integer"},
        "tasks": {"type": "integer"},
        "done": {"type": "integer"},
        "pending_approvals": {"type": "integer"},
        "error_code": TEXT,
        "created_at": _TIME,
        "started_at": _TIME,
        "ended_at": _TIME,
    },
    optional=(
        *("team", "is_direct", "more_tools", "pending_approvals", "error_code"),
        *("started_at", "ended_at"),
    ),
)
_STATE: Final = GET_RUN.output_schema or {}
_ACTIONS: Final = [action.value for action in Action]
_CONTROL: Final = {
    "type": "object",
    "properties": {
        "action": {"enum": _ACTIONS},
        "workflow": RUN_WORKFLOW.input_schema["properties"]["workflow"],
        "rerun_unknown": {
            "type": "boolean",
            "description": "For resume: repeat calls whose outcome is unknown, which "
            "may already have taken effect",
        },
    },
    "required": ["action"],
    "additionalProperties": False,
}
_WHEN: Final = {"type": "string", "format": "date-time"}
_APPROVAL: Final = describe_object(
    {
        "id": {"type": "string", "format": "uuid"},
        "run": {"type": "string", "format": "uuid"},
        "task": TEXT,
        "item": {"type": "integer", "description": "Of a for-each task"},
        "tool": TEXT,
        "reason": TEXT,
        "user": {"type": "string", "description": "Who called it"},
        "status": TEXT,
        "arguments": {"description": "Exactly those of the call; only of one approval"},
        "created_at": _WHEN,
        "expires_at": _WHEN,
        "decided_by": TEXT,
        "decided_via": TEXT,
    },
    optional=("item", "arguments", "expires_at", "decided_by", "decided_via"),
)
STATES: Final = ("pending", "past")


class DecisionSerializer(serializers.Serializer[Any]):
    """A person's decision."""

    approve = serializers.BooleanField(help_text="Whether the call may be made")


def run_to_json(view: RunView) -> dict[str, Any]:
    """Return a run as JSON, with relative links to its approvals."""
    return run_json.run_to_json(view, lambda approval: f"/api/v1/approvals/{approval}/")


@Operation(
    "GET runs/",
    READ,
    in_groups=True,
    answers=_SUMMARY,
    plural="runs",
    parameters=[
        OpenApiParameter("status", OpenApiTypes.STR, enum=_STATUSES),
        OpenApiParameter("tool", OpenApiTypes.STR, description="Of this tool or server"),
        "user",
        OpenApiParameter("team", OpenApiTypes.INT),
        OpenApiParameter("since", OpenApiTypes.DATETIME, description="A time, or a day"),
        OpenApiParameter("until", OpenApiTypes.DATETIME, description="The same; days count"),
        OpenApiParameter(
            "min_duration_s", OpenApiTypes.DOUBLE, description="Took at least so long"
        ),
        OpenApiParameter(
            "text",
            OpenApiTypes.STR,
            description="In the id, the user, the error code, or a task's id or tool",
        ),
        OpenApiParameter("sort", OpenApiTypes.STR, enum=get_args(RunSort)),
    ],
)
def list_runs(call: ApiView) -> Response:
    """List runs, newest first unless sorted otherwise."""
    page = find_page(call.request, call.caller, call.request.query_params)
    return Response(page.as_json(call.request, run_json.summary_to_json))


def find_page(request: AnyRequest, caller: Caller, given: Mapping[str, str]) -> Page[RunSummary]:
    """Return the page of runs that an address asks for, as far as the caller sees them.

    Raises:
        InvalidInput: If a value is not one of those possible.
    """
    wanted = read_page_request(request, key=(str, str))
    found = views.load_summaries(
        None if caller.has_scope(SCOPE_ALL) else caller,
        teams=load_approver(caller).teams,
        wanted=read_run_filter(given),
        after=read_key(wanted.after),
        limit=wanted.limit + 1,
    )
    return cut_page(found, wanted, key=lambda one: (one.created_at.isoformat(), str(one.id)))


def read_run_filter(given: Mapping[str, str]) -> RunFilter:
    """Read which runs an address asks for; empty values ask for all.

    Raises:
        InvalidInput: If a value is not one of those possible.
    """
    status, team = read_choice(given, "status", _STATUSES), given.get("team", "")
    sort = read_choice(given, "sort", get_args(RunSort)) or "newest"
    if team and not (team.isascii() and team.isdecimal() and len(team) < MAX_TEAM_DIGITS):
        raise InvalidInput("team: the number of a team")
    return RunFilter(
        status=RunStatus(status) if status else None,
        tool=given.get("tool", "").strip(),
        user=given.get("user", "").strip(),
        team=int(team) if team else None,
        since=read_time(given, "since"),
        until=read_time(given, "until", is_end=True),
        min_duration_s=_read_seconds(given, "min_duration_s"),
        text=given.get("text", "").strip()[:MAX_TEXT_CHARS],
        sort=cast("RunSort", sort),
    )


def _read_seconds(given: Mapping[str, str], name: str) -> float | None:
    text = given.get(name, "").strip()
    try:
        seconds = float(text) if text else None
    except ValueError:
        seconds = math.nan
    if seconds is not None and not 0 <= seconds <= MAX_DURATION_S:
        raise InvalidInput(f"{name}: seconds, at most {MAX_DURATION_S:,.0f}")
    return seconds


@Operation("GET runs/<uuid:run>/", READ, in_groups=True, answers=_STATE)
def get_run(call: ApiView, run: UUID) -> Any:
    """Return a run with its workflow, results, errors and timeline."""
    return run_to_json(
        use_case.find_run(
            call.caller, run, sealer=call.payload_sealer, results=True, workflow=True
        )
    )


@Operation(
    "POST runs/<uuid:run>/control/",
    CONTROL,
    takes={"application/json": _CONTROL},
    answers={200: _STATE, 202: _STATE},
)
def control_run(call: ApiView, run: UUID) -> Any:
    """Continue, pause, resume, abort or replan a run; 202 if that takes longer."""
    control, sealer = _read_control(call.read_object()), call.payload_sealer
    if control.workflow is not None:
        begun = use_case.find_run(call.caller, run, sealer=sealer, workflow=True)
        run_plan.parse_replan(begun, control.workflow)
    command = use_case.control_run(call.caller, run, control, sealer=sealer)
    is_applied = command is None or use_case.wait_for_command(
        run, command, control.action, wait_s=APPLY_WAIT_S
    )
    return Response(get_run.run(call, run), 200 if is_applied else 202)


def _read_control(given: dict[str, Any]) -> RunControl:
    if unknown := set(given) - {"action", "workflow", "rerun_unknown"}:
        raise InvalidInput(f"unknown: {', '.join(sorted(unknown))[:200]}")
    if given.get("action") not in _ACTIONS:
        raise InvalidInput(f"action: one of {', '.join(_ACTIONS)}")
    if not isinstance(given.get("rerun_unknown", False), bool):
        raise InvalidInput("rerun_unknown: true or false")
    action = Action(given["action"])
    workflow = given.get("workflow")
    if (workflow is not None) != (action is Action.REPLAN):
        raise InvalidInput("workflow: needed for replan, and only there")
    return RunControl(
        action=action, workflow=workflow, rerun_unknown=given.get("rerun_unknown", False)
    )


def read_key(after: tuple[Any, ...]) -> tuple[datetime, UUID] | None:
    """Return the time and id at which a page of runs or predictions begins; None: the first."""
    if not after:
        return None
    try:
        moment, run = parse_datetime(after[0]), UUID(after[1])
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidInput("cursor: not one of this list; begin again without it")
    return moment, run


@Operation(
    "GET approvals/",
    APPROVE,
    parameters=[OpenApiParameter("status", OpenApiTypes.STR, enum=STATES, default="pending")],
    answers=make_page_schema(_APPROVAL),
)
def list_approvals(call: ApiView) -> Any:
    """List pending approvals, oldest first, or the newest past ones."""
    status = read_choice(call.request.query_params, "status", STATES, default="pending")
    load = approvals.load_pending if status == "pending" else approvals.load_recent
    return {"items": [run_json.approval_to_json(one) for one in load(call.caller)], "next": None}


@Operation("GET approvals/<uuid:approval>/", APPROVE, answers=_APPROVAL)
def get_approval(call: ApiView, approval: UUID) -> Any:
    """Return an approval with the exact arguments of the call."""
    found = approvals.load_approval(call.caller, approval, sealer=call.payload_sealer)
    return run_json.approval_to_json(found) | {"arguments": found.arguments}


@Operation(
    "POST approvals/<uuid:approval>/decide/", APPROVE, takes=DecisionSerializer, answers=_APPROVAL
)
def decide_approval(call: ApiView, approval: UUID) -> Any:
    """Approve or reject a call; it counts once."""
    return run_json.approval_to_json(
        approvals.decide_approval(call.caller, approval, approve=call.given["approve"], via="api")
    )
