"""Serve the console with uvicorn, on loopback unless told otherwise."""

from __future__ import annotations

import socket
from contextlib import suppress

import uvicorn

from gateway_project.foundation.config import Config

SHUTDOWN_S = 5


class PortUnavailable(Exception):
    """The console's address cannot be listened on; the message says what to do."""


def open_socket(config: Config) -> socket.socket:
    """Bind the console's address.

    Raises:
        PortUnavailable: If it is in use, not ours, or not allowed.
    """
    family = socket.AF_INET6 if ":" in config.console_host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((config.console_host, config.console_port))
    except OSError as error:
        listener.close()
        raise PortUnavailable(
            f"cannot listen on {config.console_host}:{config.console_port}: {error.strerror}; "
            "stop what listens there or set FOREGATE_CONSOLE_PORT (or FOREGATE_CONSOLE_HOST)"
        ) from None
    return listener


def address(config: Config) -> str:
    """Return the console's address for a browser."""
    host = f"[{config.console_host}]" if ":" in config.console_host else config.console_host
    return f"http://{host}:{config.console_port}/"


def serve(listener: socket.socket) -> None:
    """Serve until interrupted or terminated."""
    server = uvicorn.Server(
        uvicorn.Config(
            "gateway_project.asgi:application",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_S,
        )
    )
    with suppress(KeyboardInterrupt):  # raised again by uvicorn once it has stopped in order
        server.run(sockets=[listener])
