"""Run workflows from the queue."""

from __future__ import annotations

import asyncio
import os
import threading
from argparse import ArgumentParser, ArgumentTypeError
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

if TYPE_CHECKING:
    from gateway_project.foundation.config import Config

DEFAULT_CONCURRENCY = 16
"""Eight for one user, however many others there are."""
MAX_CONCURRENCY = 1_000
STOP_S = 20.0
"""After this the process ends whatever still hangs, such as a query that nobody answers."""


class Command(BaseCommand):
    """`manage.py worker [--concurrency N]`."""

    help = (
        "Run workflows from the queue, where FOREGATE_EXECUTION_BACKEND is queue. "
        "Start as many workers as are needed, on this machine or on others. "
        "See docs/execution.md."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--concurrency",
            type=_concurrency,
            default=DEFAULT_CONCURRENCY,
            metavar="N",
            help="runs that it carries out at once, of one user in one team half as many, so "
            f"that nobody takes them all (default: {DEFAULT_CONCURRENCY}); "
            "their tasks share FOREGATE_TASKS_AT_ONCE",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        config: Config = settings.FOREGATE
        if config.execution_backend != "queue":
            raise CommandError(
                "gateways run workflows themselves here; to have workers do it, set "
                "FOREGATE_EXECUTION_BACKEND=queue for gateways and workers alike"
            )
        from gateway_project.foundation import telemetry
        from gateway_project.foundation.postgres import migrate

        telemetry.configure(config, process="worker")
        migrate.migrate_once()
        self._work(config, options["concurrency"])

    def _work(self, config: Config, concurrency: int) -> None:
        from gateway_project.readiness import NotReady
        from gateway_project.wiring import worker

        def ready() -> None:
            self._say(f"Running up to {concurrency} workflows at once. Ctrl+C ends this.")

        def end() -> None:
            self._say("Ending; what is under way goes on elsewhere.")
            watchdog = threading.Timer(STOP_S, os._exit, args=(1,))
            watchdog.daemon = True
            watchdog.start()

        working = worker.run(config, concurrency=concurrency, on_ready=ready, on_end=end)
        try:
            asyncio.run(working)
        except* NotReady as errors:
            raise CommandError(str(errors.exceptions[0])) from None

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _concurrency(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_CONCURRENCY:
        raise ArgumentTypeError(f"{text}: not a number from 1 to {MAX_CONCURRENCY:,}")
    return int(text)
