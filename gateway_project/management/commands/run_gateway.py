"""Serve MCP on stdin and stdout: what an AI client starts."""

from __future__ import annotations

import gc
import os
from argparse import ArgumentParser
from functools import partial
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand

from gateway_project.mcp import wire

if TYPE_CHECKING:
    from gateway_project.mcp.runtime import Prepared

LOCAL_ADMIN = "admin"


class Command(BaseCommand):
    """`manage.py run_gateway [--user NAME]`."""

    help = "Serve MCP on stdin and stdout. An MCP client starts this; see docs/mcp.md."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--user",
            default=LOCAL_ADMIN,
            metavar="NAME",
            help="user the client acts for (default: %(default)s)",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        claimed = wire.claim()
        if os.isatty(claimed.read_fd):
            self.stderr.write("foregate speaks MCP here; an MCP client should start it")
        # Collecting garbage while modules load costs a fifth of the start and finds nothing.
        gc.disable()
        from gateway_project.mcp import serve

        serve.serve(claimed, prepare=partial(prepare, options["user"]))


def prepare(user: str) -> Prepared:
    """Load Django, the handlers and the wiring; runs in a thread, beside the handshake.

    Raises:
        NotReady: If the configuration cannot work.
    """
    from gateway_project.foundation import config as configuration
    from gateway_project.mcp.readiness import NotReady

    try:
        return _load(user)
    except configuration.ConfigurationError as error:
        raise NotReady("configuration", str(error)) from None
    finally:
        gc.freeze()
        gc.enable()


def _load(user: str) -> Prepared:
    from gateway_project.foundation import config as configuration
    from gateway_project.foundation import secret_key, telemetry
    from gateway_project.foundation.postgres import address

    config = configuration.load()
    telemetry.configure(config, process="gateway")
    # The settings end the process on these errors; here a client must be told instead.
    secret_key.load_or_create(config)
    address.django_database(config)

    import django

    django.setup()
    from gateway_project import wiring
    from gateway_project.mcp import handlers
    from gateway_project.mcp.runtime import Prepared

    return Prepared(handle=handlers.handle, wire=partial(wiring.run, config=config, user=user))
