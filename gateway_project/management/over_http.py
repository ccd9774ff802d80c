"""`run_gateway --http`: reject unsafe options, then serve."""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from gateway_project.foundation import config as configuration
from gateway_project.foundation import stop_guard, telemetry
from gateway_project.foundation.config import Config
from gateway_project.foundation.endpoint import ENDPOINT_PATH
from gateway_project.foundation.postgres.failures import DatabaseUnavailable
from gateway_project.management.command import refusing
from gateway_project.mcp.attach.hosting import AttachOffer
from gateway_project.mcp.http import access_log, address
from gateway_project.mcp.http.address import AddressError, ListenAddress
from gateway_project.mcp.http.application import Application
from gateway_project.mcp.http.names import load_allowed_names
from gateway_project.mcp.http.serve import (
    KILL_TIMEOUT_S,
    TlsFiles,
    TlsUnusable,
    check_certificate,
    serve_http,
)
from gateway_project.mcp.http.service import HttpService

if TYPE_CHECKING:
    from gateway_project.mcp.runtime import PreparedRuntime

LOCAL_ADMIN = "admin"


def serve_over_http(
    command: BaseCommand, options: Mapping[str, Any], *, prepare: Callable[..., PreparedRuntime]
) -> None:
    """Serve MCP over HTTP until a signal asks to stop.

    Raises:
        CommandError: If the options are unsafe or unusable; says what to do.
    """
    listen_address = _parse_listen_address(options)
    tls = _load_tls_files(options)
    with refusing(configuration.ConfigurationError, AddressError):
        config = configuration.load_config()
        telemetry.configure_logging(config, process="gateway")
        if options["migrate"] or config.prepares_at_start:
            _prepare(config, migrates=options["migrate"])
        listener = address.open_listener(listen_address)
    stop_guard.start_guard(KILL_TIMEOUT_S)
    application = Application(partial(_make_service, options, config, listen_address, prepare))
    command.stdout.write(_describe_listener(listener, options, tls))
    command.stdout.flush()
    try:
        serve_http(application, listener, tls=tls, proxies=config.trusted_proxies)
    finally:
        gc.enable()


def _prepare(config: Config, *, migrates: bool) -> None:
    """Prepare the installation as far as asked for; what is wrong ends the start.

    Raises:
        CommandError: If that fails; says what to do.
    """
    import django  # noqa: PLC0415 - else it is loaded beside the handshake

    django.setup()
    from gateway_project.use_cases import first_start  # noqa: PLC0415 - needs Django

    with refusing(DatabaseUnavailable):
        first_start.prepare_installation(config, migrates=migrates)


def _parse_listen_address(options: Mapping[str, Any]) -> ListenAddress:
    """Return the address to listen on; reject one that would let strangers in."""
    try:
        listen_address = address.parse_address(options["http"])
    except AddressError as error:
        raise CommandError(f"--http: {error}") from None
    if options["no_auth"] and not listen_address.is_loopback:
        raise CommandError(
            f"--no-auth would let in anyone who can reach {listen_address.host}; listen on "
            "127.0.0.1, or omit it and give clients tokens (`manage.py create_token`)"
        )
    if options["group"]:
        raise CommandError(
            f"--group limits a client on stdin and stdout; over HTTP its path does "
            f"({ENDPOINT_PATH}/groups/{options['group']}), or its token (`create_token --group`)"
        )
    if options["user"] and not options["no_auth"]:
        raise CommandError(
            "--user names who acts without a token; over HTTP each client's token does "
            "(`manage.py create_token --user NAME`), or add --no-auth"
        )
    return listen_address


def _load_tls_files(options: Mapping[str, Any]) -> TlsFiles | None:
    if not options["tls_cert"]:
        if options["tls_key"]:
            raise CommandError("--tls-key needs --tls-cert")
        return None
    key = Path(options["tls_key"]) if options["tls_key"] else None
    tls = TlsFiles(certificate=Path(options["tls_cert"]), key=key)
    with refusing(TlsUnusable):
        check_certificate(tls)
    return tls


def _make_service(
    options: Mapping[str, Any],
    config: Config,
    listen_address: ListenAddress,
    prepare: Callable[..., PreparedRuntime],
) -> HttpService:
    user = (options["user"] or LOCAL_ADMIN) if options["no_auth"] else None
    return HttpService(
        partial(prepare, user, "http"),
        names=load_allowed_names(
            hosts=config.allowed_hosts,
            origins=config.allowed_origins,
            public_url=config.public_url,
            bound=(listen_address.host,),
        ),
        access_log=access_log.make_access_log(config, process="gateway"),
        open_to_all=options["no_auth"],
        offered=AttachOffer(home=config.home, exposure=config.exposure)
        if options["attach"] == "auto"
        else None,
    )


def _describe_listener(
    listener: socket.socket, options: Mapping[str, Any], tls: TlsFiles | None
) -> str:
    scheme = "https" if tls else "http"
    audience = (
        f"every program on this machine acts as {options['user'] or LOCAL_ADMIN}"
        if options["no_auth"]
        else "clients need a token: `manage.py create_token`"
    )
    return f"Gateway: {scheme}://{address.bound_address(listener)}{ENDPOINT_PATH} ({audience})"
