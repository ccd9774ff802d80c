"""What is called ahead: whether it is right, what it gains, and what allows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from execution.speculation.grant_proposals import GrantProposal
from execution.speculation.outcome import LISTED_OUTCOMES, OPEN, Evidence, Outcome, Verdict
from execution.speculation.rules import ReasonCode
from execution.store import agreements, grants, prediction_contents
from gateway_project.access.roles import ADMINISTER, CURATE, READ
from gateway_project.api.problems import InvalidInput, NotFound
from gateway_project.api.speculation import find_page
from gateway_project.console.rooms.addresses import server_address, tool_address
from gateway_project.console.rooms.catalogue import load_catalogue, load_visibility
from gateway_project.console.rooms.page import RoomRequest, load_payload_sealer, render_room, room
from gateway_project.console.rooms.report_cache import REPORTS, DatedReport, choose_owner
from gateway_project.console.rooms.runs import describe_result
from gateway_project.console.run_decisions import DisplayBudget
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.foundation.rounding import round_apart
from gateway_project.use_cases import curate_speculation
from gateway_project.use_cases.curate_learning import find_prediction, judge_suggestions
from gateway_project.use_cases.curate_speculation import compare_anew, select_visible
from gateway_project.use_cases.decide_approval import load_approver
from learning.metrics import make_share
from learning.report import LearningReport
from learning.store import thresholds
from tools.store import teams
from tools.visibility import Visibility

DAYS: Final = 30
MAX_GAINS: Final = 20
MIN_SAVED_S: Final = 1.0
"""Seconds a day that trust in a server must save to be worth a sentence."""
MAX_PROPOSALS: Final = 50
MAX_MORE: Final = 1_000
"""Characters of tools in a correction that are shown again after a mistake."""
FORMS: Final[Mapping[str, str]] = {
    "intent": "a whole workflow",
    "prefetch": "a next call",
    "next_layer": "tasks of a run that waited",
}
_FALLBACKS: Final[Mapping[str, str]] = {
    ReasonCode.TOO_SLOW: "too slow, at its latest call at least",
    ReasonCode.UNUSABLE_RESULT: "a call had no usable answer",
}
_EVIDENCE: Final[Mapping[str, str]] = {
    Evidence.RUN: "the client ran the workflow as suggested",
    Evidence.CALLS: "the client asked for the suggested calls one by one",
    Evidence.CHANGED_RUN: "the client ran a workflow that shares tools with it",
    Evidence.SOME_CALLS: "the client called some of its tools, or with other arguments",
    Evidence.OTHER_RUN: "the client ran a workflow that shares no tool with it",
    Evidence.OTHER_CALLS: "the client called other tools only",
    Evidence.USED: "the client used results: it asked for one, or passed a value from one on",
}


@room("speculation/", "speculation", READ)
def show_speculation(request: RoomRequest) -> HttpResponse:
    """Show what predictions gained and how right they were, and list them."""
    caller = request.caller
    page = find_page(request, caller)
    outcome = request.GET.get("outcome", "")
    sees_all = caller.has_scope(SCOPE_ALL)
    owner, whose = choose_owner(request)
    visibility = load_visibility(request)
    dated = REPORTS.load(owner, days=DAYS, at=timezone.now())
    return render_room(
        request,
        "console/speculation/overview.html",
        title="Speculation",
        days=DAYS,
        sees_all=sees_all,
        **whose,
        **(_describe_report(dated) if dated else {}),
        trust=_weigh_trust(dated.report, visibility) if dated else [],
        predictions=[_describe_prediction(row, visibility) for row in page.items],
        next_cursor=page.next_cursor,
        outcome=outcome,
        outcomes=LISTED_OUTCOMES,
        is_first=not request.GET.get("cursor") and not outcome,
        may_administer=caller.has_scope(ADMINISTER),
    )


def _describe_report(dated: DatedReport) -> dict[str, Any]:
    return {
        "report": dated.report,
        "as_of": dated.built_at,
        "forms": _list_forms(dated.report),
        "gains": _list_gains(dated.report),
    }


@room("speculation/<uuid:speculation>/", "prediction", READ)
def show_prediction(request: RoomRequest, speculation: UUID) -> HttpResponse:
    """Show what one prediction rested on, and what became of it."""
    row = find_prediction(request.caller, speculation)
    visibility = load_visibility(request)
    tools = [
        {"pk": pk, "id": visibility.get_tool_id(pk), "is_own": pk in row.tools}
        for pk in dict.fromkeys([*row.tools, *(row.changed_tools or ())])
    ]
    return render_room(
        request,
        "console/speculation/prediction.html",
        title=f"Prediction {str(speculation)[:8]}",
        prediction=_describe_prediction(row, visibility),
        row=row,
        tools=tools,
        evidence=_describe_evidence(row),
        threshold=thresholds.find_nearest(
            row.team_id, domain=row.domain_hash, context=row.context_hash
        ),
        **_describe_content(request, row, visibility),
        is_curator=request.caller.has_scope(CURATE),
        is_open=row.outcome in ("", Outcome.EXPIRED),
        more=request.GET.get("more", "")[:MAX_MORE],
    )


def _describe_content(request: RoomRequest, row: Any, visibility: Visibility) -> dict[str, Any]:
    """Return the intent, calls and results, for those who may read these of a run."""
    if not load_approver(request.caller).may_decide(row.team_id, row.user):
        return {"may_read": False}
    stored = prediction_contents.load_content(row.pk, sealer=load_payload_sealer())
    if stored is None:
        days = settings.FOREGATE.payload_days
        is_old = row.created_at < timezone.now() - timedelta(days=days)
        why = f"they are kept for {days:g} days" if is_old else "nothing was kept of them"
        return {"may_read": True, "why_no_content": why}
    budget = DisplayBudget()
    calls = [
        {
            "task": call["task"],
            "tool": (tool := visibility.get_tool_id(call["tool"])),
            "url": tool_address(tool),
            "arguments": budget.format_arguments(call["arguments"]),
            "results": [
                {"size": one["size"], "result": one["raw"] and describe_result(one["raw"], budget)}
                for one in call["results"]
            ],
        }
        for call in stored["calls"]
    ]
    return {"may_read": True, "content": {"intent": stored["intent"], "calls": calls}}


@room("speculation/<uuid:speculation>/judge/", "prediction-judge", CURATE, "POST")
def judge(request: RoomRequest, speculation: UUID) -> HttpResponse:
    """Accept, reject or correct a prediction; a verdict counts once."""
    row = find_prediction(request.caller, speculation)
    try:
        verdict = Verdict(request.POST.get("verdict", ""))
    except ValueError:
        raise InvalidInput("verdict: accept, reject or modify") from None
    changed = None
    if verdict is Verdict.MODIFY:
        try:
            changed = _read_correction(request, row)
        except InvalidInput as error:
            messages.error(request, f"Nothing was recorded: {error}.")
            more = urlencode({"more": request.POST.get("more", "")[:MAX_MORE]})
            return redirect(f"{reverse('prediction', args=[speculation])}?{more}")
    recorded = judge_suggestions(
        request.caller, [speculation], verdict, at=timezone.now(), changed_tools=changed
    )
    if recorded:
        messages.success(request, "Your verdict is recorded and counts as feedback.")
    else:
        messages.error(
            request, "Nothing was changed: its outcome is known already, and counts once."
        )
    return redirect("prediction", speculation=speculation)


@room("speculation/grants/", "speculation-grants", ADMINISTER)
def show_grants(request: RoomRequest) -> HttpResponse:
    """List what may be called ahead, and proposals with what speaks for and against each."""
    caller = request.caller
    rules = curate_speculation.load_rules(load_catalogue(request))
    server = request.GET.get("server", "")
    proposals = [
        proposal
        for proposal in curate_speculation.list_proposals(rules, server=server)
        if caller.has_scope(SCOPE_ALL) or caller.can_see_team(proposal.tool.team)
    ]
    compared = list(
        select_visible(caller, agreements.select_agreements()).order_by("-compared_at")
    )
    by_tool = {one.tool_id: one for one in compared}
    shown = [one for one in compared if server in ("", one.tool.server.name)]
    entries = [
        {
            "proposal": one,
            "record": by_tool.get(one.tool.pk),
            "is_open": _waits_for_decision(one),
        }
        for one in proposals[:MAX_PROPOSALS]
    ]
    open_count = sum(map(_waits_for_decision, proposals[:MAX_PROPOSALS]))
    in_force: list[Any] = list(
        select_visible(caller, grants.select_grants()).order_by("-pk")[:MAX_PROPOSALS]
    )
    return render_room(
        request,
        "console/speculation/grants.html",
        title="What may be called ahead",
        grants=in_force,
        revocable={one.pk for one in in_force if caller.can_decide_for_team(one.concerned_team)},
        may_grant=caller.can_decide_for_team(caller.team),
        teams=list(teams.select_teams().order_by("name")) if caller.has_scope(SCOPE_ALL) else [],
        compared=shown[:MAX_PROPOSALS],
        more_compared=max(0, len(shown) - MAX_PROPOSALS),
        proposals=entries,
        open_count=open_count,
        settled_count=len(entries) - open_count,
        more=max(0, len(proposals) - MAX_PROPOSALS),
        server=server,
        servers=sorted(
            name
            for name, known in rules.catalogue.servers.items()
            if caller.has_scope(SCOPE_ALL) or caller.can_see_team(known.team)
        ),
    )


def _waits_for_decision(proposal: GrantProposal) -> bool:
    return proposal.can_be_granted and not proposal.is_admissible


@room("speculation/grants/add/", "speculation-grant", ADMINISTER, "POST")
def grant(request: RoomRequest) -> HttpResponse:
    """Let a tool be called ahead, with exactly the definition that the page showed."""
    tool = load_visibility(request).find_tool(_read_pk(request.POST.get("tool", "")))
    if tool is None:
        raise NotFound("such tool")
    outcome = curate_speculation.grant_speculation(
        request.caller,
        {tool.pk: request.POST.get("definition", "")},
        is_closed_world="closed" in request.POST,
        team=_read_team(request),
        note=request.POST.get("note", "")[:200],
    )
    if outcome.granted:
        messages.success(request, f"{tool.tool} may be called ahead.")
    elif reason := outcome.refused.get(tool.tool):
        messages.error(request, f"Not granted: {reason}")
    else:
        messages.error(request, "Not granted: its definition has changed; look at it again.")
    return redirect("speculation-grants")


@room("speculation/grants/<int:pk>/revoke/", "speculation-revoke", ADMINISTER, "POST")
def revoke(request: RoomRequest, pk: int) -> HttpResponse:
    """Withdraw a grant."""
    curate_speculation.require_visible(
        request.caller, grants.select_grants(), pk, f"grant {pk} in force"
    )
    curate_speculation.revoke_speculation(request.caller, [pk])
    messages.success(request, "Withdrawn: nothing of the tool is called ahead within a second.")
    return redirect("speculation-grants")


@room("speculation/compared/<int:pk>/reset/", "speculation-reset", ADMINISTER, "POST")
def reset_agreement(request: RoomRequest, pk: int) -> HttpResponse:
    """Forget how a tool's results compared, so that it can earn being served again."""
    curate_speculation.require_visible(
        request.caller, agreements.select_agreements(), pk, f"comparison {pk}"
    )
    compare_anew(request.caller, [pk])
    messages.success(request, "The comparison of its results starts again.")
    return redirect("speculation-grants")


