"""Approvals: calls that wait for a person's decision."""

from __future__ import annotations

from typing import Any, ClassVar, Final
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from execution.changes import WHOLE_TASK
from execution.view import ApprovalView
from gateway_project.access.roles import APPROVE
from gateway_project.api.pages import make_page_schema
from gateway_project.api.problems import InvalidInput
from gateway_project.api.views import ApiView
from gateway_project.foundation.text import strip_invisible
from gateway_project.use_cases import decide_approval

STATES: Final = ("pending", "past")
_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time"}
_APPROVAL: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        "run": {"type": "string", "format": "uuid"},
        "task": _TEXT,
        "item": {"type": "integer", "description": "Of a for-each task"},
        "tool": _TEXT,
        "reason": _TEXT,
        "user": {"type": "string", "description": "Who called it"},
        "status": _TEXT,
        "arguments": {"description": "Exactly those of the call; only of one approval"},
        "created_at": _TIME,
        "expires_at": _TIME,
        "decided_by": _TEXT,
        "decided_via": _TEXT,
    },
    "required": ["id", "run", "task", "tool", "reason", "user", "status", "created_at"],
}


class DecisionSerializer(serializers.Serializer[Any]):
    """A person's decision."""

    approve = serializers.BooleanField(help_text="Whether the call may be made")


class ApprovalListView(ApiView):
    """Approvals that the caller may decide: of their own calls, and of teams they administer."""

    scopes: ClassVar = {"GET": APPROVE}

    @extend_schema(
        operation_id="list_approvals",
        parameters=[
            OpenApiParameter("status", OpenApiTypes.STR, enum=STATES, default="pending"),
        ],
        responses={200: make_page_schema(_APPROVAL)},
    )
    def get(self, request: Request) -> Response:
        """List pending approvals, oldest first, or the newest past ones."""
        status = request.query_params.get("status", "pending")
        if status not in STATES:
            raise InvalidInput(f"status: one of {', '.join(STATES)}")
        load = decide_approval.load_pending if status == "pending" else decide_approval.load_recent
        return Response({"items": [_to_json(one) for one in load(self.caller)], "next": None})


class ApprovalDetailView(ApiView):
    """One approval."""

    scopes: ClassVar = {"GET": APPROVE}

    @extend_schema(operation_id="get_approval", responses={200: _APPROVAL})
    def get(self, _request: Request, approval: UUID) -> Response:
        """Return an approval with the exact arguments of the call."""
        found = decide_approval.load_approval(self.caller, approval, sealer=self.payload_sealer)
        return Response(_to_json(found) | {"arguments": found.arguments})


class DecisionView(ApiView):
    """Decision of one approval."""

    scopes: ClassVar = {"POST": APPROVE}

    @extend_schema(
        operation_id="decide_approval", request=DecisionSerializer, responses={200: _APPROVAL}
    )
    def post(self, _request: Request, approval: UUID) -> Response:
        """Approve or reject a call; it counts once."""
        given = self.read_body(DecisionSerializer)
        decided = decide_approval.decide_approval(
            self.caller, approval, approve=given["approve"], via="api"
        )
        return Response(_to_json(decided))


def _to_json(approval: ApprovalView) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": str(approval.id),
        "run": str(approval.run),
        "task": approval.task,
        "tool": approval.tool,
        "reason": strip_invisible(approval.reason),
        "user": approval.user,
        "status": approval.status,
        "created_at": approval.created_at.isoformat(),
        "expires_at": approval.expires_at.isoformat(),
        "decided_by": approval.decided_by,
        "decided_via": approval.decided_via,
    }
    return row if approval.item == WHOLE_TASK else row | {"item": approval.item}
