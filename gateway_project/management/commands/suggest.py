"""Suggest a workflow for an intent."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from gateway_project.foundation import telemetry
from gateway_project.intent import table
from gateway_project.management import intents


class Command(BaseCommand):
    """`manage.py suggest "INTENT"`."""

    help = "Suggest a workflow for an intent, as run_intent does; nothing is run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("intent", metavar="INTENT", help="what should be done, in words")
        parser.add_argument("--parameters", metavar="JSON", help="values by parameter name")
        parser.add_argument("--team", metavar="NAME", help="as this team sees it")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        telemetry.configure_logging(settings.FOREGATE, process="suggest", quiet=True)
        parameters = intents.parse_parameters(options["parameters"])
        answer = intents.suggest_for_team(
            options["intent"], parameters=parameters, team=options["team"]
        ).as_json()
        if options["json"]:
            self.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False))
            return
        console = intents.intent_console()
        for shown in (*table.workflow_table(answer), *table.explanation_lines(answer)):
            console.print(shown)
