"""Analyse what a session did: what its calls teach, and which calls are likely to come next.

CPU-bound and in memory, so any thread may run it, but one at a time for each session.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from execution import call
from execution.approval import explain_approval
from execution.running import results
from execution.speculation.grant_proposals import propose_grant
from execution.speculation.pending import (
    CallKey,
    PendingPredictions,
    PredictionOutcome,
    ResolvedCall,
    make_call_key,
)
from execution.speculation.rules import AdmissibilityRules, is_known_to_read
from execution.speculation.waste_budget import rank_dispatch
from gateway_project.foundation.canonical import NotCanonicalizable
from learning.episodes import Statement
from learning.memory.event import EventOutcome
from learning.sessions.session import (
    AnsweredCall,
    NextCallPrediction,
    Session,
    SessionAnalysis,
)
from tools.visibility import Visibility

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller
    from graph.suggestion.next_call.call import CompletedCall
    from graph.suggestion.next_call.model import NextCallModel
    from graph.suggestion.next_call.observation import CallObservation
    from graph.suggestion.next_call.profiles import ToolProfiles
    from tools.catalogue import Catalogue, CatalogueTool

MAX_PREDICTIONS: Final = 8
"""Calls predicted at once; on recorded sessions, more find hardly more reads ready."""
MIN_CHANCE: Final = 0.1
"""Chance below which no budget would have a call made ahead: nine of ten would be wasted."""
LARGE_ARGUMENTS: Final[Mapping[str, Any]] = {"\0": None}
"""Stands for arguments that were not kept: a name that no tool declares, so that the call counts
as one whose arguments are not all known."""
_OUTCOMES: Final[Mapping[PredictionOutcome, EventOutcome]] = {
    PredictionOutcome.HIT: EventOutcome.HIT,
    PredictionOutcome.MISS: EventOutcome.MISS,
    PredictionOutcome.EXPIRED: EventOutcome.EXPIRED,
}


class ObservedCall(NamedTuple):
    """What an answered call teaches."""

    call: AnsweredCall
    observation: CallObservation


class ResolvedNextCall(NamedTuple):
    """A predicted next call with its outcome.

    Attributes:
        saves_ms: Milliseconds that making the call ahead would have saved; 0: it was not made.
    """

    prediction: NextCallPrediction
    outcome: EventOutcome
    saves_ms: float


@dataclass(frozen=True, kw_only=True, slots=True)
class AnalysisResult:
    """What came out of an analysis.

    Attributes:
        taught: What each answered call teaches, in their order.
        resolved: Predictions that these calls decided.
        predictions: Calls that are likely to come next, those that gain most from being called
            ahead first.
    """

    taught: Sequence[ObservedCall]
    resolved: Sequence[ResolvedNextCall]
    predictions: Sequence[NextCallPrediction]


def analyse_session(
    session: Session,
    items: Iterable[Statement | AnsweredCall],
    *,
    model: NextCallModel | None,
    rules: AdmissibilityRules,
) -> AnalysisResult:
    """Take in what a session did, and predict its next calls.

    Args:
        session: The session; its analysis is updated.
        items: What it did since the last analysis, oldest first.
        model: What past sessions of its team taught; None: nothing is known yet.
        rules: Catalogue and grants.
    """
    from graph.suggestion.next_call.model import NextCallModel
    from graph.suggestion.next_call.predict import predict_calls
    from graph.suggestion.next_call.session import SessionState

    profiles = load_profiles(rules, session.caller)
    if session.analysis is None:
        session.analysis = SessionAnalysis(
            state=SessionState(profiles), pending=PendingPredictions()
        )
    analysis: SessionAnalysis = session.analysis
    analysis.state.tools = profiles
    taught: list[ObservedCall] = []
    resolved: list[ResolvedNextCall] = []
    for item in items:
        if isinstance(item, Statement):
            analysis.state.add_statement(item.text, item.found, item.planned)
        else:
            is_read_only = is_known_to_read(item.tool, rules, team=session.caller.team)
            resolved += _resolve_call(analysis, item, is_read_only=is_read_only)
            completed = _complete_call(item, is_read_only=is_read_only)
            taught.append(ObservedCall(item, analysis.state.add_call(completed)))
    predicted = predict_calls(
        analysis.state, model or NextCallModel(), profiles, limit=MAX_PREDICTIONS
    )
    visibility = Visibility(catalogue=rules.catalogue, caller=session.caller)
    predictions = [
        NextCallPrediction(uuid.uuid4(), make_call_key(one.tool, one.arguments), one, tool)
        for one in predicted
        if one.chance >= MIN_CHANCE
        and (tool := visibility.find_tool(one.tool)) is not None
        and is_predictable(tool, visibility, rules)
    ]
    predictions.sort(key=_rank_gain, reverse=True)
    return AnalysisResult(taught=taught, resolved=resolved, predictions=predictions)


def add_predictions(
    analysis: SessionAnalysis, predictions: Iterable[NextCallPrediction], *, at: float
) -> list[ResolvedNextCall]:
    """Let predictions wait for their outcome; return those that had to make room."""
    analysis.predicted_at = at
    replaced = (analysis.pending.add(one.key, one, at=at) for one in predictions)
    return [_describe_resolved(one, 0.0) for some in replaced for one in some]


def close_analysis(analysis: SessionAnalysis, *, at: float) -> list[ResolvedNextCall]:
    """Resolve all predictions of a session that has ended."""
    return [_describe_resolved(one, 0.0) for one in analysis.pending.close(at)]


def _rank_gain(prediction: NextCallPrediction) -> float:
    """Return a measure of the time that calling ahead is expected to save."""
    predicted = prediction.call
    return rank_dispatch(predicted.chance, predicted.next_chance) * predicted.saves_ms


def is_predictable(tool: CatalogueTool, visibility: Visibility, rules: AdmissibilityRules) -> bool:
    """Whether a caller's call of a tool is worth predicting.

    It must seem to only read, and need nobody's approval. What may be called ahead is decided
    when the call is dispatched; the outcomes of other predictions show what a grant would gain.
    """
    caller, catalogue = visibility.caller, visibility.catalogue
    return (
        seems_to_read(tool, rules, team=caller.team)
        and not visibility.find_obstacle(tool)
        and caller.has_scope(call.SCOPE)
        and not explain_approval(tool, caller=caller, catalogue=catalogue)
    )


def seems_to_read(tool: CatalogueTool, rules: AdmissibilityRules, *, team: int | None) -> bool:
    """Whether somebody trusted says that a tool only reads, or a grant for it would be proposed.

    A tool that a team was granted counts too.
    """
    if tool.vetoed or not tool.is_usable or tool.server not in rules.catalogue.servers:
        return False
    return is_known_to_read(tool, rules, team=team) or propose_grant(tool, rules).is_proposed


def load_profiles(rules: AdmissibilityRules, caller: Caller) -> ToolProfiles:
    """Return the tools that a caller sees, as prediction reads them.

    They are built once for each catalogue and its grants.
    """
    from graph.suggestion.next_call.profiles import build_profiles

    catalogue = rules.catalogue
    teams = _list_teams(catalogue) | {
        grant.team for grants in rules.grants.by_tool.values() for grant in grants
    }
    own = caller.team if caller.team in teams else None
    key = ("next_call_profiles", own, caller.group)
    grants, profiles = catalogue.derived_cache.get(key, (None, None))
    if grants is not rules.grants:
        profiles = build_profiles(_describe_tools(rules, caller))
        catalogue.derived_cache[key] = rules.grants, profiles
    built: ToolProfiles = profiles
    return built


def _list_teams(catalogue: Catalogue) -> frozenset[int | None]:
    key = "teams_with_tools"
    if key not in catalogue.derived_cache:
        catalogue.derived_cache[key] = frozenset(tool.team for tool in catalogue.tools.values())
    teams: frozenset[int | None] = catalogue.derived_cache[key]
    return teams


def _describe_tools(rules: AdmissibilityRules, caller: Caller) -> Iterator[Any]:
    from graph.suggestion.next_call import profiles

    for tool in rules.catalogue.tools.values():
        if caller.can_see(tool):
            yield profiles.ToolEntry(
                tool=tool.pk,
                server=tool.server,
                name=tool.name,
                input_schema=tool.input_schema,
                is_read_only=seems_to_read(tool, rules, team=caller.team),
            )


def _complete_call(answered: AnsweredCall, *, is_read_only: bool) -> CompletedCall:
    from graph.suggestion.next_call.call import CompletedCall

    return CompletedCall(
        tool=answered.tool.pk,
        arguments=LARGE_ARGUMENTS if answered.arguments is None else answered.arguments,
        result=None if answered.result is None else results.extract_root(answered.result),
        is_error=answered.is_error,
        is_read_only=is_read_only,
        duration_s=answered.duration_s + answered.saved_s,
    )


def _resolve_call(
    analysis: SessionAnalysis, answered: AnsweredCall, *, is_read_only: bool
) -> list[ResolvedNextCall]:
    """Resolve what a call decides; one that began before the predictions hits none of them."""
    began_at = answered.ended_at - answered.duration_s
    key = _make_key(answered) if began_at >= analysis.predicted_at else ""
    resolved = analysis.pending.resolve_call(key, is_read_only=is_read_only, at=began_at)
    duration_s = answered.duration_s + answered.saved_s
    return [_describe_resolved(one, duration_s) for one in resolved]


def _make_key(answered: AnsweredCall) -> CallKey:
    if answered.arguments is None:
        return ""
    try:
        return make_call_key(answered.tool.pk, answered.arguments)
    except NotCanonicalizable:
        return ""


def _describe_resolved(
    resolved: ResolvedCall[NextCallPrediction], duration_s: float
) -> ResolvedNextCall:
    """Return a resolved prediction; a hit saves what had passed of the call, at most all of it."""
    is_hit = resolved.outcome is PredictionOutcome.HIT
    saved_s = min(duration_s, max(resolved.waited_s, 0.0)) if is_hit else 0.0
    return ResolvedNextCall(
        prediction=resolved.prediction,
        outcome=_OUTCOMES[resolved.outcome],
        saves_ms=1_000 * saved_s,
    )
