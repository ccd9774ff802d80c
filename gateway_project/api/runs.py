"""Runs: what ran and what runs, and control over it as a person."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any, ClassVar, Final, cast, get_args
from uuid import UUID

from django.utils.dateparse import parse_datetime
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from execution.control import Action
from execution.status import RunStatus
from execution.store import views
from execution.view import RunFilter, RunSort, RunSummary, RunView
from gateway_project.access.roles import CONTROL, READ
from gateway_project.api.description import describe_list
from gateway_project.api.pages import cut_page, read_page_request, read_time
from gateway_project.api.problems import InvalidInput
from gateway_project.api.views import ApiView
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.mcp import meta_tools, run_schema
from gateway_project.runs import plan as run_plan
from gateway_project.runs import run_json
from gateway_project.use_cases import control_run
from gateway_project.use_cases.control_run import RunControl
from gateway_project.use_cases.decide_approval import load_approver

APPLY_WAIT_S: Final = 5.0
"""Longest wait until a run has carried out a command; it is carried out later otherwise."""
MAX_TEAM_DIGITS: Final = 18
"""More would not fit into a column of 64 bits."""
MAX_DURATION_S: Final = 31_536_000.0
MAX_TEXT_CHARS: Final = 200
_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": ["string", "null"], "format": "date-time"}
_SUMMARY: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "run_id": {"type": "string", "format": "uuid"},
        "status": {"enum": [status.value for status in RunStatus]},
        "user": _TEXT,
        "team": {"type": ["integer", "null"]},
        "is_direct": {"type": "boolean", "description": "A single call that became a run"},
        "tools": {"type": "array", "items": _TEXT, "description": "The first ones"},
        "more_tools": {"type": "integer"},
        "tasks": {"type": "integer"},
        "done": {"type": "integer"},
        "pending_approvals": {"type": "integer"},
        "error_code": _TEXT,
        "created_at": _TIME,
        "started_at": _TIME,
        "ended_at": _TIME,
    },
    "required": ["run_id", "status", "user", "tools", "tasks", "done", "created_at"],
}
_STATE: Final = meta_tools.BY_NAME[meta_tools.GET_RUN].output_schema or {}
_ACTIONS: Final = [action.value for action in Action]


def run_to_json(view: RunView) -> dict[str, Any]:
    """Return a run as JSON, with relative links to its approvals."""
    return run_json.run_to_json(view, lambda approval: f"/api/v1/approvals/{approval}/")


class RunListView(ApiView):
    """The caller's runs; admins of teams see those of their teams too, superusers all."""

    scopes: ClassVar = {"GET": READ}
    serves_groups = True

    @describe_list(
        "list_runs",
        _SUMMARY,
        "",
        OpenApiParameter("status", OpenApiTypes.STR, enum=[status.value for status in RunStatus]),
        OpenApiParameter("tool", OpenApiTypes.STR, description="Of this tool or server"),
        OpenApiParameter("user", OpenApiTypes.STR),
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
    )
    def get(self, request: Request) -> Response:
        """List runs, newest first unless sorted otherwise."""
        wanted = read_page_request(request, key=(str, str))
        approver = load_approver(self.caller)
        found = views.load_summaries(
            None if self.caller.has_scope(SCOPE_ALL) else self.caller,
            teams=approver.teams,
            wanted=read_run_filter(request.query_params),
            after=read_key(wanted.after),
            limit=wanted.limit + 1,
        )
        page = cut_page(found, wanted, key=make_key)
        return Response(page.as_json(request, run_json.summary_to_json))


def read_run_filter(given: Mapping[str, str]) -> RunFilter:
    """Read which runs an address asks for; empty values ask for all.

    Raises:
        InvalidInput: If a value is not one of those possible.
    """
    status, team = given.get("status", ""), given.get("team", "")
    if status and status not in [known.value for known in RunStatus]:
        raise InvalidInput(f"status: one of {', '.join(known.value for known in RunStatus)}")
    sort = given.get("sort", "") or "newest"
    if sort not in get_args(RunSort):
        raise InvalidInput(f"sort: one of {', '.join(get_args(RunSort))}")
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


class RunDetailView(ApiView):
    """One run."""

    scopes: ClassVar = {"GET": READ}
    serves_groups = True

    @extend_schema(operation_id="get_run", responses={200: _STATE})
    def get(self, _request: Request, run: UUID) -> Response:
        """Return a run with its workflow, results, errors and timeline."""
        view = control_run.find_run(
            self.caller, run, sealer=self.payload_sealer, results=True, workflow=True
        )
        return Response(run_to_json(view))


class RunControlView(ApiView):
    """Control of a run, as in the console: by its user, admins of its team, and superusers."""

    scopes: ClassVar = {"POST": CONTROL}

    @extend_schema(
        operation_id="control_run",
        request={
            "application/json": {
                "type": "object",
                "properties": {
                    "action": {"enum": _ACTIONS},
                    "workflow": run_schema.RUN_INPUT["properties"]["workflow"],
                    "rerun_unknown": {
                        "type": "boolean",
                        "description": "For resume: repeat calls whose outcome is unknown, which "
                        "may already have taken effect",
                    },
                },
                "required": ["action"],
                "additionalProperties": False,
            }
        },
        responses={200: _STATE, 202: _STATE},
    )
    def post(self, _request: Request, run: UUID) -> Response:
        """Continue, pause, resume, abort or replan a run; 202 if that takes longer."""
        control = _read_control(self.read_object())
        if control.workflow is not None:
            begun = control_run.find_run(
                self.caller, run, sealer=self.payload_sealer, workflow=True
            )
            run_plan.parse_replan(begun, control.workflow)
        command = control_run.control_run(self.caller, run, control, sealer=self.payload_sealer)
        is_applied = command is None or control_run.wait_for_command(
            run, command, control.action, wait_s=APPLY_WAIT_S
        )
        view = control_run.find_run(
            self.caller, run, sealer=self.payload_sealer, results=True, workflow=True
        )
        return Response(run_to_json(view), HTTPStatus.OK if is_applied else HTTPStatus.ACCEPTED)


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


def make_key(summary: RunSummary) -> tuple[Any, ...]:
    """Return the key of a run in its list."""
    return (summary.created_at.isoformat(), str(summary.id))


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
