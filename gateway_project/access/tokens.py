"""API tokens: made once, shown once, kept as digests."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import Error as DatabaseError
from django.db.models import F, Q
from django.utils import timezone

from gateway_project.access.standing import Standing, TokensUnavailable
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.reasons import first_line
from gateway_project.models import ApiToken

if TYPE_CHECKING:
    from tools.models import Team

MARK = "fgt_"
TOKEN_BYTES = 32
PREFIX_LENGTH = 8
CLIENT_SCOPES = ("search", "call", "read")
"""What an MCP client asks for: look for tools, call them, read resources and prompts."""
SCOPES = (*CLIENT_SCOPES, "metrics")
"""What a token can be made for, beside everything."""


def digest(token: str) -> str:
    """SHA-256 of a token; a fast hash is right for 256 random bits, which cannot be guessed."""
    return hashlib.sha256(token.encode()).hexdigest()


def grantable(caller: Caller) -> tuple[str, ...]:
    """Return the scopes that a caller may give to a token: none that they do not hold."""
    return tuple(scope for scope in (*SCOPES, SCOPE_ALL) if caller.may(scope))


def create(
    user: Any,
    *,
    name: str,
    scopes: Sequence[str],
    expires_at: datetime | None = None,
    team: Team | None = None,
) -> tuple[ApiToken, str]:
    """Make a token.

    Args:
        user: Whom it stands for.
        name: What tells it apart for people.
        scopes: What it may do; whoever asks for it must hold them, see `grantable`.
        expires_at: When it stops working; None is never.
        team: Team it acts for; None sees what all share.

    Returns:
        The stored row, and the token in clear, which cannot be had again.
    """
    token = MARK + secrets.token_urlsafe(TOKEN_BYTES)
    row = ApiToken.objects.create(
        user=user,
        team=team,
        name=name,
        prefix=token[:PREFIX_LENGTH],
        digest=digest(token),
        scopes=list(scopes),
        expires_at=expires_at,
    )
    return row, token


def authenticate(token: str) -> Caller | None:
    """Return the caller a token stands for; None if it is unknown, expired or revoked."""
    row = _good().filter(digest=digest(token)).first()
    return _standing(row).caller if row else None


def standings(digests: Collection[str]) -> dict[str, Standing]:
    """Return what tokens stand for, by digest; those that are no good are left out.

    Raises:
        TokensUnavailable: If the database cannot say.
    """
    try:
        return {row.digest: _standing(row) for row in _good().filter(digest__in=digests)}
    except DatabaseError as error:
        raise TokensUnavailable(first_line(error)) from None


def note_used(digests: Collection[str]) -> None:
    """Keep that tokens have just been used.

    Raises:
        TokensUnavailable: If the database cannot be told.
    """
    try:
        ApiToken.objects.filter(digest__in=digests).update(last_used_at=timezone.now())
    except DatabaseError as error:
        raise TokensUnavailable(first_line(error)) from None


def _good() -> Any:
    """Return the tokens that work: those of a team only while their user belongs to it."""
    theirs = Q(team__isnull=True) | Q(user__is_superuser=True)
    return ApiToken.objects.select_related("user").filter(
        theirs | Q(team__memberships__user=F("user")),
        Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now()),
        revoked_at__isnull=True,
        user__is_active=True,
    )


def _standing(row: ApiToken) -> Standing:
    return Standing(
        caller=Caller(
            user=row.user.get_username(), team=row.team_id, scopes=_scopes(row), kind="http"
        ),
        expires_at=row.expires_at.timestamp() if row.expires_at else None,
    )


def _scopes(row: ApiToken) -> frozenset[str]:
    """Return the scopes that count: known ones, and everything only while its user may do that."""
    stored: Any = row.scopes
    if not isinstance(stored, list):
        return frozenset()
    known = (*SCOPES, SCOPE_ALL) if row.user.is_superuser else SCOPES
    return frozenset(scope for scope in known if scope in stored)
