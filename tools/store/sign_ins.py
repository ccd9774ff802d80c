"""Sign-ins to remote servers, sealed; and those that were begun and wait for a browser."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, cast

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import QuerySet

from gateway_project.foundation.sealing import SealBroken, Sealer
from tools.models import Server, ServerSignIn, SignInAttempt
from tools.store import servers
from tools.upstream.oauth import values
from tools.upstream.oauth.keeping import Kept
from tools.upstream.oauth.values import Attempt, Key, SignIn
from tools.upstream.spec import ServerSpec

ATTEMPT_LIFETIME = timedelta(minutes=10)
"""Long enough to find a password and a second factor, short enough for a secret in a browser."""

Mode = Literal["none", "oauth", "oauth_per_user"]


class NoSuchSignIn(LookupError):
    """A server or user that a sign-in would belong to is not there."""


@dataclass(frozen=True, kw_only=True)
class RemoteServer:
    """A server as far as signing in to it is concerned.

    Attributes:
        pk: Its primary key.
        name: Its name.
        team: Team that sees it; None: all do.
        spec: How it is reached.
        mode: Whether it is called with tokens of a sign-in, and whose.
        client_id: As a person entered it; empty: nobody did.
        client_secret: Likewise.
        scopes: Likewise.
    """

    pk: int
    name: str
    team: int | None
    spec: ServerSpec
    mode: Mode
    client_id: str
    client_secret: str = field(repr=False)
    scopes: str


@dataclass(frozen=True, kw_only=True)
class Overview:
    """What people may see of a sign-in.

    Attributes:
        user: Whose it is; empty: used by all.
        issuer: Authorization server that granted it.
        scope: What was granted.
        wanted: What the server has asked for since.
        expires_at: End of the access token; None: not said.
        renews: Whether it is renewed without a person.
        ended: Why it cannot be used any more; empty: it can.
        updated_at: When tokens came last.
    """

    user: str
    issuer: str
    scope: str
    wanted: str
    expires_at: datetime | None
    renews: bool
    ended: str
    updated_at: datetime


def server(*, sealer: Sealer, name: str = "", pk: int | None = None) -> RemoteServer:
    """Return a server by name or primary key.

    Raises:
        NoSuchSignIn: If there is none.
        SealBroken: If its secrets cannot be opened.
    """
    chosen = {"pk": pk} if pk is not None else {"name": name}
    row = Server.objects.filter(**chosen).first()
    if row is None:
        raise NoSuchSignIn(f"no server {name!r}; `manage.py status` lists the servers")
    secret = row.oauth_client_secret_sealed
    return RemoteServer(
        pk=row.pk,
        name=row.name,
        team=row.team_id,
        spec=ServerSpec(
            name=row.name,
            transport=cast(Any, row.transport),
            url=row.url,
            headers=servers.open_headers(row, sealer),
            private_network=row.private_network,
        ),
        mode=cast(Mode, row.authorization),
        client_id=row.oauth_client_id,
        client_secret=str(sealer.open(secret)) if secret else "",
        scopes=row.oauth_scopes,
    )


def with_sign_in() -> tuple[tuple[int, str, int | None], ...]:
    """Return primary key, name and team of each enabled server that is signed in to, by name."""
    rows = Server.objects.filter(enabled=True).exclude(authorization="none").order_by("name")
    return tuple(rows.values_list("pk", "name", "team_id"))


def set_mode(pk: int, mode: Mode) -> None:
    """Say whether a server is called with tokens of a sign-in, and whose."""
    Server.objects.filter(pk=pk).update(authorization=mode)


def load(key: Key, *, sealer: Sealer) -> Kept | None:
    """Return a sign-in; None if there is none.

    Raises:
        SealBroken: If the installation's keys do not open it.
    """
    row = _rows(key).first()
    return _kept(row, sealer) if row else None


def newer(known: Mapping[Key, datetime], *, sealer: Sealer) -> dict[Key, Kept | None]:
    """Return those of the known sign-ins that were changed since; None for those that are gone.

    Raises:
        SealBroken: If the installation's keys do not open one.
    """
    names = {key.server for key in known}
    rows = ServerSignIn.objects.filter(server__name__in=names).select_related("server", "user")
    present = {_key(row): row for row in rows}
    return {
        key: _kept(present[key], sealer) if key in present else None
        for key, at in known.items()
        if key not in present or present[key].updated_at > at
    }


def put(key: Key, sign_in: SignIn, *, sealer: Sealer) -> Kept:
    """Store a sign-in that was just made, in place of any other.

    Raises:
        NoSuchSignIn: If its server or user has gone.
    """
    whose: dict[str, Any] = {"server_id": _server_pk(key), "user_id": _user_pk(key)}
    row, _ = ServerSignIn.objects.update_or_create(**whose, defaults=_columns(sign_in, sealer))
    return Kept(sign_in=sign_in, at=row.updated_at)


def save(key: Key, sign_in: SignIn, *, instead_of: SignIn, sealer: Sealer) -> Kept | None:
    """Replace a sign-in; None, and nothing is done, if another stands there by now."""
    with transaction.atomic():
        row = _rows(key).select_for_update(of=("self",)).first()
        if row is None:
            return None
        if _kept(row, sealer).sign_in.tokens.access != instead_of.tokens.access:
            return None
        for name, value in _columns(sign_in, sealer).items():
            setattr(row, name, value)
        row.save()
        return Kept(sign_in=sign_in, at=row.updated_at)


def remove(key: Key, *, sealer: Sealer) -> tuple[bool, SignIn | None]:
    """Delete a sign-in; return whether there was one, and what it was, to give its tokens back.

    One that no key opens any more is deleted all the same; its tokens are lost.
    """
    with transaction.atomic():
        row = _rows(key).select_for_update(of=("self",)).first()
        if row is None:
            return False, None
        opened = _openable([row], sealer)
        row.delete()
        return True, opened[0] if opened else None


def of_server(name: str, *, sealer: Sealer) -> tuple[SignIn, ...]:
    """Return all sign-ins of a server, the newest first; those that no key opens are left out."""
    rows = ServerSignIn.objects.filter(server__name=name).order_by("-updated_at")
    return tuple(_openable(rows, sealer))


def overview(name: str, *, sealer: Sealer) -> tuple[Overview, ...]:
    """Return what people may see of a server's sign-ins, by user."""
    rows = ServerSignIn.objects.filter(server__name=name).select_related("server", "user")
    found = []
    for row in rows.order_by("user__username"):
        try:
            sign_in = _kept(row, sealer).sign_in
        except SealBroken as error:
            found.append(_unopened(row, str(error)))
            continue
        found.append(
            Overview(
                user=_key(row).user,
                issuer=row.issuer,
                scope=sign_in.tokens.scope,
                wanted=sign_in.wanted,
                expires_at=row.expires_at,
                renews=sign_in.tokens.refresh is not None,
                ended=sign_in.ended,
                updated_at=row.updated_at,
            )
        )
    return tuple(found)


