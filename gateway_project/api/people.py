"""People: who may sign in, and what they may do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any, ClassVar, TypeVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway_project.access import people, second_factor
from gateway_project.access.roles import ADMINISTER, ROLES
from gateway_project.access.second_factor import ConfirmationRequired
from gateway_project.api.description import describe_list
from gateway_project.api.problems import ApiError
from gateway_project.api.views import ApiView
from gateway_project.foundation.access_rules import MEMBER, TEAM_ADMIN
from gateway_project.use_cases import curate_people

T = TypeVar("T")
TEAM_ROLES = (MEMBER, TEAM_ADMIN)
_FILTER = OpenApiParameter("text", OpenApiTypes.STR, description="Part of the name")


def _roles() -> serializers.ListField:
    return serializers.ListField(
        child=serializers.ChoiceField([*ROLES]),
        required=False,
        max_length=len(ROLES),
        help_text="Empty: what a member may do",
    )


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


class PersonListView(ApiView):
    """People: all to superusers, those of their team to its admins."""

    scopes: ClassVar = {"GET": ADMINISTER, "POST": ADMINISTER}

    @describe_list("list_people", PersonSerializer, "people", _FILTER)
    def get(self, request: Request) -> Response:
        """List people by name."""
        text = request.query_params.get("text", "")
        rows = people.select_people(self.caller).filter(username__icontains=text)
        return self.answer_rows(rows, self._describe, field="username", descending=False)

    @extend_schema(
        operation_id="create_person",
        request=NewPersonSerializer,
        responses={201: NewPasswordSerializer},
        examples=[
            OpenApiExample(
                "person",
                value={"name": "ann", "roles": ["operator"], "team": "research"},
                request_only=True,
            )
        ],
    )
    def post(self, _request: Request) -> Response:
        """Create a person, who signs in with the returned one-time password."""
        given = self.read_body(NewPersonSerializer)
        return _answer_password(curate_people.create_person(self.caller, **given))

    def _describe(self, row: Any) -> Any:
        return PersonSerializer(people.make_person(self.caller, row)).data


class PersonView(ApiView):
    """One person."""

    scopes: ClassVar = {"GET": ADMINISTER, "PATCH": ADMINISTER, "DELETE": ADMINISTER}

    @extend_schema(operation_id="get_person", responses=PersonSerializer)
    def get(self, _request: Request, name: str) -> Response:
        """Return a person."""
        return Response(self._load(name))

    @extend_schema(
        operation_id="change_person",
        request=PersonChangeSerializer(partial=True),
        responses=PersonSerializer,
    )
    def patch(self, _request: Request, name: str) -> Response:
        """Rename a person, change their roles, deactivate or reactivate them."""
        before = self._load(name)
        given = self.read_body(PersonChangeSerializer, partial=True)
        self.check_unchanged(before)
        changed = curate_people.change_person(self.caller, name, given)
        return Response(PersonSerializer(changed).data)

    @extend_schema(operation_id="delete_person", responses={204: None})
    def delete(self, _request: Request, name: str) -> Response:
        """Delete a person with their tokens and memberships; their runs are kept."""
        self.check_unchanged(self._load(name))
        curate_people.delete_person(self.caller, name)
        return Response(status=HTTPStatus.NO_CONTENT)

    def _load(self, name: str) -> Any:
        return PersonSerializer(curate_people.find_person(self.caller, name)).data


class PasswordView(ApiView):
    """One-time passwords of a person."""

    scopes: ClassVar = {"POST": ADMINISTER}

    @extend_schema(
        operation_id="issue_password", request=None, responses={201: NewPasswordSerializer}
    )
    def post(self, _request: Request, name: str) -> Response:
        """Issue a one-time password; earlier unused ones stop working."""
        change = partial(curate_people.issue_password, self.caller, name)
        return _answer_password(_confirm(self, change))


class SecondFactorView(ApiView):
    """The second factor of a person."""

    scopes: ClassVar = {"DELETE": ADMINISTER}

    @extend_schema(operation_id="reset_second_factor", responses={204: None})
    def delete(self, _request: Request, name: str) -> Response:
        """Remove it; they sign in with their password alone until they set up another."""
        _confirm(self, partial(curate_people.reset_second_factor, self.caller, name))
        return Response(status=HTTPStatus.NO_CONTENT)


def _confirm(view: ApiView, change: Callable[..., T]) -> T:
    """Change how somebody signs in; for oneself only in a session that proved whose it is.

    Raises:
        ApiError: If it did not.
    """
    has_confirmed = second_factor.has_confirmed(view.request._request, view.caller)
    try:
        return change(has_confirmed=has_confirmed)
    except ConfirmationRequired as error:
        raise ApiError(HTTPStatus.FORBIDDEN, error.code, str(error)) from None


def _answer_password(made: curate_people.NewPassword) -> Response:
    content = NewPasswordSerializer(made).data
    return Response(content, HTTPStatus.CREATED, headers={"Cache-Control": "no-store"})
