"""The grant of a sign-in: the authorization request in a browser, tokens, and their revocation."""

from __future__ import annotations

import hashlib
import re
import secrets
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, urlencode, urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from gateway_project.foundation.redaction import Redactor
from tools.upstream.oauth.fetching import FetchRequest, parse_object, post_form
from tools.upstream.oauth.values import (
    PKCE_METHOD,
    AuthorizationRefused,
    AuthorizationServer,
    AuthorizationServerUnreachable,
    BearerChallenge,
    OAuthClient,
    OAuthTokens,
    PendingSignIn,
    SignIn,
    SignInFailed,
    SignInKey,
    join_scopes,
    quote_foreign,
)

if TYPE_CHECKING:
    from tools.upstream.http.client import FetchedResponse
    from tools.upstream.oauth.discovery import DiscoveredProtection

SECRET_BYTES = 32
OFFLINE_SCOPE = "offline_access"

MAX_TOKEN_LENGTH = 65_536
MAX_LIFETIME_S = 10 * 365 * 86_400
OK = 200
REFUSAL_STATUSES = (400, 401, 403)
TRANSIENT_ERRORS = frozenset({"temporarily_unavailable", "server_error", "slow_down"})
"""Errors that do not concern the grant."""

_USABLE = re.compile(r"[\x21-\x7e]+")


def choose_scope(
    found: DiscoveredProtection,
    *,
    challenge: BearerChallenge,
    entered: str,
    former: SignIn | None = None,
) -> str:
    """Return the scopes to request, separated by spaces; empty to name none.

    The union of the challenge's scopes and those entered by a person; if there are neither, the
    scopes that the resource lists. Scopes requested by an earlier sign-in, and those the server
    has asked for since, are kept.

    Args:
        found: The resource and its authorization server.
        challenge: Challenge of the server's 401 response.
        entered: Scopes entered in the server's entry.
        former: The sign-in to be replaced, if any.

    References:
        MCP 2026-07-28, Scope Selection Strategy and Step-Up Authorization Flow.
    """
    scope = join_scopes(challenge.scope, entered) or join_scopes(*(found.scopes or ()))
    if former is not None:
        scope = join_scopes(former.asked, former.wanted, scope)
    if scope and OFFLINE_SCOPE in found.server.scopes:
        scope = join_scopes(scope, OFFLINE_SCOPE)
    return scope


def begin_sign_in(
    key: SignInKey,
    found: DiscoveredProtection,
    *,
    client: OAuthClient,
    redirect_uri: str,
    scope: str,
) -> tuple[PendingSignIn, str, str]:
    """Begin a sign-in.

    Returns:
        The pending sign-in to keep until the browser returns, the `state` it will return with,
        and the address to open in it.

    References:
        draft-ietf-oauth-v2-1-13, section 4.1; RFC 7636 (PKCE); RFC 8707 (`resource`).
    """
    state, verifier = (secrets.token_urlsafe(SECRET_BYTES) for _ in range(2))
    attempt = PendingSignIn(
        key=key,
        server=found.server,
        client=client,
        resource=found.resource,
        redirect_uri=redirect_uri,
        scope=scope,
        verifier=verifier,
    )
    query = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": pkce_challenge(verifier),
        "code_challenge_method": PKCE_METHOD,
        "resource": found.resource,
        **({"scope": scope} if scope else {}),
        # Many providers grant a refresh token only after explicit consent.
        **({"prompt": "consent"} if OFFLINE_SCOPE in scope.split() else {}),
    }
    return attempt, state, _with_query(found.server.authorization_endpoint, query)


