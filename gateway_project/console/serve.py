"""Serve the console with uvicorn, on loopback unless told otherwise."""

from __future__ import annotations

import socket

from django.conf import settings
from django.utils.module_loading import import_string

from gateway_project.foundation.config import Config
from gateway_project.mcp.http import address as addresses
from gateway_project.mcp.http import serve as http
from gateway_project.mcp.http.address import Address, AddressError
from gateway_project.mcp.http.application import Application


class PortUnavailable(Exception):
    """The console's address cannot be listened on; the message says what to do."""


def open_socket(config: Config) -> socket.socket:
    """Bind the console's address.

    Raises:
        PortUnavailable: If it is in use, not ours, or not allowed.
    """
    try:
        return addresses.listen(_address(config))
    except AddressError as error:
        raise PortUnavailable(
            f"{error}; "
            "stop what listens there or set FOREGATE_CONSOLE_PORT (or FOREGATE_CONSOLE_HOST)"
        ) from None


def address(config: Config) -> str:
    """Return the console's address for a browser."""
    return f"http://{_address(config)}/"


def serve(listener: socket.socket) -> None:
    """Serve until interrupted or terminated."""
    application: Application = import_string(settings.ASGI_APPLICATION)
    http.serve(application, listener)


def _address(config: Config) -> Address:
    return Address(host=config.console_host, port=config.console_port)
