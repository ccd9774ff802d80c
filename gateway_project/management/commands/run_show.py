"""Show a run: its calls over time, their results, and what it waits for."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import OutputWrapper

from execution.view import RunView
from gateway_project.management import run_reports
from gateway_project.management.command import JSON, GatewayCommand, argument, flag
from gateway_project.runs.run_json import event_to_json, run_to_json

POLL_INTERVAL_S = 0.5
"""Interval between reads of a followed run."""


class Command(GatewayCommand):
    """`manage.py run_show RUN [--follow]`."""

    help = "Show a run: its calls over time, results, errors, and what it waits for."
    requires_system_checks: list[str] = []
    database = "current"
    arguments = (
        argument("run", "id; `runs` lists them", "RUN"),
        flag("--follow", "follow what happens until it comes to rest"),
        flag("--events", "list all events"),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        # Nothing but the JSON goes to stdout.
        out = self.stderr if options["json"] else self.stdout
        if options["follow"]:
            self._follow_run(options["run"], out)
        view = run_reports.find_run(options["run"])
        if options["events"] and not (options["follow"] or options["json"]):
            _print_new_events(view, out, after=0)
        if options["json"]:
            self.stdout.write(run_reports.to_json_text(_make_report(view, options)))
            return
        console = run_reports.run_console()
        for shown in run_reports.render_run(view):
            console.print(shown)

    def _follow_run(self, run: str, out: OutputWrapper) -> None:
        """Print events until the run is at rest; results are not loaded meanwhile."""
        view = run_reports.find_run(run, results=False)
        last_seq = _print_new_events(view, out, after=0)
        while not view.status.is_at_rest:
            time.sleep(POLL_INTERVAL_S)
            view = run_reports.find_run(run, results=False)
            last_seq = _print_new_events(view, out, after=last_seq)


def _print_new_events(view: RunView, out: OutputWrapper, *, after: int) -> int:
    """Print the events after a sequence number; return the last one's."""
    for event in run_reports.iterate_events(view.id, after=after):
        out.write(run_reports.format_event(event, view.created_at), style_func=str)
        after = event.seq
    out.flush()
    return after


def _make_report(view: RunView, options: dict[str, Any]) -> dict[str, Any]:
    report = run_to_json(view, run_reports.link_by_command)
    if options["events"]:
        report["events"] = [event_to_json(event) for event in run_reports.iterate_events(view.id)]
    return report
