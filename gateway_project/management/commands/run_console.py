"""Serve the admin console."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from gateway_project.access import callers
from gateway_project.console import serve
from gateway_project.console.serve import PortUnavailable
from gateway_project.foundation import telemetry
from gateway_project.foundation.postgres import migrate
from gateway_project.mcp.http.application import PATH


class Command(BaseCommand):
    """`manage.py run_console`."""

    help = "Serve the console on FOREGATE_CONSOLE_HOST:FOREGATE_CONSOLE_PORT."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--no-password", action="store_true", help="issue no one-time password at start"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        config = settings.FOREGATE
        telemetry.configure(config, process="console")
        try:
            listener = serve.open_socket(config)
        except PortUnavailable as error:
            raise CommandError(str(error)) from None
        migrate.migrate_once()
        callers.ensure_local_admin()
        self.stdout.write(f"Console: {serve.address(config)} (MCP at {PATH})")
        if not options["no_password"]:
            self.stdout.write(callers.sign_in_line())
        self.stdout.flush()
        serve.serve(listener)
