"""Sends requests to one remote server, with its credentials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import aiohttp
from yarl import URL

from gateway_project.foundation.caller import Caller
from tools.upstream.errors import SignInRequired
from tools.upstream.http.address import RemoteAddress
from tools.upstream.http.client import HttpClient
from tools.upstream.spec import ServerSpec

UNAUTHORIZED, FORBIDDEN = 401, 403
COOKIE_CHARACTERS = 8 * 1024  # servers refuse headers beyond 8 KiB or so


class CredentialsProvider(Protocol):
    """Provides the credentials of one server's requests."""

    async def build_headers(self, url: str, caller: Caller) -> Mapping[str, str]:
        """Return the headers that authorize a request.

        Args:
            url: Address of the endpoint.
            caller: Whose rights the request carries.

        Raises:
            UpstreamError: If there is no usable sign-in.
        """

    async def handle_refusal(self, *, status: int, www_authenticate: str, caller: Caller) -> bool:
        """Handle a server's refusal of a request's credentials.

        Args:
            status: 401 or 403.
            www_authenticate: That header of the response, or empty.
            caller: Whose rights the request carried.

        Returns:
            Whether there are new credentials, so that the request should be repeated.

        Raises:
            UpstreamError: With specific advice, if repeating cannot help.
        """


class HttpEndpoint:
    """Opens requests to a server.

    Args:
        spec: The server's entry.
        address: Its resolved address.
        client: The shared client.
        caller: Whose rights the requests carry.
        authorize: Provides its tokens, if it needs any.
        learn: Called with each token sent, so that it can be redacted from the server's output.
    """

    def __init__(
        self,
        spec: ServerSpec,
        address: RemoteAddress,
        *,
        client: HttpClient,
        caller: Caller,
        authorize: CredentialsProvider | None = None,
        learn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.server = spec.name
        self.url = address.url
        self._own = address.own
        self._headers = _lower_names(address.headers)
        self._client = client
        self._authorize = authorize
        self._caller = caller
        self._user = caller.user if spec.authorization == "oauth_per_user" else ""
        self._learn = learn
        # Load balancers keep the requests of a session at one machine by a cookie.
        self._cookies = aiohttp.CookieJar(unsafe=True)  # also of hosts that are IP addresses

    @property
    def has_sign_in(self) -> bool:
        """Whether requests carry the tokens of a sign-in, so that a refusal concerns these."""
        return self._authorize is not None

    async def open(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        url: URL | None = None,
    ) -> aiohttp.ClientResponse:
        """Send a request and return its response once the headers have arrived.

        A request refused for its credentials was not executed, so it is repeated once if new
        credentials are available.

        Args:
            method: HTTP method.
            headers: Added to those of the entry.
            body: Request body.
            url: Address of the same origin, if not the endpoint itself.

        Returns:
            The response, whatever its status; the caller must release or close it.

        Raises:
            SignInRequired: If the credentials are refused.
            UpstreamError: If there is no response.
        """
        first = await self._open_authorized(method, headers, body, url)
        if not _is_refused(first):
            return first
        if not await self._renew_credentials(first):
            raise self._make_sign_in_error(first)
        second = await self._open_authorized(method, headers, body, url)
        if _is_refused(second):
            second.close()
            raise self._make_sign_in_error(second)
        return second

    async def _open_authorized(
        self, method: str, headers: Mapping[str, str], body: bytes | None, url: URL | None
    ) -> aiohttp.ClientResponse:
        target = url or self.url
        merged = {**self._headers, **headers}
        if self._authorize is not None:
            # By the endpoint's address, not `url`, which the server itself may have chosen.
            tokens = await self._authorize.build_headers(str(self.url), self._caller)
            for value in tokens.values():
                self._learn(value.rpartition(" ")[2])
            merged.update(_lower_names(tokens))
        self._add_cookies(merged, target)
        answer = await self._client.open(
            method, target, headers=merged, body=body, own=self._own, server=self.server
        )
        self._keep_cookies(answer)
        return answer

    def _add_cookies(self, headers: dict[str, str], target: URL) -> None:
        kept = self._cookies.filter_cookies(target).values()
        pairs = [f"{each.key}={each.coded_value}" for each in kept]
        if pairs:
            headers["cookie"] = "; ".join([*filter(None, [headers.get("cookie")]), *pairs])

    def _keep_cookies(self, answer: aiohttp.ClientResponse) -> None:
        if not answer.cookies:
            return
        self._cookies.update_cookies(answer.cookies, answer.url)
        if sum(len(each.key) + len(each.value) for each in self._cookies) > COOKIE_CHARACTERS:
            self._cookies.clear()

    async def _renew_credentials(self, answer: aiohttp.ClientResponse) -> bool:
        answer.close()
        if self._authorize is None:
            return False
        return await self._authorize.handle_refusal(
            status=answer.status, www_authenticate=_read_challenge(answer), caller=self._caller
        )

    def _make_sign_in_error(self, answer: aiohttp.ClientResponse) -> SignInRequired:
        why = f"HTTP status {answer.status}"
        if answer.status == FORBIDDEN:
            why += ", the sign-in lacks a scope"
        if self._authorize is None:
            why += "; its entry has no authorization by OAuth and no header it accepts"
        return SignInRequired(self.server, why=why, user=self._user)


def _is_refused(answer: aiohttp.ClientResponse) -> bool:
    return answer.status == UNAUTHORIZED or (
        answer.status == FORBIDDEN and "insufficient_scope" in _read_challenge(answer)
    )


def _read_challenge(answer: aiohttp.ClientResponse) -> str:
    return ", ".join(answer.headers.getall("WWW-Authenticate", []))


def _lower_names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
