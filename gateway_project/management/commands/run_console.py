"""Serve the admin console."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from gateway_project.access import callers
from gateway_project.console import idle_stop, on_demand, serve
from gateway_project.console.serve import PortUnavailable
from gateway_project.foundation import telemetry
from gateway_project.foundation.endpoint import ENDPOINT_PATH
from gateway_project.foundation.postgres import migrate


class Command(BaseCommand):
    """`manage.py run_console`."""

    help = "Serve the console on FOREGATE_CONSOLE_HOST:FOREGATE_CONSOLE_PORT."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--no-password", action="store_true", help="do not issue a one-time password at start"
        )
        # Used by gateways, which pass a listening socket and a lock; see console/on_demand.py.
        parser.add_argument("--on-demand", nargs=2, type=int, help=SUPPRESS)

    def handle(self, *_: Any, **options: Any) -> None:
        config = settings.FOREGATE
        if options["on_demand"]:
            listener_fd, lock_fd = options["on_demand"]
            idle_stop.serve_until_idle(config, listener=listener_fd, lock=lock_fd)
            return
        telemetry.configure_logging(config, process="console")
        on_demand.stop_conflicting_console(config)
        try:
            listener = serve.open_socket(config)
        except PortUnavailable as error:
            raise CommandError(str(error)) from None
        migrate.migrate_once()
        callers.ensure_local_admin()
        self.stdout.write(f"Console: {serve.console_url(config)} (MCP at {ENDPOINT_PATH})")
        if not options["no_password"]:
            self.stdout.write(callers.describe_sign_in())
        self.stdout.flush()
        serve.serve_console(listener)
