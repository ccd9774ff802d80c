"""Load and report runs in commands."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import CommandError
from pydantic_core import to_json
from rich.console import RenderableType

from execution.changes import WHOLE_TASK, RunEvent
from execution.store import views
from execution.store.runs import UnknownRun
from execution.view import RunView
from gateway_project.foundation import sealing
from gateway_project.management.terminal import Terminal, open_terminal
from gateway_project.runs import table as run_table
from gateway_project.runs import timeline as run_timeline
from gateway_project.runs.run_json import run_to_json
from tools.hidden_text import reveal_hidden


def run_console(*, stderr: bool = False) -> Terminal:
    """Return a console as wide as the terminal, or wide enough for most tables."""
    return open_terminal(stderr=stderr)


def find_run(text: str, *, results: bool = True) -> RunView:
    """Return a run by its id.

    Args:
        text: Its id, unparsed.
        results: Whether to load its arguments and results.

    Raises:
        CommandError: If there is no such run.
    """
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)
    try:
        return views.load_view(UUID(text), caller=None, sealer=sealer, results=results)
    except (UnknownRun, ValueError):
        raise CommandError(
            f"there is no run {text[:100]!r}; `manage.py runs` lists them"
        ) from None


def to_json_text(report: Mapping[str, Any]) -> str:
    """Serialise a report as JSON; NaN and infinities become null."""
    return to_json(report, indent=2, inf_nan_mode="null").decode()


def link_by_command(approval: UUID) -> str:
    """Return the command that shows an approval, in place of a link."""
    return f"manage.py approvals show {approval}"


def render_run(view: RunView) -> Iterator[RenderableType]:
    """Render a run for a terminal."""
    return run_table.render_run(
        run_to_json(view, link_by_command), run_timeline.build_timeline(view)
    )


def iterate_events(run: UUID, *, after: int = 0) -> Iterator[RunEvent]:
    """Yield the events of a run after a sequence number."""
    while page := views.load_events(run, after=after):
        yield from page
        after = page[-1].seq


def format_event(event: RunEvent, first: datetime) -> str:
    """Format an event as a line, with its time since the first event."""
    place = "" if event.item == WHOLE_TASK else f"[{event.item}]"
    task = f"{event.task}{place} " if event.task else ""
    seconds = max(0.0, (event.at - first).total_seconds())  # two clocks may disagree
    line = (
        f"{seconds:8.2f} s  {task}{event.kind.replace('_', ' ')}{_format_event_data(event.data)}"
    )
    return reveal_hidden(line)


def _format_event_data(data: Mapping[str, Any]) -> str:
    shown = {
        key: round(value, 1) if isinstance(value, float) else value for key, value in data.items()
    }
    return f"  {json.dumps(shown, ensure_ascii=False, default=str)}" if shown else ""
