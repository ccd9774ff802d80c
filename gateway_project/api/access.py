"""Who may do what: people, teams and their members, and tokens."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Any, Final, TypeVar

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from gateway_project.access import grant, people, second_factor, tokens
from gateway_project.access.roles import ADMINISTER, ROLES, SCOPES
from gateway_project.access.second_factor import ConfirmationRequired
from gateway_project.api.operations import Operation
from gateway_project.api.problems import ApiError
from gateway_project.api.views import ApiView
from gateway_project.foundation.access_rules import MEMBER, TEAM_ADMIN
from gateway_project.foundation.caller import CLIENT_SCOPES, SCOPE_ALL
from gateway_project.use_cases import curate_people, curate_teams
from tools.store import teams

T = TypeVar("T")
TEAM_ROLES: Final = (MEMBER, TEAM_ADMIN)
APPROVE_FROM: Final = ("dangerous", "destructive", "write", "read")


def _roles() -> serializers.ListField:
    return serializers.ListField(
        child=serializers.ChoiceField([*ROLES]),
        required=False,
        max_length=len(ROLES),
        help_text="Empty: what a member may do",
    )


class TeamSerializer(serializers.Serializer[Any]):
    """A team."""

    name = serializers.CharField(max_length=100)
    approve_from = serializers.ChoiceField(
        APPROVE_FROM,
        default=APPROVE_FROM[0],
        help_text="Lowest danger class of members' calls that a person has to approve",
    )
    requires_second_person = serializers.BooleanField(
        default=False,
        help_text="Whether that is somebody else than the user who makes the call",
    )
    members = serializers.IntegerField(read_only=True)
    servers = serializers.IntegerField(read_only=True, source="server_count")


class TeamChangeSerializer(TeamSerializer):
    """What changes of a team."""

    approve_from = serializers.ChoiceField(APPROVE_FROM, required=False)
    requires_second_person = serializers.BooleanField(required=False)


class MemberSerializer(serializers.Serializer[Any]):
    """A member of a team."""

    person = serializers.CharField(source="user", read_only=True)
    role = serializers.ChoiceField(TEAM_ROLES)


class TeamMembershipSerializer(serializers.Serializer[Any]):
    """A team that a person belongs to."""

    team = serializers.CharField()
    role = serializers.ChoiceField(TEAM_ROLES)


class PersonSerializer(serializers.Serializer[Any]):
    """A person."""

    name = serializers.CharField(max_length=150)
    roles = _roles()
    is_superuser = serializers.BooleanField(help_text="Whether they may do everything")
    is_active = serializers.BooleanField(help_text="Whether they may sign in")
    is_denied = serializers.BooleanField(
        help_text="Whether their identity provider no longer assigns them a role"
    )
    is_from_provider = serializers.BooleanField()
    has_second_factor = serializers.BooleanField()
    teams = TeamMembershipSerializer(many=True, source="memberships")
    may_change = serializers.BooleanField(
        help_text="Whether the caller may change more of them than their membership"
    )
    last_login = serializers.DateTimeField(allow_null=True)


class NewPersonSerializer(serializers.Serializer[Any]):
    """A person to create."""

    name = serializers.CharField(max_length=150)
    roles = _roles()
    team = serializers.CharField(
        max_length=100,
        required=False,
        allow_null=True,
        help_text="Their first team; default: none, or that of an admin who is no superuser",
    )
    team_role = serializers.ChoiceField(TEAM_ROLES, required=False)
    is_superuser = serializers.BooleanField(required=False)


class PersonChangeSerializer(serializers.Serializer[Any]):
    """What changes of a person."""

    name = serializers.CharField(
        max_length=150, required=False, help_text="New name; their runs keep to them"
    )
    roles = _roles()
    is_active = serializers.BooleanField(required=False)
    is_superuser = serializers.BooleanField(required=False)


class NewPasswordSerializer(serializers.Serializer[Any]):
    """A one-time password."""

    person = serializers.CharField()
    password = serializers.CharField(help_text="Signs them in once; shown only now")


class TokenSerializer(serializers.Serializer[Any]):
    """A token; its value is never shown again."""

    id = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    user = serializers.CharField()
    team = serializers.CharField(allow_null=True, source="team.name", default=None)
    group = serializers.CharField(
        allow_null=True,
        source="tool_group.name",
        default=None,
        help_text="Tool group that it is limited to",
    )
    prefix = serializers.CharField(help_text="Start of its value")
    scopes = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="To the minute")


class TokenRequestSerializer(serializers.Serializer[Any]):
    """A token to create."""

    name = serializers.CharField(max_length=100)
    user = serializers.CharField(max_length=150, required=False, help_text="Default: the caller")
    team = serializers.CharField(
        max_length=100, required=False, help_text="Default: the user's only one"
    )
    group = serializers.CharField(
        max_length=64,
        required=False,
        help_text="Tool group outside which no tool exists for it; default: none",
    )
    scopes = serializers.MultipleChoiceField(
        choices=[*SCOPES, SCOPE_ALL], default=set(CLIENT_SCOPES)
    )
    expires_at = serializers.DateTimeField(required=False, allow_null=True, default=None)

    def validate_expires_at(self, value: Any) -> Any:
        """Refuse a time that has passed."""
        if value is not None and value <= timezone.now():
            raise serializers.ValidationError("this has passed; give a later time, or none")
        return value


class NewTokenSerializer(serializers.Serializer[Any]):
    """A token that was just created."""

    id = serializers.IntegerField()
    token = serializers.CharField(help_text="Its value, shown only now")
    user = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())
    expires_at = serializers.DateTimeField(allow_null=True)


@Operation("GET teams/", ADMINISTER, answers=TeamSerializer, plural="teams", order="name")
def list_teams(call: ApiView) -> Any:
    """List teams by name."""
    return curate_teams.select_teams(call.caller)


@Operation("POST teams/", SCOPE_ALL, takes=TeamSerializer, answers=TeamSerializer, status=201)
def create_team(call: ApiView) -> Any:
    """Create a team without members."""
    return curate_teams.create_team(call.caller, **call.given)


@Operation("GET teams/<path:name>/", ADMINISTER, answers=TeamSerializer)
def get_team(call: ApiView, name: str) -> Any:
    """Return a team."""
    return curate_teams.find_team(call.caller, name)


@Operation("PATCH teams/<path:name>/", SCOPE_ALL, takes=TeamChangeSerializer, current=get_team)
def change_team(call: ApiView, name: str) -> Any:
    """Rename a team, or change which of its calls are approved by a person."""
    new_name = call.given.pop("name", None)
    return curate_teams.change_team(call.caller, name, new_name=new_name, **call.given)


@Operation("DELETE teams/<path:name>/", SCOPE_ALL, current=get_team)
def delete_team(call: ApiView, name: str) -> None:
    """Delete a team without members, servers, tokens, groups and webhooks."""
    curate_teams.delete_team(call.caller, name)


@Operation(
    "GET teams/<path:name>/members/", ADMINISTER, answers=MemberSerializer, plural="members"
)
def list_members(call: ApiView, name: str) -> Any:
    """List members, newest first."""
    return teams.select_members(curate_teams.find_team(call.caller, name).pk)


@Operation("PUT teams/<path:name>/members/<str:person>/", ADMINISTER, takes=MemberSerializer)
def set_member(call: ApiView, name: str, person: str) -> None:
    """Change a member's role; superusers also add people."""
    curate_teams.set_member(call.caller, name, person, role=call.given["role"])


