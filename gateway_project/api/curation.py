"""What people decide about tools: their settings, waiting definitions, dangerous operations."""

from __future__ import annotations

from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from rest_framework import serializers
from rest_framework.response import Response

from gateway_project.access.roles import CURATE, READ, SEARCH
from gateway_project.api.operations import Operation
from gateway_project.api.problems import ApiError, InvalidInput, NotFound
from gateway_project.api.views import ApiView
from gateway_project.foundation.schema_parts import TEXT, describe_object
from gateway_project.foundation.text import strip_invisible_deep
from gateway_project.use_cases import curate_catalogue, curate_danger
from gateway_project.use_cases.approve_tools import approve_tools, load_waiting
from tools.danger import Danger
from tools.store import approvals, configuration, danger
from tools.store.approvals import UnapprovedTool

_LEVELS: Final = [level.value for level in Danger if level is not Danger.READ]
_DEFINITION: Final = describe_object(
    {
        "id": {"type": "integer"},
        "tool": TEXT,
        "state": {"enum": ["pending", "quarantined"]},
        "definition": {"type": "string", "description": "Hash to approve it with"},
        "description": TEXT,
        "input_schema": {"type": "object"},
        "findings": {"type": "array", "items": {"type": "object"}},
        "unstable": {"type": "array", "items": TEXT},
        "changes": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"place": TEXT, "before": {}, "after": {}},
            },
        },
    },
    optional=("description", "input_schema", "unstable"),
)


class ToolSettingsSerializer(serializers.Serializer[Any]):
    """How a tool is used; what is empty or null is derived."""

    enabled = serializers.BooleanField(required=False)
    pinned = serializers.BooleanField(required=False, help_text="Listed in exposure hybrid")
    category = serializers.CharField(max_length=100, required=False, allow_null=True)
    danger = serializers.ChoiceField(
        ["", *(level.value for level in Danger)], required=False, allow_blank=True
    )
    approval = serializers.ChoiceField(["", "always", "never"], required=False, allow_blank=True)
    repeatable = serializers.BooleanField(required=False, allow_null=True)


class DefinitionApprovalSerializer(serializers.Serializer[Any]):
    """The definition that the person saw."""

    definition = serializers.RegexField(
        "^[0-9a-f]{64}$", help_text="Hash of the definition that you saw"
    )
    ignore_unstable = serializers.BooleanField(
        default=False,
        help_text="Ignore future changes at its `unstable` places: the server words these anew "
        "at each start",
    )


class OperationSerializer(serializers.Serializer[Any]):
    """A dangerous operation."""

    id = serializers.IntegerField(source="pk", read_only=True)
    pattern = serializers.CharField(
        max_length=100, help_text="A word or phrase; its inflections match too"
    )
    danger = serializers.ChoiceField(_LEVELS, help_text="Class of the tools that match")
    reason = serializers.CharField(max_length=1_000, allow_blank=True, default="")
    enabled = serializers.BooleanField(default=True)
    origin = serializers.CharField(
        source="source", read_only=True, help_text="seeded with the product, or curated"
    )


class PreviewRequestSerializer(serializers.Serializer[Any]):
    """A pattern that is not stored yet."""

    pattern = serializers.CharField(max_length=100)
    danger = serializers.ChoiceField(_LEVELS, default=Danger.DANGEROUS.value)


class PreviewSerializer(serializers.Serializer[Any]):
    """What a pattern would match."""

    count = serializers.IntegerField()
    matched = serializers.ListField(child=serializers.CharField(), help_text="The first 200 ids")
    raised = serializers.ListField(
        child=serializers.CharField(), help_text="Those whose danger class would rise"
    )


@Operation("GET tools/<path:tool>/settings/", SEARCH, answers=ToolSettingsSerializer)
def get_tool_settings(call: ApiView, tool: str) -> Any:
    """Return how a tool is used."""
    found = call.effects.catalogue().find_tool(tool, call.caller)
    return configuration.load_one_tool(found.pk)


@Operation(
    "PATCH tools/<path:tool>/settings/",
    CURATE,
    takes=ToolSettingsSerializer,
    current=get_tool_settings,
)
def change_tool_settings(call: ApiView, tool: str) -> Any:
    """Enable, pin, file or classify a tool; it applies within a second."""
    found = call.effects.catalogue().find_tool(tool, call.caller)
    if not call.given:
        known = ", ".join(ToolSettingsSerializer().fields)
        raise InvalidInput(f"nothing to change; there are {known}")
    if call.given.get("category") == "":
        raise InvalidInput("category: a name, or null for none")
    try:
        curate_catalogue.change_tool(call.caller, found.tool, call.given, pk=found.pk)
    except (ValidationError, LookupError) as error:
        raise InvalidInput("; ".join(getattr(error, "messages", [str(error)]))) from None
    return get_tool_settings.run(call, tool)


