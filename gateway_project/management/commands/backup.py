"""`manage.py backup FILE`: save the database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gateway_project.management.command import JSON, GatewayCommand, argument, refusing


class Command(GatewayCommand):
    help = "Save the database to one file while everything keeps running."
    requires_system_checks: list[str] = []
    arguments = (
        argument("file", "file to write; replaced if it exists", type=Path),
        JSON,
    )

    def handle(self, *, file: Path, **options: Any) -> None:
        from gateway_project.foundation.postgres.backup import create_backup
        from gateway_project.foundation.postgres.client import BackupError
        from gateway_project.foundation.postgres.failures import DatabaseUnavailable

        with refusing(BackupError, DatabaseUnavailable):
            path = create_backup(file)
        size_bytes = path.stat().st_size
        if options["json"]:
            self.write_json({"path": str(path), "size_bytes": size_bytes})
        else:
            self.stdout.write(f"Saved {size_bytes:,} bytes to {path}")
            self.stdout.write("Its sealed secrets need the keys in the home folder: keep both.")
