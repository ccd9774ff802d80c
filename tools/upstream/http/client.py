"""The HTTP client of all remote servers: pools connections, checks addresses and redirects.

Checks the very address a socket is about to connect to, so DNS rebinding gains nothing.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from gateway_project import VERSION
from tools.upstream.errors import (
    ForbiddenAddress,
    InvalidAddress,
    MessageTooLarge,
    ProtocolViolation,
    ServerUnreachable,
)
from tools.upstream.http.address import (
    host_and_port,
    is_same_origin,
    keep_encryption,
    redact_address,
)
from tools.upstream.http.body import BodyTooLong, read_body
from tools.upstream.http.problems import make_forbidden_error, translate_errors
from tools.upstream.network import AddressRefused, NetworkRules, is_address
from tools.upstream.proxies import MachineProxies

# Node and uvicorn close a connection idle for 5 s; a request sent at that moment would be lost,
# and requests are never sent twice.
KEEP_ALIVE_S = 4.0
MAX_CONNECTIONS_PER_HOST = 500  # so that no server exhausts the gateway's file descriptors
TCP_IDLE_S = 60  # before the first TCP keep-alive probe
# OpenSSL reads SSL_CERT_FILE and SSL_CERT_DIR itself; these add authorities for Node's, Python's
# and curl's clients, which remote servers were reached with before.
EXTRA_AUTHORITIES = ("NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")

CONNECT_TIMEOUT_S = 10.0
MAX_REDIRECTS = 5
FETCH_TIMEOUT_S = 15.0
FETCH_BYTES = 1024 * 1024

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEEP_METHOD = frozenset({307, 308})
# The caller limits the total time: a stream may last for days.
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S)


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


@dataclass(frozen=True, kw_only=True)
class FetchedResponse:
    """A response that was read completely.

    Attributes:
        status: HTTP status code.
        headers: Headers with lower-case names; the first of repeated ones.
        body: Body, with its content encoding decoded.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)


class HttpClient:
    """Sends HTTP requests over pooled connections.

    Goes through the machine's proxies. Uses no cookies or `.netrc`: a request carries only what
    its caller passed. Use and close it in one event loop.

    Args:
        rules: Which addresses may be connected to.
    """

    def __init__(self, rules: NetworkRules | None = None) -> None:
        self._rules = rules or NetworkRules()
        self._proxies = MachineProxies(self._rules)
        # Two pools: a private connection that one entry allows must not serve another server.
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._closed = False
        self._literal = lru_cache(maxsize=256)(self._find_objection)

    async def open(
        self,
        method: str,
        url: URL,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        own: tuple[str, int] | None = None,
        server: str = "",
    ) -> aiohttp.ClientResponse:
        """Send a request and return its response once the headers have arrived.

        Redirects are followed only within the origin (or from http to https on the same host)
        and only if they keep method and body; others are errors, since headers and body are meant
        for that origin only.

        Args:
            method: HTTP method.
            url: Address.
            headers: All headers except `User-Agent`.
            body: Request body.
            own: Host and port that may be in a private network.
            server: Name of the server, for errors.

        Returns:
            The response; the caller must release or close it.

        Raises:
            UpstreamError: If there is no response.
        """
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._send(method, url, headers, body, own=own, server=server)
            target = _redirect_target(answer, server) if answer.status in _REDIRECTS else None
            if target is None:
                return answer
            answer.close()
            _check_redirect(method, answer.status, url, target, server=server)
            url = target
        raise ProtocolViolation(
            f"redirects more than {MAX_REDIRECTS} times; correct its address", server=server
        )

    async def fetch(  # noqa: PLR0913 - bounds of a request to an unknown server
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        own: tuple[str, int] | None = None,
        server: str = "",
        redirects: int = 0,
        head_only: bool = False,
        max_bytes: int = FETCH_BYTES,
        timeout_s: float = FETCH_TIMEOUT_S,
    ) -> FetchedResponse:
        """Fetch a document from an address that another server may have named.

        Args:
            method: HTTP method.
            url: Address.
            headers: Request headers; dropped on a redirect to another origin.
            body: Request body.
            own: Host and port that may be in a private network.
            server: Name of the server, for errors.
            redirects: Maximum redirects followed, with GET only; beyond it the redirect itself is
                returned.
            head_only: Whether to leave the body unread.
            max_bytes: Maximum length of the body.
            timeout_s: Timeout for the whole exchange.

        Raises:
            UpstreamError: If there is no complete response within the bounds.
        """
        try:
            async with asyncio.timeout(timeout_s):
                target = _read_url(url, server)
                for left in range(redirects if method == "GET" else 0, -1, -1):
                    answer = await self._send(
                        method, target, headers, body, own=own, server=server
                    )
                    location = (
                        _redirect_target(answer, server)
                        if left and answer.status in _REDIRECTS
                        else None
                    )
                    if location is None:
                        break
                    answer.close()
                    _refuse_downgrade(target, location, server=server)
                    headers = headers if is_same_origin(target, location) else {}
                    target = location
                return await _read_whole(
                    answer, 0 if head_only else max_bytes, url=target, server=server
                )
        except TimeoutError:
            raise ServerUnreachable(
                f"a request was not answered within {timeout_s:g} s; try again later",
                server=server,
            ) from None

    async def aclose(self) -> None:
        """Close all connections and refuse further requests."""
        self._closed = True
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close()

    async def _send(
        self,
        method: str,
        url: URL,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        own: tuple[str, int] | None,
        server: str,
    ) -> aiohttp.ClientResponse:
        local = own is not None and host_and_port(url) == own
        self._check_literal(url, local=local, server=server)
        proxy = self._proxies.find(url)
        if proxy is not None:
            try:
                await self._proxies.check_name(url.host or "", local=local)
            except AddressRefused as error:
                raise make_forbidden_error(error, server=server, url=url) from None
        # The proxy itself may be private: who names it rules over the machine. A connection to it
        # is pooled apart from those to servers.
        with translate_errors(server, url):
            return await self._get_session(local or proxy is not None).request(
                method, url, data=body, headers=headers, allow_redirects=False, proxy=proxy
            )

    def _check_literal(self, url: URL, *, local: bool, server: str) -> None:
        """Refuse a forbidden IP address before a pooled connection could be used for it."""
        host = (url.raw_host or "").strip("[]")
        objection = self._literal(host, local)
        if objection:
            raise make_forbidden_error(AddressRefused(host, objection), server=server, url=url)

    def _find_objection(self, host: str, local: bool) -> str:
        return self._rules.find_objection(host, local=local) if is_address(host) else ""

    def _get_session(self, local: bool) -> aiohttp.ClientSession:
        if self._closed:
            raise ServerUnreachable("the gateway is shutting down; call again")
        if local not in self._sessions:
            self._sessions[local] = aiohttp.ClientSession(
                connector=make_connector(self._rules, local=local),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=_TIMEOUT,
                headers={"User-Agent": f"foregate/{VERSION}"},
            )
        return self._sessions[local]


