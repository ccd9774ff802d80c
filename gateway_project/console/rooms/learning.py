"""What was learned, and whether its numbers can be trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from gateway_project.access.roles import ADMINISTER, CURATE, READ, require_scope
from gateway_project.api.learned import EVENT_FILTERS, PresetSerializer, read_event_filter
from gateway_project.api.pages import paginate_rows
from gateway_project.console.rooms.catalogue import load_visibility
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.console.rooms.report_cache import REPORTS, choose_owner
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.use_cases.curate_learning import (
    find_own_pattern,
    find_visible,
    forget_patterns,
    load_presets,
    name_threshold,
    override_threshold,
    preset_threshold,
    select_visible,
)
from graph.store import patterns
from learning import outcomes
from learning.calibration import CalibrationMap
from learning.memory.context import MANY, SIZE_BUCKETS
from learning.memory.event import KIND_CODES, EventKind, EventOutcome
from learning.prediction import ResolvedPrediction
from learning.store import events, thresholds
from learning.thresholds import backtest
from learning.thresholds.backtest import BacktestReport
from learning.thresholds.history_lines import parse_history
from learning.thresholds.named import COMPARED_POLICIES
from learning.thresholds.policy import MAX_THRESHOLD, MIN_THRESHOLD, EvidenceLevel
from tools.store import teams

DAYS: Final = 90
MAX_CHANGES: Final = 200
"""Newest changes of a threshold that are drawn and listed."""
MAX_LISTED: Final = 10
"""Thresholds and patterns on the first page of the room."""
_KIND_WORDS: Final[Mapping[EventKind, str]] = {
    EventKind.TASK_COMPLETE: "a call ended",
    EventKind.SEARCH: "a search for tools",
    EventKind.INTENT: "an intent",
    EventKind.SPECULATION_START: "something was predicted",
    EventKind.SPECULATION_END: "it was known how a prediction ended",
    EventKind.AIL_DECISION: "an agent decided on a paused run",
    EventKind.HIL_DECISION: "a person decided on an approval",
    EventKind.OBSERVATION: "what a call teaches about the next ones",
}
_WORDS_OF_CODES: Final = {KIND_CODES[kind]: words for kind, words in _KIND_WORDS.items()}

LEVELS: Final[Mapping[str, str]] = {
    EvidenceLevel.CONTEXT: "outcomes of this very kind of work",
    EvidenceLevel.DOMAIN: "outcomes of its domain, since this kind of work has few",
    EvidenceLevel.TEAM: "all outcomes of the team, since its domain has few",
    EvidenceLevel.NONE: "where it started, since there are few outcomes",
}
EVIDENCE: Final[Mapping[str, str]] = {
    "level": "rests on",
    "sample_weight": "outcomes, older ones count less",
    "success_bound": "expected success at least",
    "suspended": "nothing was run ahead",
    "converged": "settled",
    "override": "set to",
}
"""Figures of a change in words; the others are named by their words."""
TOLD: Final = (0.7, 0.8, 0.9)
"""Confidences by which a correction is told."""


@room("learning/", "learning", READ)
def show_learning(request: RoomRequest) -> HttpResponse:
    """Show how far stated confidences are from outcomes, and the newest of what was learned."""
    owner, whose = choose_owner(request)
    dated = REPORTS.load(owner, days=DAYS, at=timezone.now())
    visibility = load_visibility(request)
    newest = select_visible(request.caller, patterns.select_visible).order_by("-pk")[:MAX_LISTED]
    return render_room(
        request,
        "console/learning/overview.html",
        title="Learning",
        days=DAYS,
        **whose,
        report=dated and dated.report,
        as_of=dated and dated.built_at,
        corrected=_list_corrected(dated.report.correction) if dated else [],
        chart=[bin_._asdict() for bin_ in dated.report.calibration.reliability] if dated else [],
        thresholds=[
            (row, name_threshold(row))
            for row in select_visible(request.caller, thresholds.select_visible).order_by("-pk")[
                :MAX_LISTED
            ]
        ],
        patterns=[_describe_pattern(row, visibility) for row in newest],
    )


def _list_corrected(correction: CalibrationMap) -> list[tuple[str, str]]:
    """Return some confidences, and what each is told as."""
    return [(f"{one:.2f}", f"{correction.apply(one):.2f}") for one in TOLD]


@room("learning/thresholds/", "thresholds", READ, "GET", "POST")
def list_thresholds(request: RoomRequest) -> HttpResponse:
    """List the thresholds of the caller's team; admins set one of work not asked for yet."""
    problem = ""
    if request.method == "POST":
        require_scope(request.caller, ADMINISTER)
        given = PresetSerializer(data=request.POST)
        if given.is_valid():
            stated = dict(given.validated_data)
            override = stated.pop("override")
            pk = preset_threshold(request.caller, stated, override=override, at=timezone.now())
            messages.success(request, f"Set to {override:.2f}; it applies from now on.")
            return redirect("threshold", pk=pk)
        problem = "; ".join(f"{name}: {' '.join(why)}" for name, why in given.errors.items())
    page = paginate_rows(request, select_visible(request.caller, thresholds.select_visible))
    return render_room(
        request,
        "console/learning/thresholds.html",
        title="Thresholds of speculation",
        thresholds=[(row, name_threshold(row)) for row in page.items],
        next_cursor=page.next_cursor,
        may_override=request.caller.has_scope(ADMINISTER),
        problem=problem,
        given=request.POST,
        complexities=(*(name for _, name in SIZE_BUCKETS), MANY),
        lowest=MIN_THRESHOLD,
        highest=MAX_THRESHOLD,
    )


