"""The values of a sign-in, its errors, and the store that keeps it, sealed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from pydantic import TypeAdapter

MAX_QUOTED = 200

MAX_HEADER_LENGTH = 8_192

_PART = re.compile(
    r"""(?P<name>[\w!#$%&'*+.^`|~-]+)\s*=\s*
        (?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<token>[^\s,"]+))
      | (?P<scheme>[\w!#$%&'*+.^`|~-]+)(?=\s|,|$)""",
    re.VERBOSE,
)

Method = Literal["none", "client_secret_basic", "client_secret_post"]
PKCE_METHOD = "S256"
METHODS: tuple[Method, ...] = ("none", "client_secret_basic", "client_secret_post")

RENEW_AHEAD_S = 60.0
RENEW_AHEAD_SHARE = 0.2
"""A token is renewed this long before it expires, or in the last fifth of a short lifetime."""

T = TypeVar("T")


class SignInFailed(Exception):
    """A sign-in could not be started or completed."""


class AuthorizationServerUnreachable(SignInFailed):
    """A required server did not answer, or not as expected; retrying later may help."""


class AuthorizationRefused(SignInFailed):
    """The authorization server refused.

    Attributes:
        error: Its error code, such as `invalid_grant`.
    """

    def __init__(self, message: str, *, error: str) -> None:
        super().__init__(message)
        self.error = error


def quote_foreign(text: str) -> str:
    r"""Make another server's text safe to show: one short line without invisible characters.

    Example:
        >>> quote_foreign("no\u200b\nway\x1b[2J")
        'no way[2J'
    """
    line = "".join(c for c in " ".join(text.split()) if c.isprintable())
    return line if len(line) <= MAX_QUOTED else f"{line[:MAX_QUOTED]}…"


@dataclass(frozen=True, kw_only=True)
class BearerChallenge:
    """The Bearer challenge of a 401 or 403 response.

    Attributes:
        resource_metadata: Address of the protected resource metadata, or empty.
        scope: Scopes that the request needs, separated by spaces, or empty.
        error: Error code such as `insufficient_scope`, or empty.
    """

    resource_metadata: str = ""
    scope: str = ""
    error: str = ""


def read_challenge(header: str) -> BearerChallenge:
    """Parse the first Bearer challenge of a header; an empty one if there is none.

    Example:
        >>> read_challenge('Basic realm="x", Bearer error="invalid_token", scope="a b"')
        BearerChallenge(resource_metadata='', scope='a b', error='invalid_token')

    References:
        RFC 9110, section 11.6.1; RFC 6750, section 3; RFC 9728, section 5.1.
    """
    found: dict[str, str] = {}
    scheme = ""
    for part in _PART.finditer(header[:MAX_HEADER_LENGTH]):
        if part["scheme"]:
            if found:  # the Bearer challenge has ended
                break
            scheme = part["scheme"].lower()
        elif scheme == "bearer":
            quoted = part["quoted"]
            value = part["token"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            found.setdefault(part["name"].lower(), value)
    return BearerChallenge(
        resource_metadata=found.get("resource_metadata", ""),
        scope=" ".join(found.get("scope", "").split()),
        error=found.get("error", ""),
    )


class SignInKey(NamedTuple):
    """Identifies a sign-in by server and user; an empty user is the one shared by all."""

    server: str
    user: str


@dataclass(frozen=True, kw_only=True)
class OAuthClient:
    """The gateway's client identity at an authorization server.

    Attributes:
        client_id: Client identifier.
        secret: Client secret; None for a public client.
        method: Client authentication at the token endpoint.
        source: Entered by a person, address of our metadata document, or dynamic registration.
        redirect_uris: Registered redirect addresses, if registered dynamically.
    """

    client_id: str
    secret: str | None = field(default=None, repr=False)
    method: Method = "none"
    source: Literal["entered", "document", "dynamic"] = "entered"
    redirect_uris: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AuthorizationServer:
    """An authorization server as its validated metadata describes it.

    Attributes:
        issuer: Its identifier, compared character by character.
        authorization_endpoint: Where browsers are sent.
        token_endpoint: Where codes and refresh tokens are exchanged.
        registration_endpoint: For dynamic client registration; empty if unsupported.
        revocation_endpoint: For token revocation; empty if unsupported.
        methods: Supported client authentication methods; empty if not declared.
        scopes: Supported scopes; empty if not declared.
        says_iss: Whether its authorization responses carry `iss`.
        reads_documents: Whether it supports client ID metadata documents.
    """

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str = ""
    revocation_endpoint: str = ""
    methods: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    says_iss: bool = False
    reads_documents: bool = False


@dataclass(frozen=True, kw_only=True)
class OAuthTokens:
    """Tokens granted by an authorization server.

    Attributes:
        access: Access token, sent to the MCP server.
        refresh: Refresh token, or None.
        scope: Granted scopes, separated by spaces; empty if not declared.
        expires_at: Expiry of the access token; None if not declared.
        lifetime_s: Its lifetime when granted; None if not declared.
    """

    access: str = field(repr=False)
    refresh: str | None = field(default=None, repr=False)
    scope: str = ""
    expires_at: datetime | None = None
    lifetime_s: float | None = None

    def remaining_s(self, now: datetime) -> float:
        """Return the seconds until the access token expires; infinite if not declared."""
        return (self.expires_at - now).total_seconds() if self.expires_at else float("inf")

    def is_due(self, now: datetime) -> bool:
        """Whether the tokens should be renewed now."""
        short = self.lifetime_s is not None and RENEW_AHEAD_SHARE * self.lifetime_s < RENEW_AHEAD_S
        ahead_s = RENEW_AHEAD_SHARE * (self.lifetime_s or 0.0) if short else RENEW_AHEAD_S
        return self.remaining_s(now) <= ahead_s


@dataclass(frozen=True, kw_only=True)
class SignIn:
    """A sign-in to a remote server.

    Attributes:
        server: The authorization server that granted it.
        client: The client identity it was granted to.
        resource: The resource its tokens are valid for; they are sent nowhere else.
        tokens: The granted tokens.
        asked: Requested scopes, separated by spaces.
        wanted: Scopes the MCP server has asked for since.
        ended: Why it is no longer usable; empty while it is.
    """

    server: AuthorizationServer
    client: OAuthClient
    resource: str
    tokens: OAuthTokens
    asked: str = ""
    wanted: str = ""
    ended: str = ""


@dataclass(frozen=True, kw_only=True)
class PendingSignIn:
    """A sign-in in progress in a browser.

    Attributes:
        key: Key of the sign-in to be created.
        server: The authorization server the browser was sent to.
        client: The client identity used.
        resource: The resource to be accessed.
        redirect_uri: Address the browser will return to.
        scope: Requested scopes, separated by spaces.
        verifier: PKCE code verifier.
    """

    key: SignInKey
    server: AuthorizationServer
    client: OAuthClient
    resource: str
    redirect_uri: str
    scope: str
    verifier: str = field(repr=False)


def dump_value(value: SignIn | PendingSignIn) -> Any:
    """Return a value as JSON types, including secrets: only for sealing, never for display."""
    return TypeAdapter(type(value)).dump_python(value, mode="json")


def parse_value(kind: type[T], data: Any) -> T:
    """Return the value that `dump_value` dumped."""
    return TypeAdapter(kind).validate_python(data)


def join_scopes(*scopes: str) -> str:
    """Join lists of scopes in order, without duplicates.

    Example:
        >>> join_scopes("a b", "b c", "")
        'a b c'
    """
    return " ".join(dict.fromkeys(name for each in scopes for name in each.split()))


@dataclass(frozen=True, kw_only=True)
class StoredSignIn:
    """A sign-in as stored in the database, with the time it was written."""

    sign_in: SignIn
    written_at: datetime


class SignInStoreUnavailable(Exception):
    """The store temporarily cannot be read or written; the message says why in one line."""


class SignInStore(Protocol):
    """Stores sign-ins; every method may raise `SignInStoreUnavailable`."""

    async def load(self, key: SignInKey) -> StoredSignIn | None:
        """Return a sign-in, or None."""

    async def load_changed(
        self, known: Mapping[SignInKey, datetime]
    ) -> Mapping[SignInKey, StoredSignIn | None]:
        """Return the sign-ins changed since the known times; None for deleted ones."""

    async def save(
        self, key: SignInKey, new: SignIn, *, instead_of: SignIn
    ) -> StoredSignIn | None:
        """Replace a sign-in; if `instead_of` is no longer the stored one, return None."""

    def lock_renewal(self, key: SignInKey) -> AbstractAsyncContextManager[None]:
        """Lock the renewal of a sign-in against other processes."""
