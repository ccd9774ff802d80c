"""What OAuth needs of an HTTP client, and reading of the JSON that it brings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode

from tools.upstream.errors import UpstreamError
from tools.upstream.oauth.failures import Unreachable, quoted

if TYPE_CHECKING:  # a gateway without remote servers need not load the HTTP client
    from tools.upstream.http.client import Fetched, HttpClient

MAX_BYTES = 262_144
"""Metadata of large providers is some 10 kB; tokens are less."""
TIMEOUT_S = 15.0
"""For a whole answer; people wait for it, and so do calls whose token must be renewed."""

JSON = {"Accept": "application/json"}


class Fetch(Protocol):
    """One request over HTTP to an address that another server may have named."""

    async def __call__(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        head_only: bool = False,
    ) -> Fetched:
        """Ask once: no redirect is followed, addresses are checked, size and time are bounded.

        Args:
            method: `GET` or `POST`.
            url: Where.
            headers: Sent along.
            body: Sent along.
            head_only: Leave what follows the answer's headers unread.

        Raises:
            Unreachable: If there is no whole answer within the bounds.
        """


def over_http(client: HttpClient, *, own: tuple[str, int] | None) -> Fetch:
    """Return a `Fetch` that asks with the product's HTTP client.

    Args:
        client: The client.
        own: Host and port of the MCP server, where these may lie in a private network.
    """

    async def fetch(
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        head_only: bool = False,
    ) -> Fetched:
        try:
            return await client.fetch(
                method,
                url,
                headers=headers,
                body=body,
                own=own,
                head_only=head_only,
                max_bytes=MAX_BYTES,
                timeout_s=TIMEOUT_S,
            )
        except UpstreamError as error:
            raise Unreachable(str(error)) from None

    return fetch


async def get_json(fetch: Fetch, url: str, *, headers: Mapping[str, str]) -> Any | None:
    """Return a JSON object; None if nothing of the kind lies there.

    Raises:
        Unreachable: If the server is at fault (429, 5xx) or does not answer.
    """
    answer = await fetch("GET", url, headers={**JSON, **headers})
    if answer.status >= 500 or answer.status == 429:
        raise Unreachable(f"{quoted(url)} answers with status {answer.status}; try again later")
    return as_object(answer) if answer.status == 200 else None


async def post_form(
    fetch: Fetch, url: str, form: Mapping[str, str], *, headers: Mapping[str, str]
) -> Fetched:
    """Send a form.

    Raises:
        Unreachable: If there is no answer.
    """
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    return await fetch(
        "POST", url, headers={**JSON, **kind, **headers}, body=urlencode(form).encode()
    )


async def post_json(fetch: Fetch, url: str, value: Any) -> Fetched:
    """Send a JSON value.

    Raises:
        Unreachable: If there is no answer.
    """
    kind = {"Content-Type": "application/json"}
    return await fetch("POST", url, headers={**JSON, **kind}, body=json.dumps(value).encode())


def as_object(answer: Fetched) -> dict[str, Any] | None:
    """Return the JSON object an answer holds; None if it holds something else."""
    try:
        value = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
