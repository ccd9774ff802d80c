"""Requests to one remote server, with its credentials."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp
from yarl import URL

from tools.upstream.errors import SignInRequired
from tools.upstream.http.address import RemoteAddress
from tools.upstream.http.authorize import Authorize
from tools.upstream.http.client import HttpClient
from tools.upstream.spec import ServerSpec

UNAUTHORIZED, FORBIDDEN = 401, 403


class Endpoint:
    """Opens requests to a server.

    Args:
        spec: The server's entry.
        address: Where it is.
        client: The shared client.
        authorize: Holds its tokens, if it is called with any.
        user: For whom it is called, where tokens differ by user.
    """

    def __init__(
        self,
        spec: ServerSpec,
        address: RemoteAddress,
        *,
        client: HttpClient,
        authorize: Authorize | None = None,
        user: str = "",
    ) -> None:
        self.server = spec.name
        self.url = address.url
        self._own = address.own
        self._headers = _lower(address.headers)
        self._client = client
        self._authorize = authorize
        self._user = user

    async def open(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        url: URL | None = None,
    ) -> aiohttp.ClientResponse:
        """Send a request and return its answer once the headers are there.

        A request that was refused for its credentials was not carried out; it is sent once more
        if there are new ones.

        Args:
            method: Of the request.
            headers: Added to those of the entry.
            body: Sent along.
            url: Where, if not to the endpoint itself; of the same origin.

        Returns:
            The answer, whatever its status; release or close it.

        Raises:
            SignInRequired: If the credentials do not do.
            UpstreamError: If there is no answer.
        """
        first = await self._open(method, headers, body, url)
        if not _refused(first):
            return first
        if not await self._renewed(first):
            raise self._sign_in(first)
        second = await self._open(method, headers, body, url)
        if _refused(second):
            second.close()
            raise self._sign_in(second)
        return second

    async def _open(
        self, method: str, headers: Mapping[str, str], body: bytes | None, url: URL | None
    ) -> aiohttp.ClientResponse:
        target = url or self.url
        merged = {**self._headers, **headers}
        if self._authorize is not None:
            # By the address that was signed in to: a path beside it is the server's own choice.
            merged.update(_lower(await self._authorize.headers(str(self.url), self._user)))
        return await self._client.open(
            method, target, headers=merged, body=body, own=self._own, server=self.server
        )

    async def _renewed(self, answer: aiohttp.ClientResponse) -> bool:
        answer.close()
        if self._authorize is None:
            return False
        return await self._authorize.refused(
            status=answer.status, www_authenticate=_challenge(answer), user=self._user
        )

    def _sign_in(self, answer: aiohttp.ClientResponse) -> SignInRequired:
        why = f"HTTP status {answer.status}"
        if answer.status == FORBIDDEN:
            why += ", the sign-in lacks a scope"
        if self._authorize is None:
            why += "; its entry has no authorization by OAuth and no header it accepts"
        return SignInRequired(self.server, why=why, user=self._user)


def _refused(answer: aiohttp.ClientResponse) -> bool:
    return answer.status == UNAUTHORIZED or (
        answer.status == FORBIDDEN and "insufficient_scope" in _challenge(answer)
    )


def _challenge(answer: aiohttp.ClientResponse) -> str:
    return ", ".join(answer.headers.getall("WWW-Authenticate", []))


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
