"""Exchange of codes and refresh tokens for tokens, and giving tokens back."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

from pydantic import BaseModel, ConfigDict, ValidationError

from gateway_project.foundation import sealing
from tools.upstream.oauth.failures import Refused, SignInFailed, Unreachable, quoted
from tools.upstream.oauth.fetching import Fetch, as_object, post_form
from tools.upstream.oauth.values import Attempt, AuthorizationServer, Client, SignIn, Tokens

if TYPE_CHECKING:
    from tools.upstream.http.client import Fetched

MAX_TOKEN_LENGTH = 65_536
MAX_LIFETIME_S = 10 * 365 * 86_400
OK = 200
REFUSALS = (400, 401, 403)
PASSING = frozenset({"temporarily_unavailable", "server_error", "slow_down"})
"""Errors that say nothing about the grant."""

_USABLE = re.compile(r"[\x21-\x7e]+")


class _Granted(BaseModel):
    # What does not fit is never repeated: it may be a token.
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    access_token: str
    token_type: str = "Bearer"  # noqa: S105 - the name of a scheme
    expires_in: float | None = None
    refresh_token: str | None = None
    scope: str | None = None


async def exchange(attempt: Attempt, code: str, *, fetch: Fetch, now: datetime) -> SignIn:
    """Exchange the code of an authorization response for tokens.

    Raises:
        Refused: If the authorization server says no.
        SignInFailed: If it does not answer as it must.
    """
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": attempt.redirect_uri,
        "code_verifier": attempt.verifier,
        "resource": attempt.resource,
    }
    answer = await _ask(attempt.server, attempt.client, form, fetch=fetch)
    tokens = _tokens(answer, now=now, secrets=(code, attempt.verifier))
    return SignIn(
        server=attempt.server,
        client=attempt.client,
        resource=attempt.resource,
        tokens=replace(tokens, scope=tokens.scope or attempt.scope),
        asked=attempt.scope,
    )


async def refresh(sign_in: SignIn, *, fetch: Fetch, now: datetime) -> SignIn:
    """Exchange a refresh token for the next tokens; where no next one comes, it stays.

    Raises:
        Refused: If the authorization server says no: the sign-in has ended.
        SignInFailed: If it does not answer as it must; the sign-in is as it was.
    """
    old = sign_in.tokens
    assert old.refresh is not None  # noqa: S101 - the caller's business
    form = {
        "grant_type": "refresh_token",
        "refresh_token": old.refresh,
        "resource": sign_in.resource,
    }
    answer = await _ask(sign_in.server, sign_in.client, form, fetch=fetch)
    new = _tokens(answer, now=now, secrets=(old.refresh, old.access))
    kept = replace(new, refresh=new.refresh or old.refresh, scope=new.scope or old.scope)
    return replace(sign_in, tokens=kept)


async def revoke(sign_in: SignIn, *, fetch: Fetch) -> bool:
    """Give the tokens back; return whether the authorization server took them.

    References:
        RFC 7009.
    """
    if not sign_in.server.revocation_endpoint:
        return False
    tokens = (("refresh_token", sign_in.tokens.refresh), ("access_token", sign_in.tokens.access))
    taken = True
    for kind, token in tokens:
        if token is None:
            continue
        form, headers = _authenticated(sign_in.client, {"token": token, "token_type_hint": kind})
        try:
            answer = await post_form(
                fetch, sign_in.server.revocation_endpoint, form, headers=headers
            )
        except SignInFailed:
            return False
        taken = taken and answer.status == OK
    return taken


async def _ask(
    server: AuthorizationServer, client: Client, form: Mapping[str, str], *, fetch: Fetch
) -> Fetched:
    sent, headers = _authenticated(client, form)
    return await post_form(fetch, server.token_endpoint, sent, headers=headers)


def _authenticated(
    client: Client, form: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return form and headers that say who we are.

    References:
        RFC 6749, section 2.3.1: identifier and secret are form-encoded before Basic.
    """
    if client.method == "client_secret_basic" and client.secret:
        pair = f"{quote_plus(client.client_id)}:{quote_plus(client.secret)}"
        return dict(form), {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
    proof = {"client_secret": client.secret} if client.secret and client.method != "none" else {}
    return {**form, "client_id": client.client_id, **proof}, {}


def _tokens(answer: Fetched, *, now: datetime, secrets: Iterable[str]) -> Tokens:
    """Read what the token endpoint says.

    Raises:
        Refused: If it says no.
        Unreachable: If that is not the answer of a token endpoint.
    """
    said = as_object(answer)
    if answer.status != OK or said is None:
        raise _refusal(answer.status, said or {}, secrets)
    try:
        granted = _Granted.model_validate(said)
    except ValidationError as error:
        fields = ", ".join(str(each["loc"][0]) for each in error.errors())
        raise Unreachable(f"the token endpoint's answer cannot be used: {fields}") from None
    if granted.token_type.lower() != "bearer":
        raise Unreachable(
            f"the token endpoint grants tokens of type {quoted(granted.token_type)}; only Bearer "
            "can be used"
        )
    _require_usable(granted.access_token, granted.refresh_token)
    lifetime_s = None
    if granted.expires_in is not None:
        lifetime_s = min(max(granted.expires_in, 0.0), MAX_LIFETIME_S)
    return Tokens(
        access=granted.access_token,
        refresh=granted.refresh_token or None,
        scope=" ".join((granted.scope or "").split()),
        expires_at=None if lifetime_s is None else now + timedelta(seconds=lifetime_s),
        lifetime_s=lifetime_s,
    )


def _require_usable(access: str, refresh: str | None) -> None:
    """Check that tokens can stand in a header and are no abuse of memory."""
    for token in (access, *([refresh] if refresh else [])):
        if len(token) > MAX_TOKEN_LENGTH or not _USABLE.fullmatch(token):
            raise Unreachable("the token endpoint's answer holds a token that cannot be used")


def _refusal(status: int, said: Mapping[str, Any], secrets: Iterable[str]) -> SignInFailed:
    error, description = said.get("error"), said.get("error_description")
    if status not in REFUSALS or not isinstance(error, str) or error in PASSING:
        return Unreachable(
            f"the authorization server's token endpoint answers with status {status}"
        )
    texts = (each for each in (error, description) if isinstance(each, str) and each)
    text = sealing.redact(": ".join(quoted(each) for each in texts), secrets)
    return Refused(f"the authorization server refused ({text})", error=error)