def pkce_challenge(verifier: str) -> str:
    """Return the PKCE challenge of a verifier.

    Example:
        >>> pkce_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

    References:
        RFC 7636, section 4.2 and appendix B.
    """
    digest = hashlib.sha256(verifier.encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def read_code(attempt: PendingSignIn, answer: Mapping[str, str]) -> str:
    """Validate an authorization response and return its code.

    Args:
        attempt: The pending sign-in.
        answer: Query parameters of the redirect.

    Raises:
        SignInFailed: If the response is from another authorization server, or has no code.
        AuthorizationRefused: If the authorization server refused.

    References:
        RFC 9207, section 2.4: compare issuers as simple strings, before showing any error.
    """
    issuer = answer.get("iss")
    if issuer is None and attempt.server.says_iss:
        raise SignInFailed(
            "the response does not say which authorization server it is from, although it "
            "declares that it does; it was dropped, sign in again"
        )
    if issuer is not None and issuer != attempt.server.issuer:
        raise SignInFailed(
            "the response is not from the authorization server "
            f"{quote_foreign(attempt.server.issuer)} "
            "that was asked; it was dropped, sign in again"
        )
    if "error" in answer:
        error, description = answer["error"], answer.get("error_description", "")
        text = ": ".join(quote_foreign(each) for each in (error, description) if each)
        raise AuthorizationRefused(
            f"the authorization server refused ({text}); sign in again", error=error
        )
    if not answer.get("code"):
        raise SignInFailed("the authorization server sent no code; sign in again")
    return answer["code"]


def _with_query(url: str, query: Mapping[str, str]) -> str:
    parts = urlsplit(url)
    joined = "&".join(each for each in (parts.query, urlencode(query)) if each)
    return urlunsplit(parts._replace(query=joined, fragment=""))


class _TokenResponse(BaseModel):
    # Errors never quote invalid values: they may be tokens.
    model_config = ConfigDict(
        frozen=True, extra="ignore", hide_input_in_errors=True, allow_inf_nan=False
    )

    access_token: str
    token_type: str = "Bearer"  # noqa: S105 - the name of a scheme
    expires_in: float | None = None
    refresh_token: str | None = None
    scope: str | None = None


async def exchange_code(
    attempt: PendingSignIn, code: str, *, fetch: FetchRequest, now: datetime
) -> SignIn:
    """Exchange the code of an authorization response for tokens.

    Raises:
        AuthorizationRefused: If the authorization server refuses.
        SignInFailed: If it does not answer correctly.
    """
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": attempt.redirect_uri,
        "code_verifier": attempt.verifier,
        "resource": attempt.resource,
    }
    answer = await _post_to_server(attempt.server, attempt.client, form, fetch=fetch)
    tokens = _parse_tokens(
        answer, now=now, secrets=(code, attempt.verifier, attempt.client.secret)
    )
    return SignIn(
        server=attempt.server,
        client=attempt.client,
        resource=attempt.resource,
        tokens=replace(tokens, scope=tokens.scope or attempt.scope),
        asked=attempt.scope,
    )


async def refresh_tokens(sign_in: SignIn, *, fetch: FetchRequest, now: datetime) -> SignIn:
    """Exchange a refresh token for new tokens; keep it if no new refresh token is granted.

    Raises:
        AuthorizationRefused: If the authorization server refuses: the sign-in has ended.
        SignInFailed: If it does not answer correctly; the sign-in remains valid.
    """
    old = sign_in.tokens
    assert old.refresh is not None  # noqa: S101 - a precondition
    form = {
        "grant_type": "refresh_token",
        "refresh_token": old.refresh,
        "resource": sign_in.resource,
    }
    answer = await _post_to_server(sign_in.server, sign_in.client, form, fetch=fetch)
    new = _parse_tokens(answer, now=now, secrets=(old.refresh, old.access, sign_in.client.secret))
    merged = replace(new, refresh=new.refresh or old.refresh, scope=new.scope or old.scope)
    return replace(sign_in, tokens=merged)


