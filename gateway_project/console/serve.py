"""Serves the console over HTTP, on loopback by default."""

from __future__ import annotations

import socket

from django.conf import settings
from django.utils.module_loading import import_string

from gateway_project.foundation import stop_guard
from gateway_project.foundation.config import Config
from gateway_project.mcp.http import address as addresses
from gateway_project.mcp.http import serve as http
from gateway_project.mcp.http.address import AddressError, ListenAddress
from gateway_project.mcp.http.service import Application


class PortUnavailable(Exception):
    """The console's address cannot be listened on; the message says what to do."""


def open_socket(config: Config) -> socket.socket:
    """Bind the console's address.

    Raises:
        PortUnavailable: If it is in use, not an address of this machine, or not allowed.
    """
    try:
        return addresses.open_listener(_listen_address(config))
    except AddressError as error:
        raise PortUnavailable(
            f"{error}; "
            "stop what listens there or set FOREGATE_CONSOLE_PORT (or FOREGATE_CONSOLE_HOST)"
        ) from None


def console_url(config: Config) -> str:
    """Return the console's address for a browser."""
    return f"http://{_listen_address(config)}/"


def serve_console(listener: socket.socket) -> None:
    """Serve until interrupted or terminated, then stop within a bounded time."""
    stop_guard.start_guard(http.KILL_TIMEOUT_S)
    application: Application = import_string(settings.ASGI_APPLICATION)
    proxies = settings.FOREGATE.trusted_proxies
    http.serve_http(application, listener, websockets=True, proxies=proxies)


def _listen_address(config: Config) -> ListenAddress:
    return ListenAddress(host=config.console_host, port=config.console_port)
