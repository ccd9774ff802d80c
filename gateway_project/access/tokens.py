"""API tokens: shown once, stored as digests."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import Error as DatabaseError
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from gateway_project.access import oauth_tokens, roles
from gateway_project.access.active_token import ActiveToken, TokensUnavailable
from gateway_project.access.roles import SCOPES
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.reasons import summarize_error
from gateway_project.models import ApiToken
from tools.store import teams

if TYPE_CHECKING:
    from tools.models import Team, ToolGroup

TOKEN_PREFIX = "fgt_"  # noqa: S105 - what every token begins with
TOKEN_BYTES = 32
PREFIX_LENGTH = 8


def hash_token(token: str) -> str:
    """SHA-256 of a token; a fast hash suffices, since 256 random bits cannot be guessed."""
    return hashlib.sha256(token.encode()).hexdigest()


def grantable_scopes(caller: Caller) -> tuple[str, ...]:
    """Return the scopes that a caller may grant to a token: only those they hold."""
    return tuple(scope for scope in (*SCOPES, SCOPE_ALL) if caller.has_scope(scope))


def create_token(
    user: Any,
    *,
    name: str,
    scopes: Sequence[str],
    expires_at: datetime | None = None,
    team: Team | None = None,
    group: ToolGroup | None = None,
) -> tuple[ApiToken, str]:
    """Create a token.

    Args:
        user: The user it authenticates.
        name: Label for people.
        scopes: Its scopes; the requester must hold them, see `grantable_scopes`.
        expires_at: Expiry; None: never.
        team: Team it acts for; None: sees only shared servers.
        group: Tool group that it is limited to; None: none.

    Returns:
        The stored row, and the token in plain text, which cannot be shown again.
    """
    token = TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    row = ApiToken.objects.create(
        user=user,
        team=team,
        tool_group=group,
        name=name,
        prefix=token[:PREFIX_LENGTH],
        digest=hash_token(token),
        scopes=list(scopes),
        expires_at=expires_at,
    )
    return row, token


def authenticate_token(token: str) -> Caller | None:
    """Return the caller of a token; None if it is unknown, expired or revoked."""
    row = _select_usable().filter(digest=hash_token(token)).first()
    return _to_active_token(row).caller if row else None


def load_active_tokens(digests: Collection[str]) -> dict[str, ActiveToken]:
    """Return the valid tokens among some digests, by digest; issued by OAuth, expired ones too.

    Raises:
        TokensUnavailable: If the database is unavailable.
    """
    try:
        found = {
            row.digest: _to_active_token(row)
            for row in _select_usable().filter(digest__in=digests)
        }
        others = set(digests) - set(found)
        if others and settings.FOREGATE.oauth:
            found |= oauth_tokens.load_active_tokens(others)
    except DatabaseError as error:
        raise TokensUnavailable(summarize_error(error)) from None
    return found


def record_use(digests: Collection[str]) -> None:
    """Record that tokens have just been used.

    Raises:
        TokensUnavailable: If the database is unavailable.
    """
    try:
        ApiToken.objects.filter(digest__in=digests).update(last_used_at=timezone.now())
    except DatabaseError as error:
        raise TokensUnavailable(summarize_error(error)) from None


def select_visible(caller: Caller) -> QuerySet[ApiToken]:
    """Return the tokens of the caller's team and the caller's own, with users and teams.

    One of another user without a team is private: only superusers see it.
    """
    rows = ApiToken.objects.select_related("user", "team", "tool_group")
    if caller.has_scope(SCOPE_ALL):
        return rows
    own_team = Q() if caller.team is None else Q(team=caller.team)
    return rows.filter(Q(user__username=caller.user) | own_team)


def count_valid(user: Any) -> int:
    """Count the tokens of a user that work now."""
    return int(_filter_usable().filter(user=user).count())


def select_of_group(group: Any, *, caller: Caller) -> QuerySet[ApiToken]:
    """Return the visible tokens that work now and are limited to a group, with their users."""
    rows: QuerySet[ApiToken] = _filter_usable().filter(
        tool_group=group, pk__in=select_visible(caller).values("pk")
    )
    return rows.order_by("name", "pk")


def is_group_of_others(group: Any, *, caller: Caller) -> bool:
    """Whether a token that works now and is limited to a group is none that the caller sees."""
    rows = _filter_usable().filter(tool_group=group)
    return bool(rows.exclude(pk__in=select_visible(caller).values("pk")).exists())


def count_by_group(caller: Caller) -> dict[int, int]:
    """Count the visible tokens that work now and are limited to a group, by the group's key."""
    rows = _filter_usable().filter(
        tool_group__isnull=False, pk__in=select_visible(caller).values("pk")
    )
    counted = rows.values("tool_group").annotate(count=Count("pk"))
    return {row["tool_group"]: row["count"] for row in counted}


def _select_usable() -> Any:
    """Return the valid tokens, with what their callers need."""
    return (
        _filter_usable()
        .select_related("user", "tool_group")
        .prefetch_related("user__groups")
        .annotate(are_teams_used=teams.exist(), person=F("user__private_team__pk"))
    )


def _filter_usable() -> Any:
    """Return the valid tokens: those of a team only while their user belongs to it."""
    of_a_member = Q(team__memberships__user=F("user"))
    needs_no_membership = Q(team__isnull=True) | Q(user__is_superuser=True)
    return ApiToken.objects.filter(
        needs_no_membership | Exists(ApiToken.objects.filter(of_a_member, pk=OuterRef("pk"))),
        Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now()),
        revoked_at__isnull=True,
        user__is_active=True,
    )


def _to_active_token(row: Any) -> ActiveToken:
    caller = Caller(
        user=row.user.get_username(),
        team=row.team_id,
        person=row.person,
        scopes=roles.limit_scopes(row.scopes, roles.compute_scopes(row.user)),
        kind="http",
        are_teams_used=row.are_teams_used,
    )
    return ActiveToken(
        caller=caller.limit_to_group(row.tool_group.name) if row.tool_group else caller,
        expires_at=row.expires_at.timestamp() if row.expires_at else None,
    )
