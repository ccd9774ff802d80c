"""Have one's own servers behind the gateway: database, import, discovery, console."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from gateway_project.client_config import own_entry
from gateway_project.client_config.read_config import DetectedClient, find_client_files
from gateway_project.foundation.postgres import migrate
from gateway_project.management import question
from gateway_project.management.command import GatewayCommand, flag
from tools.hidden_text import reveal_hidden
from tools.store import overview


class Command(GatewayCommand):
    """`manage.py up [--demo] [--yes]`."""

    help = (
        "Set everything up: make the database, import the servers of the clients that are here "
        "(after asking), list their tools, serve the console."
    )
    requires_system_checks: list[str] = []
    arguments = (
        flag("--demo", "show the gateway at work on public servers first"),
        flag("--yes", "import the servers of all clients without asking"),
        flag("--no-console", "end when the servers are listed"),
    )

    def run(self, options: dict[str, Any]) -> None:
        if options["demo"]:
            call_command("demo", serve=not options["no_console"])
            return
        self._say("Preparing the database")
        migrate.migrate_once()
        for found in self._choose_clients(import_all=options["yes"]):
            self._say(f"Importing the servers of {found.client}")
            call_command("import_servers", origin=found.client)
        names = overview.list_server_names()
        if names:
            self._say(f"Asking {len(names)} servers for their tools")
            with suppress(CommandError):  # which it has told; the console shows the others
                call_command("discover")
        self._say(self._describe_next(names))
        if not options["no_console"]:
            call_command("run_console")

    def _choose_clients(self, *, import_all: bool) -> list[DetectedClient]:
        """Return the clients whose servers are to be imported; asks at a terminal."""
        own_urls = own_entry.list_own_urls(settings.FOREGATE)
        known = set(overview.list_server_names())
        chosen: dict[str, DetectedClient] = {}
        for found in find_client_files():
            entries = found.parsed.entries if found.parsed else ()
            names = [one.name for one in entries if not own_entry.is_own_entry(one, own_urls)]
            if found.client in chosen or known.issuperset(names):
                continue
            if import_all or self._confirm(found, names):
                chosen[found.client] = found
        return list(chosen.values())

    def _confirm(self, found: DetectedClient, names: list[str]) -> bool:
        listed = reveal_hidden(", ".join(names))
        if not question.is_terminal():
            self._say(
                f"{found.client} has {listed}: manage.py import_servers --from {found.client}"
            )
            return False
        return question.confirm(f"Import {listed} from {found.client} ({found.path}) (y/N)? ")

    def _describe_next(self, names: Collection[str]) -> str:
        if not names:
            return (
                "No servers yet. Next: manage.py import_servers --from FILE, or add one in the "
                "console; manage.py up --demo shows the gateway with public ones."
            )
        return "Next: manage.py connect_client CLIENT, and start the client anew."

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
