"""Creates and revokes tokens for named users, with audit entries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone

from gateway_project.access import audit, callers, tokens
from gateway_project.foundation.caller import CLIENT_SCOPES, SCOPE_ALL, Caller
from gateway_project.foundation.user_error import UserError
from gateway_project.models import ApiToken
from tools.store import tool_groups


class TokenNotGrantable(UserError):
    """The token cannot be created; the message says why."""

    code = "token_not_grantable"


class UnknownToken(UserError, LookupError):
    """There is no such token."""

    code = "unknown_token"

    def __init__(self, pk: int) -> None:
        super().__init__(f"there is no token {pk}")


@dataclass(frozen=True, kw_only=True)
class NewToken:
    """A new token.

    Attributes:
        pk: Primary key.
        token: In plain text; it cannot be shown again.
        user: The user it authenticates.
        team: Name of the team it acts for; None: for none.
        scopes: Its scopes.
        expires_at: Expiry; None: never.
    """

    pk: int
    token: str
    user: str
    team: str | None
    scopes: tuple[str, ...]
    expires_at: datetime | None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON for a command's report."""
        return {
            "id": self.pk,
            "token": self.token,
            "user": self.user,
            "scopes": list(self.scopes),
            "expires_at": self.expires_at.isoformat() if self.expires_at else None,
        }


def create_user_token(  # noqa: PLR0913 - each is a choice of the person
    username: str,
    *,
    name: str,
    scopes: tuple[str, ...],
    team: str | None = None,
    group: str | None = None,
    expires_at: datetime | None = None,
    by: Caller | None = None,
) -> NewToken:
    """Create a token for a user and audit it.

    Args:
        username: The user it authenticates.
        name: Label for people.
        scopes: Its scopes.
        team: Name of the team it acts for; None: the user's only one, if there is exactly one.
        group: Name of the tool group outside which no tool exists for it; None: none.
        expires_at: Expiry; None: never.
        by: Who creates it, who must hold the scopes too, and may create tokens of others only as
            a superuser; None: the user, on this machine.

    Raises:
        TokenNotGrantable: If the user, team or group is unknown, or somebody lacks a scope.
    """
    try:
        holder = callers.caller_for_user(username, kind="command")
    except callers.UnknownUser as error:
        reason = str(error) if by is None else f"there is no active user {username!r}"
        raise TokenNotGrantable(reason) from None
    missing = [scope for scope in scopes if not holder.has_scope(scope)]
    if missing:
        raise TokenNotGrantable(
            f"{username} may not do {', '.join(missing)}, so no token of theirs may"
        )
    if by is not None:
        _require_grantable(by, username, scopes)
    user = get_user_model().objects.get(username=username)
    acts_for = _find_team(user, name=team, by=by)
    limited_to = None if group is None else _find_group(group, team=acts_for, scopes=scopes)
    with transaction.atomic():
        row, token = tokens.create_token(
            user,
            name=name,
            scopes=scopes,
            expires_at=expires_at,
            team=acts_for,
            group=limited_to,
        )
        detail = {
            "user": username,
            "scopes": row.scopes,
            "team": row.team.name if row.team else None,
            "group": group,
        }
        audit.record_audit(by or holder, "token.created", str(row), detail=detail)
    return NewToken(
        pk=row.pk,
        token=token,
        user=username,
        team=detail["team"],
        scopes=scopes,
        expires_at=expires_at,
    )


def revoke_token(caller: Caller, pk: int) -> None:
    """Revoke a token at once; its row is kept. A revoked one stays as it is.

    Raises:
        UnknownToken: If there is none that the caller may know of.
    """
    if not tokens.select_visible(caller).filter(pk=pk).exists():
        raise UnknownToken(pk)
    with transaction.atomic():
        row = ApiToken.objects.select_for_update().filter(pk=pk).first()
        if row is None:
            raise UnknownToken(pk)
        if row.revoked_at is None:
            row.revoked_at = timezone.now()
            row.save(update_fields=["revoked_at"])
            audit.record_audit(caller, "token.revoked", str(row))


def _require_grantable(by: Caller, username: str, scopes: tuple[str, ...]) -> None:
    if by.user != username and not by.has_scope(SCOPE_ALL):
        raise TokenNotGrantable("only a superuser may create tokens of other users")
    missing = [scope for scope in scopes if not by.has_scope(scope)]
    if missing:
        raise TokenNotGrantable(f"you may not do {', '.join(missing)}, so no token of yours may")


def _find_group(name: str, *, team: Any, scopes: tuple[str, ...]) -> Any:
    """Return the tool group that a token is limited to."""
    group = tool_groups.find_group(name, team=team.pk if team else None)
    if group is None:
        raise TokenNotGrantable(f"there is no tool group {name!r} for the token's team")
    if beyond := sorted(set(scopes) - set(CLIENT_SCOPES)):
        raise TokenNotGrantable(
            f"a token limited to a tool group may not have {', '.join(beyond)}, which reach "
            "beyond it"
        )
    return group


def _find_team(user: Any, *, name: str | None, by: Caller | None) -> Any:
    """Return the team a token acts for; one that is created with a token acts for the same."""
    teams = [membership.team for membership in user.memberships.select_related("team")]
    if by is not None and by.kind == "http" and not by.has_scope(SCOPE_ALL):
        own = next((team for team in teams if team.pk == by.team), None)
        if name not in (None, own.name if own else None):
            raise TokenNotGrantable("a token creates only tokens that act for the same team")
        return own
    if name is None:
        return teams[0] if len(teams) == 1 else None
    for team in teams:
        if team.name == name:
            return team
    raise TokenNotGrantable(f"{user.get_username()} is in no team {name!r}")
