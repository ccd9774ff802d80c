"""`manage.py restore FILE`: replace the database by a backup."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gateway_project.management import question


class Command(BaseCommand):
    help = "Replace all data by a backup's, whole or not at all."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="what `backup` wrote; only files you trust")
        parser.add_argument("--yes", action="store_true", help="replace the data without asking")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *, file: Path, yes: bool, **options: Any) -> None:
        from gateway_project.foundation.postgres import restore
        from gateway_project.foundation.postgres.client import ClientError
        from gateway_project.foundation.postgres.failures import DatabaseUnavailable

        try:
            if not yes and restore.holds_data():
                _confirm(file)
            done = restore.restore(file)
        except (ClientError, DatabaseUnavailable) as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            values = {
                "path": str(done.path),
                "size_bytes": done.size_bytes,
                "migrated": list(done.migrated),
            }
            self.stdout.write(json.dumps(values))
            return
        self.stdout.write(f"Restored {done.path}")
        if done.migrated:
            self.stdout.write(f"Brought it up to date: {', '.join(done.migrated)}")


def _confirm(file: Path) -> None:
    """Ask whoever sits at the terminal.

    Raises:
        CommandError: If they decline, or nobody sits there.
    """
    if not question.at_terminal():
        raise CommandError("this replaces all data in the database: add --yes to do so")
    if not question.agreed(f"Replace all data in the database by {file}? [y/N] "):
        raise CommandError("nothing was changed")