@Operation(
    "DELETE teams/<path:name>/members/<str:person>/",
    ADMINISTER,
)
def remove_member(call: ApiView, name: str, person: str) -> None:
    """Take somebody out of a team."""
    curate_teams.remove_member(call.caller, name, person)


@Operation(
    "GET people/",
    ADMINISTER,
    plural="people",
    answers=PersonSerializer,
    parameters=[OpenApiParameter("text", OpenApiTypes.STR, description="Part of the name")],
)
def list_people(call: ApiView) -> Any:
    """List people by name."""
    text = call.request.query_params.get("text", "")
    return call.answer_rows(
        people.select_people(call.caller).filter(username__icontains=text),
        lambda row: PersonSerializer(people.make_person(call.caller, row)).data,
        field="username",
        descending=False,
    )


@Operation(
    "POST people/",
    ADMINISTER,
    takes=NewPersonSerializer,
    answers=NewPasswordSerializer,
    status=201,
    is_secret=True,
    examples={"person": {"name": "ann", "roles": ["operator"], "team": "research"}},
)
def create_person(call: ApiView) -> Any:
    """Create a person, who signs in with the returned one-time password."""
    return curate_people.create_person(call.caller, **call.given)


@Operation("GET people/<str:name>/", ADMINISTER, answers=PersonSerializer)
def get_person(call: ApiView, name: str) -> Any:
    """Return a person."""
    return curate_people.find_person(call.caller, name)