@room("learning/thresholds/backtest/", "thresholds-backtest", READ, "GET", "POST")
def replay_outcomes(request: RoomRequest) -> HttpResponse:
    """Replay outcomes under several policies: the team's own, or lines that somebody gives."""
    lines, problem = request.POST.get("lines", ""), ""
    reports: Sequence[BacktestReport] = ()
    if request.method == "POST":
        is_own = "own" in request.POST
        try:
            history = (
                outcomes.load_resolved(request.caller.owner, limit=thresholds.MAX_RESOLVED)
                if is_own
                else _read_history(request, lines)
            )
            presets = load_presets(settings.FOREGATE) if is_own else {}
            names = request.POST.getlist("policy")
            reports = backtest.compare_policies(history, names, presets=presets)
        except ValueError as error:
            problem = str(error)
        else:
            problem = "" if history else "There are no outcomes to replay."
    return render_room(
        request,
        "console/learning/backtest.html",
        title="What other thresholds would have done",
        policies=COMPARED_POLICIES,
        chosen=request.POST.getlist("policy") or COMPARED_POLICIES,
        lines=lines,
        most=thresholds.MAX_RESOLVED,
        reports=[] if problem else [(one, backtest.format_path(one.path)) for one in reports],
        problem=problem,
    )


def _read_history(request: RoomRequest, lines: str) -> list[ResolvedPrediction]:
    """Return the outcomes of the file that was sent, else of the lines that were pasted.

    Raises:
        ValueError: If there are too many, or one is malformed.
    """
    file = request.FILES.get("file")
    content = lines.encode() if file is None else file.read()
    history = parse_history(content)
    if len(history) > thresholds.MAX_RESOLVED:
        raise ValueError(
            f"{len(history):,} outcomes are more than {thresholds.MAX_RESOLVED:,}; the command "
            "backtest replays more"
        )
    return history


@room("learning/thresholds/<int:pk>/", "threshold", READ, "GET", "POST")
def show_threshold(request: RoomRequest, pk: int) -> HttpResponse:
    """Show a threshold over time with the evidence for each change; admins override it."""
    row = find_visible(request.caller, thresholds.select_visible, pk, "threshold")
    may_override = request.caller.has_scope(ADMINISTER)
    problem = ""
    if request.method == "POST":
        require_scope(request.caller, ADMINISTER)
        problem, override = _read_override(request)
        if not problem:
            override_threshold(request.caller, pk, override, subject=str(row), at=timezone.now())
            messages.success(request, "Overridden." if override is not None else "As computed.")
            return redirect("threshold", pk=pk)
    changes = list(thresholds.select_changes(pk).order_by("-at", "-pk")[:MAX_CHANGES])
    return render_room(
        request,
        "console/learning/threshold.html",
        title=f"Threshold: {name_threshold(row)}",
        threshold=row,
        name=name_threshold(row),
        in_force=row.threshold if row.override is None else row.override,
        level=LEVELS[row.level],
        changes=[(change, _describe_evidence(change.evidence)) for change in changes],
        chart=[{"at": one.at.timestamp(), "value": one.after} for one in reversed(changes)],
        may_override=may_override,
        lowest=MIN_THRESHOLD,
        highest=MAX_THRESHOLD,
        problem=problem,
    )


