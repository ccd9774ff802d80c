"""Sign in to a remote server, for oneself or for all, and forget it again."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlsplit

from django.db import transaction

from gateway_project.access import audit
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import in_database
from gateway_project.foundation.sealing import SealBroken, Sealer
from tools.store import sign_ins
from tools.store.sign_ins import Mode, NoSuchSignIn, RemoteServer
from tools.upstream.errors import UpstreamError
from tools.upstream.http.address import RemoteAddress, resolve
from tools.upstream.http.client import HttpClient
from tools.upstream.network import NetworkRules, parse_networks
from tools.upstream.oauth import authorization, clients, discovery, grants, probe
from tools.upstream.oauth.failures import SignInFailed
from tools.upstream.oauth.fetching import over_http
from tools.upstream.oauth.values import Attempt, Key, SignIn

CALLBACK_PATH = "/sign-in/callback"
DOCUMENT_PATH = "/sign-in/client.json"
LOOPBACK_REDIRECT = "http://127.0.0.1/callback"
"""Of the command; an authorization server takes it with any port (RFC 8252, section 7.3)."""
ASKING_STATUSES = (401, 403)


class SignInNotPermitted(Exception):
    """The caller may not do this; the message says who may."""


class NotSignedInTo(Exception):
    """The server is called without a sign-in, or is none that could be signed in to."""


EXPECTED = (NoSuchSignIn, NotSignedInTo, SignInFailed, SignInNotPermitted, UpstreamError)
"""What a person can mend."""


@dataclass(frozen=True, kw_only=True)
class Means:
    """What it takes to sign in.

    Attributes:
        http: Asks authorization servers.
        sealer: Seals tokens.
        document: Address of our client metadata document; empty: others cannot read it.
        clock: Tells the time.
        environ: Variables that a server's address may refer to.
    """

    http: HttpClient
    sealer: Sealer
    document: str = ""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A sign-in that goes on in a browser.

    Attributes:
        address: To open there.
        state: What the browser will bring back.
    """

    address: str
    state: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Done:
    """A sign-in that was made.

    Attributes:
        key: Which.
        issuer: The authorization server.
        scope: What it granted, separated by spaces.
        renews: Whether it is renewed without a person.
        expires_at: End of the first token; None: not said.
    """

    key: Key
    issuer: str
    scope: str
    renews: bool
    expires_at: datetime | None


@asynccontextmanager
async def means(config: Config) -> AsyncIterator[Means]:
    """Provide what it takes to sign in, as configured."""
    http = HttpClient(NetworkRules(allowed=parse_networks(config.allow_private)))
    sealer = sealing.load_or_create(config.home)
    try:
        yield Means(http=http, sealer=sealer, document=document_address(config))
    finally:
        await http.aclose()


def document_address(config: Config) -> str:
    """Return where authorization servers find our client metadata document; empty: nowhere."""
    public = (config.public_url or "").rstrip("/")
    return public + DOCUMENT_PATH if urlsplit(public).scheme == "https" else ""


def client_document(config: Config) -> dict[str, object] | None:
    """Return our client metadata document; None where others could not read it."""
    address = document_address(config)
    if not address:
        return None
    home = address.removesuffix(DOCUMENT_PATH)
    redirects = (home + CALLBACK_PATH, LOOPBACK_REDIRECT)
    return clients.document(address, redirect_uris=redirects, home=home)


def find(caller: Caller, *, sealer: Sealer, name: str = "", pk: int | None = None) -> RemoteServer:
    """Return a server that a caller sees.

    Raises:
        NoSuchSignIn: If there is none, or it is another team's.
    """
    server = sign_ins.server(sealer=sealer, name=name, pk=pk)
    if not (caller.may(SCOPE_ALL) or caller.sees(server.team)):
        raise NoSuchSignIn(f"no server {name!r}; `manage.py status` lists the servers")
    return server


def switch_on(caller: Caller, server: RemoteServer, mode: Mode) -> None:
    """Have a server called with tokens of a sign-in from now on, and write it down.

    Raises:
        NotSignedInTo: If it is not remote.
        SignInNotPermitted: If the caller is no superuser.
    """
    _require_remote(server)
    if not caller.may(SCOPE_ALL):
        raise SignInNotPermitted(f"only a superuser may change how {server.name!r} is called")
    with transaction.atomic():
        sign_ins.set_mode(server.pk, mode)
        detail = {"changed": ["authorization"]}
        audit.record(caller, "server.changed", server.name, detail=detail)


def key_for(caller: Caller, server: RemoteServer) -> Key:
    """Return which sign-in of a server is the caller's to make or forget.

    Raises:
        NotSignedInTo: If the server is called without one.
        SignInNotPermitted: If it is used by all and the caller is no superuser.
    """
    _require_remote(server)
    if server.mode == "none":
        raise NotSignedInTo(
            f"server {server.name!r} is called without a sign-in; set its authorization to oauth "
            "or oauth_per_user, or run `manage.py sign_in` with --yes"
        )
    if server.mode == "oauth_per_user":
        return Key(server.name, caller.user)
    if not caller.may(SCOPE_ALL):
        raise SignInNotPermitted(
            f"the sign-in to {server.name!r} is used by all; only a superuser may change it"
        )
    return Key(server.name, "")


