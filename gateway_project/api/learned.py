"""What a team's use has taught: patterns, events of the memory, and thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.response import Response

from execution.snapshot import compute_run_session
from gateway_project.access.roles import ADMINISTER, CURATE, READ
from gateway_project.api.operations import Operation
from gateway_project.api.problems import InvalidInput
from gateway_project.api.views import ApiView
from gateway_project.use_cases import curate_learning
from gateway_project.use_cases.curate_learning import (
    find_own_pattern,
    find_visible,
    forget_patterns,
    name_threshold,
    select_visible,
)
from graph.store import patterns
from learning import outcomes
from learning.memory.event import KIND_CODES, EventOutcome
from learning.store import events, thresholds
from learning.thresholds import backtest
from learning.thresholds.named import POLICY_NAMES
from learning.thresholds.policy import MAX_THRESHOLD, MIN_THRESHOLD
from tools.visibility import Visibility

_KINDS = {kind.value: code for kind, code in KIND_CODES.items()}
MAX_INT64: Final = 2**63 - 1
_KIND_NAMES = {code: name for name, code in _KINDS.items()}


class PatternSerializer(serializers.Serializer[Any]):
    """A workflow that was run for similar intents; intents and values stay sealed."""

    id = serializers.IntegerField(source="pk")
    team = serializers.IntegerField(source="team_id", allow_null=True)
    tools = serializers.SerializerMethodField(help_text="Ids, in the order they ran")
    successes = serializers.IntegerField()
    failures = serializers.IntegerField()
    weight = serializers.FloatField(
        source="success_weight", help_text="Successes by how sure they belong together"
    )
    first_seen_at = serializers.DateTimeField()
    last_seen_at = serializers.DateTimeField()

    def get_tools(self, row: Any) -> list[str]:
        """Return the ids of its tools."""
        return list(map(self.context["view"].visibility.get_tool_id, row.tools))


class EventSerializer(serializers.Serializer[Any]):
    """An event of the memory: structure and keyed hashes, no values."""

    id = serializers.IntegerField(source="pk")
    at = serializers.DateTimeField()
    kind = serializers.SerializerMethodField()
    tool = serializers.SerializerMethodField(help_text="Empty: not about one tool")
    team = serializers.IntegerField(source="team_id", allow_null=True)
    session = serializers.CharField(help_text="Of the caller, or of a run; a number of 64 bits")
    context_hash = serializers.CharField(allow_null=True, help_text="What `context` filters by")
    outcome = serializers.SerializerMethodField(help_text="Empty: it has none")
    duration_ms = serializers.FloatField(allow_null=True)
    weight = serializers.FloatField()
    prediction = serializers.UUIDField(allow_null=True)

    def get_kind(self, row: Any) -> str:
        """Return what happened."""
        return _KIND_NAMES[row.kind]

    def get_tool(self, row: Any) -> str:
        """Return the id of its tool."""
        visibility: Visibility = self.context["view"].visibility
        return "" if row.tool is None else visibility.get_tool_id(row.tool)

    def get_outcome(self, row: Any) -> str:
        """Return how it ended."""
        return "" if row.outcome is None else EventOutcome(row.outcome).name.lower()


class ThresholdSerializer(serializers.Serializer[Any]):
    """The confidence from which workflows are run ahead, in one context."""

    id = serializers.IntegerField(source="pk")
    team = serializers.CharField(source="team.name", allow_null=True, default=None)
    scope = serializers.SerializerMethodField(help_text="What it applies to, by name if known")
    policy = serializers.CharField()
    threshold = serializers.FloatField(help_text="As computed")
    override = serializers.FloatField(allow_null=True, help_text="Set by a person")
    suspended = serializers.BooleanField(help_text="Nothing is run ahead")
    converged = serializers.BooleanField()
    level = serializers.CharField(help_text="Whose outcomes it rests on")
    sample_weight = serializers.FloatField()
    expected_success = serializers.FloatField(allow_null=True)
    success_bound = serializers.FloatField(allow_null=True, help_text="Lower bound of it")
    updated_at = serializers.DateTimeField()

    def get_scope(self, row: Any) -> str:
        """Return what it applies to."""
        return name_threshold(row)


class ThresholdChangeSerializer(serializers.Serializer[Any]):
    """A change of a threshold."""

    id = serializers.IntegerField(source="pk")
    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField()
    reason = serializers.CharField()
    evidence = serializers.DictField()
    user = serializers.CharField(allow_blank=True)
    at = serializers.DateTimeField()


class OverrideSerializer(serializers.Serializer[Any]):
    """A person's decision on a threshold."""

    override = serializers.FloatField(
        min_value=MIN_THRESHOLD,
        max_value=MAX_THRESHOLD,
        allow_null=True,
        help_text="Null: as computed",
    )


