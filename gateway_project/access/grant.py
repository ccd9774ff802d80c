"""Creates tokens for named users, for commands on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from gateway_project.access import audit, callers, tokens


class TokenNotGrantable(Exception):
    """The token cannot be created; the message says why."""


@dataclass(frozen=True, kw_only=True)
class NewToken:
    """A new token.

    Attributes:
        token: In plain text; it cannot be shown again.
        user: The user it authenticates.
        scopes: Its scopes.
        expires_at: Expiry; None: never.
    """

    token: str
    user: str
    scopes: tuple[str, ...]
    expires_at: datetime | None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON for a command's report."""
        return {
            "token": self.token,
            "user": self.user,
            "scopes": list(self.scopes),
            "expires_at": self.expires_at.isoformat() if self.expires_at else None,
        }


def create_user_token(
    username: str,
    *,
    name: str,
    scopes: tuple[str, ...],
    team: str | None = None,
    expires_at: datetime | None = None,
) -> NewToken:
    """Create a token for a user and audit it.

    Args:
        username: The user it authenticates.
        name: Label for people.
        scopes: Its scopes.
        team: Name of the team it acts for; None: the user's only one, if there is exactly one.
        expires_at: Expiry; None: never.

    Raises:
        TokenNotGrantable: If the user is unknown, not in that team, or lacks a scope.
    """
    try:
        holder = callers.caller_for_user(username, kind="command")
    except callers.UnknownUser as error:
        raise TokenNotGrantable(str(error)) from None
    missing = [scope for scope in scopes if not holder.has_scope(scope)]
    if missing:
        raise TokenNotGrantable(
            f"{username} may not do {', '.join(missing)}, so no token of theirs may"
        )
    user = get_user_model().objects.get(username=username)
    with transaction.atomic():
        row, token = tokens.create_token(
            user, name=name, scopes=scopes, expires_at=expires_at, team=_find_team(user, name=team)
        )
        detail = {
            "user": username,
            "scopes": row.scopes,
            "team": row.team.name if row.team else None,
        }
        audit.record_audit(holder, "token.created", str(row), detail=detail)
    return NewToken(token=token, user=username, scopes=scopes, expires_at=expires_at)


def _find_team(user: Any, *, name: str | None) -> Any:
    """Return the team a token acts for."""
    teams = [membership.team for membership in user.memberships.select_related("team")]
    if name is None:
        return teams[0] if len(teams) == 1 else None
    for team in teams:
        if team.name == name:
            return team
    raise TokenNotGrantable(f"{user.get_username()} is in no team {name!r}")
