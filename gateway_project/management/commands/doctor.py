"""Look for what usually goes wrong."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from rich.console import Console
from rich.markup import escape

from gateway_project.diagnosis.examine import examine
from gateway_project.foundation import telemetry

MARKS = {
    "ok": "[green]ok[/green]     ",
    "warning": "[yellow]warning[/yellow]",
    "failure": "[red]failure[/red]",
}


class Command(BaseCommand):
    """`manage.py doctor`; exits with 1 if anything failed."""

    help = "Look for the usual mistakes in the installation, servers and clients; say what to do."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        telemetry.configure(settings.FOREGATE, process="doctor", quiet=True)
        console = Console(highlight=False, soft_wrap=True)
        findings = []
        for finding in examine(settings.FOREGATE):
            findings.append(finding)
            if not options["json"]:
                mark = MARKS[finding.verdict]
                console.print(f"{mark}  {escape(finding.check)}: {escape(finding.detail)}")
        if options["json"]:
            self.stdout.write(json.dumps([asdict(finding) for finding in findings], indent=2))
        if any(finding.verdict == "failure" for finding in findings):
            sys.exit(1)
