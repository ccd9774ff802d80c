"""Addresses and sockets to listen on."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import Final

LOOPBACK: Final = "127.0.0.1"
BACKLOG: Final = 512
MAX_PORT: Final = 65_535


class AddressError(Exception):
    """An address cannot be used; the message says why."""


@dataclass(frozen=True, kw_only=True)
class ListenAddress:
    """An address to listen on.

    Attributes:
        host: Name or IP address; IPv6 without brackets.
        port: 0 lets the system choose.
    """

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def parse_address(text: str) -> ListenAddress:
    """Parse `HOST:PORT`, `[IPV6]:PORT` or `PORT`, which means the loopback address.

    Raises:
        AddressError: If the text has none of these forms.

    Example:
        >>> parse_address("8421"), parse_address("[::1]:80")
        (ListenAddress(host='127.0.0.1', port=8421), ListenAddress(host='::1', port=80))
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if colon else LOOPBACK
    unbracketed = ":" in host and not text.startswith("[")
    if not host or unbracketed or not port.isascii() or not port.isdigit() or int(port) > MAX_PORT:
        raise AddressError(f"{text!r} is not an address; use HOST:PORT, [IPV6]:PORT or PORT")
    return ListenAddress(host=host, port=int(port))


def open_listener(address: ListenAddress) -> socket.socket:
    """Listen on an address.

    Raises:
        AddressError: If it is in use, not this machine's, or not allowed.
    """
    try:
        infos = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _, sockaddr = infos[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise AddressError(f"cannot listen on {address}: {error.strerror}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(sockaddr)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise AddressError(f"cannot listen on {address}: {error.strerror}") from None
    return listener


def bound_address(listener: socket.socket) -> ListenAddress:
    """Return the address a socket listens on, with the port the system chose."""
    host, port = listener.getsockname()[:2]
    return ListenAddress(host=host, port=port)