class PresetSerializer(serializers.Serializer[Any]):
    """The threshold of a kind of work, decided by a person before or after it is asked for."""

    domain = serializers.CharField(
        max_length=200, help_text="As clients state it; else a category, or a server"
    )
    workflow_type = serializers.CharField(
        max_length=200, default="", help_text="Without it and complexity: the whole domain"
    )
    complexity = serializers.CharField(
        max_length=200, default="", help_text="As stated; else single, few, several or many"
    )
    override = serializers.FloatField(min_value=MIN_THRESHOLD, max_value=MAX_THRESHOLD)


class BacktestPolicySerializer(serializers.Serializer[Any]):
    """What a policy would have done."""

    policy = serializers.CharField()
    predictions = serializers.IntegerField()
    speculated = serializers.IntegerField()
    coverage = serializers.FloatField()
    success = serializers.FloatField(allow_null=True)
    waste = serializers.FloatField(allow_null=True)
    saved_ms = serializers.FloatField()
    path = serializers.ListField(child=serializers.FloatField(allow_null=True))


class BacktestSerializer(serializers.Serializer[Any]):
    """A replay of the newest resolved predictions."""

    predictions = serializers.IntegerField()
    policies = BacktestPolicySerializer(many=True)


@Operation("GET patterns/", READ, answers=PatternSerializer, plural="patterns")
def list_patterns(call: ApiView) -> Any:
    """List patterns, newest first."""
    return select_visible(call.caller, patterns.select_visible)


@Operation("GET patterns/<int:pk>/", READ, answers=PatternSerializer)
def get_pattern(call: ApiView, pk: int) -> Any:
    """Return a pattern."""
    return find_visible(call.caller, patterns.select_visible, pk, "pattern")


@Operation(
    "DELETE patterns/<int:pk>/",
    CURATE,
)
def forget_pattern(call: ApiView, pk: int) -> None:
    """Forget a pattern that the caller owns, with what was learned from it."""
    find_own_pattern(call.caller, pk)
    forget_patterns(call.caller, [pk])


@Operation(
    "GET episodes/",
    READ,
    answers=EventSerializer,
    plural="events",
    parameters=[
        OpenApiParameter("kind", OpenApiTypes.STR, enum=list(_KINDS)),
        OpenApiParameter("tool", OpenApiTypes.STR, description="Canonical id"),
        OpenApiParameter("run", OpenApiTypes.UUID, description="Of the run's tasks"),
        "session",
        "context",
        OpenApiParameter("prediction", OpenApiTypes.UUID),
        OpenApiParameter("team", OpenApiTypes.STR, description="For superusers: its name"),
    ],
)
def list_episodes(call: ApiView) -> Any:
    """List events, newest first."""
    wanted = read_event_filter(
        call.request.query_params,
        find_tool=lambda tool: call.effects.catalogue().find_tool(tool, call.caller).pk,
    )
    return select_visible(call.caller, events.select_visible).filter(**wanted)


def read_event_filter(
    given: Mapping[str, str], *, find_tool: Callable[[str], int]
) -> dict[str, Any]:
    """Read which events an address asks for, by column.

    Args:
        given: Values of `EVENT_FILTERS`.
        find_tool: Returns the primary key of a tool that the caller sees.

    Raises:
        InvalidInput: If a value is not of its kind.
        UnknownTool: If the caller sees no such tool.
    """
    wanted: dict[str, Any] = {}
    for name, (column, read) in _EVENT_COLUMNS.items():
        if text := given.get(name, "").strip():
            wanted[column] = find_tool(text) if read is None else read(name, text)
    return wanted


