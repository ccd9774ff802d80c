"""Read relations between tools from a file."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from gateway_project.access import callers
from gateway_project.foundation import telemetry
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.postgres import migrate
from gateway_project.management.teams import named_team
from gateway_project.use_cases.import_graph import import_graph
from graph import refresh
from graph.exchange.read import MAX_BYTES, Form
from graph.import_file import Imported, ImportRefused

MAX_SHOWN = 20
"""Changes that are shown without --json; the rest is counted."""


class Command(BaseCommand):
    """`manage.py import_graph FILE|- [--curated] [--team NAME] [--dry-run]`."""

    help = "Import relations between tools from JSON, JSON Lines or GraphML: all or nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", metavar="FILE", help=".json, .jsonl or .graphml; - reads stdin"
        )
        parser.add_argument(
            "--format",
            choices=[form.value for form in Form],
            help="by default as the file's name or content says",
        )
        parser.add_argument(
            "--curated",
            action="store_true",
            help="vouch for it: what it says is curated counts as curated, rejections too",
        )
        parser.add_argument(
            "--team", metavar="NAME", help="take what was observed over for this team"
        )
        parser.add_argument(
            "--skip-unknown",
            action="store_true",
            help="leave out relations of tools that are not here",
        )
        parser.add_argument("--user", default=callers.LOCAL_ADMIN, help="who imports")
        parser.add_argument("--dry-run", action="store_true", help="show what would change")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        if migrate.pending_migrations():
            raise CommandError("the database is not migrated; run `manage.py migrate`")
        telemetry.configure(settings.FOREGATE, process="import_graph", quiet=True)
        caller = _caller(options["user"])
        name = "standard input" if options["file"] == "-" else Path(options["file"]).name
        try:
            imported = import_graph(
                caller,
                _content(options["file"]),
                filename=name,
                dry_run=options["dry_run"],
                form=Form(options["format"]) if options["format"] else None,
                origin=caller.user if options["curated"] else "",
                as_curated=options["curated"],
                team=named_team(options["team"]),
                skip_unknown=options["skip_unknown"],
            )
        except ImportRefused as refused:
            self._refuse(refused, options)
            return
        if imported.changes and not imported.dry_run:
            refresh.refresh(now=timezone.now())
        self._report(imported, options)

    def _refuse(self, refused: ImportRefused, options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(_refusal(refused), indent=2))
        else:
            for problem in refused.problems:
                self.stderr.write(str(problem), self.style.ERROR)
            if (more := refused.count - len(refused.problems)) > 0:
                self.stderr.write(f"and {more:,} more", self.style.ERROR)
        count = f"{refused.count:,} problem{'s' if refused.count != 1 else ''}"
        raise CommandError(f"nothing was imported from {options['file']}: {count}")

    def _report(self, imported: Imported, options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(_summary(imported), indent=2))
            return
        for warning in imported.warnings:
            self.stderr.write(warning, self.style.WARNING)
        if imported.dry_run:
            for change in imported.changes[:MAX_SHOWN]:
                self.stdout.write(
                    f"{change.change:>8}  {change.source} {change.kind} {change.target}"
                )
            if len(imported.changes) > MAX_SHOWN:
                self.stdout.write(f"          and {len(imported.changes) - MAX_SHOWN:,} more")
        self.stdout.write(
            f"{imported.added:,} new, {imported.changed:,} changed, {imported.same:,} the same, "
            f"{imported.left_out:,} left out"
            + ("; nothing was stored" if imported.dry_run else "")
        )


def _caller(username: str) -> Caller:
    """Return who imports.

    Raises:
        CommandError: If they may not.
    """
    callers.ensure_local_admin()
    caller = callers.for_user(username, kind="command")
    user = get_user_model().objects.get(username=username)
    if not user.has_perms(["graph.add_tooldependency", "graph.change_tooldependency"]):
        raise CommandError(f"{username!r} may not change relations; name who may")
    return caller


def _content(file: str) -> bytes:
    """Read a file, or standard input; a little more than is allowed, so that too much is told."""
    if file == "-":
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        with Path(file).open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise CommandError(f"no file {file!r}") from None
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from None


def _refusal(refused: ImportRefused) -> dict[str, Any]:
    return {
        "imported": False,
        "problem_count": refused.count,
        "problems": [problem._asdict() for problem in refused.problems],
    }


def _summary(imported: Imported) -> dict[str, Any]:
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