def _describe_evidence(row: Any) -> str:
    """Return in words what the client did since."""
    if row.evidence == Evidence.CALLS and not row.shadow and not row.has_failed:
        return f"{_EVIDENCE[row.evidence]}, and got these results while they were fresh"
    if row.evidence != Evidence.NONE:
        return _EVIDENCE[row.evidence]
    if not row.outcome:
        return "the client has done nothing of note yet"
    if row.outcome == Outcome.EXPIRED:
        return "the client did nothing of note in time, which says nothing"
    if row.outcome == Outcome.HIT and not row.explicit:
        return "the client did nothing more, though it used to make these calls itself"
    return "the client had done nothing of note before that"


def _read_correction(request: RoomRequest, row: Any) -> list[int]:
    """Return the tools that would have been right, as the person says.

    Raises:
        InvalidInput: If there is no such tool, or none is named.
    """
    visibility = load_visibility(request)
    kept = [pk for pk in row.tools if str(pk) in request.POST.getlist("keep")]
    for name in request.POST.get("more", "").replace(",", " ").split():
        tool = visibility.catalogue.tools.get(name)
        if tool is None or visibility.find_tool(tool.pk) is None:
            raise InvalidInput(f"there is no tool {name[:100]!r}")
        kept.append(tool.pk)
    if not kept:
        raise InvalidInput("name the tools that would have been right, or reject the prediction")
    return list(dict.fromkeys(kept))


