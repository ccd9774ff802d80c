"""Analyses sessions while they are idle: what they teach, and what they are likely to do next."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import structlog

from execution.call_outcome import SpeculationForm
from execution.speculation.calls import NO_SPECULATION, SpeculativeCall
from execution.speculation.provenance import read_sources
from gateway_project.foundation import telemetry
from gateway_project.foundation.computing import run_in_worker_thread
from learning.episodes import SessionCall, Statement
from learning.memory.event import EventKind
from learning.sessions.analyse import add_predictions, analyse_session, close_analysis
from learning.sessions.team_models import SessionPart
from tools.danger import Danger

if TYPE_CHECKING:
    from execution.speculation.calls import Speculation
    from execution.speculation.rules import AdmissibilityRules
    from gateway_project.foundation.caller import Caller
    from graph.suggestion.next_call.model import NextCallModel
    from learning.direct_use import DirectUse
    from learning.sessions.analyse import AnalysisResult, ObservedCall, ResolvedNextCall
    from learning.sessions.registry import SessionRegistry
    from learning.sessions.session import (
        AnsweredCall,
        NextCallPrediction,
        Session,
        SessionAnalysis,
    )
    from learning.sessions.team_models import NextCallModels

IDLE_S: Final = 0.1
"""Silence after which a session is analysed. Clients with a language model pause for longer; for
one that does not, a prediction would come too late."""
FORGET_INTERVAL_S: Final = 30.0
"""Interval of forgetting silent sessions."""
PROCESSOR_SHARE: Final = 0.05
"""Share of one core that analysis may use in the long run; what is beyond it is only recorded."""
BURST_S: Final = 1.0
"""Processor seconds that it may use at once, such as for reading a large catalogue."""
MAX_VALUES: Final = 200_000
"""Values that all analyses remember together, some 100 MB; the oldest sessions make room."""
OPEN_CALLS: Final = 4
"""Newest calls of a session that goes on that are not counted yet: what follows is not known."""
LEAST_PART: Final = 8
PART_GROWTH: Final = 1.5
"""A session that goes on is counted again each time it has grown by half, from eight calls on: its
calls are read at most three times."""
_CHANCE_DIGITS: Final = 4
_MS_PER_S: Final = 1_000

RecordWords = Callable[["Session", Statement], None]
"""Records what belongs to the words of a search or an intent."""

log = structlog.get_logger(__name__)


def _ignore_words(_session: Session, _words: Statement) -> None:
    """Null implementation of `RecordWords`."""


class SessionAnalyst:
    """Analyses the sessions of a process in the background; for one event loop."""

    def __init__(  # noqa: PLR0913 - its collaborators, and two clocks
        self,
        registry: SessionRegistry,
        *,
        models: NextCallModels,
        rules: Callable[[], AdmissibilityRules],
        record_words: RecordWords = _ignore_words,
        direct_use: DirectUse | None = None,
        speculation: Speculation = NO_SPECULATION,
        clock: Callable[[], float] = time.monotonic,
        processor_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._registry = registry
        self._models = models
        self._rules = rules
        self._record_words = record_words
        self._direct_use = direct_use
        self._speculation = speculation
        self._clock = clock
        self._processor_clock = processor_clock
        self._budget = ProcessorBudget(share=PROCESSOR_SHARE, burst_s=BURST_S, clock=clock)
        self._value_count = 0

    async def run(self) -> None:
        """Analyse sessions as they become idle, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(FORGET_INTERVAL_S):
                    await self._registry.changed.wait()
            self._registry.changed.clear()
            while self._registry.has_waiting:
                if self._may_call_ahead():
                    self._speculation.list_obstacles()  # so that the switch is confirmed by then
                await asyncio.sleep(IDLE_S)
                await self.analyse_idle()
                self.forget_sessions()
            self.forget_sessions()

    def _may_call_ahead(self) -> bool:
        """Return whether any server is trusted: the others' tools are never called ahead."""
        return any(server.trusted for server in self._rules().catalogue.servers.values())

    async def analyse_idle(self) -> None:
        """Analyse the sessions that are idle."""
        for session, items in self._registry.take_idle(idle_s=IDLE_S):
            if session.has_gap:
                self._drop_analysis(session)
            if self._budget.is_exhausted:
                telemetry.unanalysed_calls.inc(len(items))
                session.has_gap = True
            else:
                await self._analyse(session, items)
            if session.has_ended:
                self._registry.end_session(session)

    def forget_sessions(self) -> None:
        """Resolve the predictions of forgotten sessions, and count what they taught."""
        while self._value_count > MAX_VALUES and len(self._registry):
            self._registry.forget_oldest()
            self._forget(self._registry.take_forgotten())
        self._forget(self._registry.take_forgotten())

    def _forget(self, sessions: Iterable[Session]) -> None:
        for session in sessions:
            if session.analysis is not None:
                self._let_count(session, until=len(session.analysis.state.calls))
                self._drop_analysis(session)

    def _count_part(self, session: Session, analysis: SessionAnalysis) -> None:
        """Let what a long session has taught so far be counted, less and less often."""
        until = len(analysis.state.calls) - OPEN_CALLS
        if until >= max(LEAST_PART, PART_GROWTH * session.counted_calls):
            self._let_count(session, until=until)

    def _let_count(self, session: Session, *, until: int) -> None:
        assert session.analysis is not None  # noqa: S101 - callers have it
        calls, counted = session.analysis.state.calls, range(session.counted_calls, until)
        part = SessionPart(session.hash, list(calls), counted)
        if self._models.add_session(session.caller.contributor, part):
            session.counted_calls = until

    def _drop_analysis(self, session: Session) -> None:
        analysis, session.analysis = session.analysis, None
        session.has_gap = False
        session.counted_calls = 0
        self._value_count -= session.value_count
        session.value_count = 0
        if analysis is not None:
            self._record_resolved(session, close_analysis(analysis, at=self._clock()))

    async def _analyse(self, session: Session, items: Sequence[Statement | AnsweredCall]) -> None:
        model, was_active_at = self._models.find_model(session.owner), session.active_at
        try:
            result, spent_s = await run_in_worker_thread(self._compute, session, items, model)
        except Exception as error:  # noqa: BLE001 - one session must not end the analysis of all
            # Neither the message nor the values of the frames: both may hold what a client said.
            log.error("sessions.analysis_failed", error=_locate(error))  # noqa: TRY400
            self._drop_analysis(session)
            return
        self._budget.spend(spent_s)
        analysis = session.analysis
        assert analysis is not None  # noqa: S101 - it was just analysed
        self._models.set_tools(session.owner, analysis.state.tools)
        value_count = len(analysis.state.values)
        self._value_count += value_count - session.value_count
        session.value_count = value_count
        self._count_part(session, analysis)
        if session.active_at == was_active_at:  # else the next call came first
            shadows = self._dispatch(session, analysis, result.predictions)
            replaced = add_predictions(analysis, shadows, at=self._clock())
            self._record_resolved(session, replaced)

    def _dispatch(
        self,
        session: Session,
        analysis: SessionAnalysis,
        predictions: Iterable[NextCallPrediction],
    ) -> list[NextCallPrediction]:
        """Call ahead what may be called ahead; return the predictions that stay shadows.

        The workflow of a run says what comes next, so nothing is called ahead for it until it has
        ended; then it is for whoever started it.
        """
        caller = self._find_calling(session)
        if caller is None:
            return list(predictions)
        shadows = []
        for one in predictions:
            if self._speculation.dispatch(caller, _make_call(one)):
                shadows.append(one)
            else:
                analysis.pending.discard(one.key)
        return shadows

    def _find_calling(self, session: Session) -> Caller | None:
        """Return whom calls predicted in a session are made for; None: nobody makes them."""
        if session.run is None:
            return None if session.has_ended else session.caller
        if session.starter is None or not session.has_ended:
            return None
        starting = self._registry.find_session(session.starter)
        return None if starting is None else starting.caller

    def _compute(
        self,
        session: Session,
        items: Sequence[Statement | AnsweredCall],
        model: NextCallModel | None,
    ) -> tuple[AnalysisResult, float]:
        """Analyse a session and record what came out; return it with the processor time."""
        started = self._processor_clock()
        result = analyse_session(session, items, model=model, rules=self._rules())
        for item in items:
            if isinstance(item, Statement):
                self._record_words(session, item)
        for taught in result.taught:
            self._record_observed(session, taught)
        if self._direct_use is not None:
            pass_on(self._direct_use, session, items, result.taught)
        self._record_resolved(session, result.resolved)
        return result, self._processor_clock() - started

    def _record_resolved(self, session: Session, resolved: Iterable[ResolvedNextCall]) -> None:
        for one in resolved:
            tool, outcome = one.prediction.tool, one.outcome
            telemetry.next_call_predictions.labels(tool.server, outcome.name.lower()).inc()
            predicted = one.prediction.call
            self._registry.emit(
                session,
                EventKind.SPECULATION_END,
                context=session.context,
                tool=tool.pk,
                arguments_hash=self._registry.hash_arguments(tool, predicted.arguments),
                prediction=one.prediction.id,
                outcome=outcome,
                data={
                    "form": "next_call",
                    "chance": round(predicted.chance, _CHANCE_DIGITS),
                    "saves_ms": round(one.saves_ms, 1),
                    "shadow": True,
                },
            )

    def _record_observed(self, session: Session, taught: ObservedCall) -> None:
        """Record what a call taught; arguments and context are in the event of the call itself."""
        data = {"observation": taught.observation.to_json(), "person": session.caller.person}
        self._registry.emit(
            session, EventKind.OBSERVATION, taught.call.at, tool=taught.call.tool.pk, data=data
        )


