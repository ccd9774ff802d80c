"""Sign in to remote servers, for one user or for all, and forget sign-ins."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlsplit

from django.db import transaction

from gateway_project.access import audit
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.redaction import Redactor
from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from tools.store import discoveries, sign_ins
from tools.store.sign_ins import NoSuchSignIn, RemoteServer, SignInMode
from tools.upstream.errors import UpstreamError
from tools.upstream.http.address import RemoteAddress, resolve_address
from tools.upstream.http.client import HttpClient
from tools.upstream.network import NetworkRules, parse_networks
from tools.upstream.oauth import clients, discovery, grants
from tools.upstream.oauth.fetching import FetchRequest
from tools.upstream.oauth.values import PendingSignIn, SignIn, SignInFailed, SignInKey

CALLBACK_PATH = "/sign-in/callback"
DOCUMENT_PATH = "/sign-in/client.json"
LOOPBACK_REDIRECT = "http://127.0.0.1/callback"
"""For the command; authorization servers accept it with any port (RFC 8252, section 7.3)."""
CHALLENGE_STATUSES = (401, 403)


class SignInNotPermitted(Exception):
    """The caller lacks the permission; the message says who has it."""


class SignInNotApplicable(Exception):
    """The server does not use a sign-in, or does not support one."""


EXPECTED_ERRORS = (
    NoSuchSignIn,
    SignInNotApplicable,
    SignInFailed,
    SignInNotPermitted,
    UpstreamError,
)
"""Errors that a person can resolve."""


@dataclass(frozen=True, kw_only=True)
class SignInDependencies:
    """Dependencies of the sign-in use cases.

    Attributes:
        http_client: Connects to servers and authorization servers.
        sealer: Seals tokens.
        document_url: URL of the client metadata document; empty: it is not publicly readable.
        clock: Current time.
        environ: Variables that a server's address may refer to.
    """

    http_client: HttpClient
    sealer: Sealer
    document_url: str = ""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)


@dataclass(frozen=True, kw_only=True)
class StartedSignIn:
    """A sign-in that continues in a browser.

    Attributes:
        browser_url: The URL to open.
        state: The `state` parameter that the browser will return.
    """

    browser_url: str
    state: str = field(repr=False)


@asynccontextmanager
async def load_dependencies(config: Config) -> AsyncIterator[SignInDependencies]:
    """Provide the dependencies as configured."""
    http = HttpClient(NetworkRules(allowed=parse_networks(config.allow_private)))
    sealer = sealing.load_or_create_sealer(config.home)
    try:
        yield SignInDependencies(
            http_client=http, sealer=sealer, document_url=client_document_url(config)
        )
    finally:
        await http.aclose()


def client_document_url(config: Config) -> str:
    """Return the URL of the client metadata document; empty without a public https URL."""
    public = (config.public_url or "").rstrip("/")
    return public + DOCUMENT_PATH if urlsplit(public).scheme == "https" else ""


def build_client_document(config: Config) -> dict[str, object] | None:
    """Return the client metadata document; None without a public https URL."""
    address = client_document_url(config)
    if not address:
        return None
    home = address.removesuffix(DOCUMENT_PATH)
    redirects = (home + CALLBACK_PATH, LOOPBACK_REDIRECT)
    return clients.client_metadata_document(address, redirect_uris=redirects, home=home)


def find_server(
    caller: Caller, *, sealer: Sealer, name: str = "", pk: int | None = None
) -> RemoteServer:
    """Return a server visible to a caller.

    Raises:
        NoSuchSignIn: If there is none, or it belongs to another team.
    """
    server = sign_ins.find_server(sealer=sealer, name=name, pk=pk)
    if not (caller.has_scope(SCOPE_ALL) or caller.can_see_team(server.team)):
        raise NoSuchSignIn(f"no server {name!r}; `manage.py status` lists the servers")
    return server


def set_sign_in_mode(caller: Caller, server: RemoteServer, mode: SignInMode) -> None:
    """Set how a server is authorized, with an audit entry.

    Raises:
        SignInNotApplicable: If it is not remote.
        SignInNotPermitted: If the caller is not a superuser.
    """
    _require_remote(server)
    if not caller.has_scope(SCOPE_ALL):
        raise SignInNotPermitted(f"only a superuser may change how {server.name!r} is called")
    with transaction.atomic():
        sign_ins.set_mode(server.pk, mode)
        detail = {"changed": ["authorization"]}
        audit.record_audit(caller, "server.changed", server.name, detail=detail)


def require_sign_in_key(caller: Caller, server: RemoteServer) -> SignInKey:
    """Return the key of the sign-in that the caller may create or forget.

    Raises:
        SignInNotApplicable: If the server does not use one.
        SignInNotPermitted: If it is shared and the caller is not a superuser.
    """
    _require_remote(server)
    if server.mode == "none":
        raise SignInNotApplicable(
            f"server {server.name!r} is called without a sign-in; set its authorization to oauth "
            "or oauth_per_user, or run `manage.py sign_in` with --yes"
        )
    if server.mode == "oauth_per_user":
        return SignInKey(server.name, caller.user)
    if not caller.has_scope(SCOPE_ALL):
        raise SignInNotPermitted(
            f"the sign-in to {server.name!r} is used by all; only a superuser may change it"
        )
    return SignInKey(server.name, "")


async def begin_sign_in(
    caller: Caller, server: RemoteServer, *, redirect_uri: str, dependencies: SignInDependencies
) -> StartedSignIn:
    """Begin a sign-in.

    Raises:
        SignInFailed: If the server or its authorization server refuses.
        UpstreamError: If the server's entry is unusable.
        SignInNotApplicable: If the server does not use one.
        SignInNotPermitted: If it is shared and the caller is not a superuser.
    """
    key = require_sign_in_key(caller, server)
    address = resolve_address(server.spec, dependencies.environ)
    fetch = FetchRequest(client=dependencies.http_client, own=address.own)
    with _redact_errors(address.secrets):
        status, challenge = await discovery.probe_server(
            address, transport=server.spec.transport, fetch=fetch
        )
        protection = await discovery.discover_protection(
            str(address.url), challenge=challenge, fetch=fetch
        )
    if not protection.has_metadata and status not in CHALLENGE_STATUSES:
        raise SignInFailed("it does not ask for a sign-in; set its authorization to none")
    earlier = await run_in_database_thread(
        sign_ins.load_server_sign_ins, server.name, sealer=dependencies.sealer
    )
    former = await run_in_database_thread(_load_former_sign_in, key, dependencies.sealer)
    scope = grants.choose_scope(
        protection, challenge=challenge, entered=server.scopes, former=former
    )
    client = await clients.choose_client(
        _make_client_identity(server, earlier, dependencies.document_url),
        protection.server,
        redirect_uri=redirect_uri,
        scope=scope,
        fetch=fetch,
    )
    attempt, state, browser_url = grants.begin_sign_in(
        key, protection, client=client, redirect_uri=redirect_uri, scope=scope
    )
    await run_in_database_thread(
        sign_ins.store_attempt,
        state,
        attempt,
        by=caller.user,
        at=dependencies.clock(),
        sealer=dependencies.sealer,
    )
    return StartedSignIn(browser_url=browser_url, state=state)


@contextmanager
def _redact_errors(secrets: Iterable[str]) -> Iterator[None]:
    """Redact a server's secrets in error messages."""
    try:
        yield
    except (SignInFailed, UpstreamError) as error:
        error.args = (Redactor(secrets).redact(str(error)),)
        raise


