"""Bring the data to this version: save, migrate, check, and say how to go back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS

from gateway_project.foundation.postgres import binaries, major_upgrade, migrate
from gateway_project.foundation.postgres.address import EMBEDDED
from gateway_project.foundation.postgres.backup import save_before
from gateway_project.foundation.postgres.client import BackupError
from gateway_project.foundation.postgres.cluster import Cluster, ServerError
from gateway_project.management.command import GatewayCommand, argument, flag, refusing
from gateway_project.management.progress import show_progress


class Command(GatewayCommand):
    """`manage.py upgrade [--no-backup] [--old-programs FOLDER] [--remove-old]`."""

    help = (
        "Move the embedded database to this version's PostgreSQL, save it, apply the migrations "
        "of this version, and check the installation. If it is interrupted, run it again."
    )
    requires_system_checks: list[str] = []
    logs = True
    arguments = (
        flag("--no-backup", "do not save the database first"),
        argument(
            "--old-programs",
            "programs of the PostgreSQL that wrote the embedded database, if Foregate does "
            "not bring them",
            "FOLDER",
        ),
        flag("--remove-old", "only remove what a move to another PostgreSQL has kept"),
    )

    def run(self, options: dict[str, Any]) -> None:
        cluster: Cluster | None = settings.DATABASES[DEFAULT_DB_ALIAS].get(EMBEDDED)
        if options["remove_old"]:
            with refusing(ServerError):
                removed = major_upgrade.remove_kept(cluster) if cluster else []
            self.stdout.write(f"Removed {', '.join(removed) or 'nothing: nothing is kept'}.")
            return
        if cluster is not None:
            with refusing(ServerError, BackupError):
                self._move_data(cluster, options["old_programs"])
        if not migrate.list_pending_migrations():
            self.stdout.write("The database is that of this version.")
        else:
            saved = None
            if not options["no_backup"]:
                folder = settings.FOREGATE.home / migrate.BACKUP_FOLDER
                with refusing(BackupError):
                    saved = save_before("upgrade", folder, at=datetime.now(UTC))
                self._say(f"Saved the database to {saved}")
            applied = migrate.migrate_once(saves=False)
            self.stdout.write(f"Applied {len(applied)} migrations.")
            if migrate.are_additive(applied):
                self.stdout.write(
                    "To go back: install the earlier version, which can use the database as it is."
                )
            elif saved is not None:
                self.stdout.write(
                    f"To go back: install the earlier version, then manage.py restore {saved}"
                )
        call_command("embed")
        call_command("doctor")

    def _move_data(self, cluster: Cluster, programs: str | None) -> None:
        """Move the embedded database to this version's PostgreSQL, if another wrote it."""
        old_major = major_upgrade.find_old_major(cluster)
        if old_major is None:
            return
        with show_progress() as report:
            notes = major_upgrade.move_data(
                cluster, old_major, programs=programs, report=report, say=self._say
            )
        kept = major_upgrade.find_kept(cluster, old_major)
        self._say(f"The data is PostgreSQL {binaries.MAJOR}'s now.")
        for note in notes:
            self._say(f"Left in {kept}: {note}")
        newer = f"{cluster.data_folder}-{binaries.MAJOR}"
        self._say(
            f"The data of PostgreSQL {old_major} is kept as it was, in {kept}. Once "
            "all is well: manage.py upgrade --remove-old\n"
            "To go back, without what happens from now on: end all clients, install the earlier "
            f"version, then mv {cluster.data_folder} {newer} && mv {kept} "
            f"{cluster.data_folder}"
        )

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
