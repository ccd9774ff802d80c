"""What may be called ahead: the switch, grants, and compared results."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar

from django.conf import settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from execution.store import agreements, grants
from gateway_project.access.roles import ADMINISTER, READ
from gateway_project.api.description import describe_list
from gateway_project.api.problems import ApiError
from gateway_project.api.views import ApiView
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.use_cases import curate_speculation
from gateway_project.use_cases.curate_speculation import (
    compare_anew,
    select_visible,
    switch_speculation,
)


class SwitchSerializer(serializers.Serializer[Any]):
    """The switch of all speculation."""

    on = serializers.BooleanField(help_text="Off stops every process within a second")
    available = serializers.BooleanField(
        read_only=True, help_text="Whether this installation speculates at all"
    )


class GrantSerializer(serializers.Serializer[Any]):
    """A tool that may be called ahead, with exactly one definition."""

    id = serializers.IntegerField(source="pk")
    tool = serializers.CharField()
    definition = serializers.CharField(source="definition_hash", help_text="Its hash")
    closed_world = serializers.BooleanField(source="is_closed_world")
    team = serializers.CharField(source="team.name", allow_null=True, default=None)
    granted_by = serializers.CharField()
    granted_at = serializers.DateTimeField()
    note = serializers.CharField(allow_blank=True)


class GrantRequestSerializer(serializers.Serializer[Any]):
    """A tool to grant, with the definition that the person saw."""

    tool = serializers.CharField(max_length=1_000, help_text="Id: server:tool")
    definition = serializers.RegexField(
        "^[0-9a-f]{64}$", help_text="Hash of the definition that you saw"
    )
    closed_world = serializers.BooleanField(
        default=False, help_text="You say that it reaches nothing beyond its server"
    )
    note = serializers.CharField(max_length=200, allow_blank=True, default="")


class AgreementSerializer(serializers.Serializer[Any]):
    """How results made ahead compared with those of the real calls."""

    id = serializers.IntegerField(source="pk")
    tool = serializers.CharField()
    team = serializers.CharField(source="team.name", allow_null=True, default=None)
    agreed = serializers.IntegerField()
    disagreed = serializers.IntegerField()
    compared_at = serializers.DateTimeField()
    reset_by = serializers.CharField(allow_blank=True)


_PROPOSAL = {
    "type": "object",
    "properties": {
        "tool": {"type": "string"},
        "definition": {"type": "string", "description": "Hash to grant it with"},
        "proposed": {"type": "boolean"},
        "admissible": {"type": "boolean", "description": "Without a new grant"},
        "supports": {"type": "array", "items": {"type": "string"}},
        "doubts": {"type": "array", "items": {"type": "string"}},
        "obstacles": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["tool", "definition", "proposed", "admissible"],
}


class SwitchView(ApiView):
    """The switch."""

    scopes: ClassVar = {"GET": READ, "PUT": ADMINISTER}

    @extend_schema(operation_id="get_speculation_switch", responses=SwitchSerializer)
    def get(self, _request: Request) -> Response:
        """Say whether anything is called ahead."""
        return Response(
            {"on": grants.is_speculation_on(), "available": settings.FOREGATE.speculation}
        )

    @extend_schema(
        operation_id="switch_speculation", request=SwitchSerializer, responses=SwitchSerializer
    )
    def put(self, request: Request) -> Response:
        """Turn all speculation on or off."""
        given = self.read_body(SwitchSerializer)
        switch_speculation(self.caller, is_on=given["on"])
        return self.get(request)


class GrantListView(ApiView):
    """Grants in force."""

    scopes: ClassVar = {"GET": ADMINISTER, "POST": ADMINISTER}

    @describe_list("list_grants", GrantSerializer, "grants")
    def get(self, _request: Request) -> Response:
        """List grants in force, newest first."""
        return self.answer_rows(
            select_visible(self.caller, grants.select_grants()), GrantSerializer
        )

    @extend_schema(
        operation_id="grant_tool",
        request=GrantRequestSerializer,
        responses={201: {"type": "object", "properties": {"granted": {"type": "string"}}}},
    )
    def post(self, _request: Request) -> Response:
        """Let a tool of a trusted server be called ahead, as long as its definition stays."""
        values = self.read_body(GrantRequestSerializer)
        tool = self.effects.catalogue().find_tool(values["tool"], self.caller)
        outcome = curate_speculation.grant_speculation(
            self.caller,
            {tool.pk: values["definition"]},
            is_closed_world=values["closed_world"],
            team=None if self.caller.has_scope(SCOPE_ALL) else self.caller.team,
            note=values["note"],
        )
        if tool.tool in outcome.changed:
            message = "its definition is not the one that you saw; look at it again"
            raise ApiError(409, "definition_changed", message)
        if reason := outcome.refused.get(tool.tool):
            raise ApiError(409, "not_admissible", reason)
        return Response({"granted": tool.tool}, HTTPStatus.CREATED)


class GrantView(ApiView):
    """One grant."""

    scopes: ClassVar = {"DELETE": ADMINISTER}

    @extend_schema(operation_id="withdraw_grant", responses={204: None})
    def delete(self, _request: Request, pk: int) -> Response:
        """Withdraw a grant; nothing of the tool is called ahead within a second."""
        curate_speculation.require_visible(
            self.caller, grants.select_grants(), pk, f"grant {pk} in force"
        )
        curate_speculation.revoke_speculation(self.caller, [pk])
        return Response(status=HTTPStatus.NO_CONTENT)


class ProposalListView(ApiView):
    """Tools that could be granted."""

    scopes: ClassVar = {"GET": ADMINISTER}

    @describe_list(
        "list_grant_proposals", _PROPOSAL, "", OpenApiParameter("server", OpenApiTypes.STR)
    )
    def get(self, request: Request) -> Response:
        """List tools with what speaks for and against granting them, by id."""
        server = request.query_params.get("server")
        proposals = [
            proposal
            for proposal in curate_speculation.list_proposals(curate_speculation.load_rules())
            if self.caller.can_see_team(proposal.tool.team)
            and server in (None, proposal.tool.server)
        ]
        proposals.sort(key=lambda proposal: proposal.tool.tool)
        return self.answer_sorted(proposals, _proposal_to_json, key=lambda one: (one.tool.tool,))


class AgreementListView(ApiView):
    """Comparisons by which tools earn that results made ahead are served."""

    scopes: ClassVar = {"GET": ADMINISTER}

    @describe_list("list_agreements", AgreementSerializer, "comparisons")
    def get(self, _request: Request) -> Response:
        """List comparisons, newest first."""
        return self.answer_rows(
            select_visible(self.caller, agreements.select_agreements()), AgreementSerializer
        )


class AgreementView(ApiView):
    """One comparison."""

    scopes: ClassVar = {"DELETE": ADMINISTER}

    @extend_schema(operation_id="compare_anew", responses={204: None})
    def delete(self, _request: Request, pk: int) -> Response:
        """Forget how a tool's results compared, so that it can earn being served again."""
        curate_speculation.require_visible(
            self.caller, agreements.select_agreements(), pk, f"comparison {pk}"
        )
        compare_anew(self.caller, [pk])
        return Response(status=HTTPStatus.NO_CONTENT)


def _proposal_to_json(proposal: Any) -> dict[str, Any]:
    return {
        "tool": proposal.tool.tool,
        "definition": proposal.tool.definition_hash,
        "proposed": proposal.is_proposed,
        "admissible": proposal.is_admissible,
        "supports": list(proposal.supports),
        "doubts": list(proposal.doubts),
        "obstacles": [obstacle.message for obstacle in proposal.obstacles],
    }