async def finish_sign_in(
    caller: Caller, answer: Mapping[str, str], *, dependencies: SignInDependencies
) -> tuple[SignInKey, SignIn]:
    """Finish a sign-in with the browser's redirect; return it and whose it is.

    Args:
        caller: The browser's user; must be the one who began it.
        answer: Query parameters of the redirect.
        dependencies: Of the use case.

    Raises:
        SignInFailed: If there is no such attempt, or the authorization server refuses.
    """
    state, sealer = answer.get("state", ""), dependencies.sealer
    attempt = await run_in_database_thread(
        sign_ins.take_attempt, state, by=caller.user, at=dependencies.clock(), sealer=sealer
    )
    if attempt is None:
        raise SignInFailed(
            "this sign-in was started by someone else, is already finished, or took longer "
            f"than {sign_ins.ATTEMPT_LIFETIME.seconds // 60} minutes; start again"
        )
    code = grants.read_code(attempt, answer)
    address = await run_in_database_thread(_resolve_attempt_address, caller, attempt, dependencies)
    fetch = FetchRequest(client=dependencies.http_client, own=address.own)
    sign_in = await grants.exchange_code(attempt, code, fetch=fetch, now=dependencies.clock())
    await run_in_database_thread(_store_sign_in, caller, attempt.key, sign_in, sealer)
    await run_in_database_thread(
        discoveries.request_discovery, [attempt.key.server], at=dependencies.clock()
    )
    return attempt.key, sign_in


