"""Show servers, tools and embeddings."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gateway_project import overview
from gateway_project.foundation.postgres import migrate


class Command(BaseCommand):
    """`manage.py status [--verbose] [--json]`."""

    help = "Show the registered servers, their tools and last errors, and what is embedded."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--verbose", action="store_true", help="show times and trust too")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        if migrate.pending_migrations():
            raise CommandError("the database is not migrated; run `manage.py migrate`")
        state = overview.load()
        if options["json"]:
            self.stdout.write(json.dumps(state, indent=2))
            return
        console = Console(highlight=False, soft_wrap=True)
        if state["servers"]:
            console.print(_table(state["servers"], verbose=options["verbose"]))
            for server in state["servers"]:
                if server["last_error"]:
                    console.print(f"[red]last error[/red] {escape(server['last_error'])}")
        else:
            console.print("No servers yet: `manage.py import_servers --from FILE` adds some.")
        if waiting := sum(row["quarantined"] + row["pending"] for row in state["servers"]):
            console.print(f"{waiting} tools wait for approval: `manage.py approve_tools`")
        database, embedding = state["database"], state["embedding"]
        console.print(
            f"Database: {database['kind']} PostgreSQL {database['version']}, "
            f"{database['bytes'] / 1e6:.0f} MB\n"
            f"Embedded: {embedding['embedded']} of {embedding['tools']} tools "
            f"by {embedding['model']}"
        )


def _table(servers: list[dict[str, Any]], *, verbose: bool) -> Table:
    headings = ["server", "tools", "state"]
    if verbose:
        headings += ["trusted", "discovered", "last connected"]
    table = Table(*headings, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for server in servers:
        row = [server["name"], str(server["usable"]), _state(server)]
        if verbose:
            row += [
                "yes" if server["trusted"] else "no",
                _minute(server["discovered_at"]),
                _minute(server["last_connected_at"]),
            ]
        table.add_row(*(escape(cell) for cell in row))
    return table


def _state(server: dict[str, Any]) -> str:
    if not server["enabled"]:
        return "off"
    parts = ["failing" if server["last_error"] else "ok"]
    if server["discovered_at"] is None:
        parts = ["failing" if server["last_error"] else "never discovered"]
    parts += [f"{server[key]} {key}" for key in ("quarantined", "pending") if server[key]]
    return ", ".join(parts)


def _minute(at: str | None) -> str:
    return at[:16].replace("T", " ") if at else "never"
