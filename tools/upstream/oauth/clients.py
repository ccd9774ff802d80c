"""Who we are to an authorization server: entered by a person, a document's address, registered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tools.upstream.oauth import addresses
from tools.upstream.oauth.failures import SignInFailed, quoted
from tools.upstream.oauth.fetching import Fetch, as_object, post_json
from tools.upstream.oauth.values import METHODS, AuthorizationServer, Client, Method

NAME = "Foregate"
REGISTERED = (200, 201)


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What we can be, before an authorization server is known.

    Attributes:
        client_id: As a person entered it; empty: nobody did.
        secret: Its proof; None: there is none.
        entered_for: Authorization server it was used with so far; empty: none yet.
        document: Address of our metadata document; empty: it is not reachable by others.
        known: The client of an earlier sign-in, by the authorization server that registered it.
    """

    client_id: str = ""
    secret: str | None = field(default=None, repr=False)
    entered_for: str = ""
    document: str = ""
    known: Mapping[str, Client] = field(default_factory=dict)


async def choose(
    identity: Identity, server: AuthorizationServer, *, redirect_uri: str, scope: str, fetch: Fetch
) -> Client:
    """Return the client to sign in as, in MCP's order of preference.

    Args:
        identity: What we can be.
        server: Whom we deal with.
        redirect_uri: Where browsers come back to.
        scope: What will be asked for.
        fetch: Registers over HTTP where nothing else is left.

    Raises:
        SignInFailed: If it knows us in no way; the message says what to enter.

    References:
        MCP 2026-07-28, Client Registration.
    """
    if identity.client_id:
        return _entered(identity, server)
    if identity.document and server.reads_documents:
        return Client(client_id=identity.document, source="document")
    known = identity.known.get(server.issuer)
    if known is not None and redirect_uri in known.redirect_uris:
        return known
    if server.registration_endpoint:
        return await _register(server, redirect_uri, scope, fetch)
    raise SignInFailed(
        f"the authorization server {quoted(server.issuer)} registers no clients by itself; "
        f"register one there with the redirect address {redirect_uri}, and enter its client id "
        "(and secret) with the server"
    )


def document(address: str, *, redirect_uris: tuple[str, ...], home: str) -> dict[str, Any]:
    """Return our metadata document.

    Args:
        address: Where it lies, which is our name.
        redirect_uris: Where browsers may be sent back to.
        home: Page about us.

    References:
        draft-ietf-oauth-client-id-metadata-document-00.
    """
    return {"client_id": address, "client_uri": home, **_described(redirect_uris, "none")}


def _described(redirect_uris: tuple[str, ...], method: str) -> dict[str, Any]:
    return {
        "client_name": NAME,
        "redirect_uris": list(redirect_uris),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
    }


def _entered(identity: Identity, server: AuthorizationServer) -> Client:
    """Return the client a person entered, which belongs to one authorization server."""
    if identity.entered_for not in ("", server.issuer):
        raise SignInFailed(
            f"its authorization server is {quoted(server.issuer)} now, but the client id was used "
            f"with {quoted(identity.entered_for)}; register a client there and enter its id, or "
            "forget the sign-in if the move is right"
        )
    method: Method = "none"
    if identity.secret:
        wanted = server.methods or ("client_secret_basic",)
        method = "client_secret_basic"
        if method not in wanted and "client_secret_post" in wanted:
            method = "client_secret_post"
    return Client(client_id=identity.client_id, secret=identity.secret or None, method=method)


async def _register(
    server: AuthorizationServer, redirect_uri: str, scope: str, fetch: Fetch
) -> Client:
    """Register a client dynamically.

    References:
        RFC 7591; OpenID Connect Dynamic Client Registration 1.0 (`application_type`).
    """
    offered = server.methods or METHODS
    method = next((each for each in METHODS if each in offered), "none")
    local = addresses.on_this_machine(urlsplit(redirect_uri).hostname or "")
    asked = {
        **_described((redirect_uri,), method),
        "application_type": "native" if local else "web",
        **({"scope": scope} if scope else {}),
    }
    answer = await post_json(fetch, server.registration_endpoint, asked)
    said = as_object(answer)
    if answer.status not in REGISTERED or said is None or not said.get("client_id"):
        raise SignInFailed(
            f"the authorization server {quoted(server.issuer)} did not register us "
            f"(status {answer.status}{_reason(said)}); register a client there with the redirect "
            f"address {redirect_uri}, and enter its client id with the server"
        )
    return _registered(said, redirect_uri)


def _registered(said: Mapping[str, Any], redirect_uri: str) -> Client:
    """Return the client as it was registered, which may differ from what was asked for."""
    secret = str(said["client_secret"]) if said.get("client_secret") else None
    default = "client_secret_basic" if secret else "none"
    method = said.get("token_endpoint_auth_method") or default
    if method not in METHODS or (method != "none" and secret is None):
        raise SignInFailed(
            f"the authorization server registered us for {quoted(str(method))}, which cannot be "
            "done; register a client there by hand, and enter its client id with the server"
        )
    return Client(
        client_id=str(said["client_id"]),
        secret=secret,
        method=method,
        source="dynamic",
        redirect_uris=(redirect_uri,),
    )


def _reason(said: Mapping[str, Any] | None) -> str:
    """Return what an authorization server says of its refusal."""
    if not said:
        return ""
    texts = [said.get("error"), said.get("error_description")]
    found = ", ".join(quoted(text) for text in texts if isinstance(text, str) and text)
    return f": {found}" if found else ""
