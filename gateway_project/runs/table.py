"""Render a run on a terminal: its calls over time, its results and its errors.

Text of servers and clients is shown as plain text, with hidden characters written out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from gateway_project.runs.timeline import Timeline, draw_bar, sort_spans
from tools.hidden_text import reveal_hidden

TIMELINE_WIDTH: Final = 40
"""Characters of the time axis."""
MAX_ROWS: Final = 60
MAX_VALUE_CHARS: Final = 200
_STATUS_STYLES: Final[Mapping[str, str]] = {
    "succeeded": "green",
    "failed": "red",
    "unknown": "magenta",
    "cancelled": "yellow",
    "skipped": "yellow",
    "running": "cyan",
    "partial_success": "yellow",
    "aborted": "yellow",
    "waiting": "yellow",
    "waiting_approval": "yellow",
    "paused": "yellow",
}

_EXECUTOR_NAMES: Final = "a gateway, a console or, if workers execute runs, a worker"
_WAIT_REASONS: Final[Mapping[str, str]] = {
    "queued": f"waits for {_EXECUTOR_NAMES} to start it",
    "waiting": f"has its decision and waits for {_EXECUTOR_NAMES} to continue it",
    "paused": "is paused; `manage.py control_run {run} resume` resumes it",
}
"""What a run waits for other than approvals, by status."""


def render_run(answer: Mapping[str, Any], calls: Timeline) -> Iterator[RenderableType]:
    """Yield a run for a person.

    Args:
        answer: As `runs.answer.answer_to_json` returns it.
        calls: Timeline of its calls.
    """
    yield Text.assemble("run ", (answer["run_id"], "bold"), " ", render_status(answer["status"]))
    if calls.spans:
        yield render_timeline(calls)
        if len(calls.known_spans) > 1:
            yield render_saving(calls)
    yield from _render_results(answer)
    yield from _render_errors(answer)
    yield from _render_decisions(answer)
    waits_for = _WAIT_REASONS.get(answer["status"])
    if waits_for and not answer["pending_approvals"]:
        yield Text(f"the run {waits_for.format(run=answer['run_id'])}")


def render_status(word: str) -> tuple[str, str]:
    """Return a status with its style."""
    return word, _STATUS_STYLES.get(word, "default")


def render_timeline(calls: Timeline, *, width: int = TIMELINE_WIDTH) -> Table:
    """Draw a bar for each call over time."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("task", no_wrap=True)
    table.add_column("tool", overflow="fold")
    table.add_column("when", no_wrap=True, min_width=width)
    table.add_column("took", justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for span in sort_spans(calls.spans)[:MAX_ROWS]:
        word, style = render_status(span.status)
        drawn = Text(draw_bar(span, whole_ms=calls.elapsed_ms, width=width), style=style)
        took = f"{span.duration_ms:,.0f} ms" if span.has_known_end else ""
        table.add_row(
            escape(reveal_hidden(span.label)),
            escape(reveal_hidden(span.tool)),
            drawn,
            took,
            Text(word, style),
        )
    if len(calls.spans) > MAX_ROWS:
        table.add_row(f"and {len(calls.spans) - MAX_ROWS} more")
    return table


def render_saving(calls: Timeline) -> Text:
    """Compare the time of parallel calls with that of sequential ones."""
    return Text.assemble(
        f"{calls.busy_ms:,.0f} ms for calls that took {calls.sequential_ms:,.0f} ms together: ",
        (f"speed-up {calls.speed_up:.1f}", "bold"),
        " over sequential execution, if each took as long alone",
    )


def _render_results(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    for task, value in answer["results"].items():
        yield Text.assemble((reveal_hidden(task), "bold"), " ", _shorten_value(value))
    for task, link in answer.get("links", {}).items():
        yield Text.assemble(
            (reveal_hidden(task), "bold"), f" {link['bytes']:,} bytes, by resources/read"
        )


def _render_errors(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    for task, error in answer["errors"].items():
        yield _render_error(reveal_hidden(task), error)
    if error := answer.get("error"):
        yield _render_error("the run", error)


def _render_error(what: str, error: Mapping[str, Any]) -> Text:
    return Text.assemble(
        (what, "bold"), " ", (error["code"], "red"), " ", reveal_hidden(error["message"])
    )


def _render_decisions(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    for approval in answer["pending_approvals"]:
        yield Text.assemble(
            (reveal_hidden(_format_label(approval)), "bold"),
            (" waits for approval ", "yellow"),
            f"of {reveal_hidden(approval['tool'])} "
            f"{reveal_hidden(str(approval.get('arguments', '')))}: "
            f"{reveal_hidden(approval['reason'])}\n"
            f"  manage.py approvals approve {approval['id']}",
        )
    if more := answer.get("more_approvals"):
        yield Text(f"{more} more wait for approval: manage.py approvals", "yellow")
    if decision := answer.get("decision"):
        yield Text.assemble(("waits for a decision: ", "yellow"), ", ".join(decision["actions"]))


def _format_label(approval: Mapping[str, Any]) -> str:
    return (
        f"{approval['task']}[{approval['item']}]" if "item" in approval else str(approval["task"])
    )


def _shorten_value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(reveal_hidden(text[: 4 * MAX_VALUE_CHARS]).split())
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}…"


def render_plan(plan: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield the plan of a run.

    Args:
        plan: As `Plan.as_json` returns it.
    """
    tools = {row["task"]: row["tool"] for row in plan["plan"]}
    dangers = {row["task"]: row["danger"] for row in plan["side_effects"]}
    approval_reasons = {row["task"]: row["reason"] for row in plan["approvals_needed"]}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("layer", "task", "tool", "danger", "approval"):
        table.add_column(column)
    for number, layer in enumerate(plan["layers"], start=1):
        for task in layer:
            row = (task, tools[task], dangers.get(task, "read"), approval_reasons.get(task, "-"))
            table.add_row(str(number), *(escape(reveal_hidden(cell)) for cell in row))
    if plan["layers"]:
        yield table
    for problem in plan["validation_errors"]:
        yield Text.assemble(("problem ", "red"), reveal_hidden(problem["message"]))
    for warning in plan["warnings"]:
        yield Text.assemble(("warning ", "yellow"), reveal_hidden(warning))
