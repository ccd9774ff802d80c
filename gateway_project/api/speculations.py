"""Predicted workflows: what was suggested or run ahead, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from execution.speculation.outcome import LISTED_OUTCOMES, Outcome, Verdict
from execution.store import speculations
from gateway_project.access.roles import CURATE, READ
from gateway_project.api.description import describe_list
from gateway_project.api.pages import cut_page, read_page_request
from gateway_project.api.problems import ApiError, InvalidInput
from gateway_project.api.runs import read_key
from gateway_project.api.views import ApiView
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.use_cases.curate_learning import find_prediction, judge_suggestions
from tools.visibility import Visibility


class SpeculationSerializer(serializers.Serializer[Any]):
    """A predicted workflow, without what was asked and what was answered."""

    id = serializers.UUIDField()
    user = serializers.CharField()
    team = serializers.IntegerField(source="team_id", allow_null=True)
    form = serializers.CharField(help_text="intent, prefetch or next_layer")
    shadow = serializers.BooleanField(help_text="Whether it was only predicted, not run ahead")
    confidence = serializers.FloatField()
    threshold = serializers.FloatField(help_text="Confidence required then to run it ahead")
    admitted = serializers.BooleanField()
    runnable = serializers.BooleanField()
    fallback = serializers.CharField(help_text="Why it was not run ahead; empty: it was")
    tools = serializers.SerializerMethodField(help_text="Ids of the tools, as far as visible")
    saves_ms = serializers.FloatField(allow_null=True)
    took_ms = serializers.FloatField(allow_null=True)
    outcome = serializers.ChoiceField(
        [outcome.value for outcome in Outcome], allow_blank=True, help_text="Empty: still open"
    )
    created_at = serializers.DateTimeField()
    resolved_at = serializers.DateTimeField(allow_null=True)

    def get_tools(self, row: Any) -> list[str]:
        """Return the ids of the suggested tools."""
        visibility: Visibility = self.context["visibility"]
        return [visibility.get_tool_id(pk) for pk in row.tools]


class JudgementSerializer(serializers.Serializer[Any]):
    """A person's verdict."""

    verdict = serializers.ChoiceField([verdict.value for verdict in Verdict])
    tools = serializers.ListField(
        child=serializers.CharField(max_length=1_000),
        default=list,
        max_length=100,
        help_text="For modify: ids of the tools that would have been right",
    )


class SpeculationListView(ApiView):
    """Predictions of the caller's team, or of their own without one."""

    scopes: ClassVar = {"GET": READ}

    @describe_list(
        "list_speculations",
        SpeculationSerializer,
        "predicted workflows",
        OpenApiParameter("outcome", OpenApiTypes.STR, enum=LISTED_OUTCOMES),
        OpenApiParameter("shadow", OpenApiTypes.BOOL),
    )
    def get(self, request: Request) -> Response:
        """List predicted workflows, newest first."""
        wanted = read_page_request(request, key=(str, str))
        outcome = request.query_params.get("outcome", "")
        if outcome and outcome not in LISTED_OUTCOMES:
            raise InvalidInput(f"outcome: one of {', '.join(LISTED_OUTCOMES)}")
        shadow = request.query_params.get("shadow")
        if shadow not in (None, "true", "false"):
            raise InvalidInput("shadow: true or false")
        found = speculations.load_page(
            None if self.caller.has_scope(SCOPE_ALL) else self.caller,
            outcome=outcome,
            shadow=None if shadow is None else shadow == "true",
            after=read_key(wanted.after),
            limit=wanted.limit + 1,
        )
        page = cut_page(found, wanted, key=lambda row: (row.created_at.isoformat(), str(row.pk)))
        return Response(page.as_json(request, _make_item(self)))


class SpeculationView(ApiView):
    """One predicted workflow."""

    scopes: ClassVar = {"GET": READ, "POST": CURATE}

    @extend_schema(operation_id="get_speculation", responses=SpeculationSerializer)
    def get(self, _request: Request, speculation: UUID) -> Response:
        """Return a predicted workflow."""
        return Response(_make_item(self)(find_prediction(self.caller, speculation)))

    @extend_schema(
        operation_id="judge_speculation",
        request=JudgementSerializer,
        responses=SpeculationSerializer,
    )
    def post(self, _request: Request, speculation: UUID) -> Response:
        """Accept, reject or correct a prediction as a person; it counts once."""
        given = self.read_body(JudgementSerializer)
        find_prediction(self.caller, speculation)
        verdict = Verdict(given["verdict"])
        recorded = judge_suggestions(
            self.caller,
            [speculation],
            verdict,
            at=timezone.now(),
            changed_tools=self._read_tools(verdict, given["tools"]),
        )
        if not recorded:
            message = "it was resolved already; an outcome counts once"
            raise ApiError(409, "speculation_resolved", message)
        return Response(_make_item(self)(find_prediction(self.caller, speculation)))

    def _read_tools(self, verdict: Verdict, tools: list[str]) -> list[int] | None:
        """Return the tools that would have been right; None: the verdict names none."""
        if (verdict is Verdict.MODIFY) != bool(tools):
            raise InvalidInput("tools: needed for modify, and only there")
        if not tools:
            return None
        catalogue = self.effects.catalogue()
        return [catalogue.find_tool(tool, self.caller).pk for tool in tools]


def _make_item(view: ApiView) -> Callable[[Any], Any]:
    visibility = Visibility(catalogue=view.effects.catalogue(), caller=view.caller)
    return lambda row: SpeculationSerializer(row, context={"visibility": visibility}).data