async def revoke_tokens(sign_in: SignIn, *, fetch: FetchRequest) -> bool:
    """Revoke the tokens; return whether the authorization server accepted all of them.

    References:
        RFC 7009.
    """
    if not sign_in.server.revocation_endpoint:
        return False
    tokens = (("refresh_token", sign_in.tokens.refresh), ("access_token", sign_in.tokens.access))
    are_revoked = True
    for kind, token in tokens:
        if token is None:
            continue
        form, headers = _authenticate_form(
            sign_in.client, {"token": token, "token_type_hint": kind}
        )
        try:
            answer = await post_form(
                fetch, sign_in.server.revocation_endpoint, form, headers=headers
            )
        except SignInFailed:
            return False
        are_revoked = are_revoked and answer.status == OK
    return are_revoked


async def _post_to_server(
    server: AuthorizationServer,
    client: OAuthClient,
    form: Mapping[str, str],
    *,
    fetch: FetchRequest,
) -> FetchedResponse:
    authenticated, headers = _authenticate_form(client, form)
    return await post_form(fetch, server.token_endpoint, authenticated, headers=headers)


def _authenticate_form(
    client: OAuthClient, form: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return form and headers with the client's authentication.

    References:
        RFC 6749, section 2.3.1: form-encode identifier and secret before Basic encoding.
    """
    if client.method == "client_secret_basic" and client.secret:
        pair = f"{quote_plus(client.client_id)}:{quote_plus(client.secret)}"
        return dict(form), {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
    proof = {"client_secret": client.secret} if client.secret and client.method != "none" else {}
    return {**form, "client_id": client.client_id, **proof}, {}


def _parse_tokens(
    answer: FetchedResponse, *, now: datetime, secrets: Iterable[str | None]
) -> OAuthTokens:
    """Parse the token endpoint's response.

    Raises:
        AuthorizationRefused: If it is a refusal.
        AuthorizationServerUnreachable: If it is not a valid token response.
    """
    body = parse_object(answer)
    if answer.status != OK or body is None:
        raise _make_refusal_error(answer.status, body or {}, secrets)
    try:
        granted = _TokenResponse.model_validate(body)
    except ValidationError as error:
        fields = ", ".join(str(each["loc"][0]) for each in error.errors())
        raise AuthorizationServerUnreachable(
            f"the token endpoint's answer cannot be used: {fields}"
        ) from None
    if granted.token_type.lower() != "bearer":
        raise AuthorizationServerUnreachable(
            f"the token endpoint grants tokens of type {quote_foreign(granted.token_type)}; only "
            "Bearer can be used"
        )
    _require_usable(granted.access_token, granted.refresh_token)
    lifetime_s = None
    if granted.expires_in is not None:
        lifetime_s = min(max(granted.expires_in, 0.0), MAX_LIFETIME_S)
    return OAuthTokens(
        access=granted.access_token,
        refresh=granted.refresh_token or None,
        scope=" ".join((granted.scope or "").split()),
        expires_at=None if lifetime_s is None else now + timedelta(seconds=lifetime_s),
        lifetime_s=lifetime_s,
    )


def _require_usable(access: str, refresh: str | None) -> None:
    """Check that tokens are valid in a header and within `MAX_TOKEN_LENGTH`."""
    for token in (access, *([refresh] if refresh else [])):
        if len(token) > MAX_TOKEN_LENGTH or not _USABLE.fullmatch(token):
            raise AuthorizationServerUnreachable(
                "the token endpoint's answer contains an unusable token"
            )


def _make_refusal_error(
    status: int, body: Mapping[str, Any], secrets: Iterable[str | None]
) -> SignInFailed:
    error, description = body.get("error"), body.get("error_description")
    if status not in REFUSAL_STATUSES or not isinstance(error, str) or error in TRANSIENT_ERRORS:
        return AuthorizationServerUnreachable(
            f"the authorization server's token endpoint answers with status {status}"
        )
    texts = (each for each in (error, description) if isinstance(each, str) and each)
    redactor = Redactor(filter(None, secrets))  # applied before the text is cut
    text = ": ".join(quote_foreign(redactor.redact(each)) for each in texts)
    return AuthorizationRefused(f"the authorization server refused ({text})", error=error)
