"""Write Foregate into a client's configuration, or take it out again."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from gateway_project.access import callers
from gateway_project.client_config import connect, locate, own_entry
from gateway_project.client_config.clients import Client
from gateway_project.client_config.connect import Outcome, Target
from gateway_project.client_config.own_entry import NotOffered
from gateway_project.client_config.raw_file import UnreadableConfig
from gateway_project.client_config.records import Records
from gateway_project.foundation.home import default_home
from tools.upstream import remote_entry

BACKUPS = Path("backups") / "clients"


class Command(BaseCommand):
    """`manage.py connect_client CLIENT [--undo] [--dry-run]`."""

    help = "Write Foregate's entry into a client's file, with a backup; --undo takes it out."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("client", choices=locate.CLIENTS, metavar="CLIENT",
                            help=", ".join(locate.CLIENTS))  # fmt: skip
        parser.add_argument("--undo", action="store_true", help="take the entry out again")
        parser.add_argument("--dry-run", action="store_true", help="show the change only")
        parser.add_argument("--project", action="store_true", help="the file of this folder")
        parser.add_argument("--file", metavar="FILE", help="another file of that client")
        parser.add_argument("--name", default="foregate", help="name of the entry (%(default)s)")
        parser.add_argument("--user", default="", help="user the client acts for")
        parser.add_argument("--http", default="", metavar="URL", help="a gateway that runs there")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        client = locate.client_named(options["client"])
        target = Target(client=client, path=_path(client, options), name=options["name"])
        try:
            outcome = _change(target, options)
        except (UnreadableConfig, NotOffered) as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps(_report(outcome, options), indent=2))
        else:
            self._print(outcome, client, options)

    def _print(self, outcome: Outcome, client: Client, options: dict[str, Any]) -> None:
        if outcome.difference:
            self.stdout.write(outcome.difference)
        would = "would be " if options["dry_run"] and outcome.change != "unchanged" else ""
        self.stdout.write(f"{outcome.path}: {would}{outcome.change}")
        if outcome.note:
            self.stdout.write(outcome.note[:1].upper() + outcome.note[1:] + ".")
        if outcome.backup:
            self.stdout.write(f"Backup: {outcome.backup}")
        if outcome.change == "unchanged" or options["dry_run"]:
            return
        for line in () if options["undo"] else _to_know(options):
            self.stderr.write(line, self.style.WARNING)
        following = f"restart {client.title}" if options["undo"] else client.reload
        self.stdout.write(f"Next: {following}")


def _path(client: Client, options: dict[str, Any]) -> Path:
    if options["file"]:
        return Path(options["file"]).expanduser().absolute()
    if not options["project"]:
        files = locate.user_files(client, locate.here())
        return next((path for path in files if path.exists()), files[0])
    project = locate.project_file(client)
    if project is None:
        raise CommandError(f"{client.title} has no file of projects; leave --project out")
    return project


def _change(target: Target, options: dict[str, Any]) -> Outcome:
    kept = Records(settings.FOREGATE.home / BACKUPS)
    at, dry_run = datetime.now(UTC), options["dry_run"]
    if options["undo"]:
        return connect.disconnect(target, kept=kept, at=at, dry_run=dry_run)
    if options["http"] and (problem := remote_entry.url_problem(options["http"])):
        raise CommandError(f"--http {options['http']}: {problem}")
    if options["user"]:
        callers.for_user(options["user"], kind="command")
    home = settings.FOREGATE.home
    launch = own_entry.launch_here(
        base=settings.BASE_DIR,
        user=options["user"],
        url=options["http"],
        home=None if home == default_home() else home,
    )
    wanted = own_entry.build(target.client, target.path, launch)
    return connect.connect(target, wanted, kept=kept, at=at, dry_run=dry_run)


def _to_know(options: dict[str, Any]) -> list[str]:
    if options["http"]:
        return [
            f"The client sends the token in {own_entry.TOKEN}: make one in the console and set it "
            "in the client's environment."
        ]
    if os.environ.get("DATABASE_URL"):
        return [
            "DATABASE_URL is set here and may hold a password, so it is not written into the "
            "file; set it in the client's environment too."
        ]
    return []


def _report(outcome: Outcome, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "dry_run": options["dry_run"],
        "path": str(outcome.path),
        "change": outcome.change,
        "difference": outcome.difference,
        "backup": str(outcome.backup) if outcome.backup else None,
        "note": outcome.note,
    }
