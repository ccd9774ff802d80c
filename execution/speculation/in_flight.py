"""The calls in flight of a process: requests of clients come first, and writes outdate results."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from execution.speculation import refusals
from execution.speculation.results import (
    VALID_S,
    ResultKey,
    SpeculativeResult,
    SpeculativeResults,
    make_key,
)
from execution.speculation.rules import AdmissibilityReason, ReasonCode, make_reason
from execution.speculation.server_load import ServerLoad

if TYPE_CHECKING:
    from execution.call_outcome import CallOutcome
    from execution.speculation.calls import SendCall
    from gateway_project.foundation.caller import Caller, SessionKey
    from tools.catalogue import CatalogueTool

    _Request = tuple[CatalogueTool, Mapping[str, Any]]

MAX_DURATIONS: Final = 2_000
"""Tools whose latest duration is remembered; those not called for longest are forgotten."""


class CallsInFlight:
    """Counts calls in flight, and keeps those made ahead out of the way; for one event loop.

    Args:
        results: Calls made ahead, which are discarded when a request needs their place, or may
            change what they read.
        places: Calls in flight that a server, and the process, have room for.
        describe_trouble: What a caller may know of why a server is unreliable now; empty if it is
            healthy.
        clock: Monotonic clock, in seconds.
    """

    def __init__(
        self,
        results: SpeculativeResults,
        *,
        places: tuple[int, int],
        describe_trouble: Callable[[Caller, str], str],
        clock: Callable[[], float],
    ) -> None:
        self._results = results
        self._places = places
        self._describe_trouble = describe_trouble
        self._clock = clock
        self._loads: defaultdict[str, ServerLoad] = defaultdict(ServerLoad)
        self._writes: Counter[tuple[str, int | None]] = Counter()
        self._unsettled_until: dict[str | tuple[str, int | None], float] = {}
        self._requested: defaultdict[tuple[SessionKey, int], dict[object, _Request]] = defaultdict(
            dict
        )
        self._latest_s: OrderedDict[str, float] = OrderedDict()
        self._early_count = 0
        self._real_count = 0

    def is_requested(self, key: ResultKey) -> bool:
        """Whether a client makes this call right now."""
        requests = self._requested.get((key.owner, key.tool), {})
        return any(make_key(key.owner, *request) == key for request in requests.values())

    def begin_early(self, server: str) -> None:
        """Take a place for a call made ahead."""
        self._loads[server].early += 1
        self._early_count += 1

    def end_early(self, server: str) -> None:
        """Give the place back."""
        self._loads[server].early -= 1
        self._early_count -= 1

    def note_early(self, result: SpeculativeResult, *, failed: bool) -> None:
        """Take note of a call made ahead that was answered, or failed."""
        self._loads[result.tool.server].note_early(failed=failed, now=self._clock())
        if result.is_sent:
            self.note_duration(result.tool.tool, result.started_at)

    def note_duration(self, tool: str, started_at: float) -> None:
        """Take note of how long a call took, or of how long it has been waited for in vain."""
        self._latest_s[tool] = self._clock() - started_at
        self._latest_s.move_to_end(tool)
        if len(self._latest_s) > MAX_DURATIONS:
            self._latest_s.popitem(last=False)

    def find_latest_s(self, tool: str) -> float | None:
        """See `Speculation`."""
        return self._latest_s.get(tool)

    def list_reasons(self, caller: Caller, tool: CatalogueTool) -> Iterator[AdmissibilityReason]:
        """Yield why a call would be in the way now."""
        load, now = self._loads[tool.server], self._clock()
        trouble = self._describe_trouble(caller, tool.server)
        if trouble or load.is_backing_off(now):
            why = "fails" if trouble else "was slowed down by calls made ahead, or failed them"
            yield make_reason(
                ReasonCode.BACKING_OFF, f"Server {tool.server} {why}; it is left alone for now."
            )
        per_server, total = self._places
        is_busy = 2 * (load.real + load.early) >= per_server
        if (
            is_busy
            or 2 * (self._real_count + self._early_count) >= total
            or not self._results.make_room()
        ):
            yield refusals.explain_no_place(tool.server)
        who = (caller.user, caller.team)
        if load.writes or self._writes[who] or self._is_unsettled(tool.server, who):
            yield make_reason(
                ReasonCode.UNSETTLED,
                "A call that may change what it reads is in flight, or ended without an answer.",
            )

    async def send(self, tool: CatalogueTool, send: SendCall) -> CallOutcome:
        """Send a request; calls made ahead give up their place for it."""
        load, started = self._loads[tool.server], self._clock()
        load.real += 1
        self._real_count += 1
        beside_early = load.early > 0
        if beside_early or self._early_count:
            self._make_way(tool.server)
        try:
            outcome = await send()
        finally:
            load.real -= 1
            self._real_count -= 1
        self.note_duration(tool.tool, started)
        now = self._clock()
        load.note_real(tool.pk, now - started, beside_early=beside_early, now=now)
        return outcome

    def _make_way(self, server: str) -> None:
        """Stop calls made ahead while there are more calls than places; the newest first."""
        per_server, total = self._places
        load = self._loads[server]
        excess = load.real + load.early - per_server
        excess_in_total = self._real_count + self._early_count - total
        for result in reversed(list(self._results)):
            if max(excess, excess_in_total) <= 0:
                return
            is_here = result.tool.server == server
            is_in_flight = result.outcome is None and not result.joiners
            if is_in_flight and (is_here or excess <= 0):
                result.refusal = (refusals.explain_no_place(result.tool.server),)
                self._results.remove(result)
                excess_in_total -= 1
                excess -= is_here

    @contextmanager
    def hold_write(self, caller: Caller, server: str) -> Iterator[None]:
        """Discard what a call may outdate, when it begins and when it ends.

        Without an answer it may take effect later, so nothing is called ahead for a while.
        """
        who, load = (caller.user, caller.team), self._loads[server]
        self._writes[who] += 1
        load.writes += 1
        self._discard_outdated(who, server)
        is_answered = False
        try:
            yield
            is_answered = True
        finally:
            if not is_answered:
                self._note_unanswered(server, who)
            self._discard_outdated(who, server)
            load.writes -= 1
            self._writes[who] -= 1
            if not self._writes[who]:
                del self._writes[who]

    def _note_unanswered(self, *affected: str | tuple[str, int | None]) -> None:
        now = self._clock()
        self._unsettled_until = {
            key: until for key, until in self._unsettled_until.items() if until > now
        } | dict.fromkeys(affected, now + VALID_S)

    def _is_unsettled(self, *affected: str | tuple[str, int | None]) -> bool:
        now = self._clock()
        return any(self._unsettled_until.get(key, now) > now for key in affected)

    def _discard_outdated(self, who: tuple[str, int | None], server: str) -> None:
        self._results.remove_where(
            lambda result: (
                result.tool.server == server or (result.caller.user, result.caller.team) == who
            )
        )

    @contextmanager
    def note_request(
        self, owner: SessionKey, tool: CatalogueTool, arguments: Mapping[str, Any]
    ) -> Iterator[None]:
        """Note that a client makes a call, so that it is not made ahead at the same time.

        Keys are made only when a call ahead asks for them: requests must not wait for that.
        """
        call, mark = (owner, tool.pk), object()
        self._requested[call][mark] = (tool, arguments)
        try:
            yield
        finally:
            del self._requested[call][mark]
            if not self._requested[call]:
                del self._requested[call]
