"""Import relations between tools from a file."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from gateway_project.access import callers
from gateway_project.foundation import telemetry
from gateway_project.foundation.postgres import migrate
from gateway_project.management.import_file import (
    display_name,
    load_importer,
    print_problems,
    problems_to_json,
    read_content,
)
from gateway_project.management.teams import find_named_team
from gateway_project.use_cases.import_graph import import_graph
from graph import refresh
from graph.exchange.read import MAX_BYTES, GraphFormat
from graph.import_file import ImportedRelations, ImportRefused
from tools.hidden_text import reveal_hidden

MAX_SHOWN_CHANGES = 20
"""Changes shown without --json; the rest are counted."""


class Command(BaseCommand):
    """`manage.py import_graph FILE|- [--curated] [--team NAME] [--dry-run]`."""

    help = "Import relations between tools from JSON, JSON Lines or GraphML: all or nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", metavar="FILE", help=".json, .jsonl or .graphml; - reads stdin"
        )
        parser.add_argument(
            "--format",
            choices=[form.value for form in GraphFormat],
            help="default: from the file name or content",
        )
        parser.add_argument(
            "--curated",
            action="store_true",
            help="vouch for it: entries marked curated count as curated, rejections too",
        )
        parser.add_argument(
            "--team", metavar="NAME", help="take over observed relations for this team"
        )
        parser.add_argument(
            "--skip-unknown",
            action="store_true",
            help="leave out relations of tools that are not here",
        )
        parser.add_argument("--user", default=callers.LOCAL_ADMIN, help="user who imports")
        parser.add_argument("--dry-run", action="store_true", help="show what would change")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        migrate.require_migrated()
        telemetry.configure_logging(settings.FOREGATE, process="import_graph", quiet=True)
        caller = load_importer(
            options["user"],
            permissions=["graph.add_tooldependency", "graph.change_tooldependency"],
            action="change relations",
        )
        try:
            imported = import_graph(
                caller,
                read_content(options["file"], max_bytes=MAX_BYTES),
                filename=display_name(options["file"]),
                dry_run=options["dry_run"],
                form=GraphFormat(options["format"]) if options["format"] else None,
                origin=caller.user if options["curated"] else "",
                as_curated=options["curated"],
                team=find_named_team(options["team"]),
                skip_unknown=options["skip_unknown"],
            )
        except ImportRefused as refused:
            self._print_refusal(refused, options)
            return
        if imported.changes and not imported.dry_run:
            refresh.refresh_graph(now=timezone.now())
        self._print_report(imported, options)

    def _print_refusal(self, refused: ImportRefused, options: dict[str, Any]) -> None:
        if options["json"]:
            report = {"imported": False, **problems_to_json(refused.problems, refused.count)}
            self.stdout.write(json.dumps(report, indent=2))
        else:
            print_problems(self, refused.problems, refused.count)
        count = f"{refused.count:,} problem{'s' if refused.count != 1 else ''}"
        raise CommandError(f"nothing was imported from {options['file']}: {count}")

    def _print_report(self, imported: ImportedRelations, options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(_summary_to_json(imported), indent=2))
            return
        for warning in imported.warnings:
            self.stderr.write(reveal_hidden(warning), self.style.WARNING)
        if imported.dry_run:
            for change in imported.changes[:MAX_SHOWN_CHANGES]:
                edge = f"{change.source} {change.kind} {change.target}"
                self.stdout.write(reveal_hidden(f"{change.change:>8}  {edge}"))
            if len(imported.changes) > MAX_SHOWN_CHANGES:
                self.stdout.write(
                    f"          and {len(imported.changes) - MAX_SHOWN_CHANGES:,} more"
                )
        self.stdout.write(
            f"{imported.added:,} new, {imported.changed:,} changed, {imported.same:,} the same, "
            f"{imported.left_out:,} left out"
            + ("; nothing was stored" if imported.dry_run else "")
        )


def _summary_to_json(imported: ImportedRelations) -> dict[str, Any]:
    return {
        "imported": not imported.dry_run,
        "dry_run": imported.dry_run,
        "new": imported.added,
        "changed": imported.changed,
        "same": imported.same,
        "left_out": imported.left_out,
        "changes": [change._asdict() for change in imported.changes],
        "warnings": list(imported.warnings),
    }
