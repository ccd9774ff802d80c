"""The calls in flight of a process: requests of clients come first, and writes outdate results."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from execution.speculation.results import (
    VALID_S,
    ResultKey,
    SpeculativeResult,
    SpeculativeResults,
    make_key,
)
from execution.speculation.rules import AdmissibilityReason, ReasonCode, make_reason

if TYPE_CHECKING:
    from execution.call_outcome import CallOutcome
    from execution.speculation.calls import SendCall
    from gateway_project.foundation.caller import Caller, SessionKey
    from tools.catalogue import CatalogueTool

    _Request = tuple[CatalogueTool, Mapping[str, Any]]

MAX_DURATIONS: Final = 2_000
"""Tools whose latest duration is remembered; those not called for longest are forgotten."""
SLOWER: Final = 1.5
"""Factor by which requests may be slower beside calls made ahead than those of the same tool
alone, in the geometric mean; beyond it calls made ahead stop."""
MAX_RATIO: Final = 3.0
"""A call counts as at most so much slower, or quicker: a machine may be busy with other things."""
SLOWER_S: Final = 0.02
"""Least difference that counts, in seconds: smaller ones are the scheduler's."""
MIN_ALONE: Final = 5
"""Calls of a tool alone before others are compared with them."""
MIN_BESIDE: Final = 10
"""Compared calls of a server before they say anything."""
MIN_MEMORY: Final = 0.05
"""Least weight of the latest call in a mean."""
MAX_TOOLS: Final = 200
"""Tools of a server whose durations are remembered."""
LEAST_S: Final = 1e-4
"""Shorter durations count as this long."""
MAX_FAILURES: Final = 3
"""Calls made ahead that may fail in a row."""
FIRST_PAUSE_S: Final = 15.0
MAX_PAUSE_S: Final = 600.0


@dataclass
class _Mean:
    """A mean that follows changes."""

    value: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.count += 1
        self.value += max(1 / self.count, MIN_MEMORY) * (value - self.value)


class ServerLoad:
    """The calls in flight at one server, and whether calls made ahead slow down real ones.

    While they do, or while they fail, no call is made ahead there for a while: for twice as long
    each time, until once they did not.
    """

    def __init__(self) -> None:
        self.real = 0
        """Requests of clients in flight."""
        self.early = 0
        """Calls made ahead in flight."""
        self.writes = 0
        """Of the requests, those that may change something."""
        self._alone: OrderedDict[int, _Mean] = OrderedDict()
        self._ratio = _Mean()
        self._difference = _Mean()
        self._failures = 0
        self._pause_s = FIRST_PAUSE_S
        self._paused_until = 0.0

    def is_backing_off(self, now: float) -> bool:
        """Whether no call is to be made ahead here for now."""
        return now < self._paused_until

    def note_real(self, tool: int, duration_s: float, *, beside_early: bool, now: float) -> None:
        """Take note of a request that its server answered.

        Args:
            tool: Primary key of the tool: only calls of the same tool are compared.
            duration_s: Seconds that it took.
            beside_early: Whether a call made ahead was in flight at the server when it began.
            now: The time, in seconds of a monotonic clock.
        """
        logarithm = math.log(max(duration_s, LEAST_S))
        alone = self._find_alone(tool)
        if not beside_early:
            alone.add(logarithm)
            return
        if alone.count < MIN_ALONE:
            return
        most = math.log(MAX_RATIO)
        ratio = min(max(logarithm - alone.value, -most), most)
        self._ratio.add(ratio)
        self._difference.add(math.exp(alone.value) * (math.exp(ratio) - 1.0))
        if self._ratio.count < MIN_BESIDE:
            return
        if self._ratio.value > math.log(SLOWER) and self._difference.value > SLOWER_S:
            self._back_off(now)
        else:
            self._pause_s = FIRST_PAUSE_S

    def _find_alone(self, tool: int) -> _Mean:
        mean = self._alone.setdefault(tool, _Mean())
        self._alone.move_to_end(tool)
        if len(self._alone) > MAX_TOOLS:
            self._alone.popitem(last=False)
        return mean

    def note_early(self, *, failed: bool, now: float) -> None:
        """Take note of a call made ahead that ended."""
        self._failures = self._failures + 1 if failed else 0
        if self._failures >= MAX_FAILURES:
            self._back_off(now)

    def _back_off(self, now: float) -> None:
        self._paused_until = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, MAX_PAUSE_S)
        self._ratio, self._difference, self._failures = _Mean(), _Mean(), 0


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
            yield explain_no_place(tool.server)
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
                result.refusal = (explain_no_place(result.tool.server),)
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


def explain_outdated(tool: str) -> AdmissibilityReason:
    """A change came in between."""
    return make_reason(
        ReasonCode.UNSETTLED, f"What {tool} reads may have changed while it was called."
    )


def explain_slow(tool: str) -> AdmissibilityReason:
    """An answer does not wait for it."""
    return make_reason(
        ReasonCode.TOO_SLOW,
        f"{tool} takes longer than an answer waits; it was called, and the same call gets its "
        "result.",
    )


def explain_no_place(server: str) -> AdmissibilityReason:
    """Requests need all places."""
    return make_reason(ReasonCode.NO_IDLE_PLACE, f"Server {server} has no idle place for it now.")


def explain_in_flight(tool: str) -> AdmissibilityReason:
    """A client makes the same call."""
    return make_reason(ReasonCode.UNSETTLED, f"A client makes this call of {tool} right now.")


def explain_arguments(tool: CatalogueTool) -> AdmissibilityReason:
    """No request could be compared with it."""
    return make_reason(
        ReasonCode.INVALID_ARGUMENTS, f"The arguments of {tool.tool} are too large to compare."
    )


def explain_disagreement(tool: CatalogueTool) -> AdmissibilityReason:
    """No result of it will be served."""
    return make_reason(
        ReasonCode.NOT_WORTH_IT,
        f"A result of {tool.tool} made ahead was not that of the call made again; an admin can "
        "restart the comparison.",
    )


def explain_unusable(tool: CatalogueTool) -> AdmissibilityReason:
    """Its answer is not kept."""
    return make_reason(
        ReasonCode.UNUSABLE_RESULT,
        f"{tool.tool} reported an error, asked for input, or answered too much.",
    )
