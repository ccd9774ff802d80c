"""Connects only to addresses that the network rules allow.

Checks the very address a socket is about to connect to, so DNS rebinding gains nothing.
"""

from __future__ import annotations

import os
import socket
import ssl
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from tools.upstream.network import AddressRefused, NetworkRules

# Node and uvicorn close a connection idle for 5 s; a request sent at that moment would be lost,
# and requests are never sent twice.
KEEP_ALIVE_S = 4.0
MAX_CONNECTIONS_PER_HOST = 500  # so that no server exhausts the gateway's file descriptors
TCP_IDLE_S = 60  # before the first TCP keep-alive probe
# OpenSSL reads SSL_CERT_FILE and SSL_CERT_DIR itself; these add authorities for Node's, Python's
# and curl's clients, which remote servers were reached with before.
EXTRA_AUTHORITIES = ("NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def make_connector(rules: NetworkRules, *, local: bool) -> aiohttp.TCPConnector:
    """Return a connection pool that enforces the rules.

    Args:
        rules: Which addresses may be connected to.
        local: Whether local services may be reached.
    """

    def make_socket(info: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, target = info
        what = rules.find_objection(target[0], local=local)
        if what:
            raise AddressRefused(target[0], what)
        connection = socket.socket(family=family, type=kind, proto=protocol)
        connection.setblocking(False)
        _enable_keep_alive(connection)
        return connection

    return aiohttp.TCPConnector(
        resolver=_Resolver(rules, local=local),
        socket_factory=make_socket,
        ssl=make_tls_context() or True,
        limit=0,
        limit_per_host=MAX_CONNECTIONS_PER_HOST,
        keepalive_timeout=KEEP_ALIVE_S,
    )


class _Resolver(AbstractResolver):
    """Filters forbidden addresses out, so that a name's other addresses are tried."""

    def __init__(self, rules: NetworkRules, *, local: bool) -> None:
        self._rules = rules
        self._local = local
        self._system = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._system.resolve(host, port, family)
        objections = [
            self._rules.find_objection(each["host"], local=self._local) for each in found
        ]
        usable = [each for each, what in zip(found, objections, strict=True) if not what]
        if found and not usable:
            raise AddressRefused(found[0]["host"], objections[0])
        return usable

    async def close(self) -> None:
        await self._system.close()


@lru_cache(maxsize=1)
def make_tls_context() -> ssl.SSLContext | None:
    """Return a context that trusts the machine's extra authorities too; None if it has none."""
    places = [place for name in EXTRA_AUTHORITIES if (place := os.environ.get(name))]
    if not places:
        return None
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    for place in places:
        with suppress(OSError):  # `doctor` tells what cannot be read
            context.load_verify_locations(
                **{"capath" if Path(place).is_dir() else "cafile": place}
            )
    return context


def _enable_keep_alive(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):  # Linux's name; macOS keeps its default of two hours
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, TCP_IDLE_S)
