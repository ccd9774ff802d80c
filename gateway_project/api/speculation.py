"""Speculation: what may be called ahead, what was predicted, and what became of it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.response import Response

from execution.speculation.limits import FREE, MAX_CALLS_PER_MINUTE
from execution.speculation.outcome import LISTED_OUTCOMES, Outcome, Verdict
from execution.store import agreements, grants, speculations
from gateway_project.access.roles import ADMINISTER, CURATE, READ
from gateway_project.api.operations import Operation
from gateway_project.api.pages import (
    AnyRequest,
    Page,
    cut_page,
    read_choice,
    read_flag,
    read_page_request,
)
from gateway_project.api.problems import ApiError, InvalidInput
from gateway_project.api.runs import read_key
from gateway_project.api.views import ApiView
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.schema_parts import STRINGS, TEXT, describe_object
from gateway_project.use_cases import curate_servers, curate_speculation
from gateway_project.use_cases.curate_learning import find_prediction, judge_suggestions
from gateway_project.use_cases.curate_speculation import select_visible
from tools.store import overview


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


class BudgetSerializer(serializers.Serializer[Any]):
    """How much may be called ahead at a server."""

    server = serializers.CharField(read_only=True)
    is_set = serializers.BooleanField(read_only=True, help_text="False: the defaults apply")
    waste = serializers.FloatField(
        min_value=0, max_value=1, help_text="Share of predicted calls that may go unused"
    )
    calls_per_minute = serializers.IntegerField(min_value=0, max_value=MAX_CALLS_PER_MINUTE)
    dollars_per_day = serializers.DecimalField(max_digits=10, decimal_places=4, min_value=0)


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
        return list(map(self.context["view"].visibility.get_tool_id, row.tools))


class JudgementSerializer(serializers.Serializer[Any]):
    """A person's verdict."""

    verdict = serializers.ChoiceField([verdict.value for verdict in Verdict])
    tools = serializers.ListField(
        child=serializers.CharField(max_length=1_000),
        default=list,
        max_length=100,
        help_text="For modify: ids of the tools that would have been right",
    )


_PROPOSAL: Final = describe_object(
    {
        "tool": TEXT,
        "definition": {**TEXT, "description": "Hash to grant it with"},
        "proposed": {"type": "boolean"},
        "admissible": {"type": "boolean", "description": "Without a new grant"},
        "supports": STRINGS,
        "doubts": STRINGS,
        "obstacles": STRINGS,
    },
    optional=("supports", "doubts", "obstacles"),
)


@Operation("GET speculation/", READ, answers=SwitchSerializer)
def get_speculation_switch(_call: ApiView) -> Any:
    """Say whether anything is called ahead."""
    return {"on": grants.is_speculation_on(), "available": settings.FOREGATE.speculation}


@Operation("PUT speculation/", ADMINISTER, takes=SwitchSerializer, answers=SwitchSerializer)
def switch_speculation(call: ApiView) -> Any:
    """Turn all speculation on or off."""
    curate_speculation.switch_speculation(call.caller, is_on=call.given["on"])
    return get_speculation_switch.run(call)


@Operation("GET grants/", ADMINISTER, answers=GrantSerializer, plural="grants")
def list_grants(call: ApiView) -> Any:
    """List grants in force, newest first."""
    return select_visible(call.caller, grants.select_grants())


@Operation(
    "POST grants/",
    ADMINISTER,
    takes=GrantRequestSerializer,
    answers={"type": "object", "properties": {"granted": TEXT}},
    status=201,
)
def grant_tool(call: ApiView) -> Any:
    """Let a tool of a trusted server be called ahead, as long as its definition stays."""
    values = call.given
    tool = call.effects.catalogue().find_tool(values["tool"], call.caller)
    outcome = curate_speculation.grant_speculation(
        call.caller,
        {tool.pk: values["definition"]},
        is_closed_world=values["closed_world"],
        team=None if call.caller.has_scope(SCOPE_ALL) else call.caller.team,
        note=values["note"],
    )
    if tool.tool in outcome.changed:
        message = "its definition is not the one that you saw; look at it again"
        raise ApiError(409, "definition_changed", message)
    if reason := outcome.refused.get(tool.tool):
        raise ApiError(409, "not_admissible", reason)
    return {"granted": tool.tool}


@Operation(
    "DELETE grants/<int:pk>/",
    ADMINISTER,
)
def withdraw_grant(call: ApiView, pk: int) -> None:
    """Withdraw a grant; nothing of the tool is called ahead within a second."""
    rows = grants.select_grants()
    curate_speculation.require_visible(call.caller, rows, pk, f"grant {pk} in force")
    curate_speculation.revoke_speculation(call.caller, [pk])


@Operation(
    "GET grants/proposals/",
    ADMINISTER,
    answers=_PROPOSAL,
    plural="proposals",
    parameters=["server"],
)
def list_grant_proposals(call: ApiView) -> Response:
    """List tools with what speaks for and against granting them, by id."""
    server = call.request.query_params.get("server")
    proposals = [
        proposal
        for proposal in curate_speculation.list_proposals(curate_speculation.load_rules())
        if call.caller.can_see_team(proposal.tool.team) and server in (None, proposal.tool.server)
    ]
    proposals.sort(key=lambda proposal: proposal.tool.tool)
    return call.answer_sorted(proposals, _proposal_to_json, key=lambda one: (one.tool.tool,))


