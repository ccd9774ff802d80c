"""Delete what is no longer kept."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils import timezone

from gateway_project.management.command import JSON, GatewayCommand, flag
from gateway_project.use_cases.prune import prune

LABELS = {
    "runs.payloads": "runs whose arguments and results expired",
    "runs.failed": "unfinished runs that failed, since their arguments expired",
    "runs.runs": "runs",
    "runs.keys": "idempotency keys",
    "memory.events": "events of the memory",
    "memory.predictions": "events of resolved predictions",
    "memory.events_of_deleted_tools": "events about deleted tools",
    "memory.vectors": "vectors of intents",
    "outcomes.suggestions": "outcomes of suggestions",
    "outcomes.contents": "intents, calls and results of suggestions",
    "outcomes.totals": "totals of predictions",
    "outcomes.reservations": "reservations of money for calls made ahead",
    "access.requests": "answered requests with an idempotency key",
    "access.clients": "OAuth clients that nobody authorized",
    "webhooks.deliveries": "events that webhooks were told of",
}
"""What each count is of."""


class Command(GatewayCommand):
    """`manage.py prune [--dry-run] [--json]`."""

    help = (
        "Delete expired runs, payloads, events and outcomes of predictions now. Gateways and "
        "workers do so once an hour; the settings in docs/settings.md say how long each is kept."
    )
    requires_system_checks: list[str] = []
    database = "current"
    arguments = (
        flag("--dry-run", "only count, delete nothing"),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        report = prune(settings.FOREGATE, at=timezone.now(), dry_run=options["dry_run"])
        if options["json"]:
            self.write_json(report | {"dry_run": options["dry_run"]})
            return
        for line in _list_counts(report):
            self.stdout.write(("Would delete " if options["dry_run"] else "Deleted ") + line)


def _list_counts(report: dict[str, dict[str, int]]) -> list[str]:
    counts = {
        f"{part}.{name}": count
        for part, values in report.items()
        for name, count in values.items()
    }
    return [f"{counts[key]:,} {label}" for key, label in LABELS.items() if counts[key]] or [
        "nothing"
    ]
