"""Discovers the authorization server that grants tokens for an MCP server."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_types import LATEST_PROTOCOL_VERSION
from pydantic import BaseModel, ConfigDict, ValidationError

from tools.upstream.oauth import addresses
from tools.upstream.oauth.fetching import FetchRequest, get_json
from tools.upstream.oauth.values import (
    PKCE_METHOD,
    AuthorizationServer,
    AuthorizationServerUnreachable,
    BearerChallenge,
    SignInFailed,
    quote_foreign,
    read_challenge,
)

if TYPE_CHECKING:
    from tools.upstream.http.address import RemoteAddress

MAX_SERVERS = 3
"""Authorization servers of a resource that are tried; the first usable one is taken."""
VERSION_HEADERS = {"MCP-Protocol-Version": LATEST_PROTOCOL_VERSION}
_PROBE_METHOD = "server/discover"
_PROBE_META = {
    "io.modelcontextprotocol/protocolVersion": LATEST_PROTOCOL_VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "foregate", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}

D = TypeVar("D", bound=BaseModel)


class _Document(BaseModel):
    # Errors name invalid fields but never quote another server's text.
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class ResourceMetadata(_Document):
    """The used part of protected resource metadata (RFC 9728)."""

    resource: str
    authorization_servers: tuple[str, ...] | None = None
    scopes_supported: tuple[str, ...] | None = None


class ServerMetadata(_Document):
    """The used part of authorization server metadata (RFC 8414, OpenID Connect Discovery)."""

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
class DiscoveredProtection:
    """How an MCP server is protected.

    Attributes:
        resource: Resource to request tokens for.
        server: Authorization server that grants them.
        scopes: Scopes that the resource lists; None if it lists none.
        has_metadata: Whether metadata was published; otherwise default endpoints are assumed.
    """

    resource: str
    server: AuthorizationServer
    scopes: tuple[str, ...] | None = None
    has_metadata: bool = True


async def probe_server(
    address: RemoteAddress, *, transport: str, fetch: FetchRequest
) -> tuple[int, BearerChallenge]:
    """Send a request without a token; return the response's status and its challenge.

    The request has no side effects at the server.

    Raises:
        AuthorizationServerUnreachable: If the server does not answer.
    """
    headers = {**address.headers, "Accept": "application/json, text/event-stream"}
    if transport == "sse":
        answer = await fetch("GET", str(address.url), headers=headers, head_only=True)
    else:
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": _PROBE_METHOD,
            "params": {"_meta": _PROBE_META},
        }
        headers |= {
            "Content-Type": "application/json",
            "Mcp-Method": _PROBE_METHOD,
            **VERSION_HEADERS,
        }
        answer = await fetch(
            "POST",
            str(address.url),
            headers=headers,
            body=json.dumps(message).encode(),
            head_only=True,
        )
    return answer.status, read_challenge(answer.headers.get("www-authenticate", ""))


async def discover_protection(
    url: str, *, challenge: BearerChallenge, fetch: FetchRequest
) -> DiscoveredProtection:
    """Find the authorization server of an MCP server.

    A server without protected resource metadata is assumed to follow MCP 2025-03-26: it is its
    own authorization server, by default at the specified endpoints.

    Args:
        url: Address of the MCP server.
        challenge: Challenge of its 401 response.
        fetch: Sends HTTP requests.

    Raises:
        SignInFailed: If there is no usable one; the message says why.

    References:
        MCP 2026-07-28, Authorization Server Discovery; MCP 2025-03-26, Authorization.
    """
    metadata = await _load_resource_metadata(url, challenge, fetch)
    if metadata is None:
        server = await _load_server(addresses.base_url(url), url, fetch)
        return DiscoveredProtection(
            resource=addresses.canonical_resource(url),
            server=server or _make_default_server(url),
            has_metadata=server is not None,
        )
    server = await _first_usable_server(metadata.authorization_servers or (), url, fetch)
    return DiscoveredProtection(
        resource=metadata.resource, server=server, scopes=metadata.scopes_supported
    )


async def _load_resource_metadata(
    url: str, challenge: BearerChallenge, fetch: FetchRequest
) -> ResourceMetadata | None:
    """Return the server's protected resource metadata; None if it publishes none."""
    declared = (challenge.resource_metadata,) if challenge.resource_metadata else ()
    for location in dict.fromkeys((*declared, *addresses.resource_metadata_urls(url))):
        addresses.require_secure(location, "the protected resource metadata", server_url=url)
        document = await get_json(fetch, location, headers=VERSION_HEADERS)
        metadata = _parse_document(ResourceMetadata, document)
        if metadata is None:
            continue
        if not addresses.is_covered(metadata.resource, url):
            raise SignInFailed(
                f"its metadata at {quote_foreign(location)} is about "
                f"{quote_foreign(metadata.resource)}, which is "
                "another resource; the server's address or its metadata is wrong"
            )
        return metadata
    return None


