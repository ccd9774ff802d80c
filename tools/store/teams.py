"""Stores teams and who belongs to them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import CASCADE, Count, Exists, Q, QuerySet

from gateway_project.foundation.caller import Contributor
from gateway_project.foundation.user_error import UserError
from tools.models import Membership, Team


class UnknownTeam(UserError, LookupError):
    """There is no such team, or the caller may not know of it."""

    code = "unknown_team"

    def __init__(self, team: str | int) -> None:
        super().__init__(f"there is no team {team!r}")


def exist() -> Exists:
    """Return the condition that there is any team; it costs a query of its own nowhere."""
    return Exists(Team.objects.all())


def select_teams() -> QuerySet[Team]:
    """Return all teams with the numbers of their `members` and `servers`; unordered."""
    return Team.objects.annotate(
        members=Count("memberships", distinct=True), server_count=Count("servers", distinct=True)
    )


def find_private_team(username: str) -> int | None:
    """Return the primary key of a user's private team; None if there is no such user."""
    rows = Team.with_private.filter(person__username=username)
    return rows.values_list("pk", flat=True).first()


def find_contributor(username: str, team: int | None) -> Contributor:
    """Return whose knowledge becomes what a user did for a team; None: for none."""
    person = find_private_team(username)
    return Contributor(person if team is None else team, person)


def load_team_name(pk: int) -> str | None:
    """Return the name of a team; None if there is none."""
    return Team.objects.filter(pk=pk).values_list("name", flat=True).first()


def count_members(team: int) -> int:
    """Return the number of members of a team; none belongs to a private one."""
    return Membership.objects.filter(team=team).count()


def requires_second_person(pk: int | None, username: str) -> bool:
    """Whether a user may not approve their own calls for a team.

    Without a team the strictest of theirs decides: leaving it out escapes no rule.

    Args:
        pk: Of the team that the call is for; None: for none.
        username: Of the user.
    """
    whose = Q(memberships__user__username=username) if pk is None else Q(pk=pk)
    return Team.objects.filter(whose, requires_second_person=True).exists()


def select_members(team: int) -> QuerySet[Membership]:
    """Return the memberships in a team with their users; unordered."""
    return Membership.objects.filter(team=team).select_related("user")


def set_member(username: str, team: int, *, role: str) -> bool:
    """Make a user a member of a team in a role; return whether that changed anything."""
    row = Membership.objects.filter(user__username=username, team=team).first()
    if row is not None and row.role == role:
        return False
    if row is None:
        user = get_user_model().objects.get(username=username)
        row = Membership(user=user, team_id=team)
    row.role = role
    row.save()
    return True


def remove_member(username: str, team: int) -> bool:
    """Take a user out of a team; return whether they were in it."""
    count, _ = Membership.objects.filter(user__username=username, team=team).delete()
    return bool(count)


def rename_team(pk: int, name: str) -> None:
    """Rename a team; what belongs to it stays.

    Raises:
        django.core.exceptions.ValidationError: If the name is invalid or taken.
    """
    row = Team.objects.select_for_update().get(pk=pk)
    row.name = name
    row.full_clean()
    row.save(update_fields=["name"])


def count_owned(pk: int) -> dict[str, int]:
    """Return how many rows belong to a team and would be deleted with it, by kind, without none.

    The key is what people call the rows, in the plural.
    """
    found: dict[str, int] = {}
    for relation in Team._meta.get_fields(include_hidden=True):
        on_delete: Any = getattr(relation, "on_delete", None)
        if not relation.auto_created or on_delete is not CASCADE:
            continue
        model: Any = relation.related_model
        name = relation.field.name  # type: ignore[union-attr]
        if count := model._default_manager.filter(**{name: pk}).count():
            found[str(model._meta.verbose_name_plural)] = count
    return found
