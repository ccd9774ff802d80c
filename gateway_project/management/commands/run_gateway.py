"""Serve MCP, on stdin and stdout or over HTTP: what an AI client starts or connects to."""

from __future__ import annotations

import gc
import os
from argparse import ArgumentParser
from functools import partial
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Kind
    from gateway_project.mcp.runtime import Prepared
    from gateway_project.mcp.wire import Wire

LOCAL_ADMIN = "admin"
ATTACH = ("auto", "never")
EXPOSURES = ("meta", "hybrid", "full")


class Command(BaseCommand):
    """`manage.py run_gateway [--user NAME] [--exposure …] [--http HOST:PORT]`."""

    help = (
        "Serve MCP on stdin and stdout, where an MCP client starts this; or over HTTP. "
        "See docs/mcp.md and docs/http.md."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--user",
            metavar="NAME",
            help=f"user the client acts for (default: {LOCAL_ADMIN}); over HTTP a token says it",
        )
        parser.add_argument(
            "--exposure",
            choices=EXPOSURES,
            help="what clients are shown (default: as FOREGATE_EXPOSURE says, or meta)",
        )
        parser.add_argument(
            "--attach",
            choices=ATTACH,
            default="auto",
            help="auto: use the servers of a gateway of this home that already serves, if there "
            "is one (default); never: have servers of its own",
        )
        http = parser.add_argument_group("over HTTP")
        http.add_argument("--http", metavar="HOST:PORT", help="serve on this address at /mcp")
        http.add_argument(
            "--no-auth",
            action="store_true",
            help="ask for no token; only on an address of this machine alone",
        )
        http.add_argument("--tls-cert", metavar="FILE", help="certificate with its chain, PEM")
        http.add_argument("--tls-key", metavar="FILE", help="key of the certificate, PEM")

    def handle(self, *_: Any, **options: Any) -> None:
        # Collecting garbage while modules load costs a fifth of the start and finds nothing.
        gc.disable()
        if options["exposure"]:
            os.environ["FOREGATE_EXPOSURE"] = options["exposure"]
        if options["http"] is not None:
            from gateway_project.management import over_http

            over_http.run(self, options, prepare=prepare)
            return
        from gateway_project.mcp import wire

        claimed = wire.claim()
        if os.isatty(claimed.read_fd):
            self.stderr.write("foregate speaks MCP here; an MCP client should start it")
        _serve(claimed, user=options["user"] or LOCAL_ADMIN, attach=options["attach"] == "auto")


def _serve(claimed: Wire, *, user: str, attach: bool) -> None:
    """Serve through a gateway that does so already, or else from here."""
    from gateway_project.foundation.home import home

    exposure = os.environ.get("FOREGATE_EXPOSURE", "").lower() or "meta"
    prelude = None
    if attach:
        from gateway_project.mcp.attach.relay import serve_attached

        ended, prelude = serve_attached(claimed, home(), user=user, exposure=exposure)
        if ended:
            return
    from gateway_project.mcp import serve
    from gateway_project.mcp.attach.hosting import Offered

    serve.serve(
        claimed,
        prepare=partial(prepare, user),
        host=Offered(home=home(), exposure=exposure) if attach else None,
        prelude=prelude,
    )


def prepare(user: str | None, kind: Kind = "stdio") -> Prepared:
    """Load Django, the handlers and the wiring; runs in a thread, beside the handshake.

    Raises:
        NotReady: If the configuration cannot work.
    """
    from gateway_project.foundation import config as configuration
    from gateway_project.readiness import NotReady

    try:
        return _load(user, kind)
    except configuration.ConfigurationError as error:
        raise NotReady("configuration", str(error)) from None
    finally:
        gc.freeze()
        gc.enable()


def _load(user: str | None, kind: Kind) -> Prepared:
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
    from gateway_project.prepare import prepare as prepared

    return prepared(config, user=user, kind=kind)
