"""Serve the admin console."""

from __future__ import annotations

from argparse import SUPPRESS, BooleanOptionalAction
from typing import Any

from django.conf import settings

from gateway_project.access import callers
from gateway_project.console import idle_stop, on_demand, serve
from gateway_project.console.serve import PortUnavailable
from gateway_project.foundation import telemetry
from gateway_project.foundation.endpoint import ENDPOINT_PATH
from gateway_project.management.command import GatewayCommand, argument, flag, refusing
from gateway_project.use_cases import first_start


class Command(GatewayCommand):
    """`manage.py run_console`."""

    help = "Serve the console on FOREGATE_CONSOLE_HOST:FOREGATE_CONSOLE_PORT."
    requires_system_checks: list[str] = []
    arguments = (
        flag("--no-password", "do not issue a one-time password at start"),
        argument(
            "--migrate",
            "apply pending migrations first, as it does by default, or refuse to start",
            action=BooleanOptionalAction,
            default=True,
        ),
        argument("--on-demand", SUPPRESS, nargs=2, type=int),
    )

    def run(self, options: dict[str, Any]) -> None:
        config = settings.FOREGATE
        if options["on_demand"]:
            listener_fd, lock_fd = options["on_demand"]
            idle_stop.serve_until_idle(config, listener=listener_fd, lock=lock_fd)
            return
        telemetry.configure_logging(config, process="console")
        on_demand.stop_conflicting_console(config)
        with refusing(PortUnavailable):
            listener = serve.open_socket(config)
        first_start.prepare_installation(config, migrates=options["migrate"])
        callers.ensure_local_admin()
        self.stdout.write(f"Console: {serve.console_url(config)} (MCP at {ENDPOINT_PATH})")
        if not (options["no_password"] or config.first_admin_file):
            self.stdout.write(callers.describe_sign_in())
        self.stdout.flush()
        serve.serve_console(listener)
