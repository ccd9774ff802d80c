"""From a server's address to the authorization server that grants tokens for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp_types import LATEST_PROTOCOL_VERSION
from pydantic import BaseModel, ConfigDict, ValidationError

from tools.upstream.oauth import addresses
from tools.upstream.oauth.challenge import Challenge
from tools.upstream.oauth.failures import SignInFailed, Unreachable, quoted
from tools.upstream.oauth.fetching import Fetch, get_json
from tools.upstream.oauth.values import AuthorizationServer

MAX_SERVERS = 3
"""Authorization servers of a resource that are tried; the first that answers is taken."""
PKCE = "S256"
VERSION = {"MCP-Protocol-Version": LATEST_PROTOCOL_VERSION}

D = TypeVar("D", bound=BaseModel)


class _Document(BaseModel):
    # What does not fit is named, never repeated: it is another server's text.
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class ResourceMetadata(_Document):
    """Protected resource metadata (RFC 9728), as far as it is used."""

    resource: str
    authorization_servers: tuple[str, ...] | None = None
    scopes_supported: tuple[str, ...] | None = None


class ServerMetadata(_Document):
    """Authorization server metadata (RFC 8414, OpenID Connect Discovery), as far as it is used."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str | None = None
    revocation_endpoint: str | None = None
    scopes_supported: tuple[str, ...] | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] | None = None
    code_challenge_methods_supported: tuple[str, ...] | None = None
    client_id_metadata_document_supported: bool | None = None
    authorization_response_iss_parameter_supported: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Found:
    """What protects an MCP server.

    Attributes:
        resource: What tokens are to be asked for.
        server: Who grants them.
        scopes: Scopes the resource names; None: it names none.
        described: Whether anything was published at all, or default addresses are guessed.
    """

    resource: str
    server: AuthorizationServer
    scopes: tuple[str, ...] | None = None
    described: bool = True


async def discover(url: str, *, challenge: Challenge, fetch: Fetch) -> Found:
    """Find the authorization server of an MCP server.

    A server without protected resource metadata is taken for one of 2025-03-26: it is its own
    authorization server, if need be at default addresses.

    Args:
        url: Address of the MCP server.
        challenge: What it said with its 401.
        fetch: Asks over HTTP.

    Raises:
        SignInFailed: If there is none that may be used; the message says why.

    References:
        MCP 2026-07-28, Authorization Server Discovery; MCP 2025-03-26, Authorization.
    """
    described = await _resource(url, challenge, fetch)
    if described is None:
        server = await _server(addresses.base(url), url, fetch)
        return Found(
            resource=addresses.resource_of(url),
            server=server or _by_default(url),
            described=server is not None,
        )
    server = await _first(described.authorization_servers or (), url, fetch)
    return Found(resource=described.resource, server=server, scopes=described.scopes_supported)


async def _resource(url: str, challenge: Challenge, fetch: Fetch) -> ResourceMetadata | None:
    """Return the server's own description; None if it has none."""
    named = (challenge.resource_metadata,) if challenge.resource_metadata else ()
    for place in dict.fromkeys((*named, *addresses.resource_metadata(url))):
        addresses.require_secure(place, "the protected resource metadata", server_url=url)
        found = await get_json(fetch, place, headers=VERSION)
        described = _read(ResourceMetadata, found)
        if described is None:
            continue
        if not addresses.covers(described.resource, url):
            raise SignInFailed(
                f"its metadata at {quoted(place)} is about {quoted(described.resource)}, which is "
                "another resource; the server's address or its metadata is wrong"
            )
        return described
    return None


async def _first(issuers: Iterable[str], url: str, fetch: Fetch) -> AuthorizationServer:
    """Return the first authorization server of a list that can be used."""
    problems = ["its metadata names no authorization server"]
    for number, issuer in enumerate(list(issuers)[:MAX_SERVERS]):
        problems = problems if number else []
        try:
            found = await _server(issuer, url, fetch)
        except SignInFailed as problem:
            problems.append(str(problem))
            continue
        if found is not None:
            return found
        problems.append(f"the authorization server {quoted(issuer)} publishes no metadata")
    raise SignInFailed("; ".join(problems))


async def _server(issuer: str, url: str, fetch: Fetch) -> AuthorizationServer | None:
    """Return an authorization server by its validated metadata; None if it publishes none."""
    places = addresses.server_metadata(issuer)
    addresses.require_secure(issuer, "the authorization server", server_url=url)
    trouble: Unreachable | None = None
    for place in places:
        try:
            found = await get_json(fetch, place, headers=VERSION)
        except Unreachable as error:
            trouble = trouble or error
            continue
        metadata = _read(ServerMetadata, found)
        if metadata is not None:
            return _validated(metadata, issuer=issuer, url=url)
    if trouble is not None:
        raise trouble
    return None


def _validated(metadata: ServerMetadata, *, issuer: str, url: str) -> AuthorizationServer:
    """Check what must hold before anything is sent to an authorization server."""
    if metadata.issuer != issuer:
        raise SignInFailed(
            f"the metadata of the authorization server {quoted(issuer)} is that of "
            f"{quoted(metadata.issuer)}; it must not be used"
        )
    if PKCE not in (metadata.code_challenge_methods_supported or ()):
        raise SignInFailed(
            f"the authorization server {quoted(issuer)} does not support PKCE with {PKCE}, which "
            "MCP demands; its operator must enable it"
        )
    endpoints = {
        "authorization_endpoint": metadata.authorization_endpoint,
        "token_endpoint": metadata.token_endpoint,
        "registration_endpoint": metadata.registration_endpoint or "",
        "revocation_endpoint": metadata.revocation_endpoint or "",
    }
    for name, endpoint in endpoints.items():
        if endpoint:
            addresses.require_secure(endpoint, f"its {name}", server_url=url)
    return AuthorizationServer(
        issuer=issuer,
        **endpoints,
        methods=metadata.token_endpoint_auth_methods_supported or (),
        scopes=metadata.scopes_supported or (),
        says_iss=bool(metadata.authorization_response_iss_parameter_supported),
        reads_documents=bool(metadata.client_id_metadata_document_supported),
    )


def _by_default(url: str) -> AuthorizationServer:
    """Return the endpoints of a server of 2025-03-26 that publishes no metadata."""
    base = addresses.base(url)
    addresses.require_secure(base, "the server", server_url=url)
    return AuthorizationServer(
        issuer=base,
        authorization_endpoint=f"{base}/authorize",
        token_endpoint=f"{base}/token",
        registration_endpoint=f"{base}/register",
    )


def _read(kind: type[D], found: Any) -> D | None:
    """Return a document of a kind; None if it is none, as with pages that answer everything."""
    if found is None:
        return None
    try:
        return kind.model_validate(found)
    except ValidationError:
        return None
