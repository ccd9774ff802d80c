"""Register the servers of another client's configuration."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from gateway_project.access import callers
from gateway_project.client_config import locate, read
from gateway_project.client_config.read import Entry, Parsed, UnreadableConfig
from gateway_project.foundation import sealing
from gateway_project.foundation.postgres import migrate
from gateway_project.use_cases.register_servers import NotRegistrable, register_servers
from tools.store import overview
from tools.store.servers import Registration
from tools.upstream.errors import UnsetVariable
from tools.upstream.spec import ServerSpec, resolve


class Command(BaseCommand):
    """`manage.py import_servers --from claude-code|claude-desktop|FILE`."""

    help = "Register the MCP servers of a client's configuration file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--from",
            dest="origin",
            required=True,
            metavar="CLIENT|FILE",
            help=f"{', '.join(locate.CLIENTS)}, or a file with an mcpServers object",
        )
        parser.add_argument(
            "--trust",
            action="append",
            metavar="NAME",
            help="believe this server's annotations; repeatable; 'all' or 'none'",
        )
        parser.add_argument("--dry-run", action="store_true", help="show what would change")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            parsed = _read_all(options["origin"])
        except (UnreadableConfig, ValueError) as error:
            raise CommandError(str(error)) from None
        trusted = self._trusted(options, parsed.entries)
        registrations = [_registration(e, options["origin"], trusted) for e in parsed.entries]
        warnings = [line for entry in parsed.entries for line in _unset(entry)]
        report = {
            "dry_run": options["dry_run"],
            "servers": self._apply(registrations, dry_run=options["dry_run"]),
            "problems": list(parsed.problems),
            "warnings": warnings,
        }
        self._print(report, as_json=options["json"])
        if parsed.problems and not parsed.entries:
            raise CommandError("nothing could be imported")

    def _trusted(self, options: dict[str, Any], entries: tuple[Entry, ...]) -> set[str]:
        names = {entry.name for entry in entries}
        given = options["trust"]
        if given is None:
            return self._ask(names) if not options["dry_run"] and sys.stdin.isatty() else set()
        if "all" in given:
            return names
        unknown = set(given) - names - {"none"}
        if unknown:
            raise CommandError(
                f"--trust {', '.join(sorted(unknown))}: no such server in the file; "
                f"it has {', '.join(sorted(names)) or 'none'}"
            )
        return set(given) & names

    def _ask(self, names: set[str]) -> set[str]:
        self.stdout.write(
            "A trusted server's own word that a tool only reads is believed.\n"
            f"Servers: {', '.join(sorted(names))}"
        )
        answer = input("Which do you trust (names, all, or Enter for none)? ").split()
        return names if "all" in answer else {name.strip(",") for name in answer} & names

    def _apply(self, registrations: list[Registration], *, dry_run: bool) -> list[dict[str, Any]]:
        if dry_run:
            known = overview.names()
            return [
                {"name": item.name, "change": "update" if item.name in known else "add"}
                for item in registrations
            ]
        migrate.migrate_once()
        callers.ensure_local_admin()
        caller = callers.for_user(callers.LOCAL_ADMIN, kind="command")
        sealer = sealing.load_or_create(settings.FOREGATE.home)
        try:
            outcome = register_servers(caller, registrations, sealer=sealer)
        except NotRegistrable as error:
            raise CommandError(str(error)) from None
        return [
            {
                "name": item.name,
                "change": "added" if item.created else "updated" if item.changed else "unchanged",
                "fields": list(item.changed),
            }
            for item in outcome
        ]

    def _print(self, report: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(report, indent=2))
            return
        for server in report["servers"]:
            fields = f" ({', '.join(server['fields'])})" if server.get("fields") else ""
            self.stdout.write(f"{server['change']:>10}  {server['name']}{fields}")
        for line in [*report["problems"], *report["warnings"]]:
            self.stderr.write(self.style.WARNING(line))
        if report["servers"] and not report["dry_run"]:
            self.stdout.write("Next: manage.py discover")


def _read_all(origin: str) -> Parsed:
    """Read a file, or all files that a client is known to keep its servers in."""
    if origin not in locate.CLIENTS:
        return read.read(Path(origin).expanduser(), project=Path.cwd())
    paths = [path for path in locate.candidates(origin) if path.exists()]
    if not paths:
        looked = " or ".join(str(path) for path in locate.candidates(origin))
        raise UnreadableConfig(f"no configuration of {origin} at {looked}")
    entries: dict[str, Entry] = {}
    problems: list[str] = []
    for path in paths:
        parsed = read.read(path, project=Path.cwd())
        problems += parsed.problems
        for entry in parsed.entries:
            entries.setdefault(entry.name, entry)
    return Parsed(entries=tuple(entries.values()), problems=tuple(problems))


def _registration(entry: Entry, origin: str, trusted: set[str]) -> Registration:
    return Registration(
        name=entry.name,
        command=entry.command,
        args=entry.args,
        env=entry.env,
        cwd=entry.cwd,
        extra=entry.extra,
        source=origin,
        trusted=True if entry.name in trusted else None,
        enabled=entry.enabled,
    )


def _unset(entry: Entry) -> list[str]:
    """Say which variables an entry lacks; it is imported all the same."""
    spec = ServerSpec(
        name=entry.name, command=entry.command, args=entry.args, env=entry.env, cwd=entry.cwd
    )
    try:
        resolve(spec, os.environ)
    except UnsetVariable as error:
        return [str(error)]
    return []
