"""Create, change and delete people, with permission checks and audit entries.

Superusers may do all of it. An admin of a team, who has the scope `administer` too, may do it to
people who belong to that team alone and may do nothing that the admin may not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from execution.store import runs as run_store
from execution.store import speculations
from gateway_project.access import audit, one_time_password, people, second_factor, tokens
from gateway_project.access.callers import LOCAL_ADMIN
from gateway_project.access.people import Person
from gateway_project.access.roles import (
    ADMINISTER,
    MEMBER_SCOPES,
    ROLES,
    NotPermitted,
    UnknownRole,
    require_scope,
    set_roles,
)
from gateway_project.foundation.access_rules import MEMBER, TEAM_ADMIN
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.user_error import UserError
from gateway_project.use_cases.refusals import InvalidEntry
from tools.store import configuration, teams

CHANGES: Final = ("name", "roles", "is_active", "is_superuser")
"""What `change_person` can change."""


class UnknownPerson(UserError, LookupError):
    """There is no such person, or the caller may not know of them."""

    code = "unknown_person"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no person {name!r}")


@dataclass(frozen=True, kw_only=True)
class NewPassword:
    """A one-time password for a person, which cannot be shown again.

    Attributes:
        person: Name of the person.
        password: It signs them in once.
    """

    person: str
    password: str


def find_person(caller: Caller, name: str) -> Person:
    """Return a person.

    Raises:
        NotPermitted: If the caller lacks the scope.
        UnknownPerson: If there is none for the caller.
    """
    return people.make_person(caller, _find_row(caller, name))


def create_person(
    caller: Caller,
    name: str,
    *,
    roles: Collection[str] = (),
    team: str | None = None,
    team_role: str = MEMBER,
    is_superuser: bool = False,
) -> NewPassword:
    """Create a person, who signs in with a one-time password and then sets a lasting one.

    Args:
        caller: The actor.
        name: User name.
        roles: Their roles; none: what a member may do.
        team: Name of their first team; None: none, or the caller's unless a superuser.
        team_role: Their role in it.
        is_superuser: Whether they may do everything.

    Raises:
        NotPermitted: If the caller may not create such a person.
        InvalidEntry: If a value is invalid; nothing is stored then.
    """
    require_scope(caller, ADMINISTER)
    _require_grantable(caller, roles, is_superuser=is_superuser)
    name = get_user_model().normalize_username(name)
    joins = _find_first_team(caller, team)
    user = get_user_model()(username=name, is_staff=True, is_superuser=is_superuser)
    user.set_unusable_password()
    _check_name(user, name)
    with transaction.atomic():
        _save(user)
        set_roles(user, roles)
        if joins is not None:
            _check_team_role(team_role)
            teams.set_member(name, joins, role=team_role)
        detail = {"roles": sorted(roles), "team": team, "is_superuser": is_superuser}
        audit.record_audit(caller, "user.created", name, detail=detail)
        return _issue_password(caller, user)


def change_person(caller: Caller, name: str, values: Mapping[str, Any]) -> Person:
    """Change a person; return them.

    Args:
        caller: The actor.
        name: Their user name.
        values: Of `CHANGES`; what is missing stays as it is. A new name keeps their runs.

    Raises:
        NotPermitted: If the caller may not change them like that.
        UnknownPerson: If there is none for the caller.
        InvalidEntry: If a value is invalid; nothing is changed then.
    """
    with transaction.atomic():
        user = _find_changeable(caller, name)
        before = people.make_person(caller, user)
        wanted = {key: value for key, value in values.items() if value != getattr(before, key)}
        if "roles" in values and set(values["roles"]) == set(before.roles):
            wanted.pop("roles", None)
        _check_changes(caller, before, wanted)
        if "roles" in wanted:
            set_roles(user, wanted["roles"])
            detail = {"roles": sorted(wanted["roles"])}
            audit.record_audit(caller, "user.roles_changed", name, detail=detail)
        _change_flags(caller, user, wanted)
        if "name" in wanted:
            name = _rename(caller, user, wanted["name"])
        return find_person(caller, name)


def change_roles(caller: Caller, username: str, wanted: Collection[str]) -> bool:
    """Give a user exactly these roles; return False if there is no such user.

    Raises:
        NotPermitted: If the caller is not a superuser.
        UnknownRole: If there is no such role.
    """
    require_scope(caller, SCOPE_ALL)
    with transaction.atomic():
        user = get_user_model().objects.filter(username=username).first()
        if user is None:
            return False
        if set_roles(user, wanted):
            detail = {"roles": sorted(wanted)}
            audit.record_audit(caller, "user.roles_changed", username, detail=detail)
    return True


def issue_password(caller: Caller, name: str, *, has_confirmed: bool = False) -> NewPassword:
    """Issue a one-time password, such as for somebody who has forgotten theirs.

    Args:
        caller: The actor.
        name: The person.
        has_confirmed: Whether the actor has proved lately who they are, as their own needs.

    Raises:
        NotPermitted: If the caller may not change them.
        UnknownPerson: If there is none for the caller.
        ConfirmationRequired: If it is their own, and they have not.
        InvalidEntry: If they are deactivated, or sign in at an identity provider.
    """
    user = _find_changeable(caller, name)
    if not user.is_active:
        raise InvalidEntry(f"{name} is deactivated; reactivate them first")
    if user.is_from_provider:
        raise InvalidEntry(f"{name} signs in at an identity provider, without a password here")
    second_factor.require_confirmation(caller, name, has_confirmed=has_confirmed)
    with transaction.atomic():
        return _issue_password(caller, user)


def reset_second_factor(caller: Caller, name: str, *, has_confirmed: bool = False) -> bool:
    """Remove a person's second factor; return whether there was one.

    Args:
        caller: The actor.
        name: The person.
        has_confirmed: Whether the actor has proved lately who they are, as their own needs.

    Raises:
        NotPermitted: If the caller may not change them.
        UnknownPerson: If there is none for the caller.
        ConfirmationRequired: If it is their own, and they have not.
    """
    _find_changeable(caller, name)
    second_factor.require_confirmation(caller, name, has_confirmed=has_confirmed)
    return second_factor.reset_second_factor(name, by=caller)


def count_owned(caller: Caller, name: str) -> dict[str, int]:
    """Count what a person's deletion concerns.

    Their valid `tokens` stop working; their `runs` are kept, and `unfinished` ones cannot go on.

    Raises:
        NotPermitted: If the caller may not change them.
        UnknownPerson: If there is none for the caller.
    """
    user = _find_changeable(caller, name)
    runs = run_store.count_runs(name)
    count = tokens.count_valid(user)
    return {"tokens": count, "runs": runs.total, "unfinished": runs.unfinished}


def delete_person(caller: Caller, name: str) -> None:
    """Delete a person with their tokens, memberships and sign-ins; their runs are kept.

    Raises:
        NotPermitted: If the caller may not change them.
        UnknownPerson: If there is none for the caller.
        InvalidEntry: If they are needed.
    """
    with transaction.atomic():
        user = _find_changeable(caller, name)
        _require_expendable(caller, people.make_person(caller, user), "delete")
        if name == LOCAL_ADMIN:
            raise InvalidEntry(f"{name} is the user of gateways that clients start; it stays")
        owned = count_owned(caller, name)
        user.delete()
        detail = {"tokens": owned["tokens"], "runs": owned["runs"]}
        audit.record_audit(caller, "user.deleted", name, detail=detail)


def _find_row(caller: Caller, name: str) -> Any:
    require_scope(caller, ADMINISTER)
    row = people.select_people(caller).filter(username=name).first()
    if row is None:
        raise UnknownPerson(name)
    return row


def _find_changeable(caller: Caller, name: str) -> Any:
    row = _find_row(caller, name)
    if not people.may_change_person(caller, row):
        raise NotPermitted(caller, SCOPE_ALL)
    return row


def _require_grantable(caller: Caller, wanted: Collection[str], *, is_superuser: bool) -> None:
    """Check that a caller gives nobody more than they have themselves."""
    if unknown := set(wanted) - set(ROLES):
        raise InvalidEntry(str(UnknownRole(unknown)))
    if is_superuser:
        require_scope(caller, SCOPE_ALL)
    given = [scope for role in wanted for scope in ROLES[role]] or MEMBER_SCOPES
    for scope in given:
        require_scope(caller, scope)


def _find_first_team(caller: Caller, name: str | None) -> int | None:
    if caller.has_scope(SCOPE_ALL):
        try:
            return configuration.find_team(name)
        except LookupError:
            raise InvalidEntry(f"there is no team {name!r}") from None
    own = people.find_administered_team(caller)
    if own is None or name not in (None, teams.load_team_name(own)):
        raise NotPermitted(caller, SCOPE_ALL)
    return own


def _check_team_role(role: str) -> None:
    if role not in (MEMBER, TEAM_ADMIN):
        raise InvalidEntry(f"there is no role {role!r} in a team")


def _check_name(user: Any, name: str) -> None:
    """Check a new user name, which nobody has in any case of letters."""
    try:
        user.username = name
        user.full_clean(exclude=["password"])
    except ValidationError as error:
        raise InvalidEntry("; ".join(error.messages)) from None
    if not name.strip("."):
        raise InvalidEntry("a name needs a letter or a digit")
    others = get_user_model().objects.filter(username__iexact=name).exclude(pk=user.pk)
    if others.exists():
        raise InvalidEntry(f"the name {name!r} is taken; choose another")


def _save(user: Any) -> None:
    try:
        with transaction.atomic():
            user.save()
    except IntegrityError:
        raise InvalidEntry(f"the name {user.username!r} is taken; choose another") from None


def _check_changes(caller: Caller, person: Person, wanted: Mapping[str, Any]) -> None:
    if "roles" in wanted or "is_superuser" in wanted:
        held = wanted.get("roles", person.roles)
        is_superuser = wanted.get("is_superuser", False)
        _require_grantable(caller, held, is_superuser=is_superuser)
        if person.name == caller.user:
            raise InvalidEntry("nobody changes their own rights; ask another admin")
    if wanted.get("is_active") is False:
        _require_expendable(caller, person, "deactivate")
    if wanted.get("is_superuser") is False:
        _require_expendable(caller, person, "demote")


def _require_expendable(caller: Caller, person: Person, verb: str) -> None:
    """Check that somebody is neither the caller nor the last active superuser."""
    if person.name == caller.user:
        raise InvalidEntry(f"you cannot {verb} yourself; ask another admin")
    rows = get_user_model().objects.select_for_update().filter(is_superuser=True, is_active=True)
    others = [row for row in rows if row.pk != person.pk]
    if person.is_superuser and not others:
        raise InvalidEntry(f"{person.name} is the only active superuser; make another one first")


def _change_flags(caller: Caller, user: Any, wanted: Mapping[str, Any]) -> None:
    flags = [name for name in ("is_active", "is_superuser") if name in wanted]
    for name in flags:
        setattr(user, name, wanted[name])
    if flags:
        user.save(update_fields=flags)
        detail = {name: wanted[name] for name in flags}
        audit.record_audit(caller, "user.changed", user.get_username(), detail=detail)


def _rename(caller: Caller, user: Any, name: str) -> str:
    """Rename a user; return the new name, in its normal form."""
    before = user.get_username()
    name = get_user_model().normalize_username(name)
    if before == caller.user:
        raise InvalidEntry("nobody renames themselves; ask another admin")
    if before == LOCAL_ADMIN:
        raise InvalidEntry(f"{before} is the user of gateways that clients start; it stays")
    if run_store.count_runs(before).unfinished:
        raise InvalidEntry(f"{before} has runs that have not ended; wait, or abort them")
    _check_name(user, name)
    _save(user)
    speculations.rename_predictions(before, name)
    audit.record_audit(caller, "user.renamed", before, detail={"name": name})
    return name


def _issue_password(caller: Caller, user: Any) -> NewPassword:
    password = one_time_password.issue_password(user)
    audit.record_audit(caller, "user.password_issued", user.get_username())
    return NewPassword(person=user.get_username(), password=password)
