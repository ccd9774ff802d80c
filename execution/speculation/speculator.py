"""Makes calls ahead of their requests, and answers requests with their results.

Every call passes the same gates in one order: the switch, admissibility, budgets, idle places.
A result is served only where it is as good as a call made now; otherwise the call is made.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final
from uuid import UUID

import structlog

from execution import call as calls
from execution.call_outcome import ServedSpeculation, SpeculationForm
from execution.snapshot import bind_run_session
from execution.speculation import in_flight
from execution.speculation.admissibility import MAX_TIME_S, judge_call
from execution.speculation.calls import (
    EndedSpeculation,
    Reasons,
    SendCall,
    Speculation,
    SpeculationEnd,
    SpeculationRefused,
    SpeculativeCall,
)
from execution.speculation.counts import count_ended, count_refused
from execution.speculation.dependencies import SpeculatorDependencies
from execution.speculation.in_flight import CallsInFlight
from execution.speculation.results import (
    VALID_S,
    SpeculativeResult,
    SpeculativeResults,
    do_agree,
    is_keepable,
    is_usable,
    make_key,
)
from execution.speculation.rules import (
    ReasonCode,
    is_known_to_read,
    list_definition_reasons,
    make_reason,
)
from tools.catalogue import UnknownTool
from tools.upstream.request import UpstreamRequest

if TYPE_CHECKING:
    from execution.call import CallOutcome
    from gateway_project.foundation.caller import Caller, SessionKey
    from tools.catalogue import CatalogueTool

MAX_SHARED: Final = 1_000
"""Runs that share the results of the session that started them; the oldest are forgotten."""
SWEEP_S: Final = 0.1
"""Interval of looking at the switch and at what has expired, while there are results."""
PLAIN_PARAMS: Final = frozenset({"name", "arguments"})
"""Parameters of a call that can be answered ahead; others continue what a server asked."""

log = structlog.get_logger(__name__)


class Speculator(Speculation):
    """The speculation of a process; all methods are for one event loop.

    Args:
        dependencies: Its collaborators.
        clock: Monotonic clock, in seconds.
    """

    def __init__(
        self,
        dependencies: SpeculatorDependencies,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._dependencies = dependencies
        self._clock = clock
        self._results = SpeculativeResults(self._note_removed)
        self._in_flight = CallsInFlight(
            self._results,
            places=dependencies.places,
            describe_trouble=dependencies.describe_trouble,
            clock=clock,
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_results = asyncio.Event()
        self._shared_sessions: OrderedDict[SessionKey, SessionKey] = OrderedDict()

    @property
    def kept(self) -> tuple[int, int]:
        """Results in memory or in flight, and the characters of those answered."""
        return len(self._results), self._results.characters

    async def run(self) -> None:
        """Remove what may not be served any more, until cancelled; then stop all calls made ahead.

        Calls in flight are stopped too when it is switched off: one may still wait for its server
        to start, and would be sent after that.
        """
        try:
            while True:
                await self._has_results.wait()
                await asyncio.sleep(SWEEP_S)
                self._results.remove_expired(self._clock())
                if len(self._results) and not self._dependencies.is_on():
                    self.discard_all()
                if not len(self._results):
                    self._has_results.clear()
        finally:
            self.discard_all()
            if self._tasks:
                await asyncio.wait(self._tasks)

    def list_obstacles(self) -> Reasons:
        """See `Speculation`."""
        if self._dependencies.is_on():
            return ()
        self.discard_all()
        return (
            make_reason(
                ReasonCode.SWITCHED_OFF,
                "Speculation is switched off, or it is not known that it is on.",
            ),
        )

    async def confirm(self) -> None:
        """See `Speculation`."""
        if not self._dependencies.is_on():
            await self._dependencies.confirm()

    def dispatch(self, caller: Caller, call: SpeculativeCall) -> Reasons:
        """See `Speculation`."""
        try:
            self._find_or_start(caller, call)
        except SpeculationRefused as refused:
            count_refused(call.form, refused.reasons)
            return refused.reasons
        return ()

    def find_latest_s(self, tool: str) -> float | None:
        """See `Speculation`."""
        return self._in_flight.find_latest_s(tool)

    async def make(
        self, caller: Caller, call: SpeculativeCall, *, waits: bool = True
    ) -> CallOutcome:
        """See `Speculation`."""
        try:
            result = self._find_or_start(caller, call)
        except SpeculationRefused as refused:
            count_refused(call.form, refused.reasons)
            raise
        if result is None:
            raise SpeculationRefused((in_flight.explain_in_flight(call.tool),))
        if result.outcome is None and not waits:
            raise SpeculationRefused((in_flight.explain_slow(call.tool),))
        try:
            await self._wait_for(result)
        except asyncio.CancelledError:  # the answer waits no longer
            self._in_flight.note_duration(call.tool, result.started_at)
            raise
        if result.outcome is not None and not result.is_discarded:
            if call.form is SpeculationForm.INTENT:
                self._give(result)
            return result.outcome
        reasons = result.refusal or (in_flight.explain_outdated(call.tool),)
        raise result.error or SpeculationRefused(reasons, was_sent=result.is_sent)

    async def answer(
        self,
        caller: Caller,
        tool: CatalogueTool,
        request: UpstreamRequest,
        send: SendCall,
        *,
        is_fresh: bool,
    ) -> CallOutcome:
        """See `Speculation`."""
        if not is_known_to_read(tool, self._dependencies.rules(), team=caller.team):
            with self._in_flight.hold_write(caller, tool.server):
                return await self._in_flight.send(tool, send)
        result = self._find_servable(caller, tool, request)
        if result is None:
            owner = self._find_owner(caller)
            with self._in_flight.note_request(owner, tool, request.arguments):
                return await self._in_flight.send(tool, send)
        if is_fresh or not self._is_served(result):
            return await self._compare(result, send)
        served = await self._join(result)
        return served if served is not None else await self._in_flight.send(tool, send)

    def share(self, caller: Caller, run: UUID) -> None:
        """See `Speculation`."""
        self._shared_sessions[bind_run_session(caller, run).session_key] = caller.session_key
        if len(self._shared_sessions) > MAX_SHARED:
            self._shared_sessions.popitem(last=False)

    def discard_server(self, server: str, *, stops_calls: bool = True) -> None:
        """See `Speculation`."""
        self._results.remove_where(
            lambda result: (
                result.tool.server == server and (stops_calls or result.outcome is not None)
            )
        )

    def discard_prediction(self, prediction: UUID) -> None:
        """See `Speculation`."""
        self._results.remove_prediction(prediction)

    def discard_all(self) -> None:
        """Discard all results, and stop all calls made ahead."""
        self._results.remove_all()

    def _find_owner(self, caller: Caller) -> SessionKey:
        """Return whom results are private to: the session, or the one that a run shares."""
        return self._shared_sessions.get(caller.session_key, caller.session_key)

    # Starting a call.

    def _find_or_start(self, caller: Caller, call: SpeculativeCall) -> SpeculativeResult | None:
        """Return the same call if it was made already, or start it; None: a client makes it now.

        Raises:
            SpeculationRefused: With every reason, if it may not be made ahead now.
        """
        obstacles = self.list_obstacles()
        if obstacles:
            raise SpeculationRefused(obstacles)
        rules = self._dependencies.rules()
        reasons = judge_call(call, caller=caller, rules=rules)
        if reasons:
            raise SpeculationRefused(reasons)
        tool = rules.catalogue.find_tool(call.tool, caller)
        key = make_key(self._find_owner(caller), tool, call.arguments)
        if key is None:
            raise SpeculationRefused((in_flight.explain_arguments(tool),))
        found = self._results.find(key.owner, tool, call.arguments)
        if found is not None and self._is_reusable(found, call):
            return found
        if self._in_flight.is_requested(key):
            return None
        reasons = (
            *self._list_disagreements(call, tool, caller),
            *self._dependencies.allowance.check(call, tool, caller),
            *self._in_flight.list_reasons(caller, tool),
        )
        if reasons:
            raise SpeculationRefused(reasons)
        result = SpeculativeResult(
            key=key, caller=caller, call=call, tool=tool, started_at=self._clock()
        )
        self._results.add(result, replaces=found)
        self._has_results.set()
        self._in_flight.begin_early(tool.server)
        result.task = asyncio.create_task(self._make(result), name="early call")
        self._tasks.add(result.task)
        result.task.add_done_callback(self._tasks.discard)
        result.task.add_done_callback(lambda _task: self._in_flight.end_early(tool.server))
        return result

    def _list_disagreements(
        self, call: SpeculativeCall, tool: CatalogueTool, caller: Caller
    ) -> Reasons:
        """Return why no result of a next call would be served."""
        has_failed = self._dependencies.agreements.has_failed
        if call.form is SpeculationForm.NEXT_CALL and has_failed(tool, caller.owner):
            return (in_flight.explain_disagreement(tool),)
        return ()

    def _is_reusable(self, found: SpeculativeResult, call: SpeculativeCall) -> bool:
        """Whether a call need not be made again.

        A workflow takes no older results, but for those that came too late for its last answer,
        and for what was made ahead of a request that it would answer too.
        """
        if found.call.form is SpeculationForm.INTENT:
            is_good = not found.is_given or found.call.prediction == call.prediction
        else:
            is_good = self._is_served(found)
        is_next_call = call.form is SpeculationForm.NEXT_CALL
        is_young = self._clock() - found.started_at < VALID_S
        return is_young and (found.outcome is None or is_next_call or is_good)

    def _give(self, result: SpeculativeResult) -> None:
        """Note that a result comes with the answer to an intent.

        Whether that was of use, the intent's prediction tells; another's has answered it.
        """
        result.is_given = True
        if result.call.form is not SpeculationForm.INTENT:
            self._report(result, SpeculationEnd.SERVED, saved_s=result.duration_s)

    async def _make(self, result: SpeculativeResult) -> None:
        """Make a call ahead and keep its answer; the task of the call."""
        allowance, call = self._dependencies.allowance, result.call
        reservation, end = None, SpeculationEnd.FAILED
        try:
            reservation = await allowance.reserve(call, result.tool, caller=result.caller)
            self._require_unchanged(result)
            result.started_at, result.is_sent = self._clock(), True
            outcome = await self._call(result)
            self._in_flight.note_early(result, failed=outcome.result.is_error)
            if not is_usable(outcome):
                result.refusal = (in_flight.explain_unusable(result.tool),)
            elif not result.is_discarded:
                self._results.keep_answer(result, outcome, at=self._clock())
                end = SpeculationEnd.UNUSED  # until it is used
        except asyncio.CancelledError:
            end = SpeculationEnd.UNUSED
            raise
        except SpeculationRefused as refused:
            result.refusal = refused.reasons
            count_refused(call.form, refused.reasons)
            result.is_reported |= not result.is_sent  # it was no call, so it has no end
        except Exception as error:  # noqa: BLE001 - raised to those who wait for it
            self._in_flight.note_early(result, failed=True)
            result.error = error
        finally:
            if reservation is not None:
                allowance.settle(reservation, made=result.is_sent)
            if result.outcome is None:
                self._report(result, SpeculationEnd.UNUSED if result.is_discarded else end)
                self._results.remove(result)

    async def _call(self, result: SpeculativeResult) -> CallOutcome:
        return await calls.call(
            UpstreamRequest.to_call(
                result.tool.tool,
                result.call.arguments,
                timeout_s=MAX_TIME_S,
                is_extensible=False,
            ),
            caller=result.caller,
            catalogue=self._dependencies.rules().catalogue,
            upstream=self._dependencies.upstream,
            latest=lambda: self._dependencies.rules().catalogue,
        )

    def _require_unchanged(self, result: SpeculativeResult) -> None:
        """Judge a call again right before it is sent: a reservation may have taken time.

        Raises:
            SpeculationRefused: If it may no longer be made.
        """
        rules = self._dependencies.rules()
        reasons = (
            *self.list_obstacles(),
            *judge_call(result.call, caller=result.caller, rules=rules),
        )
        try:
            tool = rules.catalogue.find_tool(result.call.tool, result.caller)
        except UnknownTool:
            tool = None
        if reasons or tool is None or tool.definition_hash != result.key.definition_hash:
            raise SpeculationRefused(reasons or (in_flight.explain_outdated(result.tool.tool),))

    # Answering a request.

    def _find_servable(
        self, caller: Caller, tool: CatalogueTool, request: UpstreamRequest
    ) -> SpeculativeResult | None:
        """Return a result that may answer a request now, or be compared; None: there is none."""
        result = self._results.find(self._find_owner(caller), tool, request.arguments)
        if result is None or not request.params.keys() <= PLAIN_PARAMS:
            return None
        if not self._dependencies.is_on():
            self.discard_all()
            return None
        rules = self._dependencies.rules()
        is_old = result.outcome is not None and self._clock() - result.answered_at >= VALID_S
        if is_old or list_definition_reasons(tool, rules, team=caller.team):
            self._results.remove(result)
            return None
        return result

    def _is_served(self, result: SpeculativeResult) -> bool:
        if result.call.form is not SpeculationForm.NEXT_CALL:
            return True
        age_s = self._clock() - result.answered_at if result.outcome is not None else 0.0
        return self._dependencies.agreements.is_served(result.tool, result.caller.owner, age_s)

    async def _join(self, result: SpeculativeResult) -> CallOutcome | None:
        """Return the answer of a call made ahead, once it is there; None: there is none."""
        asked_at = self._clock()
        result.joiners += 1  # it is wanted, so no other request takes its place
        try:
            await self._wait_for(result)
        finally:
            result.joiners -= 1
        outcome = result.outcome
        if outcome is None or result.is_discarded:
            return None
        if not self._dependencies.is_on():
            self.discard_all()
            return None
        now = self._clock()
        age_s = max(0.0, asked_at - result.answered_at)
        saved_s = max(0.0, result.duration_s - (now - asked_at))
        self._report(result, SpeculationEnd.SERVED, saved_s=saved_s)
        return replace(
            outcome,
            duration_s=now - asked_at,
            served=ServedSpeculation(
                prediction=result.call.prediction,
                form=result.call.form,
                age_s=age_s,
                saved_s=saved_s,
            ),
        )

    async def _wait_for(self, result: SpeculativeResult) -> None:
        """Wait until a call made ahead has ended; ending the wait does not end the call."""
        if result.outcome is None and result.task is not None:
            await asyncio.wait({result.task})

    async def _compare(self, result: SpeculativeResult, send: SendCall) -> CallOutcome:
        """Make the requested call, and record whether it was answered like the one made ahead."""
        asked_at = self._clock()
        result.joiners += 1  # it is wanted, so it is not stopped for the sake of this request
        try:
            outcome = await self._in_flight.send(result.tool, send)
        finally:
            result.joiners -= 1
        ahead = result.outcome
        if ahead is None or result.is_discarded or outcome.result.is_interim:
            return outcome  # what was in flight for longer than the real call shows nothing
        agreed = is_keepable(outcome.result.raw) and do_agree(ahead, outcome)
        self._dependencies.agreements.record(
            result.tool,
            result.caller.owner,
            agreed=agreed,
            age_s=max(0.0, asked_at - result.answered_at),
        )
        self._report(result, SpeculationEnd.COMPARED, agreed=agreed)
        self._results.remove(result)
        return outcome

    # Reporting.

    def _note_removed(self, result: SpeculativeResult) -> None:
        """Report what was removed unused; its task cannot, if it is cancelled before it begins."""
        self._report(result, SpeculationEnd.UNUSED)

    def _report(
        self,
        result: SpeculativeResult,
        end: SpeculationEnd,
        *,
        agreed: bool | None = None,
        saved_s: float = 0.0,
    ) -> None:
        """Report what became of a call, and of one whose place it took; once."""
        if result.is_reported:
            return
        result.is_reported = True
        if result.replaced is not None:
            # Both predicted the same request. Only the newer result can save time.
            self._report(
                result.replaced, end if end is not SpeculationEnd.FAILED else SpeculationEnd.UNUSED
            )
        server = self._dependencies.rules().catalogue.servers.get(result.tool.server)
        price = server.price_per_call if server is not None else None
        self._dependencies.allowance.record_end(result.call, end)
        ended = EndedSpeculation(
            caller=result.caller,
            call=result.call,
            tool=result.tool,
            end=end,
            agreed=agreed,
            duration_s=result.duration_s,
            saved_s=saved_s,
            cost=(price or Decimal(0)) if result.is_sent else Decimal(0),
        )
        count_ended(ended)
        self._dependencies.on_ended(ended)