async def forget_sign_in(
    caller: Caller, server: RemoteServer, *, dependencies: SignInDependencies
) -> bool | None:
    """Delete a sign-in and revoke its tokens.

    Returns:
        Whether the authorization server revoked them; None if there was no sign-in.
    """
    key = require_sign_in_key(caller, server)
    existed, sign_in = await run_in_database_thread(
        _remove_sign_in, caller, key, dependencies.sealer
    )
    if sign_in is None:
        return False if existed else None
    own = resolve_address(server.spec, dependencies.environ).own
    return await grants.revoke_tokens(
        sign_in, fetch=FetchRequest(client=dependencies.http_client, own=own)
    )


def describe_forgotten(revoked: bool | None) -> str:
    """Describe the outcome of `forget_sign_in` in a sentence."""
    if revoked is None:
        return "There was no sign-in."
    if revoked:
        return "Forgotten; the authorization server revoked the tokens."
    return "Forgotten here; the authorization server did not confirm that the tokens are revoked."


def _require_remote(server: RemoteServer) -> None:
    if server.spec.transport == "stdio":
        raise SignInNotApplicable(
            f"server {server.name!r} is started by a command; only remote servers take a sign-in"
        )


def _make_client_identity(
    server: RemoteServer, earlier: tuple[SignIn, ...], document: str
) -> clients.ClientIdentity:
    """Return the client identities available for the server's authorization server."""
    entered_for = next(
        (
            sign_in.server.issuer
            for sign_in in earlier
            if sign_in.client.source == "entered" and sign_in.client.client_id == server.client_id
        ),
        "",
    )
    return clients.ClientIdentity(
        client_id=server.client_id,
        secret=server.client_secret or None,
        entered_for=entered_for,
        document=document,
        known={
            sign_in.server.issuer: sign_in.client
            for sign_in in reversed(earlier)
            if sign_in.client.source == "dynamic"
        },
    )


def _resolve_attempt_address(
    caller: Caller, attempt: PendingSignIn, dependencies: SignInDependencies
) -> RemoteAddress:
    """Return the address of an attempt's server; fail if its mode was changed meanwhile."""
    server = find_server(caller, sealer=dependencies.sealer, name=attempt.key.server)
    if require_sign_in_key(caller, server) != attempt.key:
        raise SignInFailed("the server's sign-in mode was changed meanwhile; start again")
    return resolve_address(server.spec, dependencies.environ)


def _load_former_sign_in(key: SignInKey, sealer: Sealer) -> SignIn | None:
    """Return the sign-in that a new one replaces; None if there is none or it cannot be opened."""
    try:
        stored = sign_ins.load_sign_in(key, sealer=sealer)
    except UnsealingFailed:
        return None
    return stored.sign_in if stored else None


def _store_sign_in(caller: Caller, key: SignInKey, sign_in: SignIn, sealer: Sealer) -> None:
    with transaction.atomic():
        sign_ins.store_sign_in(key, sign_in, sealer=sealer)
        audit.record_audit(caller, "sign_in.made", key.server, detail={"for": key.user or "all"})


def _remove_sign_in(caller: Caller, key: SignInKey, sealer: Sealer) -> tuple[bool, SignIn | None]:
    with transaction.atomic():
        existed, sign_in = sign_ins.delete_sign_in(key, sealer=sealer)
        if existed:
            detail = {"for": key.user or "all"}
            audit.record_audit(caller, "sign_in.forgotten", key.server, detail=detail)
        return existed, sign_in
