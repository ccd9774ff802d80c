"""Replay recorded sessions through the real predictor, and judge what prefetch would have done."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.evaluation.calibration_figures import calibration_error
from benchmarks.evaluation.session_files import (
    RecordedCall,
    RecordedSession,
    SessionDataset,
)
from execution.speculation.pending import (
    PendingPredictions,
    PredictionOutcome,
    make_call_key,
)
from execution.speculation.waste_budget import WasteBudget
from gateway_project.foundation.canonical import hash_json
from graph.suggestion.next_call.call import CompletedCall, PlannedCall, PredictedCall
from graph.suggestion.next_call.chance import ChanceModel, load_priors
from graph.suggestion.next_call.fitting import fit_model
from graph.suggestion.next_call.model import NextCallModel
from graph.suggestion.next_call.observation import CallObservation
from graph.suggestion.next_call.predict import predict_calls
from graph.suggestion.next_call.profiles import ToolEntry, ToolProfiles, build_profiles
from graph.suggestion.next_call.session import SessionState

BUDGETS = (0.25, 0.5, 0.75)
PREDICTIONS = 48
"""Predictions that are looked at after each call."""
CURVE = (0, 5, 20)
"""Past sessions at which the learning curve is taken, beside all of them."""
LEAST_CALIBRATED = 0.1
"""Chance from which predictions are also judged apart: those that may ever be dispatched."""
NOMINAL_DURATION_S = 0.3
"""The sets record no durations."""

ReportProgress = Callable[[str, int, int], None]
FindTools = Callable[[str], Mapping[int, float]]
"""Returns the tools that a search for some words finds, best first, each with its score."""

PlanCalls = Callable[[str], Sequence[PlannedCall]]
"""Returns the calls that a suggestion for some words consists of, in their order."""


def find_nothing(_text: str) -> Mapping[int, float]:
    """Null implementation of `FindTools`."""
    return {}


def plan_nothing(_text: str) -> Sequence[PlannedCall]:
    """Null implementation of `PlanCalls`."""
    return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayedCall:
    """A call of a session, with what was predicted since the call before.

    Attributes:
        key: Key of the call; empty: the session has ended.
        is_read: Whether it counts as a read.
        is_read_only: Whether it is known to change nothing.
        result: Hash of its result.
        predictions: What was predicted after the previous call, and after each statement.
    """

    key: str
    is_read: bool
    is_read_only: bool
    result: str
    predictions: tuple[tuple[str, PredictedCall], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PrefetchFigures:
    """What prefetch would have done within one budget; shares in [0, 1], None without any."""

    budget: float
    hit_rate: float | None
    waste: float | None
    dispatched_per_read: float | None
    stale: float | None


@dataclass(slots=True)
class _Tally:
    reads: int = 0
    served: int = 0
    stale: int = 0
    dispatched: int = 0
    used: int = 0


@dataclass(frozen=True, slots=True)
class Replay:
    """A catalogue prepared for replaying sessions."""

    profiles: ToolProfiles
    access: Mapping[int, str]
    tool_ids: Mapping[str, int]
    priors: Mapping[str, ChanceModel]
    find: FindTools = find_nothing
    plan: PlanCalls = plan_nothing

    def observe(self, session: RecordedSession, *, with_intent: bool) -> list[CallObservation]:
        """Return what the calls of a session teach."""
        state = SessionState(self.profiles)
        observations: list[CallObservation] = []
        for turn in session.turns:
            if with_intent and turn.text:
                state.add_statement(turn.text, self.find(turn.text), self.plan(turn.text))
            observations.extend(state.add_call(self.complete(call)) for call in turn.calls)
        return observations

    def replay(
        self, session: RecordedSession, model: NextCallModel, *, with_intent: bool
    ) -> list[ReplayedCall]:
        """Predict before every call of a session, from what came before it alone."""
        state = SessionState(self.profiles)
        replayed: list[ReplayedCall] = []
        predicted: list[tuple[str, PredictedCall]] = []
        for turn in session.turns:
            if with_intent and turn.text:
                state.add_statement(turn.text, self.find(turn.text), self.plan(turn.text))
                predicted.extend(self._predict(state, model))
            for call in turn.calls:
                replayed.append(self._describe(call, tuple(predicted)))
                state.add_call(self.complete(call))
                predicted = list(self._predict(state, model))
        replayed.append(
            ReplayedCall(
                key="",
                is_read=False,
                is_read_only=True,
                result="",
                predictions=tuple(predicted),
            )
        )
        return replayed

    def _predict(
        self, state: SessionState, model: NextCallModel
    ) -> Iterator[tuple[str, PredictedCall]]:
        for predicted in predict_calls(state, model, self.profiles, limit=PREDICTIONS):
            yield make_call_key(predicted.tool, predicted.arguments), predicted

    def _describe(
        self, call: RecordedCall, predictions: tuple[tuple[str, PredictedCall], ...]
    ) -> ReplayedCall:
        tool = self.tool_ids[call.tool]
        return ReplayedCall(
            key=make_call_key(tool, call.arguments),
            is_read=self.access[tool] == "read",
            is_read_only=self.access[tool] != "write",
            result=hash_json([call.result, call.is_error]),
            predictions=predictions,
        )

    def complete(self, call: RecordedCall) -> CompletedCall:
        """Return a recorded call as prediction takes it in."""
        tool = self.tool_ids[call.tool]
        return CompletedCall(
            tool=tool,
            arguments=call.arguments,
            result=call.result,
            is_error=call.is_error,
            is_read_only=self.access[tool] != "write",
            duration_s=NOMINAL_DURATION_S,
        )


def prepare_replay(
    data: SessionDataset,
    *,
    priors: Mapping[str, ChanceModel] | None = None,
    find: FindTools = find_nothing,
    plan: PlanCalls = plan_nothing,
) -> Replay:
    """Index the tools of a data set; what reads counts as granted.

    Args:
        data: The data set.
        priors: Coefficients to start from; None: the shipped ones.
        find: Searches its tools, numbered from 1, for the words of its users.
        plan: Suggests a workflow of these tools for them.
    """
    tool_ids = {tool.id: number for number, tool in enumerate(data.tools, start=1)}
    profiles = build_profiles(
        ToolEntry(
            tool=tool_ids[tool.id],
            server=tool.server,
            name=tool.name,
            input_schema=tool.input_schema,
            is_read_only=data.access[tool.id] == "read",
        )
        for tool in data.tools
    )
    access = {tool_ids[name]: access for name, access in data.access.items()}
    used = load_priors() if priors is None else priors
    return Replay(profiles, access, tool_ids, used, find, plan)


def replay_sessions(
    replay: Replay,
    sessions: Sequence[RecordedSession],
    history: Sequence[RecordedSession],
    *,
    with_intent: bool,
) -> list[list[ReplayedCall]]:
    """Learn from past sessions, then predict through the others."""
    ordered = sorted(history, key=lambda session: session.group)
    observed = [replay.observe(session, with_intent=with_intent) for session in ordered]
    model = fit_model(observed, replay.profiles, replay.priors)
    return [replay.replay(s, model, with_intent=with_intent) for s in sessions]


def run_prefetch(
    sessions: Sequence[Sequence[ReplayedCall]], controller: WasteBudget
) -> PrefetchFigures:
    """Dispatch within a budget, session by session; outcomes are known as calls come."""
    tally = _Tally()
    for session in sessions:
        _run_session(session, controller, tally)
    return PrefetchFigures(
        budget=controller.budget,
        hit_rate=_divide(tally.served, tally.reads),
        waste=_divide(tally.dispatched - tally.used, tally.dispatched),
        dispatched_per_read=_divide(tally.dispatched, tally.reads),
        stale=_divide(tally.stale, tally.served),
    )


def _run_session(session: Sequence[ReplayedCall], controller: WasteBudget, tally: _Tally) -> None:
    # The sets record no times: a prediction waits until something invalidates it.
    pending: PendingPredictions[tuple[float, str]] = PendingPredictions(expires_after_s=math.inf)
    for index, call in enumerate(session):
        for key, predicted in call.predictions:
            if key not in pending and controller.admits(predicted.chance, predicted.next_chance):
                pending.add(key, (predicted.chance, find_result(session, index, key)), at=index)
                controller.record_dispatch(predicted.chance)
                tally.dispatched += 1
        tally.reads += call.is_read
        resolved = pending.resolve_call(call.key, is_read_only=call.is_read_only, at=index)
        if not call.key:
            resolved += pending.close(index)
        for outcome in resolved:
            chance, result = outcome.prediction
            was_used = outcome.outcome is PredictionOutcome.HIT
            controller.record_outcome(chance, was_used=was_used)
            tally.used += was_used
            tally.served += was_used
            tally.stale += was_used and result != call.result


def find_result(session: Sequence[ReplayedCall], index: int, key: str) -> str:
    """Return the result that a call made before `index` would have had.

    That of the same call made before it, unless something invalidated it since; else that of the
    next one.
    """
    for call in reversed(session[:index]):
        if not call.is_read_only:
            break
        if call.key == key:
            return call.result
    return next((call.result for call in session[index:] if call.key == key), "")


def measure_calibration(sessions: Sequence[Sequence[ReplayedCall]]) -> dict[str, Any]:
    """Compare the chances of all predictions with how often the calls came."""
    chances: list[float] = []
    outcomes: list[bool] = []
    for session in sessions:
        for index, call in enumerate(session):
            coming = _list_coming(session, index)
            for key, predicted in call.predictions:
                chances.append(predicted.chance)
                outcomes.append(key in coming)
    likely = [i for i, chance in enumerate(chances) if chance >= LEAST_CALIBRATED]
    return {
        "ece": _measure_error(chances, outcomes),
        "n": len(chances),
        "ece_likely": _measure_error([chances[i] for i in likely], [outcomes[i] for i in likely]),
        "n_likely": len(likely),
    }


def _list_coming(session: Sequence[ReplayedCall], index: int) -> set[str]:
    """Return the calls that come before an invalidation."""
    coming = set()
    for call in session[index:]:
        coming.add(call.key)
        if not call.is_read_only:
            break
    return coming


def _measure_error(chances: Sequence[float], outcomes: Sequence[bool]) -> float | None:
    if not chances:
        return None
    return calibration_error(np.array(chances), np.array(outcomes, dtype=float))


def evaluate_prefetch(
    data: SessionDataset,
    *,
    on_progress: ReportProgress,
    priors: Mapping[str, ChanceModel] | None = None,
    find: FindTools = find_nothing,
    plan: PlanCalls = plan_nothing,
) -> dict[str, Any]:
    """Replay the sessions of a data set; return the documented part of the report."""
    replay = prepare_replay(data, priors=priors, find=find, plan=plan)
    report: dict[str, Any] = {}
    calibration: dict[str, Any] = {}
    for with_intent, name in ((False, "prefetch"), (True, "prefetch_with_intent")):
        on_progress("replaying sessions", int(with_intent), 2)
        sessions = replay_sessions(replay, data.sessions, data.history, with_intent=with_intent)
        report[name] = judge_budgets(sessions)
        calibration[name] = measure_calibration(sessions)
    on_progress("replaying sessions", 2, 2)
    return {
        **report,
        "prefetch_calibration": {
            **calibration["prefetch"],
            "with_intent": calibration["prefetch_with_intent"],
        },
        "curve": measure_curve(replay, data),
        "history": len(data.history),
    }


def judge_budgets(sessions: Sequence[Sequence[ReplayedCall]]) -> list[dict[str, Any]]:
    """Return the figures of each budget."""
    found = []
    for budget in BUDGETS:
        figures = run_prefetch(sessions, WasteBudget(budget))
        found.append({name: getattr(figures, name) for name in figures.__slots__})
    return found


def measure_curve(replay: Replay, data: SessionDataset) -> list[dict[str, Any]]:
    """Return the figures by how many past sessions were learned from, spread over all groups."""
    found = []
    for size in (*(size for size in CURVE if size < len(data.history)), len(data.history)):
        step = len(data.history) / size if size else 0.0
        chosen = [data.history[int(index * step)] for index in range(size)]
        sessions = replay_sessions(replay, data.sessions, chosen, with_intent=False)
        found.append({"history": size, "prefetch": judge_budgets(sessions)})
    return found


def _divide(part: int, whole: int) -> float | None:
    return part / whole if whole else None