def _read_url(text: str, server: str) -> URL:
    try:
        url = URL(text)
    except ValueError:
        url = URL()
    if url.scheme not in {"http", "https"} or not url.raw_host or url.raw_user is not None:
        raise InvalidAddress("it names an address that is not http or https", server=server)
    return url.with_fragment(None)


def _redirect_target(answer: aiohttp.ClientResponse, server: str) -> URL | None:
    """Return the target of a redirect; None if it names none."""
    location = answer.headers.get("Location")
    if location is None:
        return None
    try:
        target = answer.url.join(URL(location)).with_fragment(None)
    except ValueError:
        target = URL()
    if target.scheme not in {"http", "https"} or not target.raw_host:
        answer.close()
        raise ForbiddenAddress(
            "redirects to an address that is not http or https; correct its address",
            server=server,
        )
    return keep_encryption(answer.url, target.with_user(None))


def _check_redirect(method: str, status: int, url: URL, target: URL, *, server: str) -> None:
    _refuse_downgrade(url, target, server=server)
    if not is_same_origin(url, target) and not _is_upgrade(url, target):
        raise ForbiddenAddress(
            f"redirects to {redact_address(target)}, another origin; register that address "
            "instead if it is meant",
            server=server,
        )
    if method != "GET" and status not in _KEEP_METHOD:
        raise ProtocolViolation(
            f"redirects with status {status}, which drops the message; register the address it "
            "leads to",
            server=server,
        )


def _refuse_downgrade(url: URL, target: URL, *, server: str) -> None:
    if url.scheme == "https" and target.scheme == "http":
        raise ForbiddenAddress(
            f"redirects from https to {redact_address(target)}, which is not encrypted; correct "
            "its address, or the proxy before it",
            server=server,
        )


def _is_upgrade(url: URL, target: URL) -> bool:
    return (
        url.host == target.host
        and (url.scheme, target.scheme) == ("http", "https")
        and url.is_default_port()
        and target.is_default_port()
    )


async def _read_whole(
    answer: aiohttp.ClientResponse, max_bytes: int, *, url: URL, server: str
) -> FetchedResponse:
    headers: dict[str, str] = {}
    for name, value in answer.headers.items():
        headers.setdefault(name.lower(), value)
    body = b""
    try:
        if max_bytes:
            with translate_errors(server, url):
                body = await read_body(answer, max_bytes=max_bytes)
    except BodyTooLong:
        raise MessageTooLarge(server=server, what="the answer", limit_bytes=max_bytes) from None
    finally:
        answer.release()
    return FetchedResponse(status=answer.status, headers=headers, body=body)
