"""Tokens made by name, by whoever runs commands on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from gateway_project.access import audit, callers, tokens


class NotGrantable(Exception):
    """No such token can be made; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """A new token.

    Attributes:
        token: In clear; cannot be had again.
        user: Whom it stands for.
        scopes: What it may do.
        expires_at: When it ends; None: never.
    """

    token: str
    user: str
    scopes: tuple[str, ...]
    expires_at: datetime | None

    def as_json(self) -> dict[str, Any]:
        """Return it for a report."""
        return {
            "token": self.token,
            "user": self.user,
            "scopes": list(self.scopes),
            "expires_at": self.expires_at.isoformat() if self.expires_at else None,
        }


def to_user(
    username: str,
    *,
    name: str,
    scopes: tuple[str, ...],
    team: str | None = None,
    expires_at: datetime | None = None,
) -> Made:
    """Make a token for a user, and write it down.

    Args:
        username: Whom it stands for.
        name: What tells it apart for people.
        scopes: What it may do.
        team: Name of the team it acts for; None: the only one of the user, if they have one.
        expires_at: When it ends; None: never.

    Raises:
        NotGrantable: If the user is not there, not in that team, or may not do that much.
    """
    try:
        holder = callers.for_user(username, kind="command")
    except callers.UnknownUser as error:
        raise NotGrantable(str(error)) from None
    beyond = [scope for scope in scopes if not holder.may(scope)]
    if beyond:
        raise NotGrantable(f"{username} may not do {', '.join(beyond)}, and so no token of theirs")
    user = get_user_model().objects.get(username=username)
    with transaction.atomic():
        row, token = tokens.create(
            user, name=name, scopes=scopes, expires_at=expires_at, team=_team(user, name=team)
        )
        detail = {
            "user": username,
            "scopes": row.scopes,
            "team": row.team.name if row.team else None,
        }
        audit.record(holder, "token.created", str(row), detail=detail)
    return Made(token=token, user=username, scopes=scopes, expires_at=expires_at)


def _team(user: Any, *, name: str | None) -> Any:
    """Return the team a token acts for."""
    teams = [membership.team for membership in user.memberships.select_related("team")]
    if name is None:
        return teams[0] if len(teams) == 1 else None
    for team in teams:
        if team.name == name:
            return team
    raise NotGrantable(f"{user.get_username()} is in no team {name!r}")
