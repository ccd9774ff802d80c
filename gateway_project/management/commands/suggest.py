"""Suggest a workflow for an intent."""

from __future__ import annotations

import json
from typing import Any

from gateway_project.intent import table
from gateway_project.management import intents
from gateway_project.management.command import JSON, GatewayCommand, argument


class Command(GatewayCommand):
    """`manage.py suggest "INTENT"`."""

    help = "Suggest a workflow for an intent, as run_intent does; nothing is run."
    logs = True
    arguments = (
        argument("intent", "what should be done, in words", "INTENT"),
        argument("--parameters", "values by parameter name", "JSON"),
        argument("--team", "as this team sees it", "NAME"),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
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
