"""List runs of workflows."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from execution.status import RunStatus
from execution.store import views
from execution.view import RunFilter, RunSummary
from gateway_project.management import run_reports
from gateway_project.management.command import JSON, GatewayCommand, argument, up_to
from gateway_project.runs import table as run_table
from gateway_project.runs.run_json import summary_to_json
from tools.hidden_text import reveal_hidden

MAX_LIMIT = 1_000
NO_RUNS_NOTE = (
    "No runs yet: `manage.py run FILE` runs a workflow, and so do clients by run_workflow."
)
NO_MATCHING_RUNS_NOTE = "No run is {}; `manage.py runs` lists all."


class Command(GatewayCommand):
    """`manage.py runs [--status STATUS] [--limit N]`."""

    help = "List runs of workflows, newest first."
    requires_system_checks: list[str] = []
    database = "current"
    arguments = (
        argument(
            "--status", "only with this status", choices=[status.value for status in RunStatus]
        ),
        argument("--limit", "default: 20", "N", type=up_to(MAX_LIMIT), default=20),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        status = RunStatus(options["status"]) if options["status"] else None
        lines = views.load_summaries(None, wanted=RunFilter(status=status), limit=options["limit"])
        if options["json"]:
            report = {"runs": [summary_to_json(line) for line in lines]}
            self.write_json(report)
            return
        if not lines:
            self.stdout.write(
                NO_RUNS_NOTE if status is None else NO_MATCHING_RUNS_NOTE.format(status.value)
            )
            return
        run_reports.run_console().print(_make_table(lines))


def _make_table(lines: list[RunSummary]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("run", "status", "done", "started", "took", "for", "tools"):
        table.add_column(column, no_wrap=column != "tools")
    for line in lines:
        word, style = run_table.render_status(line.status.value)
        more = ", …" if line.tasks_total > len(line.tools) else ""
        table.add_row(
            str(line.id),
            Text(word, style),
            f"{line.tasks_done}/{line.tasks_total}",
            timezone.localtime(line.created_at).strftime("%Y-%m-%d %H:%M:%S"),
            _format_duration(line),
            escape(line.user),
            escape(reveal_hidden(", ".join(line.tools))) + more,
        )
    return table


def _format_duration(line: RunSummary) -> str:
    if line.started_at is None or line.ended_at is None:
        return "-"
    return f"{(line.ended_at - line.started_at).total_seconds():,.1f} s"
