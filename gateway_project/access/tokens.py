"""API tokens: made once, shown once, kept as digests."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils import timezone

from gateway_project.foundation.caller import Caller
from gateway_project.models import ApiToken

MARK = "fgt_"
TOKEN_BYTES = 32
PREFIX_LENGTH = 8
SCOPES = ("metrics",)


def digest(token: str) -> str:
    """SHA-256 of a token; a fast hash is right for 256 random bits, which cannot be guessed."""
    return hashlib.sha256(token.encode()).hexdigest()


def create(
    user: Any, *, name: str, scopes: Sequence[str], expires_at: datetime | None = None
) -> tuple[ApiToken, str]:
    """Make a token.

    Returns:
        The stored row, and the token in clear, which cannot be had again.
    """
    token = MARK + secrets.token_urlsafe(TOKEN_BYTES)
    row = ApiToken.objects.create(
        user=user,
        name=name,
        prefix=token[:PREFIX_LENGTH],
        digest=digest(token),
        scopes=list(scopes),
        expires_at=expires_at,
    )
    return row, token


def authenticate(token: str) -> Caller | None:
    """Return the caller a token stands for; None if it is unknown, expired or revoked."""
    row = (
        ApiToken.objects.select_related("user")
        .filter(
            Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now()),
            digest=digest(token),
            revoked_at__isnull=True,
            user__is_active=True,
        )
        .first()
    )
    if row is None:
        return None
    return Caller(
        user=row.user.get_username(),
        team=row.team_id,
        scopes=frozenset(row.scopes),
        kind="http",
    )