async def _first_usable_server(
    issuers: Iterable[str], url: str, fetch: FetchRequest
) -> AuthorizationServer:
    """Return the first usable authorization server of a list."""
    problems = ["its metadata names no authorization server"]
    for number, issuer in enumerate(list(issuers)[:MAX_SERVERS]):
        problems = problems if number else []
        try:
            server = await _load_server(issuer, url, fetch)
        except SignInFailed as problem:
            problems.append(str(problem))
            continue
        if server is not None:
            return server
        problems.append(f"the authorization server {quote_foreign(issuer)} publishes no metadata")
    raise SignInFailed("; ".join(problems))


async def _load_server(issuer: str, url: str, fetch: FetchRequest) -> AuthorizationServer | None:
    """Return an authorization server from its validated metadata; None if it publishes none."""
    locations = addresses.server_metadata_urls(issuer)
    addresses.require_secure(issuer, "the authorization server", server_url=url)
    first_error: AuthorizationServerUnreachable | None = None
    for location in locations:
        try:
            document = await get_json(fetch, location, headers=VERSION_HEADERS)
        except AuthorizationServerUnreachable as error:
            first_error = first_error or error
            continue
        metadata = _parse_document(ServerMetadata, document)
        if metadata is not None:
            return _validate_metadata(metadata, issuer=issuer, url=url)
    if first_error is not None:
        raise first_error
    return None


def _validate_metadata(metadata: ServerMetadata, *, issuer: str, url: str) -> AuthorizationServer:
    """Check the metadata before anything is sent to the authorization server."""
    if not addresses.is_same_issuer(metadata.issuer, issuer):
        raise SignInFailed(
            f"the metadata of the authorization server {quote_foreign(issuer)} is that of "
            f"{quote_foreign(metadata.issuer)}; it must not be used"
        )
    if PKCE_METHOD not in (metadata.code_challenge_methods_supported or ()):
        raise SignInFailed(
            f"the authorization server {quote_foreign(issuer)} does not support PKCE with "
            f"{PKCE_METHOD}, which "
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
        issuer=metadata.issuer,
        **endpoints,
        methods=metadata.token_endpoint_auth_methods_supported or (),
        scopes=metadata.scopes_supported or (),
        says_iss=bool(metadata.authorization_response_iss_parameter_supported),
        reads_documents=bool(metadata.client_id_metadata_document_supported),
    )


def _make_default_server(url: str) -> AuthorizationServer:
    """Return the default endpoints of an MCP 2025-03-26 server without metadata."""
    base = addresses.base_url(url)
    addresses.require_secure(base, "the server", server_url=url)
    return AuthorizationServer(
        issuer=base,
        authorization_endpoint=f"{base}/authorize",
        token_endpoint=f"{base}/token",
        registration_endpoint=f"{base}/register",
    )


def _parse_document(kind: type[D], document: Any) -> D | None:
    """Parse a document; None if invalid, as from servers that answer any path with a page."""
    if document is None:
        return None
    try:
        return kind.model_validate(document)
    except ValidationError:
        return None
