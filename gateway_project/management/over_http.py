"""`run_gateway --http`: refuses what would be unsafe, then serves."""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from gateway_project.foundation import config as configuration
from gateway_project.foundation import telemetry
from gateway_project.foundation.config import Config
from gateway_project.mcp.attach.hosting import Offered
from gateway_project.mcp.http import access_log, address
from gateway_project.mcp.http.address import Address, AddressError
from gateway_project.mcp.http.application import PATH, Application
from gateway_project.mcp.http.names import names
from gateway_project.mcp.http.serve import Tls, TlsUnusable, check, serve
from gateway_project.mcp.http.service import Service

if TYPE_CHECKING:
    from gateway_project.mcp.runtime import Prepared

LOCAL_ADMIN = "admin"


def run(
    command: BaseCommand, options: Mapping[str, Any], *, prepare: Callable[..., Prepared]
) -> None:
    """Serve MCP over HTTP until a signal asks to stop.

    Raises:
        CommandError: If it cannot be served so; one line that says what to do.
    """
    place = _allowed(options)
    tls = _tls(options)
    try:
        config = configuration.load()
        telemetry.configure(config, process="gateway")
        listener = address.listen(place)
    except (configuration.ConfigurationError, AddressError) as error:
        raise CommandError(str(error)) from None
    application = Application(partial(_service, options, config, place, prepare))
    command.stdout.write(_line(listener, options, tls))
    command.stdout.flush()
    try:
        serve(application, listener, tls=tls)
    finally:
        gc.enable()


def _allowed(options: Mapping[str, Any]) -> Address:
    """Return where to listen, unless that would let strangers in."""
    try:
        place = address.parse(options["http"])
    except AddressError as error:
        raise CommandError(f"--http: {error}") from None
    if options["no_auth"] and not place.loopback:
        raise CommandError(
            f"--no-auth would let everybody in who can reach {place.host}; listen on 127.0.0.1, "
            "or leave it out and give clients tokens (`manage.py create_token`)"
        )
    if options["user"] and not options["no_auth"]:
        raise CommandError(
            "--user says who acts without a token; over HTTP each client's token says it "
            "(`manage.py create_token --user NAME`), or add --no-auth"
        )
    return place


def _tls(options: Mapping[str, Any]) -> Tls | None:
    if not options["tls_cert"]:
        if options["tls_key"]:
            raise CommandError("--tls-key needs --tls-cert")
        return None
    key = Path(options["tls_key"]) if options["tls_key"] else None
    tls = Tls(certificate=Path(options["tls_cert"]), key=key)
    try:
        check(tls)
    except TlsUnusable as error:
        raise CommandError(str(error)) from None
    return tls


def _service(
    options: Mapping[str, Any],
    config: Config,
    place: Address,
    prepare: Callable[..., Prepared],
) -> Service:
    user = (options["user"] or LOCAL_ADMIN) if options["no_auth"] else None
    return Service(
        partial(prepare, user, "http"),
        names=names(
            hosts=config.allowed_hosts,
            origins=config.allowed_origins,
            public_url=config.public_url,
            bound=(place.host,),
        ),
        access_log=access_log.to_file(config, process="gateway"),
        open_to_all=options["no_auth"],
        offered=Offered(home=config.home, exposure=config.exposure)
        if options["attach"] == "auto"
        else None,
    )


def _line(listener: socket.socket, options: Mapping[str, Any], tls: Tls | None) -> str:
    scheme = "https" if tls else "http"
    who = (
        f"every program on this machine acts as {options['user'] or LOCAL_ADMIN}"
        if options["no_auth"]
        else "clients need a token: `manage.py create_token`"
    )
    return f"Gateway: {scheme}://{address.bound(listener)}{PATH} ({who})"
