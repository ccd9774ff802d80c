"""Run workflows from the queue."""

from __future__ import annotations

import asyncio
import os
import threading
from argparse import BooleanOptionalAction
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import CommandError

from gateway_project.management.command import GatewayCommand, argument, refusing, up_to

if TYPE_CHECKING:
    from gateway_project.foundation.config import Config

DEFAULT_CONCURRENCY = 16
"""Eight for one user, however many others there are."""
MAX_CONCURRENCY = 1_000
STOP_TIMEOUT_S = 20.0
"""After this the process exits even if something hangs, such as an unanswered query."""
KILL_TIMEOUT_S = STOP_TIMEOUT_S + 3.0
"""Grace period after a signal, enforced by the guard process even if the event loop hangs."""


class Command(GatewayCommand):
    """`manage.py worker [--concurrency N]`."""

    help = (
        "Run workflows from the queue, if FOREGATE_EXECUTION_BACKEND is queue. Start as many "
        "workers as needed, on this machine or on others. See docs/runs.md."
    )
    requires_system_checks: list[str] = []
    arguments = (
        argument(
            "--concurrency",
            "runs to execute at once, half as many per user and team, so that nobody "
            f"takes them all (default: {DEFAULT_CONCURRENCY}); their tasks share "
            "FOREGATE_TASKS_AT_ONCE",
            "N",
            type=up_to(MAX_CONCURRENCY),
            default=DEFAULT_CONCURRENCY,
        ),
        argument(
            "--migrate",
            "apply pending migrations first, as it does by default, or refuse to start",
            action=BooleanOptionalAction,
            default=True,
        ),
    )

    def run(self, options: dict[str, Any]) -> None:
        config: Config = settings.FOREGATE
        if config.execution_backend != "queue":
            raise CommandError(
                "gateways run workflows themselves here; to have workers do it, set "
                "FOREGATE_EXECUTION_BACKEND=queue for gateways and workers alike"
            )
        from gateway_project.foundation import stop_guard, telemetry
        from gateway_project.use_cases import first_start

        telemetry.configure_logging(config, process="worker")
        first_start.prepare_installation(config, migrates=options["migrate"])
        stop_guard.start_guard(KILL_TIMEOUT_S)
        self._run_worker(config, options["concurrency"])

    def _run_worker(self, config: Config, concurrency: int) -> None:
        from gateway_project.readiness import NotReady
        from gateway_project.wiring import worker

        def ready() -> None:
            self._print_line(f"Running up to {concurrency} workflows at once. Ctrl+C ends this.")

        def end() -> None:
            self._print_line("Stopping; runs in progress continue elsewhere.")
            watchdog = threading.Timer(STOP_TIMEOUT_S, os._exit, args=(1,))
            watchdog.daemon = True
            watchdog.start()

        working = worker.run_worker(config, concurrency=concurrency, on_ready=ready, on_end=end)
        with refusing(NotReady):
            asyncio.run(working)

    def _print_line(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
