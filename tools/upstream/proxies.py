"""The machine's HTTP proxies, as its environment names them."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from contextlib import suppress
from ipaddress import ip_address
from urllib.request import getproxies_environment

from yarl import URL

from tools.upstream.network import (
    AddressRefused,
    Network,
    NetworkRules,
    is_address,
    parse_networks,
)

RESOLVE_TIMEOUT_S = 2.0
KEEP_S, KEEP_NAMES = 300.0, 1_000
"""Where outside names do not resolve, asking again would delay each request."""


class MachineProxies:
    """Finds the proxy of an address in `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.

    `NO_PROXY` lists hosts with their subdomains, networks such as `10.0.0.0/8`, or `*`. This
    machine itself is never reached through a proxy, as in Go's and Chromium's clients. Variables
    are read once.

    Args:
        rules: Which addresses may be connected to.
    """

    def __init__(self, rules: NetworkRules) -> None:
        self._rules = rules
        found = getproxies_environment()
        names = re.split(r"[\s,]+", found.get("no", "").lower().strip())
        self._excepted = {each.removeprefix("*").lstrip(".") for each in names} - {""}
        self._excepted_networks = _find_networks(names)
        usable = {
            scheme: read_proxy(found.get(scheme) or found.get("all", ""))
            for scheme in ("http", "https")
        }
        self._proxies = {} if "*" in names else {k: v for k, v in usable.items() if v is not None}
        self._objections: dict[tuple[str, bool], tuple[float, AddressRefused | None]] = {}

    def find(self, url: URL) -> URL | None:
        """Return the proxy through which an address is reached; None if it is reached directly."""
        proxy = self._proxies.get(url.scheme)
        if proxy is None:
            return None
        host = (url.host or "").rstrip(".").lower()
        if host == "localhost" or host.endswith(".localhost"):
            return None
        if is_address(host):
            address = ip_address(host.partition("%")[0])
            if address.is_loopback or any(address in each for each in self._excepted_networks):
                return None
        # The host, and each domain that it is in.
        labels = host.split(".")
        suffixes = {".".join(labels[first:]) for first in range(len(labels))}
        suffixes |= {f"{suffix}:{url.port}" for suffix in suffixes}
        return proxy if self._excepted.isdisjoint(suffixes) else None

    async def check_name(self, host: str, *, local: bool) -> None:
        """Refuse a name that leads to a forbidden address, as far as it resolves here.

        The proxy resolves names itself, maybe to other addresses, so this is no protection from
        a name whose owner knows of the proxy. That is up to the rules of the proxy.

        Args:
            host: Host to be reached through a proxy.
            local: Whether local services may be reached.

        Raises:
            AddressRefused: If all addresses of the name are forbidden.
        """
        expires, objection = self._objections.get((host, local), (0.0, None))
        if expires < time.monotonic():
            objection = await self._find_objection(host, local=local)
            if len(self._objections) >= KEEP_NAMES:
                self._objections.clear()
            self._objections[host, local] = (time.monotonic() + KEEP_S, objection)
        if objection is not None:
            raise AddressRefused(objection.address, objection.what)

    async def _find_objection(self, host: str, *, local: bool) -> AddressRefused | None:
        found: list[str] = []
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(RESOLVE_TIMEOUT_S):
                answers = await asyncio.get_running_loop().getaddrinfo(
                    host, None, type=socket.SOCK_STREAM
                )
            found = [str(address[0]) for *_, address in answers]
        whats = [self._rules.find_objection(each, local=local) for each in found]
        return AddressRefused(found[0], whats[0]) if found and all(whats) else None


def read_proxy(text: str) -> URL | None:
    """Return the address of an HTTP proxy; None if a text names none, or one of another kind.

    Example:
        >>> read_proxy("proxy.example:3128"), read_proxy("socks5://proxy.example")
        (URL('http://proxy.example:3128'), None)
    """
    try:
        proxy = URL(text if "://" in text else f"http://{text}")
        usable = proxy.scheme in {"http", "https"} and proxy.raw_host and proxy.port
    except ValueError:
        return None
    return proxy.origin().with_user(proxy.user).with_password(proxy.password) if usable else None


def _find_networks(names: list[str]) -> list[Network]:
    networks: list[Network] = []
    for name in names:
        with suppress(ValueError):
            networks += parse_networks(name) if "/" in name else ()
    return networks
