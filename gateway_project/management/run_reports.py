"""Runs as commands read and report them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.core.management.base import CommandError
from pydantic_core import to_json
from rich.console import Console, RenderableType

from execution.changes import WHOLE_TASK, Event
from execution.store import views
from execution.store.runs import UnknownRun
from execution.view import RunLine, RunView
from gateway_project.foundation import sealing
from gateway_project.foundation.postgres import migrate
from gateway_project.run_face import answer as run_answer
from gateway_project.run_face import table as run_table
from gateway_project.run_face import timeline as run_timeline
from gateway_project.run_face.answer import Told

PIPED_WIDTH: Final = 140


def terminal(*, stderr: bool = False) -> Console:
    """Return where runs are shown: as wide as the terminal, or wide enough for most."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPED_WIDTH
    return Console(stderr=stderr, highlight=False, soft_wrap=True, width=width)


def require_tables() -> None:
    """Refuse a database that nobody has migrated.

    Raises:
        CommandError: Saying what to do.
    """
    if migrate.pending_migrations():
        raise CommandError("the database is not migrated; run `manage.py migrate`")


def find(text: str, *, results: bool = True) -> RunView:
    """Return a run by its id.

    Args:
        text: Its id, as it came.
        results: Whether with what it was given and gave.

    Raises:
        CommandError: If there is none.
    """
    sealer = sealing.load_or_create(settings.FOREGATE.home, name=sealing.PAYLOADS)
    try:
        return views.view(UUID(text), caller=None, sealer=sealer, results=results)
    except (UnknownRun, ValueError):
        raise CommandError(
            f"there is no run {text[:100]!r}; `manage.py runs` lists them"
        ) from None


def as_text(report: Mapping[str, Any]) -> str:
    """Return a report as JSON; numbers that JSON has no form for are null in it."""
    return to_json(report, indent=2, inf_nan_mode="null").decode()


def report(view: RunView) -> dict[str, Any]:
    """Return a run as JSON, with its timeline."""
    told = Told(link=lambda approval: f"manage.py approvals show {approval}")
    return {
        **run_answer.as_json(view, told),
        "intent": view.intent,
        "workflow": view.workflow,
        "created_at": _iso(view.created_at),
        "started_at": _iso(view.started_at),
        "ended_at": _iso(view.ended_at),
        "timeline": run_timeline.timeline(view).as_json(),
    }


def shown(view: RunView) -> Iterator[RenderableType]:
    """Yield a run as a person reads it."""
    return run_table.shown(report(view), run_timeline.timeline(view))


def line_json(line: RunLine) -> dict[str, Any]:
    """Return a run of a list as JSON."""
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
        "created_at": _iso(line.created_at),
        "started_at": _iso(line.started_at),
        "ended_at": _iso(line.ended_at),
    }


def events(run: UUID, *, after: int = 0) -> Iterator[Event]:
    """Yield what happened to a run from an event on."""
    while page := views.events(run, after=after):
        yield from page
        after = page[-1].seq


def event_json(event: Event) -> dict[str, Any]:
    """Return an event as JSON."""
    return {
        "seq": event.seq,
        "kind": event.kind,
        "at": _iso(event.at),
        "task": event.task,
        "item": event.item,
        "data": dict(event.data),
    }


def event_line(event: Event, first: datetime) -> str:
    """Say in a line what happened, and how long after the first event."""
    place = "" if event.item == WHOLE_TASK else f"[{event.item}]"
    what = f"{event.task}{place} " if event.task else ""
    seconds = max(0.0, (event.at - first).total_seconds())  # of two clocks
    return f"{seconds:8.2f} s  {what}{event.kind.replace('_', ' ')}{_said(event.data)}"


def _said(data: Mapping[str, Any]) -> str:
    shown = {
        key: round(value, 1) if isinstance(value, float) else value for key, value in data.items()
    }
    return f"  {json.dumps(shown, ensure_ascii=False, default=str)}" if shown else ""


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="milliseconds") if moment else None