@Operation("GET agreements/", ADMINISTER, answers=AgreementSerializer, plural="comparisons")
def list_agreements(call: ApiView) -> Any:
    """List comparisons, newest first."""
    return select_visible(call.caller, agreements.select_agreements())


@Operation(
    "DELETE agreements/<int:pk>/",
    ADMINISTER,
)
def compare_anew(call: ApiView, pk: int) -> None:
    """Forget how a tool's results compared, so that it can earn being served again."""
    rows = agreements.select_agreements()
    curate_speculation.require_visible(call.caller, rows, pk, f"comparison {pk}")
    curate_speculation.compare_anew(call.caller, [pk])


@Operation("GET budgets/", ADMINISTER, answers=BudgetSerializer, plural="budgets", order="server")
def list_budgets(call: ApiView) -> Response:
    """List budgets by server, defaults included."""
    names = [server.name for server in overview.load_visible_summaries(call.caller)]
    limits = agreements.load_limits()
    return call.answer_sorted(
        names,
        lambda name: BudgetSerializer(_find_budget(name, limits)).data,
        key=lambda name: (name,),
    )


@Operation("GET budgets/<path:server>/", ADMINISTER, answers=BudgetSerializer)
def get_budget(call: ApiView, server: str) -> Any:
    """Return the budget of a server, or the defaults."""
    curate_servers.find_server(call.caller, server)
    return _find_budget(server, agreements.load_limits())


@Operation("PUT budgets/<path:server>/", ADMINISTER, takes=BudgetSerializer, current=get_budget)
def set_budget(call: ApiView, server: str) -> Any:
    """Set the budget of a server; it holds within a second."""
    try:
        curate_speculation.save_budget(call.caller, server, call.given)
    except ValidationError as error:
        raise InvalidInput("; ".join(error.messages)) from None
    return get_budget.run(call, server)


@Operation("DELETE budgets/<path:server>/", ADMINISTER, current=get_budget)
def reset_budget(call: ApiView, server: str) -> None:
    """Let the defaults apply to a server again."""
    curate_speculation.delete_budget(call.caller, server)


@Operation(
    "GET speculations/",
    READ,
    answers=SpeculationSerializer,
    plural="predicted workflows",
    parameters=[
        OpenApiParameter("outcome", OpenApiTypes.STR, enum=LISTED_OUTCOMES),
        OpenApiParameter("shadow", OpenApiTypes.BOOL),
    ],
)
def list_speculations(call: ApiView) -> Response:
    """List predicted workflows, newest first."""
    shadow = read_flag(call.request.query_params, "shadow")
    page = find_page(call.request, call.caller, shadow=shadow)
    context = {"view": call}
    return Response(
        page.as_json(call.request, lambda row: SpeculationSerializer(row, context=context).data)
    )


def find_page(request: AnyRequest, caller: Caller, *, shadow: bool | None = None) -> Page[Any]:
    """Return the page of predictions that an address asks for, as far as the caller sees them.

    Args:
        request: With `limit`, `cursor` and `outcome`.
        caller: Who asks.
        shadow: Whether to list those that were only predicted, or the others; None: both.

    Raises:
        InvalidInput: If a value is invalid.
    """
    wanted = read_page_request(request, key=(str, str))
    found = speculations.load_page(
        None if caller.has_scope(SCOPE_ALL) else caller,
        outcome=read_choice(request.GET, "outcome", LISTED_OUTCOMES),
        shadow=shadow,
        after=read_key(wanted.after),
        limit=wanted.limit + 1,
    )
    return cut_page(found, wanted, key=lambda row: (row.created_at.isoformat(), str(row.pk)))


@Operation("GET speculations/<uuid:speculation>/", READ, answers=SpeculationSerializer)
def get_speculation(call: ApiView, speculation: UUID) -> Any:
    """Return a predicted workflow."""
    return find_prediction(call.caller, speculation)


@Operation(
    "POST speculations/<uuid:speculation>/",
    CURATE,
    takes=JudgementSerializer,
    answers=SpeculationSerializer,
)
def judge_speculation(call: ApiView, speculation: UUID) -> Any:
    """Accept, reject or correct a prediction as a person; it counts once."""
    find_prediction(call.caller, speculation)
    verdict = Verdict(call.given["verdict"])
    recorded = judge_suggestions(
        call.caller,
        [speculation],
        verdict,
        at=timezone.now(),
        changed_tools=_read_tools(call, verdict),
    )
    if not recorded:
        message = "it was resolved already; an outcome counts once"
        raise ApiError(HTTPStatus.CONFLICT, "speculation_resolved", message)
    return find_prediction(call.caller, speculation)


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


def _find_budget(server: str, limits: Any) -> dict[str, Any]:
    known = limits.get(server, FREE)
    return {
        "server": server,
        "is_set": server in limits,
        "waste": known.waste,
        "calls_per_minute": known.calls_per_minute,
        "dollars_per_day": known.dollars_per_day,
    }


def _read_tools(call: ApiView, verdict: Verdict) -> list[int] | None:
    """Return the tools that would have been right; None: the verdict names none."""
    tools = call.given["tools"]
    if (verdict is Verdict.MODIFY) != bool(tools):
        raise InvalidInput("tools: needed for modify, and only there")
    if not tools:
        return None
    catalogue = call.effects.catalogue()
    return [catalogue.find_tool(tool, call.caller).pk for tool in tools]
