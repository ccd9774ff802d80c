"""Authenticates requests to the API: by bearer token, or by the session of the console."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Final, cast

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.request import Request

from gateway_project.access import callers, second_factor, tokens
from gateway_project.access.active_token import ActiveToken, TokensUnavailable
from gateway_project.access.bearers import (
    CHECK_INTERVAL_S,
    MAX_TOKEN_LENGTH,
    BearerToken,
    TokenRefused,
    TooManyWrongTokens,
)
from gateway_project.api import runtime
from gateway_project.api.problems import ApiError
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.mcp.http.answers import RequestRejected

BEARER_SCHEME: Final = "bearer"
SESSION_PREFIX: Final = "api-"
"""Start of the session key of a caller: its token, or its session in the console."""


@dataclass(frozen=True)
class AuthenticatedUser:
    """The user of a token, for the framework.

    Attributes:
        username: Name.
        is_authenticated: True.
        token_expires_at: Expiry of the token, in seconds since the Unix epoch; None: never.
    """

    username: str
    is_authenticated: bool = True
    token_expires_at: float | None = None


HasRight = Callable[[], Awaitable[bool]]
"""Returns whether the sender of a request, by now long answered, still has the right to it."""


class BearerAuthentication(BaseAuthentication):
    """Accepts `Authorization: Bearer TOKEN`, checked in memory where the gateway runs."""

    def authenticate(self, request: Request) -> tuple[AuthenticatedUser, Caller] | None:
        """Return the user and the caller; None if the request has no such header.

        Raises:
            AuthenticationFailed: If the token is unknown, expired or revoked.
            ApiError: If its address sent too many wrong tokens.
            TokensUnavailable: If it cannot be checked now.
        """
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != BEARER_SCHEME:
            return None
        active = _find_token(request, token.strip())
        if active.is_for_mcp:
            raise exceptions.AuthenticationFailed("the token was issued for MCP, not for the API")
        digest = hashlib.sha256(token.strip().encode()).hexdigest()
        caller = replace(active.caller, session=SESSION_PREFIX + digest[:16])
        return AuthenticatedUser(caller.user, token_expires_at=active.expires_at), caller

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 - the framework's
        """Return the challenge of a 401."""
        return 'Bearer realm="foregate"'


class ConsoleSession(SessionAuthentication):
    """Accepts a session of the console, with its CSRF token for anything but reading."""

    def authenticate(self, request: Request) -> tuple[Any, Caller] | None:
        """Return the user and the caller; None without a session.

        Raises:
            ApiError: If the user has to give a second factor first.
        """
        found = super().authenticate(request)
        if found is None:
            return None
        user, _ = found
        if second_factor.is_missing(request._request.session, user):
            raise ApiError(403, "second_factor_required", second_factor.REQUIRED_MESSAGE)
        caller = callers.caller_for_user(user.get_username(), kind="console")
        key = request._request.session.session_key or ""
        digest = hashlib.sha256(key.encode()).hexdigest()
        return user, replace(caller, session=SESSION_PREFIX + digest[:16])


def find_bearer(request: Request) -> BearerToken | None:
    """Return the cached token of a request, which knows when it ends; None: there is none.

    Raises:
        AuthenticationFailed: If it is unknown, expired or revoked.
        ApiError: If its address sent too many wrong tokens.
        TokensUnavailable: If it cannot be checked now.
    """
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    service = runtime.find_service(request._request)
    if service is None or scheme.lower() != BEARER_SCHEME:
        return None

    async def authenticate() -> BearerToken:
        bearers = await service.get_token_cache()
        return await bearers.authenticate(
            token.strip(), address=request.META.get("REMOTE_ADDR", "")
        )

    try:
        return async_to_sync(authenticate)()
    except RequestRejected as error:
        raise TokensUnavailable(str(error)) from None
    except TokenRefused:
        raise exceptions.AuthenticationFailed(_REFUSED) from None
    except TooManyWrongTokens as error:
        headers = {"Retry-After": str(max(1, round(error.wait_s)))}
        raise ApiError(429, "throttled", str(error), headers=headers) from None


def watch_right(request: Request, scope: str) -> HasRight:
    """Return what says whether the sender of a request would still be served.

    A token is no longer valid when it is revoked, or its user deactivated; a session when it is
    signed out. Both may lose the scope, or the team.

    Args:
        request: An authenticated one.
        scope: That it needed.
    """
    caller, bearer = cast("Caller", request.auth), find_bearer(request)
    if bearer is not None:

        async def has_token() -> bool:
            bearer.was_used = True  # the cache looks only tokens in use up again
            now = bearer.active_token.caller
            return not bearer.is_ended and now.has_scope(scope) and now.team == caller.team

        return has_token
    key = request._request.session.session_key
    checked_at = time.monotonic()

    async def has_session() -> bool:
        nonlocal checked_at
        if key is None or time.monotonic() - checked_at < CHECK_INTERVAL_S:
            return True
        checked_at = time.monotonic()
        now = await run_in_database_thread(load_session_caller, key)
        return now is not None and now.has_scope(scope) and now.team == caller.team

    return has_session


def load_session_caller(key: str) -> Caller | None:
    """Return the caller of a session of the console as of now; None: it is over."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    user = get_user(request)
    if not user.is_authenticated or second_factor.is_missing(request.session, user):
        return None
    return callers.caller_for_user(user.get_username(), kind="console")


def _find_token(request: Request, token: str) -> ActiveToken:
    if bearer := find_bearer(request):
        return bearer.active_token
    digest = tokens.hash_token(token[:MAX_TOKEN_LENGTH])  # under a server without a gateway
    found = tokens.load_active_tokens([digest]).get(digest)
    if found is None:
        raise exceptions.AuthenticationFailed(_REFUSED)
    return found


_REFUSED: Final = "the token is unknown, expired or revoked"
