"""Check for common problems."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from typing import Any

from django.conf import settings
from rich.markup import escape

from gateway_project.diagnosis.check_servers import DEFAULT_WAIT_S
from gateway_project.diagnosis.examine import run_checks
from gateway_project.diagnosis.finding import Finding
from gateway_project.management.command import JSON, GatewayCommand, argument, flag
from gateway_project.management.progress import show_progress
from gateway_project.management.terminal import Terminal

VERDICT_MARKS = {
    "ok": "[green]ok[/green]     ",
    "warning": "[yellow]warning[/yellow]",
    "failure": "[red]failure[/red]",
}


class Command(GatewayCommand):
    """`manage.py doctor`; exits with 1 if anything failed."""

    help = "Check the installation, servers and clients for common problems and say what to do."
    requires_system_checks: list[str] = []
    logs = True
    arguments = (
        flag("--verbose", "show all of a failing server's last output"),
        JSON,
        argument(
            "--wait",
            "start every server, also those that answered recently, and wait this many "
            f"seconds (default: start only the others, and wait {DEFAULT_WAIT_S:g})",
            "S",
            type=float,
        ),
    )

    def run(self, options: dict[str, Any]) -> None:
        console = Terminal()
        findings = []
        with show_progress() as report:
            asking = partial(report, "Asking servers")
            for finding in run_checks(settings.FOREGATE, wait_s=options["wait"], report=asking):
                findings.append(finding)
                if not options["json"]:
                    mark = VERDICT_MARKS[finding.verdict]
                    console.print(f"{mark}  {escape(finding.check)}: {escape(finding.detail)}")
                    _show_output(console, finding, verbose=options["verbose"])
        if options["json"]:
            self.write_json([asdict(finding) for finding in findings])
        if any(finding.verdict == "failure" for finding in findings):
            sys.exit(1)


def _show_output(console: Terminal, finding: Finding, *, verbose: bool) -> None:
    if verbose:
        for line in finding.output:
            console.print(f"         | {escape(line)}")
    elif len(finding.output) > 1:
        console.print(f"         `doctor --verbose` shows its last {len(finding.output)} lines")
