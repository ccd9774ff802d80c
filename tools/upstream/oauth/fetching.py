"""HTTP requests for OAuth: bounded fetches, forms, and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from gateway_project.foundation.surrogates import has_lone_surrogate
from tools.upstream.errors import UpstreamError
from tools.upstream.oauth.values import AuthorizationServerUnreachable, quote_foreign

if TYPE_CHECKING:  # a gateway without remote servers need not load the HTTP client
    from tools.upstream.http.client import FetchedResponse, HttpClient

MAX_BYTES = 262_144
"""Metadata of large providers is about 10 kB; token responses are smaller."""
TIMEOUT_S = 15.0
"""For a whole exchange; people, and calls whose token must be renewed, wait for it."""

ACCEPT_JSON = {"Accept": "application/json"}


@dataclass(frozen=True, kw_only=True)
class FetchRequest:
    """Sends one HTTP request to an address that another server may have named.

    Attributes:
        client: The gateway's HTTP client.
        own: Host and port of the MCP server, if they may be in a private network.
    """

    client: HttpClient
    own: tuple[str, int] | None

    async def __call__(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        head_only: bool = False,
    ) -> FetchedResponse:
        """Send one request, as of `HttpClient.fetch`; follows no redirects.

        Raises:
            AuthorizationServerUnreachable: If there is no complete response within the bounds.
        """
        try:
            return await self.client.fetch(
                method,
                url,
                headers=headers,
                body=body,
                own=self.own,
                head_only=head_only,
                max_bytes=MAX_BYTES,
                timeout_s=TIMEOUT_S,
            )
        except UpstreamError as error:
            raise AuthorizationServerUnreachable(str(error)) from None


async def get_json(fetch: FetchRequest, url: str, *, headers: Mapping[str, str]) -> Any | None:
    """Fetch a JSON object; None if the address serves none.

    Raises:
        AuthorizationServerUnreachable: If the server fails (429, 5xx) or does not answer.
    """
    answer = await fetch("GET", url, headers={**ACCEPT_JSON, **headers})
    if answer.status >= 500 or answer.status == 429:
        raise AuthorizationServerUnreachable(
            f"{quote_foreign(url)} answers with status {answer.status}; try again later"
        )
    return parse_object(answer) if answer.status == 200 else None


async def post_form(
    fetch: FetchRequest, url: str, form: Mapping[str, str], *, headers: Mapping[str, str]
) -> FetchedResponse:
    """Post a form.

    Raises:
        AuthorizationServerUnreachable: If there is no answer.
    """
    content_type = {"Content-Type": "application/x-www-form-urlencoded"}
    return await fetch(
        "POST",
        url,
        headers={**ACCEPT_JSON, **content_type, **headers},
        body=urlencode(form).encode(),
    )


async def post_json(fetch: FetchRequest, url: str, value: Any) -> FetchedResponse:
    """Post a JSON value.

    Raises:
        AuthorizationServerUnreachable: If there is no answer.
    """
    content_type = {"Content-Type": "application/json"}
    return await fetch(
        "POST", url, headers={**ACCEPT_JSON, **content_type}, body=json.dumps(value).encode()
    )


def parse_object(answer: FetchedResponse) -> dict[str, Any] | None:
    """Parse the JSON object in a response's body; None if it is anything else.

    NaN is no JSON, and a text with half a surrogate could be neither stored nor shown.
    """
    try:
        value = json.loads(answer.body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not has_lone_surrogate(value) else None


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
