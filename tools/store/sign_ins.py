"""Stored, sealed sign-ins to remote servers, and pending sign-in attempts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, cast

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Q, QuerySet

from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from tools.models import Server, ServerSignIn, SignInAttempt
from tools.store import launches, servers
from tools.upstream.oauth import values
from tools.upstream.oauth.values import PendingSignIn, SignIn, SignInKey, StoredSignIn
from tools.upstream.spec import ServerSpec
from tools.upstream.written_secrets import redact_url

ATTEMPT_LIFETIME = timedelta(minutes=10)
"""Enough to find a password and a second factor, but short for a secret in a browser."""

_OF_NO_INACTIVE_USER = ~Q(user__is_active=False)

SignInMode = Literal["none", "oauth", "oauth_per_user"]


class NoSuchSignIn(LookupError):
    """The server or user of a sign-in does not exist."""


@dataclass(frozen=True, kw_only=True)
class RemoteServer:
    """A server with its sign-in settings.

    Attributes:
        pk: Its primary key.
        name: Its name.
        team: Team that sees it; None: all do.
        spec: How it is reached.
        mode: Whether it uses a sign-in, shared or per user.
        client_id: As entered by a person; may be empty.
        client_secret: Likewise.
        scopes: Likewise.
    """

    pk: int
    name: str
    team: int | None
    spec: ServerSpec
    mode: SignInMode
    client_id: str
    client_secret: str = field(repr=False)
    scopes: str


@dataclass(frozen=True, kw_only=True)
class SignInOverview:
    """A sign-in without its secrets, for people.

    Attributes:
        user: Its user; empty: shared by all.
        issuer: The authorization server.
        scope: The granted scopes.
        wanted: Scopes that the server has demanded since.
        expires_at: Expiry of the access token; None: unknown.
        renews: Whether there is a refresh token.
        ended: Why it is no longer usable; empty: it is.
        updated_at: When tokens were last stored.
    """

    user: str
    issuer: str
    scope: str
    wanted: str
    expires_at: datetime | None
    renews: bool
    ended: str
    updated_at: datetime


def find_server(*, sealer: Sealer, name: str = "", pk: int | None = None) -> RemoteServer:
    """Return a server by name or primary key.

    Raises:
        NoSuchSignIn: If there is none.
        UnsealingFailed: If its secrets cannot be opened.
    """
    key = {"pk": pk} if pk is not None else {"name": name}
    row = Server.objects.filter(**key).first()
    if row is None:
        raise NoSuchSignIn(f"no server {name!r}; `manage.py status` lists the servers")
    secret = row.oauth_client_secret_sealed
    with launches.name_unreadable(row):
        return RemoteServer(
            pk=row.pk,
            name=row.name,
            team=row.team_id,
            spec=ServerSpec(
                name=row.name,
                transport=cast(Any, row.transport),
                env=launches.open_env(row, sealer),
                url=launches.open_url(row, sealer),
                headers=servers.open_headers(row, sealer),
                private_network=row.private_network,
            ),
            mode=cast(SignInMode, row.authorization),
            client_id=row.oauth_client_id,
            client_secret=str(sealer.unseal(secret)) if secret else "",
            scopes=row.oauth_scopes,
        )


def load_sign_in_servers() -> tuple[tuple[int, str, int | None], ...]:
    """Return primary key, name and team of each enabled server with a sign-in, by name."""
    rows = Server.objects.filter(enabled=True).exclude(authorization="none").order_by("name")
    return tuple(rows.values_list("pk", "name", "team_id"))


def set_mode(pk: int, mode: SignInMode) -> None:
    """Set whether a server uses a sign-in, shared or per user."""
    Server.objects.filter(pk=pk).update(authorization=mode)


def load_sign_in(key: SignInKey, *, sealer: Sealer) -> StoredSignIn | None:
    """Return a sign-in; None if there is none, or its user is deactivated.

    Raises:
        UnsealingFailed: If the installation's keys do not open it.
    """
    row = _sign_in_rows(key).filter(_OF_NO_INACTIVE_USER).first()
    return _open_stored(row, sealer) if row else None


def load_changed(
    known: Mapping[SignInKey, datetime], *, sealer: Sealer
) -> dict[SignInKey, StoredSignIn | None]:
    """Return the known sign-ins that changed since; None for those that `load_sign_in` lacks.

    Raises:
        UnsealingFailed: If the installation's keys do not open one.
    """
    names = {key.server for key in known}
    rows = ServerSignIn.objects.filter(_OF_NO_INACTIVE_USER, server__name__in=names)
    rows = rows.select_related("server", "user")
    present = {_row_key(row): row for row in rows}
    return {
        key: _open_stored(present[key], sealer) if key in present else None
        for key, at in known.items()
        if key not in present or present[key].updated_at > at
    }


def store_sign_in(key: SignInKey, sign_in: SignIn, *, sealer: Sealer) -> StoredSignIn:
    """Store a new sign-in in place of any other with its key.

    Raises:
        NoSuchSignIn: If its server or user no longer exists.
    """
    owner: dict[str, Any] = {"server_id": _server_pk(key), "user_id": _user_pk(key)}
    row, _ = ServerSignIn.objects.update_or_create(
        **owner, defaults=_seal_columns(sign_in, sealer)
    )
    return StoredSignIn(sign_in=sign_in, written_at=row.updated_at)


def replace_sign_in(
    key: SignInKey, sign_in: SignIn, *, instead_of: SignIn, sealer: Sealer
) -> StoredSignIn | None:
    """Replace a sign-in; do nothing and return None if it changed meanwhile."""
    with transaction.atomic():
        row = _sign_in_rows(key).select_for_update(of=("self",)).first()
        if row is None:
            return None
        if _open_stored(row, sealer).sign_in.tokens.access != instead_of.tokens.access:
            return None
        for name, value in _seal_columns(sign_in, sealer).items():
            setattr(row, name, value)
        row.save()
        return StoredSignIn(sign_in=sign_in, written_at=row.updated_at)


def delete_sign_in(key: SignInKey, *, sealer: Sealer) -> tuple[bool, SignIn | None]:
    """Delete a sign-in; return whether there was one, and the sign-in, to revoke its tokens.

    One that can no longer be opened is deleted too; its tokens are lost.
    """
    with transaction.atomic():
        row = _sign_in_rows(key).select_for_update(of=("self",)).first()
        if row is None:
            return False, None
        opened = _open_all([row], sealer)
        row.delete()
        return True, opened[0] if opened else None


def load_server_sign_ins(name: str, *, sealer: Sealer) -> tuple[SignIn, ...]:
    """Return all sign-ins of a server that can be opened, newest first."""
    rows = ServerSignIn.objects.filter(server__name=name).order_by("-updated_at")
    return tuple(_open_all(rows, sealer))


def load_overview(name: str, *, sealer: Sealer) -> tuple[SignInOverview, ...]:
    """Return a server's sign-ins without secrets, by user."""
    rows = ServerSignIn.objects.filter(server__name=name).select_related("server", "user")
    found = []
    for row in rows.order_by("user__username"):
        sign_in, problem = None, ""
        try:
            sign_in = _open_stored(row, sealer).sign_in
        except UnsealingFailed as error:
            problem = str(error)
        found.append(
            SignInOverview(
                user=_row_key(row).user,
                issuer=row.issuer,
                scope=sign_in.tokens.scope if sign_in else "",
                wanted=sign_in.wanted if sign_in else "",
                expires_at=row.expires_at,
                renews=sign_in is not None and sign_in.tokens.refresh is not None,
                ended=sign_in.ended if sign_in else problem,
                updated_at=row.updated_at,
            )
        )
    return tuple(found)


