"""Serve MCP to AI clients, on stdin and stdout or over HTTP."""

from __future__ import annotations

import gc
import os
from argparse import ArgumentParser
from functools import partial
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand

from gateway_project.foundation import exposure_setting

if TYPE_CHECKING:
    from gateway_project.foundation.caller import CallerKind
    from gateway_project.mcp.first_answers import FirstAnswers
    from gateway_project.mcp.runtime import PreparedRuntime
    from gateway_project.mcp.wire import ProtocolWire

LOCAL_ADMIN = "admin"
ATTACH_MODES = ("auto", "never")


class Command(BaseCommand):
    """`manage.py run_gateway [--user NAME] [--group NAME] [--exposure …] [--http HOST:PORT]`."""

    help = (
        "Serve MCP on stdin and stdout if started by an MCP client, or over HTTP. See "
        "docs/mcp.md and docs/http.md."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--user",
            metavar="NAME",
            help=f"user the client acts for (default: {LOCAL_ADMIN}); over HTTP the token says so",
        )
        parser.add_argument(
            "--group",
            metavar="NAME",
            help="tool group outside which no tool exists for the client (default: none); over "
            "HTTP the path or the token says so",
        )
        parser.add_argument(
            "--exposure",
            choices=exposure_setting.EXPOSURES,
            help="what clients are shown (default: FOREGATE_EXPOSURE, or auto)",
        )
        parser.add_argument(
            "--attach",
            choices=ATTACH_MODES,
            default="auto",
            help="auto: share the servers of a running gateway of this home, if there is one "
            "(default); never: start its own servers",
        )
        parser.add_argument(
            "--migrate",
            action="store_true",
            help="apply pending migrations first; without it, they keep calls from being served",
        )
        http = parser.add_argument_group("over HTTP")
        http.add_argument("--http", metavar="HOST:PORT", help="serve on this address at /mcp")
        http.add_argument(
            "--no-auth",
            action="store_true",
            help="require no token; only on an address reachable from this machine alone",
        )
        http.add_argument("--tls-cert", metavar="FILE", help="certificate with its chain, PEM")
        http.add_argument("--tls-key", metavar="FILE", help="key of the certificate, PEM")

    def handle(self, *_: Any, **options: Any) -> None:
        # Garbage collection while modules load takes a fifth of the start and frees nothing.
        gc.disable()
        if options["exposure"]:
            os.environ["FOREGATE_EXPOSURE"] = options["exposure"]
        if options["http"] is not None:
            from gateway_project.management import over_http

            over_http.serve_over_http(self, options, prepare=load_runtime)
            return
        from gateway_project.mcp import first_answers, wire

        claimed = wire.claim_wire()
        if os.isatty(claimed.read_fd):
            self.stderr.write("foregate speaks MCP here; an MCP client should start it")
        _attach_or_serve(
            claimed,
            user=options["user"] or LOCAL_ADMIN,
            group=options["group"],
            attach=options["attach"] == "auto",
            migrates=options["migrate"],
            first=first_answers.find_started(),
        )


def _attach_or_serve(
    claimed: ProtocolWire,
    *,
    user: str,
    group: str | None,
    attach: bool,
    migrates: bool,
    first: FirstAnswers | None,
) -> None:
    """Serve through a running gateway if there is one, otherwise in this process."""
    from gateway_project.foundation.home import resolve_home

    exposure = os.environ.get("FOREGATE_EXPOSURE", "").lower() or exposure_setting.DEFAULT
    prelude = None
    if attach:
        from gateway_project.mcp.attach.relay import serve_attached

        ended, prelude = serve_attached(
            claimed, resolve_home(), user=user, group=group, exposure=exposure, first=first
        )
        if ended:
            return
    from gateway_project import server_instructions
    from gateway_project.foundation import stop_guard
    from gateway_project.mcp import serve
    from gateway_project.mcp.attach.host import AttachOffer

    stop_guard.start_guard(
        serve.KILL_TIMEOUT_S, client_fd=claimed.read_fd, client_grace_s=serve.ORPHAN_TIMEOUT_S
    )
    serve.serve_stdio(
        claimed,
        prepare=partial(load_runtime, user, group=group, migrates=migrates),
        host=AttachOffer(home=resolve_home(), exposure=exposure) if attach else None,
        prelude=prelude,
        first=first,
        load_instructions=dict if group else server_instructions.load_kept_instructions,
    )


def load_runtime(
    user: str | None,
    kind: CallerKind = "stdio",
    *,
    group: str | None = None,
    migrates: bool | None = None,
) -> PreparedRuntime:
    """Load Django, the handlers and the wiring; runs in a thread, beside the handshake.

    Raises:
        NotReady: If the configuration is invalid.
    """
    from gateway_project.foundation import config as configuration
    from gateway_project.readiness import NotReady

    try:
        return _load_django_and_prepare(user, kind, group, migrates=migrates)
    except configuration.ConfigurationError as error:
        raise NotReady("configuration", str(error)) from None
    finally:
        gc.freeze()
        gc.enable()


def _load_django_and_prepare(
    user: str | None, kind: CallerKind, group: str | None, *, migrates: bool | None
) -> PreparedRuntime:
    from gateway_project.foundation import config as configuration
    from gateway_project.foundation import secret_key, telemetry
    from gateway_project.foundation.postgres import address

    config = configuration.load_config()
    telemetry.configure_logging(config, process="gateway")
    # The settings exit on these errors; here they must be reported to the client instead.
    secret_key.load_or_create_key(config)
    address.build_django_database(config)

    import django

    django.setup()
    from gateway_project.prepare import prepare_runtime as prepared

    return prepared(config, user=user, kind=kind, group=group, migrates=migrates)
