"""A run as a person reads it on a terminal: its calls over time, and what came of it.

What servers and clients wrote is shown without control characters, and as text only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from gateway_project.run_face.timeline import Timeline, bar, ordered
from gateway_project.tool_card import clean

WIDTH: Final = 40
"""Characters of the line that time is drawn on."""
MAX_ROWS: Final = 60
MAX_VALUE: Final = 200
_STYLES: Final[Mapping[str, str]] = {
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


def shown(answer: Mapping[str, Any], calls: Timeline) -> Iterator[RenderableType]:
    """Yield all that a person wants to know of a run.

    Args:
        answer: As `run_answer.as_json` tells it.
        calls: When its calls were under way.
    """
    yield Text.assemble("run ", (answer["run_id"], "bold"), " ", status(answer["status"]))
    if calls.spans:
        yield timeline(calls)
        if len(calls.known) > 1:
            yield saved(calls)
    yield from _results(answer)
    yield from _errors(answer)
    yield from _decisions(answer)


def status(word: str) -> tuple[str, str]:
    """Return a status with its colour."""
    return word, _STYLES.get(word, "default")


def timeline(calls: Timeline, *, width: int = WIDTH) -> Table:
    """Draw a bar for each call, over time."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("task", no_wrap=True)
    table.add_column("tool", overflow="fold")
    table.add_column("when", no_wrap=True, min_width=width)
    table.add_column("took", justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for span in ordered(calls.spans)[:MAX_ROWS]:
        word, style = status(span.status)
        drawn = Text(bar(span, whole_ms=calls.elapsed_ms, width=width), style=style)
        took = f"{span.ms:,.0f} ms" if span.is_known else ""
        table.add_row(
            escape(clean(span.label)), escape(clean(span.tool)), drawn, took, Text(word, style)
        )
    if len(calls.spans) > MAX_ROWS:
        table.add_row(f"and {len(calls.spans) - MAX_ROWS} more")
    return table


def saved(calls: Timeline) -> Text:
    """Say how much of the calls lay side by side."""
    return Text.assemble(
        f"{calls.busy_ms:,.0f} ms for calls that took {calls.sequential_ms:,.0f} ms together: ",
        (f"speed-up {calls.speed_up:.1f}", "bold"),
        " against sequence, if each took as long alone",
    )


def _results(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    for task, value in answer["results"].items():
        yield Text.assemble((clean(task), "bold"), " ", _short(value))
    for task, link in answer.get("links", {}).items():
        yield Text.assemble((clean(task), "bold"), f" {link['bytes']:,} bytes, by resources/read")


def _errors(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    for task, error in answer["errors"].items():
        yield _error(clean(task), error)
    if error := answer.get("error"):
        yield _error("the run", error)


def _error(what: str, error: Mapping[str, Any]) -> Text:
    return Text.assemble((what, "bold"), " ", (error["code"], "red"), " ", clean(error["message"]))


def _decisions(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    for one in answer["pending_approvals"]:
        yield Text.assemble(
            (clean(_label(one)), "bold"),
            (" waits for approval ", "yellow"),
            f"of {clean(one['tool'])} {one.get('arguments', '')}: {one['reason']}\n"
            f"  manage.py approvals approve {one['id']}",
        )
    if more := answer.get("more_approvals"):
        yield Text(f"{more} more wait for approval: manage.py approvals", "yellow")
    if decision := answer.get("decision"):
        yield Text.assemble(("waits for a decision: ", "yellow"), ", ".join(decision["actions"]))


def _label(one: Mapping[str, Any]) -> str:
    return f"{one['task']}[{one['item']}]" if "item" in one else str(one["task"])


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(clean(text[: 4 * MAX_VALUE]).split())
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}…"


def planned(plan: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield what a run would do.

    Args:
        plan: As `Plan.as_json` tells it.
    """
    tools = {row["task"]: row["tool"] for row in plan["plan"]}
    dangers = {row["task"]: row["danger"] for row in plan["side_effects"]}
    asked = {row["task"]: row["reason"] for row in plan["approvals_needed"]}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("layer", "task", "tool", "danger", "approval"):
        table.add_column(column)
    for number, layer in enumerate(plan["layers"], start=1):
        for task in layer:
            row = (task, tools[task], dangers.get(task, "read"), asked.get(task, "-"))
            table.add_row(str(number), *(escape(clean(cell)) for cell in row))
    if plan["layers"]:
        yield table
    for problem in plan["validation_errors"]:
        yield Text.assemble(("problem ", "red"), clean(problem["message"]))
    for warning in plan["warnings"]:
        yield Text.assemble(("warning ", "yellow"), clean(warning))