@room("learning/patterns/", "patterns", READ)
def list_patterns(request: RoomRequest) -> HttpResponse:
    """List the workflow patterns that the caller's team sees."""
    page = paginate_rows(request, select_visible(request.caller, patterns.select_visible))
    visibility = load_visibility(request)
    return render_room(
        request,
        "console/learning/patterns.html",
        title="Workflow patterns",
        patterns=[_describe_pattern(row, visibility) for row in page.items],
        next_cursor=page.next_cursor,
    )


@room("learning/patterns/<int:pk>/forget/", "pattern-forget", CURATE, "GET", "POST")
def forget_pattern(request: RoomRequest, pk: int) -> HttpResponse:
    """Say what is deleted with a pattern, and delete it."""
    row = find_own_pattern(request.caller, pk)
    if request.method == "POST":
        forget_patterns(request.caller, [pk])
        messages.success(request, "Forgotten, with everything that was learned from it.")
        return redirect("patterns")
    return render_room(
        request,
        "console/learning/forget.html",
        title="Forget a pattern",
        pattern=_describe_pattern(row, load_visibility(request)),
        counts=patterns.count_forgotten([pk]),
    )


@room("learning/memory/", "memory", READ)
def list_memory(request: RoomRequest) -> HttpResponse:
    """List the events of the memory: what happened, with hashes in place of values."""
    visibility = load_visibility(request)
    wanted = read_event_filter(
        request.GET, find_tool=lambda tool: visibility.catalogue.find_tool(tool, request.caller).pk
    )
    rows = (
        select_visible(request.caller, events.select_visible)
        .select_related("team")
        .filter(**wanted)
    )
    page = paginate_rows(request, rows)
    sees_all = request.caller.has_scope(SCOPE_ALL)
    return render_room(
        request,
        "console/learning/memory.html",
        title="Memory",
        events=[
            {
                "row": row,
                "kind": _WORDS_OF_CODES[row.kind],
                "tool": "" if row.tool is None else visibility.get_tool_id(row.tool),
                "outcome": "" if row.outcome is None else EventOutcome(row.outcome).name.lower(),
                "data": json.dumps(row.data, indent=1) if row.data else "",
            }
            for row in page.items
        ],
        next_cursor=page.next_cursor,
        given={name: request.GET.get(name, "") for name in EVENT_FILTERS},
        is_filtered=bool(wanted),
        narrowed=[
            (name, text)
            for name in ("session", "context", "prediction")
            if (text := request.GET.get(name, ""))
        ],
        teams=sorted(teams.select_teams().values_list("name", flat=True)) if sees_all else [],
        kinds=[(kind.value, words) for kind, words in _KIND_WORDS.items()],
    )


def _describe_evidence(evidence: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the figures of a change in words; one that has none here by its stored name."""
    return [
        (
            EVIDENCE.get(name, name.replace("_", " ")),
            LEVELS.get(value, value) if name == "level" else value,
        )
        for name, value in evidence.items()
    ]


def _read_override(request: RoomRequest) -> tuple[str, float | None]:
    """Return what is wrong with the form, and the override; None: as computed."""
    if "reset" in request.POST:
        return "", None
    try:
        override = float(request.POST.get("override", ""))
    except ValueError:
        override = 0.0
    if not MIN_THRESHOLD <= override <= MAX_THRESHOLD:
        return f"Give a number from {MIN_THRESHOLD:.2f} to {MAX_THRESHOLD:.2f}.", None
    return "", override


def _describe_pattern(row: Any, visibility: Any) -> dict[str, Any]:
    return {"row": row, "tools": ", ".join(visibility.get_tool_id(pk) for pk in row.tools)}
