"""Import relations between tools from a file."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from gateway_project.access import callers
from gateway_project.management.command import JSON, GatewayCommand, argument, flag
from gateway_project.management.files import (
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


class Command(GatewayCommand):
    """`manage.py import_graph FILE|- [--curated] [--team NAME] [--dry-run]`."""

    help = "Import relations between tools from JSON, JSON Lines or GraphML: all or nothing."
    database = "current"
    logs = True
    arguments = (
        argument("file", ".json, .jsonl or .graphml; - reads stdin", "FILE"),
        argument(
            "--format",
            "default: from the file name or content",
            choices=[form.value for form in GraphFormat],
        ),
        flag("--curated", "vouch for it: entries marked curated count as curated, rejections too"),
        argument("--team", "take over observed relations for this team", "NAME"),
        flag("--skip-unknown", "leave out relations of tools that are not here"),
        argument("--user", "user who imports", default=callers.LOCAL_ADMIN),
        flag("--dry-run", "show what would change"),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
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
            self.write_json(report)
        else:
            print_problems(self, refused.problems, refused.count)
        count = f"{refused.count:,} problem{'s' if refused.count != 1 else ''}"
        raise CommandError(f"nothing was imported from {options['file']}: {count}")

    def _print_report(self, imported: ImportedRelations, options: dict[str, Any]) -> None:
        if options["json"]:
            self.write_json(_summary_to_json(imported))
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