def _read_team(request: RoomRequest) -> int | None:
    """Return the team that a grant is for; None: everybody who sees the tool."""
    if not request.caller.has_scope(SCOPE_ALL):
        return request.caller.team
    if not (text := request.POST.get("team", "")):
        return None
    pk = _read_pk(text)
    if teams.load_team_name(pk) is None:
        raise NotFound("such team")
    return pk


def _read_pk(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InvalidInput("tool, team: the number of one")
    return int(text)


def _describe_prediction(row: Any, visibility: Visibility) -> dict[str, Any]:
    return {
        "row": row,
        **_describe_threshold(row),
        "form": FORMS.get(row.form, row.form),
        "tools": ", ".join(visibility.get_tool_id(pk) for pk in row.tools),
        "fallback": _FALLBACKS.get(row.fallback) or row.fallback.replace("_", " "),
        "outcome": row.outcome or OPEN,
        "kind": _KINDS.get(row.outcome, "muted"),
    }


def _describe_threshold(row: Any) -> dict[str, str]:
    """Return a confidence and what it was compared with, as far apart as they were."""
    confidence, least = round_apart(row.confidence, row.threshold, digits=2)
    if row.admitted:
        verdict = f"{_format_hundredths(least)} was needed: confident enough"
    elif row.confidence < row.threshold:
        verdict = f"{_format_hundredths(least)} was needed: not confident enough"
    else:  # suspended, or a draft from words alone
        verdict = "none: nothing was run ahead then, whatever its confidence"
    return {"confidence": _format_hundredths(confidence), "threshold": verdict}


def _format_hundredths(number: float) -> str:
    """Return a number with two decimals, or with as many as it needs."""
    return max(f"{number:.2f}", f"{number!r}", key=len)


_KINDS: Final[Mapping[str, str]] = {
    Outcome.HIT: "ok",
    Outcome.MODIFIED: "warn",
    Outcome.MISS: "bad",
    Outcome.REJECTED: "bad",
    Outcome.FAILED: "bad",
}
"""Kind of the badge of each outcome."""


def _list_forms(measured: LearningReport) -> list[dict[str, Any]]:
    """Return the figures of each form of prediction, for the table."""
    found = []
    for name, intents, calls in (
        ("Called ahead", measured.intents, measured.next_calls),
        ("Only predicted", measured.shadow_intents, measured.shadow_next_calls),
    ):
        found.append(
            {
                "name": f"{name}: whole workflows",
                "of": sum(intents.outcomes.values()),
                "right": intents.success,
                "waste": intents.waste,
                "saved_s": intents.saved_s,
                "wasted_s": intents.wasted_s,
            }
        )
        found.append(
            {
                "name": f"{name}: next calls",
                "of": calls.total.predictions,
                "right": make_share(calls.total.hits, calls.total.predictions),
                "waste": calls.total.waste,
                "saved_s": calls.total.saved_s,
                "wasted_s": calls.total.wasted_s,
            }
        )
    return found


def _list_gains(measured: LearningReport) -> list[dict[str, Any]]:
    """Return what predicted next calls gained or would gain, by server and by tool."""
    found = []
    for mode, calls in (
        ("called ahead", measured.next_calls),
        ("only predicted", measured.shadow_next_calls),
    ):
        for level, gains in (("server", calls.servers), ("tool", calls.tools)):
            found += [{"mode": mode, "level": level, "gain": gain} for gain in gains[:MAX_GAINS]]
    return found


def _weigh_trust(measured: LearningReport, visibility: Visibility) -> list[dict[str, Any]]:
    """Return what trusting each server would have saved a day, the most first.

    Only by tools that declare themselves read-only: of these, trust is all that is missing.
    """
    catalogue = visibility.catalogue
    saved: defaultdict[str, float] = defaultdict(float)
    for gain in measured.shadow_next_calls.tools:
        tool = catalogue.tools.get(gain.name)
        if tool is None or tool.annotations.get("readOnlyHint") is not True:
            continue
        if not catalogue.servers[tool.server].trusted:
            saved[tool.server] += gain.saved_s / DAYS
    return [
        {"server": name, "url": server_address(name), "saved_s": a_day}
        for name, a_day in sorted(saved.items(), key=lambda one: -one[1])
        if a_day >= MIN_SAVED_S
    ]
