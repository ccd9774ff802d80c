"""Tool groups: the only tools that exist for the clients limited to them."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway_project.access.roles import ADMINISTER
from gateway_project.api.description import describe_list
from gateway_project.api.views import ApiView
from gateway_project.foundation.endpoint import GROUP_NAME_PATTERN
from gateway_project.use_cases import curate_tool_groups

MAX_NAMED = 10_000
"""Names in one list of a group."""


def _names(help_text: str) -> serializers.ListField:
    name = serializers.CharField(max_length=1_000)
    return serializers.ListField(
        child=name, max_length=MAX_NAMED, required=False, help_text=help_text
    )


class GroupSerializer(serializers.Serializer[Any]):
    """A tool group; a tool is in it if any of the three lists names it."""

    name = serializers.RegexField(
        GROUP_NAME_PATTERN, help_text="Part of the address: /mcp/groups/NAME"
    )
    description = serializers.CharField(max_length=500, allow_blank=True, required=False)
    team = serializers.CharField(
        max_length=100,
        allow_null=True,
        required=False,
        source="team.name",
        help_text="Team whose members may be limited to it; null: everybody. Default: the "
        "caller's",
    )
    servers = _names("Servers, with all their tools, resources and prompts")
    categories = _names("Categories, with all their tools")
    tools = _names("Ids of further tools, server:tool")


class ChangedGroupSerializer(GroupSerializer):
    """What changes of a tool group; its name stays."""

    name = None  # type: ignore[assignment]


class GroupListView(ApiView):
    """Tool groups of the caller's team and of everybody; superusers see all."""

    scopes: ClassVar = {"GET": ADMINISTER, "POST": ADMINISTER}

    @describe_list("list_tool_groups", GroupSerializer, "tool groups")
    def get(self, _request: Request) -> Response:
        """List tool groups by name."""
        found = curate_tool_groups.list_groups(self.caller)
        return self.answer_sorted(found, GroupSerializer, key=lambda group: (group.name,))

    @extend_schema(
        operation_id="add_tool_group",
        request=GroupSerializer,
        responses={201: GroupSerializer},
        examples=[
            OpenApiExample(
                "group",
                value={"name": "desk", "servers": ["time"], "tools": ["git:log"]},
                request_only=True,
            )
        ],
    )
    def post(self, _request: Request) -> Response:
        """Add a tool group; clients can connect to it within a second."""
        given = self.read_body(GroupSerializer)
        name, values = given["name"], _read_values(given)
        curate_tool_groups.save_group(self.caller, name, values, adds=True)
        stored = curate_tool_groups.find_group(self.caller, name)
        return Response(GroupSerializer(stored).data, HTTPStatus.CREATED)


class GroupView(ApiView):
    """One tool group."""

    scopes: ClassVar = {"GET": ADMINISTER, "PATCH": ADMINISTER, "DELETE": ADMINISTER}

    @extend_schema(operation_id="get_tool_group", responses=GroupSerializer)
    def get(self, _request: Request, name: str) -> Response:
        """Return a tool group."""
        return Response(GroupSerializer(curate_tool_groups.find_group(self.caller, name)).data)

    @extend_schema(
        operation_id="change_tool_group",
        request=ChangedGroupSerializer(partial=True),
        responses=GroupSerializer,
    )
    def patch(self, _request: Request, name: str) -> Response:
        """Change a tool group; clients see other tools within a second."""
        before = GroupSerializer(curate_tool_groups.find_group(self.caller, name)).data
        given = self.read_body(ChangedGroupSerializer, partial=True)
        self.check_unchanged(before)
        curate_tool_groups.save_group(self.caller, name, _read_values(given), adds=False)
        return Response(GroupSerializer(curate_tool_groups.find_group(self.caller, name)).data)

    @extend_schema(operation_id="delete_tool_group", responses={204: None})
    def delete(self, _request: Request, name: str) -> Response:
        """Delete a tool group, and with it the tokens limited to it."""
        self.check_unchanged(
            GroupSerializer(curate_tool_groups.find_group(self.caller, name)).data
        )
        curate_tool_groups.delete_group(self.caller, name)
        return Response(status=HTTPStatus.NO_CONTENT)


def _read_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the valid columns that were given, with the name of the team."""
    values = {column: value for column, value in given.items() if column != "name"}
    if "team" in values:
        values["team"] = values["team"]["name"]
    return values