@Operation(
    "GET definitions/", CURATE, answers=_DEFINITION, plural="definitions", parameters=["server"]
)
def list_definitions(call: ApiView) -> Response:
    """List definitions that wait for approval, with what changed and what was found."""
    waiting = load_waiting(call.caller, server=call.request.query_params.get("server"))
    waiting.sort(key=lambda one: one.tool)
    return call.answer_sorted(waiting, _definition_to_json, key=lambda one: (one.tool,))


@Operation("GET definitions/<int:pk>/", CURATE, answers=_DEFINITION)
def get_definition(call: ApiView, pk: int) -> Any:
    """Return a definition that waits for approval."""
    return _definition_to_json(_find_waiting(call, pk))


@Operation(
    "POST definitions/<int:pk>/",
    CURATE,
    takes=DefinitionApprovalSerializer,
    answers={"type": "object", "properties": {"approved": TEXT}},
)
def approve_definition(call: ApiView, pk: int) -> Any:
    """Approve the definition that you saw; the tool can be found and called from then on."""
    found = _find_waiting(call, pk)
    ignores = call.given["ignore_unstable"]
    approved = approve_tools(
        call.caller,
        approvals.unapproved_rows([found]),
        user=get_user_model().objects.get(username=call.caller.user),
        shown={pk: call.given["definition"]},
        ignore={pk: found.unstable_places} if ignores and found.unstable_places else {},
    )
    if found.tool not in approved:
        message = "its definition is not the one that you saw; look at it again"
        raise ApiError(409, "definition_changed", message)
    return {"approved": found.tool}


@Operation(
    "GET dangerous-operations/",
    READ,
    answers=OperationSerializer,
    plural="dangerous operations",
    order="pattern",
)
def list_dangerous_operations(_call: ApiView) -> Any:
    """List dangerous operations by pattern."""
    return danger.load_operations()


@Operation(
    "POST dangerous-operations/",
    CURATE,
    takes=OperationSerializer,
    answers=OperationSerializer,
    status=201,
    examples={
        "pattern": {"pattern": "wire money", "danger": "dangerous", "reason": "moves money"}
    },
)
def add_dangerous_operation(call: ApiView) -> Any:
    """Add a dangerous operation; it applies within a second."""
    return curate_danger.save_operation(call.caller, call.given)


@Operation("GET dangerous-operations/<int:pk>/", READ, answers=OperationSerializer)
def get_dangerous_operation(_call: ApiView, pk: int) -> Any:
    """Return a dangerous operation."""
    return danger.load_operation(pk)


@Operation(
    "PATCH dangerous-operations/<int:pk>/",
    CURATE,
    takes=OperationSerializer,
    current=get_dangerous_operation,
)
def change_dangerous_operation(call: ApiView, pk: int) -> Any:
    """Change a dangerous operation."""
    return curate_danger.save_operation(call.caller, call.given, pk=pk)


@Operation("DELETE dangerous-operations/<int:pk>/", CURATE, current=get_dangerous_operation)
def delete_dangerous_operation(call: ApiView, pk: int) -> None:
    """Delete a dangerous operation."""
    curate_danger.delete_operation(call.caller, pk)


@Operation(
    "POST dangerous-operations/preview/",
    CURATE,
    takes=PreviewRequestSerializer,
    answers=PreviewSerializer,
)
def preview_dangerous_operation(call: ApiView) -> Any:
    """Return what a pattern would match, before it is stored."""
    level = Danger(call.given["danger"])
    catalogue = call.effects.catalogue()
    return curate_danger.preview_pattern(call.caller, catalogue, call.given["pattern"], level)


def _find_waiting(call: ApiView, pk: int) -> UnapprovedTool:
    for one in load_waiting(call.caller, tools=[pk]):
        return one
    raise NotFound(f"definition of tool {pk} that waits for approval")


def _definition_to_json(one: UnapprovedTool) -> dict[str, Any]:
    changes = [
        {"place": change.pointer, "before": change.before, "after": change.after}
        for change in one.changes
    ]
    return {
        "id": one.pk,
        "tool": one.tool,
        "state": one.state,
        "definition": one.listed_hash,
        "description": strip_invisible_deep(one.listed.description),
        "input_schema": strip_invisible_deep(one.listed.input_schema),
        "findings": [dict(finding) for finding in one.findings],
        "changes": strip_invisible_deep(changes),
        "unstable": strip_invisible_deep(list(one.unstable_places)),
    }
