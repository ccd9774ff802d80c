"""Where to listen."""

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
class Address:
    """An address to listen on.

    Attributes:
        host: Name or number; IPv6 without brackets.
        port: 0 lets the system choose.
    """

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def parse(text: str) -> Address:
    """Read `HOST:PORT`, `[IPV6]:PORT` or `PORT`, which is of this machine alone.

    Raises:
        AddressError: If it is none of these.

    Example:
        >>> parse("8421"), parse("[::1]:80")
        (Address(host='127.0.0.1', port=8421), Address(host='::1', port=80))
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if colon else LOOPBACK
    unbracketed = ":" in host and not text.startswith("[")
    if not host or unbracketed or not port.isascii() or not port.isdigit() or int(port) > MAX_PORT:
        raise AddressError(f"{text!r} is no address; give HOST:PORT, [IPV6]:PORT or PORT")
    return Address(host=host, port=int(port))


def listen(address: Address) -> socket.socket:
    """Listen on an address.

    Raises:
        AddressError: If it is in use, not this machine's, or not allowed.
    """
    try:
        found = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _, place = found[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise AddressError(f"cannot listen on {address}: {error.strerror}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise AddressError(f"cannot listen on {address}: {error.strerror}") from None
    return listener


def bound(listener: socket.socket) -> Address:
    """Return the address a socket listens on, with the port the system chose."""
    host, port = listener.getsockname()[:2]
    return Address(host=host, port=port)
