"""Definitions that wait for a person: new tools, and tools that their servers changed."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth import get_user_model
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway_project.access.roles import CURATE
from gateway_project.api.description import describe_list
from gateway_project.api.problems import ApiError, NotFound
from gateway_project.api.views import ApiView
from gateway_project.foundation.text import strip_invisible_deep
from gateway_project.use_cases.approve_tools import approve_tools, load_waiting
from tools.store import approvals
from tools.store.approvals import UnapprovedTool

_TEXT = {"type": "string"}
_DEFINITION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "tool": _TEXT,
        "state": {"enum": ["pending", "quarantined"]},
        "definition": {"type": "string", "description": "Hash to approve it with"},
        "description": _TEXT,
        "input_schema": {"type": "object"},
        "findings": {"type": "array", "items": {"type": "object"}},
        "unstable": {"type": "array", "items": _TEXT},
        "changes": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"place": _TEXT, "before": {}, "after": {}},
            },
        },
    },
    "required": ["id", "tool", "state", "definition", "findings", "changes"],
}


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


class DefinitionListView(ApiView):
    """Definitions that wait for approval."""

    scopes: ClassVar = {"GET": CURATE}

    @describe_list(
        "list_definitions", _DEFINITION, "", OpenApiParameter("server", OpenApiTypes.STR)
    )
    def get(self, request: Request) -> Response:
        """List definitions that wait for approval, with what changed and what was found."""
        waiting = load_waiting(self.caller, server=request.query_params.get("server"))
        waiting.sort(key=lambda one: one.tool)
        return self.answer_sorted(waiting, _to_json, key=lambda one: (one.tool,))


class DefinitionView(ApiView):
    """One definition that waits for approval; its id is the tool's."""

    scopes: ClassVar = {"GET": CURATE, "POST": CURATE}

    @extend_schema(operation_id="get_definition", responses={200: _DEFINITION})
    def get(self, _request: Request, pk: int) -> Response:
        """Return a definition that waits for approval."""
        return Response(_to_json(self._find(pk)))

    @extend_schema(
        operation_id="approve_definition",
        request=DefinitionApprovalSerializer,
        responses={200: {"type": "object", "properties": {"approved": _TEXT}}},
    )
    def post(self, _request: Request, pk: int) -> Response:
        """Approve the definition that you saw; the tool can be found and called from then on."""
        given = self.read_body(DefinitionApprovalSerializer)
        found = self._find(pk)
        ignores = given["ignore_unstable"]
        approved = approve_tools(
            self.caller,
            approvals.unapproved_rows([found]),
            user=get_user_model().objects.get(username=self.caller.user),
            shown={pk: given["definition"]},
            ignore={pk: found.unstable_places} if ignores and found.unstable_places else {},
        )
        if found.tool not in approved:
            message = "its definition is not the one that you saw; look at it again"
            raise ApiError(409, "definition_changed", message)
        return Response({"approved": found.tool})

    def _find(self, pk: int) -> UnapprovedTool:
        for one in load_waiting(self.caller, tools=[pk]):
            return one
        raise NotFound(f"definition of tool {pk} that waits for approval")


def _to_json(one: UnapprovedTool) -> dict[str, Any]:
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
