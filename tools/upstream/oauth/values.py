"""What a sign-in consists of, as it is held in memory and, sealed, in the database."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import TypeAdapter

Method = Literal["none", "client_secret_basic", "client_secret_post"]
METHODS: tuple[Method, ...] = ("none", "client_secret_basic", "client_secret_post")

AHEAD_S = 60.0
AHEAD_SHARE = 0.2
"""A token is renewed this long before its end, or for the last fifth of a short life."""

T = TypeVar("T")


class Key(NamedTuple):
    """Which sign-in: at which server, and whose; empty: the one used by all."""

    server: str
    user: str


@dataclass(frozen=True, kw_only=True)
class Client:
    """What we are to an authorization server.

    Attributes:
        client_id: As it knows us.
        secret: Proof of it; None: a public client.
        method: How the proof is given to the token endpoint.
        source: Entered by a person, our metadata document's address, or registered dynamically.
        redirect_uris: Where it may send browsers back to, as far as it was registered.
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
        registration_endpoint: Where clients register themselves; empty: nowhere.
        revocation_endpoint: Where tokens are given back; empty: nowhere.
        methods: Client authentication it understands; empty: not said.
        scopes: Scopes it knows; empty: not said.
        says_iss: Whether its responses to browsers carry its identifier.
        reads_documents: Whether a client may be an address of a metadata document.
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
class Tokens:
    """What an authorization server granted.

    Attributes:
        access: Sent to the MCP server.
        refresh: Exchanged for the next tokens; None: there are no next.
        scope: What was granted, separated by spaces; empty: not said.
        expires_at: End of the access token; None: not said.
        lifetime_s: How long it was made for; None: not said.
    """

    access: str = field(repr=False)
    refresh: str | None = field(default=None, repr=False)
    scope: str = ""
    expires_at: datetime | None = None
    lifetime_s: float | None = None

    def left_s(self, now: datetime) -> float:
        """Return the seconds the access token is still good for; infinite where none are said."""
        return (self.expires_at - now).total_seconds() if self.expires_at else float("inf")

    def is_due(self, now: datetime) -> bool:
        """Whether it is time to renew them."""
        short = self.lifetime_s is not None and AHEAD_SHARE * self.lifetime_s < AHEAD_S
        ahead_s = AHEAD_SHARE * (self.lifetime_s or 0.0) if short else AHEAD_S
        return self.left_s(now) <= ahead_s


@dataclass(frozen=True, kw_only=True)
class SignIn:
    """A sign-in to a remote server.

    Attributes:
        server: The authorization server that granted it.
        client: As whom.
        resource: The address its tokens are meant for; they are sent nowhere else.
        tokens: What was granted.
        asked: Scopes that were asked for, separated by spaces.
        wanted: Scopes the MCP server has asked for since.
        ended: Why it cannot be used any more; empty: it can.
    """

    server: AuthorizationServer
    client: Client
    resource: str
    tokens: Tokens
    asked: str = ""
    wanted: str = ""
    ended: str = ""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A sign-in that was begun in a browser.

    Attributes:
        key: Which sign-in it will be.
        server: The authorization server the browser was sent to.
        client: As whom.
        resource: What is to be accessed.
        redirect_uri: Where the browser will come back to.
        scope: What was asked for, separated by spaces.
        verifier: Proof that code and request belong together (PKCE).
    """

    key: Key
    server: AuthorizationServer
    client: Client
    resource: str
    redirect_uri: str
    scope: str
    verifier: str = field(repr=False)


def dump(value: SignIn | Attempt) -> Any:
    """Return a value in JSON's terms, secrets included: to be sealed, never to be shown."""
    return TypeAdapter(type(value)).dump_python(value, mode="json")


def parse(kind: type[T], data: Any) -> T:
    """Return what `dump` wrote."""
    return TypeAdapter(kind).validate_python(data)


def union(*scopes: str) -> str:
    """Join lists of scopes, each named once, in order.

    Example:
        >>> union("a b", "b c", "")
        'a b c'
    """
    return " ".join(dict.fromkeys(name for each in scopes for name in each.split()))