@Operation(
    "PATCH people/<str:name>/", ADMINISTER, takes=PersonChangeSerializer, current=get_person
)
def change_person(call: ApiView, name: str) -> Any:
    """Rename a person, change their roles, deactivate or reactivate them."""
    return curate_people.change_person(call.caller, name, call.given)


@Operation("DELETE people/<str:name>/", ADMINISTER, current=get_person)
def delete_person(call: ApiView, name: str) -> None:
    """Delete a person with their tokens and memberships; their runs are kept."""
    curate_people.delete_person(call.caller, name)


@Operation(
    "POST people/<str:name>/password/",
    ADMINISTER,
    answers=NewPasswordSerializer,
    status=201,
    is_secret=True,
)
def issue_password(call: ApiView, name: str) -> Any:
    """Issue a one-time password; earlier unused ones stop working."""
    return _confirm(call, partial(curate_people.issue_password, call.caller, name))


@Operation(
    "DELETE people/<str:name>/second-factor/",
    ADMINISTER,
)
def reset_second_factor(call: ApiView, name: str) -> None:
    """Remove it; they sign in with their password alone until they set up another."""
    _confirm(call, partial(curate_people.reset_second_factor, call.caller, name))


@Operation("GET tokens/", ADMINISTER, answers=TokenSerializer, plural="tokens")
def list_tokens(call: ApiView) -> Any:
    """List tokens, newest first."""
    return tokens.select_visible(call.caller)


@Operation(
    "POST tokens/",
    ADMINISTER,
    takes=TokenRequestSerializer,
    answers=NewTokenSerializer,
    status=201,
    is_secret=True,
)
def create_token(call: ApiView) -> Any:
    """Create a token of one's own; only superusers create those of others.

    A token creates tokens of its own team only, that expire no later than itself.
    """
    values = call.given
    made = grant.create_user_token(
        values.get("user", call.caller.user),
        name=values["name"],
        scopes=tuple(sorted(values["scopes"])),
        team=values.get("team"),
        group=values.get("group"),
        expires_at=_limit_expiry(call, values["expires_at"]),
        by=call.caller,
    )
    return made.as_json()


@Operation(
    "DELETE tokens/<int:pk>/",
    ADMINISTER,
)
def revoke_token(call: ApiView, pk: int) -> None:
    """Revoke a token; it stops working within seconds."""
    grant.revoke_token(call.caller, pk)


def _confirm(call: ApiView, change: Callable[..., T]) -> T:
    """Change how somebody signs in; for oneself only in a session that proved whose it is.

    Raises:
        ApiError: If it did not.
    """
    has_confirmed = second_factor.has_confirmed(call.request._request, call.caller)
    try:
        return change(has_confirmed=has_confirmed)
    except ConfirmationRequired as error:
        raise ApiError(HTTPStatus.FORBIDDEN, error.code, str(error)) from None


def _limit_expiry(call: ApiView, wanted: datetime | None) -> datetime | None:
    """Return an expiry that is not later than that of the token which asks for it."""
    own = getattr(call.request.user, "token_expires_at", None)
    if own is None:
        return wanted
    latest = datetime.fromtimestamp(own, UTC)
    return min(wanted, latest) if wanted is not None else latest
