"""Show a run: its calls over time, what came of them, what it waits for."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, OutputWrapper

from execution.view import RunView
from gateway_project.management import run_reports

LOOKED_AT_S = 0.5
"""A run that is followed is read so often."""


class Command(BaseCommand):
    """`manage.py run_show RUN [--follow]`."""

    help = "Show a run: its calls over time, results, errors, and what it waits for."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", metavar="RUN", help="id; `runs` lists them")
        parser.add_argument(
            "--follow", action="store_true", help="tell what happens until it rests"
        )
        parser.add_argument("--events", action="store_true", help="list all that happened")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        run_reports.require_tables()
        # What is read as JSON holds nothing else.
        out = self.stderr if options["json"] else self.stdout
        if options["follow"]:
            self._follow(options["run"], out)
        view = run_reports.find(options["run"])
        if options["events"] and not (options["follow"] or options["json"]):
            _tell(view, out, after=0)
        if options["json"]:
            self.stdout.write(run_reports.as_text(_report(view, options)))
            return
        console = run_reports.terminal()
        for shown in run_reports.shown(view):
            console.print(shown)

    def _follow(self, run: str, out: OutputWrapper) -> None:
        """Tell what happens until the run is at rest; what it gave is not read meanwhile."""
        view = run_reports.find(run, results=False)
        told = _tell(view, out, after=0)
        while not view.status.is_at_rest:
            time.sleep(LOOKED_AT_S)
            view = run_reports.find(run, results=False)
            told = _tell(view, out, after=told)


def _tell(view: RunView, out: OutputWrapper, *, after: int) -> int:
    """Tell what happened since an event; return the number of the last."""
    for event in run_reports.events(view.id, after=after):
        out.write(run_reports.event_line(event, view.created_at), style_func=str)
        after = event.seq
    out.flush()
    return after


def _report(view: RunView, options: dict[str, Any]) -> dict[str, Any]:
    report = run_reports.report(view)
    if options["events"]:
        report["events"] = [run_reports.event_json(one) for one in run_reports.events(view.id)]
    return report
