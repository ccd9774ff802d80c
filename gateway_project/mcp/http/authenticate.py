"""Who sends a request: judged by its bearer token, or nobody asks on this machine alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from gateway_project.access.bearers import Bearer, Bearers, Refused, Throttled
from gateway_project.access.standing import Standing, TokensUnavailable
from gateway_project.foundation.caller import Caller
from gateway_project.mcp.http.answers import Rejected, rejected
from gateway_project.mcp.http.checks import Given, text

SCHEME: Final = "bearer"
REALM: Final = 'Bearer realm="foregate"'
CLIENT_SCOPES: Final = ("search", "call", "read")
"""One of these is needed to speak MCP at all."""
RETRY_S: Final = 2


class Authenticate(Protocol):
    """Says who sends a request."""

    async def __call__(self, given: Given, address: str) -> tuple[Bearer, Caller | None]:
        """Return what the request runs under and its caller; None: the local one.

        Raises:
            Rejected: If nobody is let in with it.
        """


class ByToken:
    """Lets in who has a token that is good for something here.

    Args:
        bearers: Judges tokens, once it can.
    """

    def __init__(self, bearers: Callable[[], Awaitable[Bearers]]) -> None:
        self._bearers = bearers

    async def __call__(self, given: Given, address: str) -> tuple[Bearer, Caller | None]:
        """See `Authenticate`."""
        bearer = await judged(await self._bearers(), given, address)
        caller = bearer.standing.caller
        if not any(caller.may(scope) for scope in CLIENT_SCOPES):
            raise lacking(" ".join(CLIENT_SCOPES))
        return bearer, caller


class Local:
    """Lets in everybody who can reach this machine's own addresses."""

    def __init__(self) -> None:
        nobody = Caller(user="", team=None, scopes=frozenset(), kind="http")
        self._bearer = Bearer(digest="", standing=Standing(caller=nobody), checked_at=0.0)

    async def __call__(self, given: Given, address: str) -> tuple[Bearer, Caller | None]:  # noqa: ARG002
        """See `Authenticate`."""
        return self._bearer, None


async def judged(bearers: Bearers, given: Given, address: str) -> Bearer:
    """Return who holds the token of a request.

    Raises:
        Rejected: If it has none, or none that is good.
    """
    scheme, _, token = text(given, b"authorization").partition(" ")
    if scheme.lower() != SCHEME or not token.strip():
        raise unauthorized("a bearer token is needed: `manage.py create_token` makes one")
    try:
        return await bearers.admit(token.strip(), address=address)
    except Refused:
        raise unauthorized(
            "the token is unknown, expired or revoked", error="invalid_token"
        ) from None
    except Throttled as error:
        wait = (b"retry-after", str(max(1, round(error.wait_s))).encode())
        raise rejected(429, "throttled", str(error), headers=(wait,)) from None
    except TokensUnavailable as error:
        raise unavailable(f"the token cannot be checked now: {error}") from None


def unauthorized(message: str, *, error: str = "") -> Rejected:
    """Return the answer to who has no good token.

    References:
        RFC 6750, section 3.1: no error is named where no token was sent.
    """
    challenge = f'{REALM}, error="{error}"' if error else REALM
    header = (b"www-authenticate", challenge.encode())
    return rejected(401, "unauthorized", message, headers=(header,))


def lacking(scope: str) -> Rejected:
    """Return the answer to a token that lacks a scope."""
    challenge = f'{REALM}, error="insufficient_scope", scope="{scope}"'
    return rejected(
        403,
        "not_permitted",
        f"the token has none of the scopes needed ({scope}); make one that has",
        headers=((b"www-authenticate", challenge.encode()),),
    )


def unavailable(message: str) -> Rejected:
    """Return the answer to who comes while nobody can be judged."""
    wait = (b"retry-after", str(RETRY_S).encode())
    return rejected(503, "database_unavailable", message, headers=(wait,))
