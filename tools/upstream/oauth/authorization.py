"""The browser part of a sign-in: the authorization request and its response."""

from __future__ import annotations

import hashlib
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit, urlunsplit

from tools.upstream.oauth.challenge import BearerChallenge
from tools.upstream.oauth.discovery import PKCE_METHOD, DiscoveredProtection
from tools.upstream.oauth.failures import AuthorizationRefused, SignInFailed, quote_foreign
from tools.upstream.oauth.values import OAuthClient, PendingSignIn, SignIn, SignInKey, join_scopes

SECRET_BYTES = 32
OFFLINE_SCOPE = "offline_access"


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
