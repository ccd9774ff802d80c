"""Runs, their summaries, events and approvals as JSON, for commands and the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from execution.changes import WHOLE_TASK, RunEvent
from execution.view import ApprovalView, RunSummary, RunView
from gateway_project.foundation.text import strip_invisible
from gateway_project.runs.answer import ApprovalLinkMaker, answer_to_json
from gateway_project.runs.timeline import build_timeline


def run_to_json(view: RunView, make_approval_link: ApprovalLinkMaker) -> dict[str, Any]:
    """Return a run with its workflow and its timeline."""
    return {
        **answer_to_json(view, make_approval_link),
        "intent": view.intent,
        "workflow": view.workflow,
        "created_at": _format_iso(view.created_at),
        "started_at": _format_iso(view.started_at),
        "ended_at": _format_iso(view.ended_at),
        "timeline": build_timeline(view).as_json(),
    }


def summary_to_json(line: RunSummary) -> dict[str, Any]:
    """Return the summary of a run as JSON."""
    more = line.tasks_total - len(line.tools)
    return {
        "run_id": str(line.id),
        "status": line.status.value,
        "user": line.user,
        "team": line.team,
        "is_direct": line.is_direct,
        "tools": list(line.tools),
        **({"more_tools": more} if more > 0 else {}),
        "tasks": line.tasks_total,
        "done": line.tasks_done,
        "pending_approvals": line.approvals,
        "error_code": line.error_code,
        "created_at": _format_iso(line.created_at),
        "started_at": _format_iso(line.started_at),
        "ended_at": _format_iso(line.ended_at),
    }


def event_to_json(event: RunEvent) -> dict[str, Any]:
    """Return an event as JSON."""
    return {
        "seq": event.seq,
        "kind": event.kind,
        "at": _format_iso(event.at),
        "task": event.task,
        "item": event.item,
        "data": dict(event.data),
    }


def approval_to_json(approval: ApprovalView) -> dict[str, Any]:
    """Return an approval as JSON, without the arguments of the call."""
    return {
        "id": str(approval.id),
        "run": str(approval.run),
        "task": approval.task,
        **({} if approval.item == WHOLE_TASK else {"item": approval.item}),
        "tool": approval.tool,
        "reason": strip_invisible(approval.reason),
        "user": approval.user,
        "status": approval.status,
        "created_at": approval.created_at.isoformat(),
        "expires_at": approval.expires_at.isoformat(),
        "decided_by": approval.decided_by,
        "decided_via": approval.decided_via,
    }


def _format_iso(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="milliseconds") if moment else None
