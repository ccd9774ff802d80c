"""Add Foregate to a client's configuration, or remove it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from gateway_project.access import callers
from gateway_project.client_config import clients, connect, own_entry
from gateway_project.client_config.clients import KnownClient
from gateway_project.client_config.connect import ClientTarget, ConnectionRecords, ConnectOutcome
from gateway_project.client_config.own_entry import ENTRY_NAME, EntryNotSupported
from gateway_project.client_config.raw_file import UnreadableConfig
from gateway_project.foundation.home import default_home
from gateway_project.management.command import JSON, GatewayCommand, argument, flag, refusing
from gateway_project.mcp import rehearsal
from gateway_project.mcp.kept_answers import SETTING_PREFIXES
from tools.hidden_text import reveal_hidden
from tools.upstream import remote_entry

WRITTEN = ("connected", "updated")
BACKUP_FOLDER = Path("backups") / "clients"


class Command(GatewayCommand):
    """`manage.py connect_client CLIENT [--undo] [--dry-run]`."""

    help = "Add Foregate to a client's configuration file, with a backup; --undo removes it."
    requires_system_checks: list[str] = []
    arguments = (
        argument(
            "client", ", ".join(clients.CLIENT_NAMES), "CLIENT", choices=clients.CLIENT_NAMES
        ),
        flag("--undo", "remove the entry again"),
        flag("--dry-run", "only show the change"),
        flag("--project", "this folder's file"),
        argument("--file", "another file of that client", "FILE"),
        argument("--name", "name of the entry (%(default)s)", default=ENTRY_NAME),
        argument("--user", "user the client acts for", default=""),
        argument("--http", "address of a running gateway", "URL", default=""),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        client = clients.find_client(options["client"])
        target = ClientTarget(
            client=client, path=_config_path(client, options), name=options["name"]
        )
        with refusing(UnreadableConfig, EntryNotSupported):
            outcome = _change_config(target, options)
        if (
            outcome.change in WRITTEN
            and client.opening
            and not (options["dry_run"] or options["http"])
        ):
            _prepare_first_answers(client, _build_entry(target, options))
        if options["json"]:
            self.write_json(_make_report(outcome, options))
        else:
            self._print_outcome(outcome, client, options)

    def _print_outcome(
        self, outcome: ConnectOutcome, client: KnownClient, options: dict[str, Any]
    ) -> None:
        if outcome.diff:
            self.stdout.write(reveal_hidden(outcome.diff))
        would = "would be " if options["dry_run"] and outcome.change != "unchanged" else ""
        self.stdout.write(f"{outcome.path}: {would}{outcome.change}")
        if outcome.note:
            self.stdout.write(outcome.note[:1].upper() + outcome.note[1:] + ".")
        if outcome.backup:
            self.stdout.write(f"Backup: {outcome.backup}")
        if outcome.change == "unchanged" or options["dry_run"]:
            return
        for line in () if options["undo"] else _list_hints(options):
            self.stderr.write(line, self.style.WARNING)
        following = f"restart {client.title}" if options["undo"] else client.reload_hint
        self.stdout.write(f"Next: {following}")


def _config_path(client: KnownClient, options: dict[str, Any]) -> Path:
    if options["file"]:
        return Path(options["file"]).expanduser().absolute()
    if not options["project"]:
        files = clients.find_user_files(client, clients.current_platform())
        return next((path for path in files if path.exists()), files[0])
    project = clients.find_project_file(client)
    if project is None:
        raise CommandError(f"{client.title} has no project file; omit --project")
    return project


def _prepare_first_answers(client: KnownClient, wanted: Mapping[str, Any]) -> None:
    """Start the gateway as the client will, so that the answers to its first requests are kept."""
    settings_of_this = [name for name in os.environ if name.startswith(SETTING_PREFIXES)]
    environ = {name: os.environ[name] for name in os.environ.keys() - settings_of_this}
    with suppress(OSError):  # without, the first start is answered by the gateway itself
        rehearsal.rehearse(
            [wanted["command"], *wanted["args"]],
            client.opening,
            environ=environ | wanted.get("env", {}),
        )


def _change_config(target: ClientTarget, options: dict[str, Any]) -> ConnectOutcome:
    record_store = ConnectionRecords(settings.FOREGATE.home / BACKUP_FOLDER)
    at, dry_run = datetime.now(UTC), options["dry_run"]
    if options["undo"]:
        return connect.disconnect(target, record_store=record_store, at=at, dry_run=dry_run)
    if options["http"] and (problem := remote_entry.find_url_problem(options["http"])):
        raise CommandError(f"--http {options['http']}: {problem}")
    if options["user"]:
        callers.caller_for_user(options["user"], kind="command")
    wanted = _build_entry(target, options)
    return connect.connect(target, wanted, record_store=record_store, at=at, dry_run=dry_run)


def _build_entry(target: ClientTarget, options: dict[str, Any]) -> dict[str, Any]:
    home = settings.FOREGATE.home
    launch = own_entry.describe_own_launch(
        base=settings.BASE_DIR,
        user=options["user"],
        url=options["http"],
        home=None if home == default_home() else home,
    )
    return own_entry.build_entry(target.client, target.path, launch, name=target.name)


def _list_hints(options: dict[str, Any]) -> list[str]:
    if options["http"]:
        return [
            f"The client sends the token in {own_entry.TOKEN_VARIABLE}: create one in the console "
            "and set it in the client's environment."
        ]
    if os.environ.get("DATABASE_URL"):
        return [
            "DATABASE_URL is set here and may hold a password, so it is not written into the "
            "file; set it in the client's environment too."
        ]
    return []


def _make_report(outcome: ConnectOutcome, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "dry_run": options["dry_run"],
        "path": str(outcome.path),
        "change": outcome.change,
        "difference": outcome.diff,
        "backup": str(outcome.backup) if outcome.backup else None,
        "note": outcome.note,
    }
