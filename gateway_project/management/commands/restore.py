"""`manage.py restore FILE`: replace the database by a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from gateway_project.management import question
from gateway_project.management.command import JSON, GatewayCommand, argument, flag, refusing


class Command(GatewayCommand):
    help = "Replace all data with a backup, all or nothing; what there was is saved first."
    requires_system_checks: list[str] = []
    arguments = (
        argument("file", "file written by `backup`; only files you trust", type=Path),
        flag("--yes", "replace the data without confirmation"),
        flag(
            "--no-backup",
            "do not save what is replaced, for a database that cannot be saved any more",
        ),
        JSON,
    )

    def handle(self, *, file: Path, yes: bool, **options: Any) -> None:
        from execution.store.restored import hold_open_runs
        from gateway_project.foundation import sealing
        from gateway_project.foundation.postgres import restore
        from gateway_project.foundation.postgres.client import BackupError
        from gateway_project.foundation.postgres.failures import DatabaseUnavailable

        home = settings.FOREGATE.home
        with refusing(BackupError, DatabaseUnavailable):
            if not yes and restore.has_data():
                _confirm_restore(file)
            done = restore.restore_backup(
                file,
                keep_in=None if options["no_backup"] else home / "backups",
                at=timezone.now(),
                hold_runs=hold_open_runs,
            )
        problems = [sealing.find_key_problem(home, name=name) for name in sealing.KEY_NAMES]
        warnings = [problem for problem in problems if problem]
        if options["json"]:
            values = {
                "path": str(file.absolute()),
                "size_bytes": file.stat().st_size,
                "migrated": list(done.migrated),
                "replaced": str(done.replaced) if done.replaced else None,
                "held_runs": done.held_runs,
                "warnings": warnings,
            }
            self.write_json(values)
            return
        self.stdout.write(f"Restored {file.absolute()}")
        if done.replaced:
            self.stdout.write(f"Saved what it replaced to {done.replaced}")
        if done.migrated:
            self.stdout.write(f"Brought it up to date: {', '.join(done.migrated)}")
        if done.held_runs:
            self.stdout.write(
                f"Paused its open runs ({done.held_runs}), which may have made calls after the "
                "backup: look at each (`manage.py runs --status paused`), then resume or abort it "
                "(`manage.py control_run`)."
            )
        self.stdout.write(
            "People, tokens, grants and approvals are as they were in the backup: withdraw again "
            "what was withdrawn since."
        )
        for warning in warnings:
            self.stderr.write(f"Warning: {warning}")


def _confirm_restore(file: Path) -> None:
    """Ask the user at the terminal for confirmation.

    Raises:
        CommandError: If they decline, or there is no terminal.
    """
    if not question.is_terminal():
        raise CommandError("this replaces all data in the database: add --yes to do so")
    if not question.confirm(f"Replace all data in the database with {file}? [y/N] "):
        raise CommandError("nothing was changed")
