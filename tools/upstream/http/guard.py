"""Connections that are only made to addresses the rules allow.

The check is of the very address a socket is about to be connected to: a name that resolves to
another address a moment later gains nothing.
"""

from __future__ import annotations

import socket
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from tools.upstream.network import NetworkRules

# Node's and uvicorn's servers close a connection that was idle for 5 s; a request sent at that
# very moment would be lost, and requests are never sent twice.
KEEP_ALIVE_S = 4.0
MAX_CONNECTIONS_PER_HOST = 500  # so that no server uses up the gateway's file descriptors
TCP_IDLE_S = 60  # after which a silent peer is asked whether it is still there


class AddressRefused(OSError):
    """The rules do not allow an address.

    Attributes:
        address: The address.
        what: What it is.
    """

    def __init__(self, address: str, what: str) -> None:
        super().__init__(f"{address} is {what}")
        self.address = address
        self.what = what


def connector(rules: NetworkRules, *, local: bool) -> aiohttp.TCPConnector:
    """Return a pool of connections that obeys the rules.

    Args:
        rules: Which addresses may be connected to.
        local: Whether services that people run themselves may be reached.
    """

    def make_socket(info: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, target = info
        what = rules.objection(target[0], local=local)
        if what:
            raise AddressRefused(target[0], what)
        made = socket.socket(family=family, type=kind, proto=protocol)
        made.setblocking(False)
        _keep_alive(made)
        return made

    return aiohttp.TCPConnector(
        resolver=_Resolver(rules, local=local),
        socket_factory=make_socket,
        limit=0,
        limit_per_host=MAX_CONNECTIONS_PER_HOST,
        keepalive_timeout=KEEP_ALIVE_S,
    )


class _Resolver(AbstractResolver):
    """Leaves out addresses that may not be used, so that the others of the name are tried."""

    def __init__(self, rules: NetworkRules, *, local: bool) -> None:
        self._rules = rules
        self._local = local
        self._system = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._system.resolve(host, port, family)
        objections = [self._rules.objection(each["host"], local=self._local) for each in found]
        usable = [each for each, what in zip(found, objections, strict=True) if not what]
        if found and not usable:
            raise AddressRefused(found[0]["host"], objections[0])
        return usable

    async def close(self) -> None:
        await self._system.close()


def _keep_alive(made: socket.socket) -> None:
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):  # Linux's name; macOS keeps its default of two hours
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, TCP_IDLE_S)
