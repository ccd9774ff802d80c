"""Register the servers of another client's configuration."""

from __future__ import annotations

import json
import os
import tempfile
from argparse import ArgumentParser
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from gateway_project.access import callers
from gateway_project.client_config import addresses, locate, own_entry
from gateway_project.client_config.gather import Found, gather, survey
from gateway_project.client_config.read import Entry, UnreadableConfig
from gateway_project.client_config.unset import unset_variables
from gateway_project.foundation import sealing
from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.sealing import Sealer
from gateway_project.management import question
from gateway_project.management.trust import ALL, NONE, Choice, choose
from gateway_project.use_cases.register_servers import register_servers
from tools.store.servers import Registered, Registration
from tools.upstream import remote_entry


class Command(BaseCommand):
    """`manage.py import_servers [--from CLIENT|FILE]`."""

    help = "Register the MCP servers of a client's configuration file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--from",
            dest="origin",
            metavar="CLIENT|FILE",
            help=f"{', '.join(locate.CLIENTS)}, or a file with an mcpServers object; without it: "
            "show which clients there are here",
        )
        parser.add_argument(
            "--trust",
            action="append",
            metavar="NAME",
            help="believe this server's annotations; repeatable; 'all', or 'none' to withdraw it",
        )
        parser.add_argument("--dry-run", action="store_true", help="show what would change")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        origin, dry_run = options["origin"], options["dry_run"]
        if origin is None:
            self._survey(as_json=options["json"])
            return
        try:
            parsed = gather(origin, own_urls=addresses.own_urls(settings.FOREGATE))
        except UnreadableConfig as error:
            raise CommandError(str(error)) from None
        choice = self._choice(options, [entry.name for entry in parsed.entries])
        registrations = [_registration(entry, origin, choice) for entry in parsed.entries]
        registered = _register(registrations, dry_run=dry_run)
        report = {
            "dry_run": dry_run,
            "servers": [
                {
                    "name": item.name,
                    "change": _change(item, dry_run=dry_run),
                    "fields": list(item.changed),
                }
                for item in registered
            ],
            "problems": list(parsed.problems),
            "warnings": [
                *parsed.notes,
                *_warnings(parsed.entries, choice),
                *_replacements(registered),
            ],
        }
        self._print(report, as_json=options["json"])
        if parsed.problems and not parsed.entries:
            raise CommandError("nothing could be imported")

    def _survey(self, *, as_json: bool) -> None:
        """Show the clients that are here and what each holds; import nothing."""
        own = addresses.own_urls(settings.FOREGATE)
        report = [_surveyed(found, own) for found in survey()]
        if as_json:
            self.stdout.write(json.dumps({"clients": report}, indent=2))
            return
        for row in report:
            held = ", ".join(row["servers"]) or "no servers"
            connected = "; connected to Foregate" if row["connected"] else ""
            self.stdout.write(f"{row['client']}  {row['path']}\n    {held}{connected}")
            for line in row["problems"]:
                self.stderr.write(f"    {line}", self.style.WARNING)
        if not report:
            self.stdout.write("No client's configuration is here; name a file with --from.")
        elif any(row["servers"] for row in report):
            self.stdout.write("Next: manage.py import_servers --from CLIENT")

    def _choice(self, options: dict[str, Any], names: Sequence[str]) -> Choice:
        if options["trust"] is not None:
            choice = choose(options["trust"], names)
            if choice.unknown:
                raise CommandError(
                    f"--trust {', '.join(choice.unknown)}: no such server in the file; "
                    f"it has {', '.join(sorted(names)) or 'none'}"
                )
            return choice
        asking = names and not options["dry_run"] and question.at_terminal()
        return choose([_trusted(names)], names) if asking else Choice()

    def _print(self, report: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(report, indent=2))
            return
        for server in report["servers"]:
            fields = f" ({', '.join(server['fields'])})" if server["fields"] else ""
            self.stdout.write(f"{server['change']:>10}  {server['name']}{fields}")
        for line in [*report["problems"], *report["warnings"]]:
            self.stderr.write(line, self.style.WARNING)
        if not report["servers"] and not report["problems"]:
            self.stdout.write("No servers in it; nothing to import.")
        if report["servers"] and not report["dry_run"]:
            self.stdout.write("Next: manage.py discover")


