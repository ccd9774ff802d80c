"""Teams, and who belongs to them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar, Final

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway_project.access.roles import ADMINISTER
from gateway_project.api.description import describe_list
from gateway_project.api.people import TEAM_ROLES
from gateway_project.api.views import ApiView
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.use_cases import curate_teams
from tools.store import teams

APPROVE_FROM: Final = ("dangerous", "destructive", "write", "read")


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


class TeamListView(ApiView):
    """Teams: all to superusers, to others the one that they administer."""

    scopes: ClassVar = {"GET": ADMINISTER, "POST": SCOPE_ALL}

    @describe_list("list_teams", TeamSerializer, "teams")
    def get(self, _request: Request) -> Response:
        """List teams by name."""
        rows = curate_teams.select_teams(self.caller)
        return self.answer_rows(rows, TeamSerializer, field="name", descending=False)

    @extend_schema(
        operation_id="create_team", request=TeamSerializer, responses={201: TeamSerializer}
    )
    def post(self, _request: Request) -> Response:
        """Create a team without members."""
        given = self.read_body(TeamSerializer)
        made = curate_teams.create_team(self.caller, **given)
        return Response(TeamSerializer(made).data, HTTPStatus.CREATED)


class TeamView(ApiView):
    """One team."""

    scopes: ClassVar = {"GET": ADMINISTER, "PATCH": SCOPE_ALL, "DELETE": SCOPE_ALL}

    @extend_schema(operation_id="get_team", responses=TeamSerializer)
    def get(self, _request: Request, name: str) -> Response:
        """Return a team."""
        return Response(TeamSerializer(curate_teams.find_team(self.caller, name)).data)

    @extend_schema(
        operation_id="change_team",
        request=TeamChangeSerializer(partial=True),
        responses=TeamSerializer,
    )
    def patch(self, _request: Request, name: str) -> Response:
        """Rename a team, or change which of its calls are approved by a person."""
        before = TeamSerializer(curate_teams.find_team(self.caller, name)).data
        values = self.read_body(TeamChangeSerializer, partial=True)
        self.check_unchanged(before)
        changed = curate_teams.change_team(
            self.caller,
            name,
            new_name=values.get("name"),
            approve_from=values.get("approve_from"),
            requires_second_person=values.get("requires_second_person"),
        )
        return Response(TeamSerializer(changed).data)

    @extend_schema(operation_id="delete_team", responses={204: None})
    def delete(self, _request: Request, name: str) -> Response:
        """Delete a team without members, servers, tokens, groups and webhooks."""
        self.check_unchanged(TeamSerializer(curate_teams.find_team(self.caller, name)).data)
        curate_teams.delete_team(self.caller, name)
        return Response(status=HTTPStatus.NO_CONTENT)


class MemberListView(ApiView):
    """Members of a team."""

    scopes: ClassVar = {"GET": ADMINISTER}

    @describe_list("list_members", MemberSerializer, "members")
    def get(self, _request: Request, name: str) -> Response:
        """List members, newest first."""
        team = curate_teams.find_team(self.caller, name)
        return self.answer_rows(teams.select_members(team.pk), MemberSerializer)


class MemberView(ApiView):
    """One person's membership."""

    scopes: ClassVar = {"PUT": ADMINISTER, "DELETE": ADMINISTER}

    @extend_schema(operation_id="set_member", request=MemberSerializer, responses={204: None})
    def put(self, _request: Request, name: str, person: str) -> Response:
        """Change a member's role; superusers also add people."""
        given = self.read_body(MemberSerializer)
        curate_teams.set_member(self.caller, name, person, role=given["role"])
        return Response(status=HTTPStatus.NO_CONTENT)

    @extend_schema(operation_id="remove_member", responses={204: None})
    def delete(self, _request: Request, name: str, person: str) -> Response:
        """Take somebody out of a team."""
        curate_teams.remove_member(self.caller, name, person)
        return Response(status=HTTPStatus.NO_CONTENT)