def begin(state: str, attempt: Attempt, *, by: str, at: datetime, sealer: Sealer) -> None:
    """Store what was begun until its browser comes back; what was never finished is dropped.

    Args:
        state: What the browser will bring; only its digest is kept.
        attempt: What was begun.
        by: Name of the user who began it, who alone may finish it.
        at: Now.
        sealer: Seals it.

    Raises:
        NoSuchSignIn: If its server or user has gone.
    """
    SignInAttempt.objects.filter(expires_at__lte=at).delete()
    SignInAttempt.objects.create(
        state_digest=_digest(state),
        server_id=_server_pk(attempt.key),
        user_id=_user_pk(Key(attempt.key.server, by)),
        sealed=sealer.seal(values.dump(attempt)),
        expires_at=at + ATTEMPT_LIFETIME,
    )


def take(state: str, *, by: str, at: datetime, sealer: Sealer) -> Attempt | None:
    """Return what was begun, once; None if it is unknown, another user's, used or too old.

    Raises:
        SealBroken: If the installation's keys do not open it.
    """
    with transaction.atomic():
        row = (
            SignInAttempt.objects.select_for_update()
            .filter(state_digest=_digest(state), user__username=by, expires_at__gt=at)
            .first()
        )
        if row is None:
            return None
        row.delete()
    return values.parse(Attempt, sealer.open(row.sealed))


def _rows(key: Key) -> QuerySet[ServerSignIn]:
    rows = ServerSignIn.objects.select_related("server", "user").filter(server__name=key.server)
    return rows.filter(user__username=key.user) if key.user else rows.filter(user=None)


def _key(row: ServerSignIn) -> Key:
    return Key(row.server.name, row.user.get_username() if row.user else "")


def _kept(row: ServerSignIn, sealer: Sealer) -> Kept:
    return Kept(sign_in=values.parse(SignIn, sealer.open(row.sealed)), at=row.updated_at)


def _openable(rows: Iterable[ServerSignIn], sealer: Sealer) -> list[SignIn]:
    found = []
    for row in rows:
        try:
            found.append(_kept(row, sealer).sign_in)
        except SealBroken:
            continue
    return found


def _unopened(row: ServerSignIn, why: str) -> Overview:
    return Overview(
        user=_key(row).user,
        issuer=row.issuer,
        scope="",
        wanted="",
        expires_at=row.expires_at,
        renews=False,
        ended=why,
        updated_at=row.updated_at,
    )


def _columns(sign_in: SignIn, sealer: Sealer) -> dict[str, Any]:
    return {
        "issuer": sign_in.server.issuer,
        "resource": sign_in.resource,
        "sealed": sealer.seal(values.dump(sign_in)),
        "expires_at": sign_in.tokens.expires_at,
    }


def _server_pk(key: Key) -> int:
    pk = Server.objects.filter(name=key.server).values_list("pk", flat=True).first()
    if pk is None:
        raise NoSuchSignIn(f"no server {key.server!r}; `manage.py status` lists the servers")
    return pk


def _user_pk(key: Key) -> int | None:
    if not key.user:
        return None
    users = get_user_model().objects.filter(username=key.user, is_active=True)
    pk: int | None = users.values_list("pk", flat=True).first()
    if pk is None:
        raise NoSuchSignIn(f"no active user {key.user!r}")
    return pk


def _digest(state: str) -> str:
    return hashlib.sha256(state.encode("utf-8", "replace")).hexdigest()
