"""`manage.py backup FILE`: save the database."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from gateway_project.management.refusals import refusing


class Command(BaseCommand):
    help = "Save the database to one file while everything keeps running."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="file to write; replaced if it exists")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *, file: Path, **options: Any) -> None:
        from gateway_project.foundation.postgres.backup import create_backup
        from gateway_project.foundation.postgres.client import BackupError
        from gateway_project.foundation.postgres.failures import DatabaseUnavailable

        with refusing(BackupError, DatabaseUnavailable):
            path = create_backup(file)
        size_bytes = path.stat().st_size
        if options["json"]:
            self.stdout.write(json.dumps({"path": str(path), "size_bytes": size_bytes}))
        else:
            self.stdout.write(f"Saved {size_bytes:,} bytes to {path}")
            self.stdout.write("Its sealed secrets need the keys in the home folder: keep both.")
