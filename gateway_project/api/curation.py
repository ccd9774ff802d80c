"""What people decide about tools: their settings, and how they are related."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.core.exceptions import ValidationError
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway_project.access.roles import CURATE, SEARCH
from gateway_project.api.problems import InvalidInput, NotFound
from gateway_project.api.views import ApiView
from gateway_project.use_cases import curate_catalogue, curate_relations
from graph.record import RelationClaim
from graph.relations import RelationKind
from graph.store import relations
from tools.danger import Danger
from tools.store import configuration

DECISIONS: Final = ("add", "reject", "restore")


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


class RelationDecisionSerializer(serializers.Serializer[Any]):
    """A person's word on how two tools are related."""

    source = serializers.CharField(  # type: ignore[assignment]  # a field of that name
        max_length=1_000, help_text="Id: server:tool"
    )
    kind = serializers.ChoiceField([kind.value for kind in RelationKind])
    target = serializers.CharField(max_length=1_000, help_text="Id: server:tool")
    decision = serializers.ChoiceField(
        DECISIONS, help_text="add; reject: it is not derived again; restore: no longer rejected"
    )
    reason = serializers.CharField(max_length=500, allow_blank=True, default="")


class ToolSettingsView(ApiView):
    """Settings of a tool."""

    scopes: ClassVar = {"GET": SEARCH, "PATCH": CURATE}

    @extend_schema(operation_id="get_tool_settings", responses=ToolSettingsSerializer)
    def get(self, _request: Request, tool: str) -> Response:
        """Return how a tool is used."""
        found = self.effects.catalogue().find_tool(tool, self.caller)
        return Response(ToolSettingsSerializer(configuration.load_one_tool(found.pk)).data)

    @extend_schema(
        operation_id="change_tool_settings",
        request=ToolSettingsSerializer,
        responses=ToolSettingsSerializer,
    )
    def patch(self, request: Request, tool: str) -> Response:
        """Enable, pin, file or classify a tool; it applies within a second."""
        found = self.effects.catalogue().find_tool(tool, self.caller)
        values = self.read_body(ToolSettingsSerializer)
        before = ToolSettingsSerializer(configuration.load_one_tool(found.pk)).data
        self.check_unchanged(before)
        if not values:
            known = ", ".join(ToolSettingsSerializer().fields)
            raise InvalidInput(f"nothing to change; there are {known}")
        if values.get("category", None) == "":
            raise InvalidInput("category: a name, or null for none")
        try:
            curate_catalogue.change_tool(self.caller, found.tool, values, pk=found.pk)
        except (ValidationError, LookupError) as error:
            raise InvalidInput("; ".join(getattr(error, "messages", [str(error)]))) from None
        return self.get(request, tool)


class RelationView(ApiView):
    """Relations between tools, as people curate them."""

    scopes: ClassVar = {"POST": CURATE}

    @extend_schema(
        operation_id="curate_relation",
        request=RelationDecisionSerializer,
        responses=RelationDecisionSerializer,
    )
    def post(self, _request: Request) -> Response:
        """Add a relation, reject one, or withdraw a rejection."""
        values = self.read_body(RelationDecisionSerializer)
        catalogue, now = self.effects.catalogue(), timezone.now()
        source, target = (
            catalogue.find_tool(values[name], self.caller).pk for name in ("source", "target")
        )
        kind = RelationKind(values["kind"])
        if source == target:
            raise InvalidInput("target: a relation is between two different tools")
        if values["decision"] == "add":
            claim = RelationClaim(source=source, target=target, kind=kind, reason=values["reason"])
            curate_relations.curate_relation(self.caller, claim, at=now)
            return Response(RelationDecisionSerializer(values).data)
        known = relations.find_relation(source, target, kind)
        if known is None:
            raise NotFound("such relation")
        if values["decision"] == "reject":
            curate_relations.reject_relations(self.caller, [known.pk], at=now)
        else:
            curate_relations.restore_relations(self.caller, [known.pk])
        return Response(RelationDecisionSerializer(values).data)