def _read_kind(_name: str, text: str) -> int:
    if text not in _KINDS:
        raise InvalidInput(f"kind: one of {', '.join(_KINDS)}")
    return _KINDS[text]


def _read_id(name: str, text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise InvalidInput(f"{name}: the id of a {name}") from None


def _read_hash(name: str, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = MAX_INT64 + 1
    if not -MAX_INT64 - 1 <= value <= MAX_INT64:
        raise InvalidInput(f"{name}: the number of a {name}, as a list of events says it")
    return value


_EVENT_COLUMNS: Final[Mapping[str, tuple[str, Callable[[str, str], Any] | None]]] = {
    "kind": ("kind", _read_kind),
    "session": ("session", _read_hash),
    "run": ("session", lambda name, text: compute_run_session(_read_id(name, text))),
    "context": ("context_hash", _read_hash),
    "prediction": ("prediction", _read_id),
    "tool": ("tool", None),
    "team": ("team__name", lambda _name, text: text),
}
"""Column that each filter of events compares, and what reads the value; None: a tool's id."""
EVENT_FILTERS: Final = tuple(_EVENT_COLUMNS)


@Operation("GET thresholds/", READ, answers=ThresholdSerializer, plural="thresholds")
def list_thresholds(call: ApiView) -> Any:
    """List thresholds."""
    return select_visible(call.caller, thresholds.select_visible)


@Operation("GET thresholds/<int:pk>/", READ, answers=ThresholdSerializer)
def get_threshold(call: ApiView, pk: int) -> Any:
    """Return a threshold."""
    return find_visible(call.caller, thresholds.select_visible, pk, "threshold")


@Operation(
    "POST thresholds/",
    ADMINISTER,
    takes={"application/json": PresetSerializer},  # further fields are left aside
    answers=ThresholdSerializer,
    status=201,
)
def preset_threshold(call: ApiView) -> Any:
    """Set the threshold of a kind of work of the caller's team."""
    given = PresetSerializer(data=call.read_object())
    given.is_valid(raise_exception=True)
    stated = dict(given.validated_data)
    override = stated.pop("override")
    pk = curate_learning.preset_threshold(
        call.caller, stated, override=override, at=timezone.now()
    )
    return get_threshold.run(call, pk)


@Operation(
    "GET thresholds/backtest/",
    READ,
    parameters=[
        OpenApiParameter(
            "policy", OpenApiTypes.STR, many=True, description=f"{POLICY_NAMES}; up to four"
        )
    ],
    answers=BacktestSerializer,
)
def backtest_thresholds(call: ApiView) -> Any:
    """Replay the newest 2,000 resolved predictions of the caller's team."""
    history = outcomes.load_resolved(call.caller.owner, limit=thresholds.MAX_RESOLVED)
    presets = curate_learning.load_presets(settings.FOREGATE)
    names = call.request.query_params.getlist("policy")
    try:
        reports = backtest.compare_policies(history, names, presets=presets)
    except ValueError as error:
        raise InvalidInput(f"policy: {error}") from None
    return Response(
        {
            "predictions": len(history),
            "policies": [backtest.report_to_json(report) for report in reports],
        }
    )


@Operation("PUT thresholds/<int:pk>/", ADMINISTER, takes=OverrideSerializer, current=get_threshold)
def override_threshold(call: ApiView, pk: int) -> Any:
    """Override a threshold, or let it be computed again."""
    subject = str(get_threshold.run(call, pk))
    override = call.given["override"]
    curate_learning.override_threshold(
        call.caller, pk, override, subject=subject, at=timezone.now()
    )
    return get_threshold.run(call, pk)


@Operation(
    "GET thresholds/<int:pk>/history/", READ, answers=ThresholdChangeSerializer, plural="changes"
)
def list_threshold_changes(call: ApiView, pk: int) -> Any:
    """List the changes of a threshold with their evidence, newest first."""
    get_threshold.run(call, pk)
    return thresholds.select_changes(pk)
