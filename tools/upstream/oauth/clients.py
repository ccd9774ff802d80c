"""Chooses the client identity at an authorization server: entered, document or registered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tools.upstream.oauth import addresses
from tools.upstream.oauth.fetching import FetchRequest, parse_object, post_json
from tools.upstream.oauth.values import (
    METHODS,
    AuthorizationServer,
    Method,
    OAuthClient,
    SignInFailed,
    quote_foreign,
)

NAME = "Foregate"
REGISTERED_STATUSES = (200, 201)
MAX_CREDENTIAL_CHARS = 2_000
"""Of a registered client id, which is part of an address, and of its secret; they are about 50."""
_USABLE = re.compile(r"[\x20-\x7e]+")
"""RFC 6749, appendices A.1 and A.2."""


@dataclass(frozen=True, kw_only=True)
class ClientIdentity:
    """The client identities available to us.

    Attributes:
        client_id: Client id entered by a person, or empty.
        secret: Its client secret, or None.
        entered_for: Authorization server the entered id was used with so far, or empty.
        document: Address of our metadata document; empty if not publicly reachable.
        known: Clients registered for earlier sign-ins, by authorization server.
    """

    client_id: str = ""
    secret: str | None = field(default=None, repr=False)
    entered_for: str = ""
    document: str = ""
    known: Mapping[str, OAuthClient] = field(default_factory=dict)


async def choose_client(
    identity: ClientIdentity,
    server: AuthorizationServer,
    *,
    redirect_uri: str,
    scope: str,
    fetch: FetchRequest,
) -> OAuthClient:
    """Return the client to sign in as, in MCP's order of preference.

    Args:
        identity: The available identities.
        server: The authorization server.
        redirect_uri: Address that browsers return to.
        scope: Scopes to be requested.
        fetch: Sends the dynamic registration, the last resort.

    Raises:
        SignInFailed: If no identity is possible; the message says what to enter.

    References:
        MCP 2026-07-28, Client Registration.
    """
    if identity.client_id:
        return _use_entered_client(identity, server)
    if identity.document and server.reads_documents:
        return OAuthClient(client_id=identity.document, source="document")
    known = identity.known.get(server.issuer)
    if known is not None and redirect_uri in known.redirect_uris:
        return known
    if server.registration_endpoint:
        return await _register_client(server, redirect_uri, scope, fetch)
    raise SignInFailed(
        f"the authorization server {quote_foreign(server.issuer)} registers no clients by itself; "
        f"register one there with the redirect address {redirect_uri}, and enter its client id "
        "(and secret) with the server"
    )


def client_metadata_document(
    address: str, *, redirect_uris: tuple[str, ...], home: str
) -> dict[str, Any]:
    """Return our metadata document.

    Args:
        address: Address of the document, which is our client id.
        redirect_uris: Addresses that browsers may return to.
        home: Home page of the gateway.

    References:
        draft-ietf-oauth-client-id-metadata-document-00.
    """
    return {"client_id": address, "client_uri": home, **_client_metadata(redirect_uris, "none")}


def _client_metadata(redirect_uris: tuple[str, ...], method: str) -> dict[str, Any]:
    return {
        "client_name": NAME,
        "redirect_uris": list(redirect_uris),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
    }


def _use_entered_client(identity: ClientIdentity, server: AuthorizationServer) -> OAuthClient:
    """Return the client entered by a person, which is valid at one authorization server."""
    if identity.entered_for not in ("", server.issuer):
        raise SignInFailed(
            f"its authorization server is {quote_foreign(server.issuer)} now, but the client id "
            "was used "
            f"with {quote_foreign(identity.entered_for)}; register a client there and enter its "
            "id, or forget the sign-in if the move is right"
        )
    method: Method = "none"
    if identity.secret:
        supported = server.methods or ("client_secret_basic",)
        method = "client_secret_basic"
        if method not in supported and "client_secret_post" in supported:
            method = "client_secret_post"
    return OAuthClient(client_id=identity.client_id, secret=identity.secret or None, method=method)


async def _register_client(
    server: AuthorizationServer, redirect_uri: str, scope: str, fetch: FetchRequest
) -> OAuthClient:
    """Register a client dynamically.

    References:
        RFC 7591; OpenID Connect Dynamic Client Registration 1.0 (`application_type`).
    """
    supported = server.methods or METHODS
    method = next((each for each in METHODS if each in supported), "none")
    is_local = addresses.is_local_host(urlsplit(redirect_uri).hostname or "")
    metadata = {
        **_client_metadata((redirect_uri,), method),
        "application_type": "native" if is_local else "web",
        **({"scope": scope} if scope else {}),
    }
    answer = await post_json(fetch, server.registration_endpoint, metadata)
    body = parse_object(answer)
    if answer.status not in REGISTERED_STATUSES or body is None or not body.get("client_id"):
        raise SignInFailed(
            f"the authorization server {quote_foreign(server.issuer)} did not register us "
            f"(status {answer.status}{_refusal_reason(body)}); register a client there with the "
            f"redirect address {redirect_uri}, and enter its client id with the server"
        )
    return _parse_registration(body, redirect_uri)


def _parse_registration(body: Mapping[str, Any], redirect_uri: str) -> OAuthClient:
    """Return the client as registered, which may differ from the request."""
    secret = str(body["client_secret"]) if body.get("client_secret") else None
    default = "client_secret_basic" if secret else "none"
    method = body.get("token_endpoint_auth_method") or default
    if method not in METHODS or (method != "none" and secret is None):
        raise SignInFailed(
            f"the authorization server registered us for {quote_foreign(str(method))}, which is "
            "not supported; register a client there manually, and enter its client id with the "
            "server"
        )
    client_id = str(body["client_id"])
    for credential in (client_id, *([secret] if secret else [])):
        if len(credential) > MAX_CREDENTIAL_CHARS or not _USABLE.fullmatch(credential):
            raise SignInFailed(
                "the authorization server registered us with an unusable client id or secret; "
                "register a client there manually, and enter its client id with the server"
            )
    return OAuthClient(
        client_id=client_id,
        secret=secret,
        method=method,
        source="dynamic",
        redirect_uris=(redirect_uri,),
    )


def _refusal_reason(body: Mapping[str, Any] | None) -> str:
    """Return an authorization server's reason for a refusal, or empty."""
    if not body:
        return ""
    texts = [body.get("error"), body.get("error_description")]
    reason = ", ".join(quote_foreign(text) for text in texts if isinstance(text, str) and text)
    return f": {reason}" if reason else ""
