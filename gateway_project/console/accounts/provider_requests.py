"""Requests to the configured OpenID Connect provider, through the gateway's own HTTP client.

References:
    OpenID Connect Discovery 1.0; RFC 6749, section 4.1.3; RFC 7636.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote_plus, urlencode, urlsplit

from asgiref.sync import async_to_sync
from django.core.cache import cache
from yarl import URL

from gateway_project.foundation.config import Config
from gateway_project.foundation.text import strip_invisible
from tools.upstream.errors import UpstreamError
from tools.upstream.http.address import host_and_port
from tools.upstream.http.client import FetchedResponse, HttpClient
from tools.upstream.network import NetworkRules, parse_networks

DISCOVERY_PATH: Final = "/.well-known/openid-configuration"
MAX_BYTES: Final = 262_144
TIMEOUT_S: Final = 10.0
CACHED_S: Final = 600
"""How long the provider's metadata and keys are kept; new keys are fetched when one is missing."""
FAILURE_CACHED_S: Final = 5
"""How long a provider that failed is not asked again: each request would hold a thread."""
MAX_SHOWN_CHARS: Final = 200


class ProviderFailed(Exception):
    """The provider did not answer, or not as OpenID Connect says; the message says what."""


@dataclass(frozen=True, kw_only=True)
class ProviderMetadata:
    """Metadata of a provider.

    Attributes:
        issuer: Itself.
        authorization_endpoint: Where people sign in.
        token_endpoint: Where codes are exchanged.
        jwks_uri: Where its keys are.
        userinfo_endpoint: Where more claims are; empty: there is none.
        is_basic_auth: Whether the client identifies itself by HTTP Basic.
    """

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str
    is_basic_auth: bool


def load_metadata(config: Config) -> ProviderMetadata:
    """Return the metadata of the configured provider.

    Raises:
        ProviderFailed: If there are none, or they are those of another issuer.
    """
    issuer = config.oidc_issuer or ""
    cached: ProviderMetadata | None = cache.get(_cache_key("metadata", issuer))
    if cached is None:
        if reason := cache.get(_cache_key("failure", issuer)):
            raise ProviderFailed(reason)
        try:
            document = _get_json(config, issuer.rstrip("/") + DISCOVERY_PATH)
            cached = _read_metadata(document, issuer)
        except ProviderFailed as error:
            cache.set(_cache_key("failure", issuer), str(error), FAILURE_CACHED_S)
            raise
        cache.set(_cache_key("metadata", issuer), cached, CACHED_S)
    return cached


def load_keys(
    config: Config, metadata: ProviderMetadata, *, anew: bool = False
) -> Sequence[Mapping[str, Any]]:
    """Return the keys of the provider, fetched `anew` or kept from before.

    Raises:
        ProviderFailed: If there are none.
    """
    cached: list[Mapping[str, Any]] | None = cache.get(_cache_key("keys", metadata.jwks_uri))
    if cached is None or anew:
        keys = _get_json(config, metadata.jwks_uri).get("keys")
        if not isinstance(keys, list):
            raise ProviderFailed("the provider publishes no keys")
        cached = [key for key in keys if isinstance(key, dict)]
        cache.set(_cache_key("keys", metadata.jwks_uri), cached, CACHED_S)
    return cached


def exchange_code(
    config: Config, metadata: ProviderMetadata, form: Mapping[str, str], *, secret: str
) -> dict[str, Any]:
    """Exchange a code for tokens.

    Args:
        config: Settings of the installation.
        metadata: Of the provider.
        form: Code, redirect address and code verifier.
        secret: Of this client; empty: it is public.

    Raises:
        ProviderFailed: If the provider refuses the code.
    """
    client_id = config.oidc_client_id or ""
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    body = {"grant_type": "authorization_code", **form}
    if secret and metadata.is_basic_auth:
        pair = f"{quote_plus(client_id)}:{quote_plus(secret)}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    else:
        body |= {"client_id": client_id} | ({"client_secret": secret} if secret else {})
    response = _send(
        config, "POST", metadata.token_endpoint, headers=headers, body=urlencode(body).encode()
    )
    answer = _parse_object(response)
    if response.status != HTTPStatus.OK:
        reason = strip_invisible(str(answer.get("error", response.status)))[:MAX_SHOWN_CHARS]
        raise ProviderFailed(f"the provider did not accept the code: {reason}")
    return answer


def load_userinfo(
    config: Config, metadata: ProviderMetadata, *, access_token: str
) -> dict[str, Any]:
    """Return what the provider says of a person beside the ID token.

    Raises:
        ProviderFailed: If it says nothing.
    """
    headers = {"Authorization": f"Bearer {access_token}"}
    return _get_json(config, metadata.userinfo_endpoint, headers=headers)


def _read_metadata(document: Mapping[str, Any], issuer: str) -> ProviderMetadata:
    """Read metadata.

    Raises:
        ProviderFailed: If they are of another issuer, incomplete, or lead off encryption.
    """
    if document.get("issuer") != issuer:
        raise ProviderFailed("the provider's metadata name another issuer than the settings")
    names = ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint")
    found = {name: str(document.get(name) or "") for name in names}
    is_encrypted = urlsplit(issuer).scheme == "https"
    for name, address in found.items():
        scheme = urlsplit(address).scheme
        if name == "userinfo_endpoint" and not address:
            continue
        if scheme != "https" and (is_encrypted or scheme != "http"):
            raise ProviderFailed(f"the provider's metadata have no usable {name}")
    methods = document.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    return ProviderMetadata(
        issuer=issuer, is_basic_auth="client_secret_post" not in methods, **found
    )


def _get_json(
    config: Config, address: str, *, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    given = {"Accept": "application/json", **(headers or {})}
    response = _send(config, "GET", address, headers=given)
    if response.status != HTTPStatus.OK:
        raise ProviderFailed(f"the provider answers with status {response.status}")
    return _parse_object(response)


def _parse_object(response: FetchedResponse) -> dict[str, Any]:
    try:
        value = json.loads(response.body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ProviderFailed("the provider does not answer with a JSON object")
    return value


def _send(
    config: Config,
    method: str,
    address: str,
    *,
    headers: Mapping[str, str],
    body: bytes | None = None,
) -> FetchedResponse:
    """Send a request: follows no redirects; only the issuer's own host may be private.

    Raises:
        ProviderFailed: If there is no answer, or the address is not allowed.
    """
    own = host_and_port(URL(config.oidc_issuer or ""))

    async def send() -> FetchedResponse:
        client = HttpClient(NetworkRules(allowed=parse_networks(config.allow_private)))
        try:
            return await client.fetch(
                method,
                address,
                headers=headers,
                body=body,
                own=own,
                max_bytes=MAX_BYTES,
                timeout_s=TIMEOUT_S,
            )
        finally:
            await client.aclose()

    try:
        return async_to_sync(send)()
    except UpstreamError as error:
        raise ProviderFailed(f"the provider cannot be reached: {error}") from None


def _cache_key(kind: str, address: str) -> str:
    return f"oidc-{kind}-{hashlib.sha256(address.encode()).hexdigest()}"
