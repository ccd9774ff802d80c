"""Tool groups: the only tools that exist for the clients limited to them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gateway_project.access.roles import ADMINISTER
from gateway_project.api.operations import Operation
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


@Operation(
    "GET tool-groups/", ADMINISTER, answers=GroupSerializer, plural="tool groups", order="name"
)
def list_tool_groups(call: ApiView) -> Any:
    """List tool groups by name."""
    return curate_tool_groups.list_groups(call.caller)


@Operation(
    "POST tool-groups/",
    ADMINISTER,
    takes=GroupSerializer,
    answers=GroupSerializer,
    status=201,
    examples={"group": {"name": "desk", "servers": ["time"], "tools": ["git:log"]}},
)
def add_tool_group(call: ApiView) -> Any:
    """Add a tool group; clients can connect to it within a second."""
    return _save(call, call.given.pop("name"), adds=True)


@Operation("GET tool-groups/<str:name>/", ADMINISTER, answers=GroupSerializer)
def get_tool_group(call: ApiView, name: str) -> Any:
    """Return a tool group."""
    return curate_tool_groups.find_group(call.caller, name)


@Operation(
    "PATCH tool-groups/<str:name>/",
    ADMINISTER,
    takes=ChangedGroupSerializer,
    current=get_tool_group,
)
def change_tool_group(call: ApiView, name: str) -> Any:
    """Change a tool group; clients see other tools within a second."""
    return _save(call, name, adds=False)


@Operation("DELETE tool-groups/<str:name>/", ADMINISTER, current=get_tool_group)
def delete_tool_group(call: ApiView, name: str) -> None:
    """Delete a tool group, and with it the tokens limited to it."""
    curate_tool_groups.delete_group(call.caller, name)


def _save(call: ApiView, name: str, *, adds: bool) -> Any:
    """Save the given values, with the name of the team in place of the team."""
    values = call.given
    if "team" in values:
        values["team"] = values["team"]["name"]
    curate_tool_groups.save_group(call.caller, name, values, adds=adds)
    return curate_tool_groups.find_group(call.caller, name)