def _locate(error: BaseException) -> str:
    """Return the type of an error and where it was raised, without any value."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {frames[-1].name}, line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


def _make_call(predicted: NextCallPrediction) -> SpeculativeCall:
    """Return a predicted call as it may be made ahead, with the origin of each argument."""
    call = predicted.call
    return SpeculativeCall(
        prediction=predicted.id,
        form=SpeculationForm.NEXT_CALL,
        tool=predicted.tool.tool,
        arguments=call.arguments,
        provenance=read_sources(call.sources),
        expected_s=None if call.p95_ms is None else call.p95_ms / _MS_PER_S,
        chance=call.chance,
        next_chance=call.next_chance,
    )


class ProcessorBudget:
    """A token bucket of processor time; for one thread.

    Work is not interrupted: what exceeds the budget is paid off before more is allowed.

    Args:
        share: Share of a core that may be used in the long run, in (0, 1].
        burst_s: Processor seconds that may be used at once after a pause.
        clock: Monotonic clock, in seconds.

    Example:
        >>> now = [0.0]
        >>> budget = ProcessorBudget(share=0.1, burst_s=1.0, clock=lambda: now[0])
        >>> budget.spend(1.5)
        >>> budget.is_exhausted
        True
        >>> now[0] = 6.0
        >>> budget.is_exhausted
        False
    """

    def __init__(self, *, share: float, burst_s: float, clock: Callable[[], float]) -> None:
        self._share = share
        self._burst_s = burst_s
        self._clock = clock
        self._left_s = burst_s
        self._at = clock()

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing may be used now."""
        self._refill()
        return self._left_s <= 0.0

    def spend(self, seconds: float) -> None:
        """Take processor time that was used."""
        self._refill()
        self._left_s -= seconds

    def _refill(self) -> None:
        now = self._clock()
        self._left_s = min(self._burst_s, self._left_s + self._share * (now - self._at))
        self._at = now


def pass_on(
    sink: DirectUse,
    session: Session,
    items: Iterable[Statement | AnsweredCall],
    taught: Iterable[ObservedCall],
) -> None:
    """Pass on statements and calls in their order; calls of runs teach with their run.

    Args:
        sink: Takes them.
        session: The session.
        items: What it did.
        taught: What each of the calls among these teaches, in the same order.
    """
    if session.run is not None:
        return
    results = iter(taught)
    for item in items:
        if isinstance(item, Statement):
            sink.add_statement(session.key, session.caller.contributor, item)
            continue
        observation = next(results).observation
        if not item.is_task:
            sink.add_call(
                session.key, session.caller.contributor, _describe_call(item), observation
            )


def _describe_call(answered: AnsweredCall) -> SessionCall:
    duration_s = answered.duration_s + answered.saved_s
    return SessionCall(
        tool=answered.tool.tool,
        pk=answered.tool.pk,
        at=answered.at - duration_s,
        duration_s=duration_s,
        succeeded=not answered.is_error,
        is_read_only=answered.tool.danger is Danger.READ,
        arguments=answered.arguments or {},
    )
