"""List runs of workflows."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from execution.status import RunStatus
from execution.store import views
from execution.view import RunLine
from gateway_project.management import run_reports
from gateway_project.run_face import table as run_table
from gateway_project.tool_card import clean

MAX_LIMIT = 1_000
NO_RUNS = "No runs yet: `manage.py run FILE` runs a workflow, and so do clients by run_workflow."
NONE_SO = "No run is {}; `manage.py runs` lists all."


class Command(BaseCommand):
    """`manage.py runs [--status STATUS] [--limit N]`."""

    help = "List runs of workflows, newest first."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--status", choices=[status.value for status in RunStatus], help="only those"
        )
        parser.add_argument("--limit", type=_limit, default=20, metavar="N", help="default: 20")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        run_reports.require_tables()
        status = RunStatus(options["status"]) if options["status"] else None
        lines = views.lines(None, status=status, limit=options["limit"])
        if options["json"]:
            report = {"runs": [run_reports.line_json(line) for line in lines]}
            self.stdout.write(json.dumps(report, indent=2))
            return
        if not lines:
            self.stdout.write(NO_RUNS if status is None else NONE_SO.format(status.value))
            return
        run_reports.terminal().print(_table(lines))


def _table(lines: list[RunLine]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("run", "status", "done", "started", "took", "for", "tools"):
        table.add_column(column, no_wrap=column != "tools")
    for line in lines:
        word, style = run_table.status(line.status.value)
        more = ", …" if line.tasks_total > len(line.tools) else ""
        table.add_row(
            str(line.id),
            Text(word, style),
            f"{line.tasks_done}/{line.tasks_total}",
            timezone.localtime(line.created_at).strftime("%Y-%m-%d %H:%M:%S"),
            _took(line),
            escape(line.user),
            escape(clean(", ".join(line.tools))) + more,
        )
    return table


def _took(line: RunLine) -> str:
    if line.started_at is None or line.ended_at is None:
        return "-"
    return f"{(line.ended_at - line.started_at).total_seconds():,.1f} s"


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_LIMIT:
        raise ArgumentTypeError(f"{text}: not a number from 1 to {MAX_LIMIT:,}")
    return int(text)