def store_attempt(
    state: str, attempt: PendingSignIn, *, by: str, at: datetime, sealer: Sealer
) -> None:
    """Store a pending sign-in until the browser returns; expired ones are deleted.

    Args:
        state: The `state` parameter; only its digest is stored.
        attempt: The pending sign-in.
        by: Name of the user who began it, the only one who may finish it.
        at: Current time.
        sealer: Seals it.

    Raises:
        NoSuchSignIn: If its server or user no longer exists.
    """
    SignInAttempt.objects.filter(expires_at__lte=at).delete()
    SignInAttempt.objects.create(
        state_digest=_state_digest(state),
        server_id=_server_pk(attempt.key),
        user_id=_user_pk(SignInKey(attempt.key.server, by)),
        sealed=sealer.seal(values.dump_value(attempt)),
        expires_at=at + ATTEMPT_LIFETIME,
    )


def take_attempt(state: str, *, by: str, at: datetime, sealer: Sealer) -> PendingSignIn | None:
    """Return and delete a pending sign-in; None if unknown, another user's, used or expired.

    Raises:
        UnsealingFailed: If the installation's keys do not open it.
    """
    with transaction.atomic():
        row = (
            SignInAttempt.objects.select_for_update()
            .filter(state_digest=_state_digest(state), user__username=by, expires_at__gt=at)
            .first()
        )
        if row is None:
            return None
        row.delete()
    return values.parse_value(PendingSignIn, sealer.unseal(row.sealed))


def _sign_in_rows(key: SignInKey) -> QuerySet[ServerSignIn]:
    rows = ServerSignIn.objects.select_related("server", "user").filter(server__name=key.server)
    return rows.filter(user__username=key.user) if key.user else rows.filter(user=None)


def _row_key(row: ServerSignIn) -> SignInKey:
    return SignInKey(row.server.name, row.user.get_username() if row.user else "")


def _open_stored(row: ServerSignIn, sealer: Sealer) -> StoredSignIn:
    return StoredSignIn(
        sign_in=values.parse_value(SignIn, sealer.unseal(row.sealed)), written_at=row.updated_at
    )


def _open_all(rows: Iterable[ServerSignIn], sealer: Sealer) -> list[SignIn]:
    found = []
    for row in rows:
        try:
            found.append(_open_stored(row, sealer).sign_in)
        except UnsealingFailed:
            continue
    return found


def _seal_columns(sign_in: SignIn, sealer: Sealer) -> dict[str, Any]:
    return {
        "issuer": sign_in.server.issuer,
        "resource": redact_url(sign_in.resource),
        "sealed": sealer.seal(values.dump_value(sign_in)),
        "expires_at": sign_in.tokens.expires_at,
    }


def _server_pk(key: SignInKey) -> int:
    pk = Server.objects.filter(name=key.server).values_list("pk", flat=True).first()
    if pk is None:
        raise NoSuchSignIn(f"no server {key.server!r}; `manage.py status` lists the servers")
    return pk


def _user_pk(key: SignInKey) -> int | None:
    if not key.user:
        return None
    users = get_user_model().objects.filter(username=key.user, is_active=True)
    pk: int | None = users.values_list("pk", flat=True).first()
    if pk is None:
        raise NoSuchSignIn(f"no active user {key.user!r}")
    return pk


def _state_digest(state: str) -> str:
    return hashlib.sha256(state.encode("utf-8", "replace")).hexdigest()
