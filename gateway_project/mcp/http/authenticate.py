"""Authenticates HTTP requests: by bearer token, or not at all on a loopback address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from gateway_project.access.active_token import ActiveToken, TokensUnavailable
from gateway_project.access.bearers import (
    OUTAGE_GRACE_S,
    BearerToken,
    BearerTokenCache,
    TokenRefused,
    TooManyWrongTokens,
)
from gateway_project.foundation.caller import CLIENT_SCOPES, Caller
from gateway_project.mcp.http.answers import RequestRejected, reject
from gateway_project.mcp.http.checks import HeaderMap, header_text

BEARER_SCHEME: Final = "bearer"
BEARER_REALM: Final = 'Bearer realm="foregate"'
RETRY_AFTER_S: Final = 2


GetTokens = Callable[[], Awaitable[BearerTokenCache]]
"""Returns the token cache once it is available."""
LOCAL_BEARER: Final = BearerToken(
    digest="",
    active_token=ActiveToken(
        caller=Caller(user="", team=None, person=None, scopes=frozenset(), kind="http")
    ),
    checked_at=0.0,
)
"""Stands for the token where none is needed: on a loopback address."""


async def admit_client(bearers: BearerTokenCache, headers: HeaderMap, address: str) -> BearerToken:
    """Return the token of a request, which has one of `CLIENT_SCOPES`; raises as `judge_token`."""
    bearer = await judge_token(bearers, headers, address)
    caller = bearer.active_token.caller
    if not any(caller.has_scope(scope) for scope in CLIENT_SCOPES):
        raise answer_lacking_scope(" ".join(CLIENT_SCOPES))
    return bearer


async def judge_token(
    bearers: BearerTokenCache,
    headers: HeaderMap,
    address: str,
    *,
    outage_grace_s: float = OUTAGE_GRACE_S,
) -> BearerToken:
    """Return the bearer token of a request.

    Args:
        bearers: Knows the tokens.
        headers: Of the request.
        address: The client's.
        outage_grace_s: As of `BearerTokenCache.authenticate`.

    Raises:
        RequestRejected: If it is missing or invalid, or cannot be checked now.
    """
    scheme, _, token = header_text(headers, b"authorization").partition(" ")
    if scheme.lower() != BEARER_SCHEME or not token.strip():
        raise answer_unauthorized(
            "a bearer token is required: `manage.py create_token` creates one"
        )
    try:
        return await bearers.authenticate(
            token.strip(), address=address, outage_grace_s=outage_grace_s
        )
    except TokenRefused:
        raise answer_unauthorized(
            "the token is unknown, expired or revoked", error="invalid_token"
        ) from None
    except TooManyWrongTokens as error:
        wait = (b"retry-after", str(max(1, round(error.wait_s))).encode())
        raise reject(429, "throttled", str(error), headers=(wait,)) from None
    except TokensUnavailable as error:
        raise answer_unavailable(f"the token cannot be checked now: {error}") from None


def answer_unauthorized(message: str, *, error: str = "") -> RequestRejected:
    """Return the answer to a request without a valid token.

    References:
        RFC 6750, section 3.1: the challenge names no error if no token was sent.
    """
    challenge = f'{BEARER_REALM}, error="{error}"' if error else BEARER_REALM
    header = (b"www-authenticate", challenge.encode())
    return reject(401, "unauthorized", message, headers=(header,))


def answer_lacking_scope(scope: str) -> RequestRejected:
    """Return the answer to a token that lacks a scope."""
    challenge = f'{BEARER_REALM}, error="insufficient_scope", scope="{scope}"'
    return reject(
        403,
        "not_permitted",
        f"the token has none of the required scopes ({scope}); create one that has",
        headers=((b"www-authenticate", challenge.encode()),),
    )


def answer_unavailable(message: str) -> RequestRejected:
    """Return the answer while tokens cannot be checked."""
    wait = (b"retry-after", str(RETRY_AFTER_S).encode())
    return reject(503, "database_unavailable", message, headers=(wait,))