def _surveyed(found: Found, own_urls: Collection[str]) -> dict[str, Any]:
    entries = found.parsed.entries if found.parsed else ()
    own = [entry.name for entry in entries if own_entry.is_own(entry, own_urls)]
    problems = found.parsed.problems if found.parsed else (found.problem,)
    return {
        "client": found.client,
        "path": str(found.path),
        "servers": [entry.name for entry in entries if entry.name not in own],
        "connected": bool(own),
        "problems": list(problems),
    }


def _registration(entry: Entry, origin: str, choice: Choice) -> Registration:
    known = origin in locate.CLIENTS
    return Registration(
        name=entry.name,
        transport=entry.transport,
        command=entry.command,
        args=entry.args,
        env=entry.env,
        cwd=entry.cwd,
        url=entry.url,
        headers=entry.headers,
        private_network=remote_entry.names_private_host(entry.url, os.environ),
        authorization="oauth" if entry.signs_in else None,
        oauth_client_id=entry.client_id,
        oauth_client_secret=entry.client_secret,
        oauth_scopes=entry.scopes,
        extra=entry.extra,
        source=origin if known else str(Path(origin).expanduser().absolute()),
        trusted=choice.of(entry.name),
        enabled=entry.enabled,
    )


def _register(registrations: Sequence[Registration], *, dry_run: bool) -> tuple[Registered, ...]:
    """Register all or none; a dry run does the same and takes it back."""
    if not dry_run:
        migrate.migrate_once()
    sealer = _passing_sealer() if dry_run else sealing.load_or_create(settings.FOREGATE.home)
    with transaction.atomic():
        callers.ensure_local_admin()
        caller = callers.for_user(callers.LOCAL_ADMIN, kind="command")
        outcome = register_servers(caller, registrations, sealer=sealer)
        transaction.set_rollback(dry_run)
    return outcome


def _passing_sealer() -> Sealer:
    """Return the installation's sealer; before it has one, one whose key is not kept."""
    home = settings.FOREGATE.home
    if (home / "keys" / "sealing.keys").exists():
        return sealing.load_or_create(home)
    with tempfile.TemporaryDirectory() as folder:
        return sealing.load_or_create(Path(folder))


def _change(item: Registered, *, dry_run: bool) -> str:
    if item.created:
        return "add" if dry_run else "added"
    if item.changed:
        return "update" if dry_run else "updated"
    return "unchanged"


def _trusted(names: Sequence[str]) -> str:
    """Ask whom the person at the terminal trusts."""
    return question.answer(
        "A trusted server's own word that a tool only reads is believed.\n"
        f"Servers: {', '.join(sorted(names))}\n"
        f"Which do you trust (names, {ALL}, {NONE}, or Enter to leave it as it is)? "
    )


def _warnings(entries: Sequence[Entry], choice: Choice) -> list[str]:
    """Say what a person should know of servers that are imported all the same."""
    lines = [line for entry in entries for line in _concerns(entry)]
    if choice.unknown:
        lines.append(f"not trusted, since no such server is in it: {', '.join(choice.unknown)}")
    return lines


def _replacements(registered: Sequence[Registered]) -> Iterator[str]:
    for item in registered:
        if item.replaced is not None:
            before = item.replaced or "the console"
            yield f"server {item.name!r} replaces another of that name, which came from {before}"


def _concerns(entry: Entry) -> Iterator[str]:
    who = f"server {entry.name!r}"
    if unset := unset_variables(entry, os.environ):
        yield (
            f"{who} refers to variables that are not set: {', '.join(unset)}; set them in "
            f"the gateway's environment, or write ${{{unset[0]}:-default}}"
        )
    if remote_entry.names_private_host(entry.url, os.environ):
        yield f"{who} lies on this machine or in a private network; its own address is allowed"
    if secrets := remote_entry.open_secrets(entry.url):
        yield (
            f"{who} has what looks like a secret in its address ({', '.join(secrets)}); "
            "addresses are shown, so write it as ${VAR} or send it as a header"
        )
