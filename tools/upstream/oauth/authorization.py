"""The part of a sign-in that runs through a browser: where it is sent, what it brings back."""

from __future__ import annotations

import hashlib
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit, urlunsplit

from tools.upstream.oauth.challenge import Challenge
from tools.upstream.oauth.discovery import PKCE, Found
from tools.upstream.oauth.failures import Refused, SignInFailed, quoted
from tools.upstream.oauth.values import Attempt, Client, Key, SignIn, union

SECRET_BYTES = 32
OFFLINE = "offline_access"


def scope_for(
    found: Found, *, challenge: Challenge, entered: str, former: SignIn | None = None
) -> str:
    """Return the scopes to ask for, separated by spaces; empty: none are named.

    What the server's challenge names is needed and always asked for. Beside it, what a person
    entered; where neither is there, what the resource names. What an earlier sign-in asked for,
    and what the server has wanted since, is kept.

    Args:
        found: The resource and who grants tokens for it.
        challenge: What the server said with its 401.
        entered: Scopes entered with the server.
        former: The sign-in this one follows.

    References:
        MCP 2026-07-28, Scope Selection Strategy and Step-Up Authorization Flow.
    """
    scope = union(challenge.scope, entered) or union(*(found.scopes or ()))
    if former is not None:
        scope = union(former.asked, former.wanted, scope)
    if scope and OFFLINE in found.server.scopes:
        scope = union(scope, OFFLINE)
    return scope


def begin(
    key: Key, found: Found, *, client: Client, redirect_uri: str, scope: str
) -> tuple[Attempt, str, str]:
    """Begin a sign-in.

    Returns:
        What must be kept until the browser comes back; the `state` it will bring; and the address
        to open in it.

    References:
        draft-ietf-oauth-v2-1-13, section 4.1; RFC 7636 (PKCE); RFC 8707 (`resource`).
    """
    state, verifier = (secrets.token_urlsafe(SECRET_BYTES) for _ in range(2))
    attempt = Attempt(
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
        "code_challenge": challenge_of(verifier),
        "code_challenge_method": PKCE,
        "resource": found.resource,
        **({"scope": scope} if scope else {}),
        # Many providers give a refresh token only with an explicit consent to it.
        **({"prompt": "consent"} if OFFLINE in scope.split() else {}),
    }
    return attempt, state, _with_query(found.server.authorization_endpoint, query)


def challenge_of(verifier: str) -> str:
    """Return the PKCE challenge of a verifier.

    Example:
        >>> challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

    References:
        RFC 7636, section 4.2 and appendix B.
    """
    digest = hashlib.sha256(verifier.encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def code_of(attempt: Attempt, answer: Mapping[str, str]) -> str:
    """Return the code that the browser brought back from the right authorization server.

    Args:
        attempt: What was begun.
        answer: Parameters of the browser's address.

    Raises:
        SignInFailed: If the response is of another authorization server, or holds no code.
        Refused: If the authorization server said no.

    References:
        RFC 9207, section 2.4: identifiers are compared as they are, errors are not shown before.
    """
    issuer = answer.get("iss")
    if issuer is None and attempt.server.says_iss:
        raise SignInFailed(
            "the response does not say which authorization server it is from, though this one "
            "promises to; it was dropped, sign in again"
        )
    if issuer is not None and issuer != attempt.server.issuer:
        raise SignInFailed(
            f"the response is not from the authorization server {quoted(attempt.server.issuer)} "
            "that was asked; it was dropped, sign in again"
        )
    if "error" in answer:
        error, said = answer["error"], answer.get("error_description", "")
        text = ": ".join(quoted(each) for each in (error, said) if each)
        raise Refused(f"the authorization server refused ({text}); sign in again", error=error)
    if not answer.get("code"):
        raise SignInFailed("the authorization server sent no code; sign in again")
    return answer["code"]


def _with_query(url: str, query: Mapping[str, str]) -> str:
    parts = urlsplit(url)
    joined = "&".join(each for each in (parts.query, urlencode(query)) if each)
    return urlunsplit(parts._replace(query=joined, fragment=""))