async def begin(caller: Caller, server: RemoteServer, *, redirect_uri: str, means: Means) -> Begun:
    """Begin a sign-in.

    Raises:
        SignInFailed: If the server or its authorization server does not allow it.
        UpstreamError: If the server's entry cannot be used.
        NotSignedInTo: If the server is called without one.
        SignInNotPermitted: If it is used by all and the caller is no superuser.
    """
    key = key_for(caller, server)
    address = resolve(server.spec, means.environ)
    fetch = over_http(means.http, own=address.own)
    status, challenge = await probe.ask(address, transport=server.spec.transport, fetch=fetch)
    found = await discovery.discover(str(address.url), challenge=challenge, fetch=fetch)
    if not found.described and status not in ASKING_STATUSES:
        raise SignInFailed("it asks for no sign-in; set its authorization to none")
    earlier = await in_database(sign_ins.of_server, server.name, sealer=means.sealer)
    former = await in_database(_former, key, means.sealer)
    scope = authorization.scope_for(
        found, challenge=challenge, entered=server.scopes, former=former
    )
    client = await clients.choose(
        _identity(server, earlier, means.document),
        found.server,
        redirect_uri=redirect_uri,
        scope=scope,
        fetch=fetch,
    )
    attempt, state, browse = authorization.begin(
        key, found, client=client, redirect_uri=redirect_uri, scope=scope
    )
    await in_database(
        sign_ins.begin, state, attempt, by=caller.user, at=means.clock(), sealer=means.sealer
    )
    return Begun(address=browse, state=state)


async def finish(caller: Caller, answer: Mapping[str, str], *, means: Means) -> Done:
    """Finish a sign-in with what the browser brought back.

    Args:
        caller: Who has the browser; must be the one who began.
        answer: Parameters of its address.
        means: What it takes.

    Raises:
        SignInFailed: If it is not what was begun, or the authorization server refuses.
    """
    state, sealer = answer.get("state", ""), means.sealer
    attempt = await in_database(
        sign_ins.take, state, by=caller.user, at=means.clock(), sealer=sealer
    )
    if attempt is None:
        raise SignInFailed(
            "this sign-in was not begun by you, was finished already, or took longer than "
            f"{sign_ins.ATTEMPT_LIFETIME.seconds // 60} minutes; begin again"
        )
    code = authorization.code_of(attempt, answer)
    address = await in_database(_address_of, caller, attempt, means)
    fetch = over_http(means.http, own=address.own)
    sign_in = await grants.exchange(attempt, code, fetch=fetch, now=means.clock())
    await in_database(_store, caller, attempt.key, sign_in, sealer)
    return Done(
        key=attempt.key,
        issuer=sign_in.server.issuer,
        scope=sign_in.tokens.scope,
        renews=sign_in.tokens.refresh is not None,
        expires_at=sign_in.tokens.expires_at,
    )


async def forget(caller: Caller, server: RemoteServer, *, means: Means) -> bool | None:
    """Delete a sign-in and give its tokens back.

    Returns:
        Whether the authorization server took them back; None if there was no sign-in.
    """
    key = key_for(caller, server)
    there, gone = await in_database(_remove, caller, key, means.sealer)
    if gone is None:
        return False if there else None
    own = resolve(server.spec, means.environ).own
    return await grants.revoke(gone, fetch=over_http(means.http, own=own))


def forgotten(given_back: bool | None) -> str:
    """Say what forgetting did."""
    if given_back is None:
        return "There was no sign-in."
    if given_back:
        return "Forgotten; the authorization server took the tokens back."
    return "Forgotten here; the authorization server did not confirm that the tokens are void."


def _require_remote(server: RemoteServer) -> None:
    if server.spec.transport == "stdio":
        raise NotSignedInTo(
            f"server {server.name!r} is started by a command; only remote servers are signed in to"
        )


def _identity(
    server: RemoteServer, earlier: tuple[SignIn, ...], document: str
) -> clients.Identity:
    """Return what we can be to the server's authorization server."""
    entered_for = next(
        (
            each.server.issuer
            for each in earlier
            if each.client.source == "entered" and each.client.client_id == server.client_id
        ),
        "",
    )
    return clients.Identity(
        client_id=server.client_id,
        secret=server.client_secret or None,
        entered_for=entered_for,
        document=document,
        known={
            each.server.issuer: each.client
            for each in reversed(earlier)
            if each.client.source == "dynamic"
        },
    )


def _address_of(caller: Caller, attempt: Attempt, means: Means) -> RemoteAddress:
    """Return where an attempt's server is; one that was changed meanwhile is not signed in to."""
    server = find(caller, sealer=means.sealer, name=attempt.key.server)
    if key_for(caller, server) != attempt.key:
        raise SignInFailed("whose sign-in the server takes was changed meanwhile; begin again")
    return resolve(server.spec, means.environ)


def _former(key: Key, sealer: Sealer) -> SignIn | None:
    """Return the sign-in that a new one follows; one that no key opens is none."""
    try:
        kept = sign_ins.load(key, sealer=sealer)
    except SealBroken:
        return None
    return kept.sign_in if kept else None


def _store(caller: Caller, key: Key, sign_in: SignIn, sealer: Sealer) -> None:
    with transaction.atomic():
        sign_ins.put(key, sign_in, sealer=sealer)
        audit.record(caller, "sign_in.made", key.server, detail={"for": key.user or "all"})


def _remove(caller: Caller, key: Key, sealer: Sealer) -> tuple[bool, SignIn | None]:
    with transaction.atomic():
        there, gone = sign_ins.remove(key, sealer=sealer)
        if there:
            whose = {"for": key.user or "all"}
            audit.record(caller, "sign_in.forgotten", key.server, detail=whose)
        return there, gone
