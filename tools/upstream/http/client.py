"""The one HTTP client: pooled connections, checked addresses, redirects followed here alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata

import aiohttp
from yarl import URL

from tools.upstream.errors import (
    BadAddress,
    ForbiddenAddress,
    MessageTooLarge,
    ProtocolViolation,
    Unreachable,
)
from tools.upstream.http.address import host_and_port, same_origin, shown
from tools.upstream.http.body import TooLong, read_body
from tools.upstream.http.guard import AddressRefused, connector
from tools.upstream.http.problems import forbidden, translated
from tools.upstream.network import NetworkRules, is_address

CONNECT_TIMEOUT_S = 10.0
MAX_REDIRECTS = 5
FETCH_TIMEOUT_S = 15.0
FETCH_BYTES = 1024 * 1024

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEEP_METHOD = frozenset({307, 308})
# Time in all is the caller's to limit: a stream may last for days.
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S)


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """An answer that was read to its end.

    Attributes:
        status: Its status.
        headers: Its headers, names in lower case; of one that stands twice, the first.
        body: What came, decoded.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)


class HttpClient:
    """Asks servers over HTTP, keeping connections to use again.

    No proxies, no cookies, no `.netrc`: what a request carries is what its caller gave. Use it
    in one event loop and close it there.

    Args:
        rules: Which addresses may be connected to.
    """

    def __init__(self, rules: NetworkRules | None = None) -> None:
        self._rules = rules or NetworkRules()
        # Two pools: a connection that one server's entry allows must not serve another.
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._closed = False
        self._literal = lru_cache(maxsize=256)(self._objection)

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
        """Send a request and return its answer once the headers are there.

        Redirects are followed within the origin (or from http to https on the same host), and
        only where method and body stay the same; beyond that they are an error, since headers
        and body were meant for that origin alone.

        Args:
            method: Of the request.
            url: Where.
            headers: All of them.
            body: Sent along.
            own: Host and port that may lie in a private network.
            server: Whose request it is, for errors.

        Returns:
            The answer; release or close it.

        Raises:
            UpstreamError: If there is none.
        """
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._send(method, url, headers, body, own=own, server=server)
            target = _target(answer, server) if answer.status in _REDIRECTS else None
            if target is None:
                return answer
            answer.close()
            _check_redirect(method, answer.status, url, target, server=server)
            url = target
        raise ProtocolViolation(
            f"redirects more than {MAX_REDIRECTS} times; correct its address", server=server
        )

    async def fetch(  # noqa: PLR0913 - bounds of a request to somewhere unknown
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
    ) -> Fetched:
        """Ask for a document at an address that another server may have named.

        Args:
            method: Of the request.
            url: Where.
            headers: Sent along, but not to another origin that it redirects to.
            body: Sent along.
            own: Host and port that may lie in a private network.
            server: On whose behalf, for errors.
            redirects: How many are followed, with GET only; of the next one the answer itself
                is returned.
            head_only: Leave the body unread.
            max_bytes: Longest body.
            timeout_s: For all of it.

        Raises:
            UpstreamError: If there is no whole answer within the bounds.
        """
        try:
            async with asyncio.timeout(timeout_s):
                target = _read_url(url, server)
                for left in range(redirects if method == "GET" else 0, -1, -1):
                    answer = await self._send(
                        method, target, headers, body, own=own, server=server
                    )
                    location = (
                        _target(answer, server) if left and answer.status in _REDIRECTS else None
                    )
                    if location is None:
                        break
                    answer.close()
                    _refuse_downgrade(target, location, server=server)
                    headers = headers if same_origin(target, location) else {}
                    target = location
                return await _whole(
                    answer, 0 if head_only else max_bytes, url=target, server=server
                )
        except TimeoutError:
            raise Unreachable(
                f"a request was not answered within {timeout_s:g} s; try again later",
                server=server,
            ) from None

    async def aclose(self) -> None:
        """Close all connections and take no more requests."""
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
        with translated(server, url):
            return await self._session(local).request(
                method, url, data=body, headers=headers, allow_redirects=False
            )

    def _check_literal(self, url: URL, *, local: bool, server: str) -> None:
        """Refuse an address that needs no resolving before any connection is even looked up."""
        host = (url.raw_host or "").strip("[]")
        what = self._literal(host, local)
        if what:
            raise forbidden(AddressRefused(host, what), server=server, url=url)

    def _objection(self, host: str, local: bool) -> str:
        return self._rules.objection(host, local=local) if is_address(host) else ""

    def _session(self, local: bool) -> aiohttp.ClientSession:
        if self._closed:
            raise Unreachable("the gateway is shutting down; call again")
        if local not in self._sessions:
            self._sessions[local] = aiohttp.ClientSession(
                connector=connector(self._rules, local=local),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=_TIMEOUT,
                headers={"User-Agent": _user_agent()},
            )
        return self._sessions[local]


def _user_agent() -> str:
    try:
        return f"foregate/{metadata.version('foregate')}"
    except metadata.PackageNotFoundError:  # run from its folder
        return "foregate"


def _read_url(text: str, server: str) -> URL:
    try:
        url = URL(text)
    except ValueError:
        url = URL()
    if url.scheme not in {"http", "https"} or not url.raw_host or url.raw_user is not None:
        raise BadAddress("it names an address that is not http or https", server=server)
    return url.with_fragment(None)


def _target(answer: aiohttp.ClientResponse, server: str) -> URL | None:
    """Return where an answer redirects to."""
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
    return target.with_user(None)


def _check_redirect(method: str, status: int, url: URL, target: URL, *, server: str) -> None:
    _refuse_downgrade(url, target, server=server)
    if not same_origin(url, target) and not _upgrade(url, target):
        raise ForbiddenAddress(
            f"redirects to {shown(target)}, another origin; register that address instead if it "
            "is meant",
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
            f"redirects from https to {shown(target)}, which is not encrypted; correct its "
            "address, or the proxy before it",
            server=server,
        )


def _upgrade(url: URL, target: URL) -> bool:
    return (
        url.host == target.host
        and (url.scheme, target.scheme) == ("http", "https")
        and url.is_default_port()
        and target.is_default_port()
    )


async def _whole(
    answer: aiohttp.ClientResponse, max_bytes: int, *, url: URL, server: str
) -> Fetched:
    headers: dict[str, str] = {}
    for name, value in answer.headers.items():
        headers.setdefault(name.lower(), value)
    body = b""
    try:
        if max_bytes:
            with translated(server, url):
                body = await read_body(answer, max_bytes=max_bytes)
    except TooLong:
        raise MessageTooLarge(server=server, what="the answer", limit_bytes=max_bytes) from None
    finally:
        answer.release()
    return Fetched(status=answer.status, headers=headers, body=body)
