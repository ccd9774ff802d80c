"""Ensure that a console is running, and print how to sign in."""

from __future__ import annotations

import time
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandError

from gateway_project.access import callers
from gateway_project.console import links, on_demand
from gateway_project.foundation import telemetry
from gateway_project.foundation.config import Config
from gateway_project.foundation.postgres import migrate
from gateway_project.management.command import GatewayCommand, flag

START_TIMEOUT_S: Final = 60.0
POLL_S: Final = 0.1
NO_TERMINAL_HINT: Final = (
    "To sign in, run `manage.py open_console` at a terminal, which prints a one-time password; "
    "elsewhere `--print-password` does."
)


class Command(GatewayCommand):
    """`manage.py open_console`."""

    help = (
        "Start the console in the background unless it answers already, and print its address "
        "and how to sign in. It ends by itself (FOREGATE_CONSOLE_IDLE_S)."
    )
    requires_system_checks: list[str] = []
    arguments = (
        flag("--print-password", "print a one-time password even where the output is no terminal"),
    )

    def run(self, options: dict[str, Any]) -> None:
        config = settings.FOREGATE
        telemetry.configure_logging(config, process="open_console", quiet=True)
        migrate.migrate_once()
        callers.ensure_local_admin()
        address = links.console_url(config) if config.public_url else _wait_for_console(config)
        self.stdout.write(f"Console: {address}/")
        if options["print_password"] or self.stdout.isatty():
            self.stdout.write(callers.describe_sign_in())
        else:
            self.stdout.write(NO_TERMINAL_HINT)


def _wait_for_console(config: Config) -> str:
    """Wait for a console, and return its address.

    Raises:
        CommandError: If none answers.
    """
    wanted = config.model_copy(update={"console_on_demand": True})  # explicitly requested here
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if address := on_demand.find_running_console(wanted):
            return address
        time.sleep(POLL_S)
    raise CommandError(
        f"no console answers within {START_TIMEOUT_S:g} s; "
        f"{config.home / 'logs' / on_demand.LOG_FILE} says "
        "why, and `manage.py run_console` serves one"
    )
