"""The calls in flight of a process: requests of clients come first, and writes outdate results."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from execution.speculation.early_results import EarlyKey, EarlyResults
from execution.speculation.server_load import ServerLoad
from execution.speculation_rules import AdmissibilityReason, ReasonCode, make_reason

if TYPE_CHECKING:
    from execution.call_outcome import CallOutcome
    from execution.early_calls import SendCall
    from gateway_project.foundation.caller import Caller
    from tools.catalogue import CatalogueServer, CatalogueTool
    from tools.upstream.downstream import Downstream


class CallsInFlight:
    """Counts calls in flight, and keeps those made ahead out of the way; for one event loop.

    Args:
        results: Calls made ahead, which are discarded when a request needs their place, or may
            change what they read.
        places: Calls in flight that a server, and the process, have room for.
        describe_trouble: Why a server is unreliable right now, by name; empty if it is healthy.
        clock: Monotonic clock, in seconds.
    """

    def __init__(
        self,
        results: EarlyResults,
        *,
        places: tuple[int, int],
        describe_trouble: Callable[[str], str],
        clock: Callable[[], float],
    ) -> None:
        self._results = results
        self._places = places
        self._describe_trouble = describe_trouble
        self._clock = clock
        self._loads: defaultdict[str, ServerLoad] = defaultdict(ServerLoad)
        self._writes: Counter[tuple[str, int | None]] = Counter()
        self._requested: Counter[EarlyKey] = Counter()
        self._early_count = 0
        self._real_count = 0

    def is_requested(self, key: EarlyKey) -> bool:
        """Whether a client makes this call right now."""
        return key in self._requested

    def begin_early(self, server: str) -> None:
        """Take a place for a call made ahead."""
        self._loads[server].early += 1
        self._early_count += 1

    def end_early(self, server: str) -> None:
        """Give the place back."""
        self._loads[server].early -= 1
        self._early_count -= 1

    def note_early(self, server: str, *, failed: bool) -> None:
        """Take note of a call made ahead that was answered, or failed."""
        self._loads[server].note_early(failed=failed, now=self._clock())

    def list_reasons(
        self, caller: Caller, tool: CatalogueTool, server: CatalogueServer, downstream: Downstream
    ) -> Iterator[AdmissibilityReason]:
        """Yield why a call would be in the way now, or could not be answered for its caller."""
        load, now = self._loads[tool.server], self._clock()
        trouble = self._describe_trouble(tool.server)
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
            yield make_reason(
                ReasonCode.NO_IDLE_PLACE, f"Server {tool.server} has no idle place for it now."
            )
        if load.writes or self._writes[caller.user, caller.team]:
            yield make_reason(
                ReasonCode.UNSETTLED, "A call that may change what it reads is in flight."
            )
        is_known = (server.session != "per_caller" or downstream.session) and (
            server.authorization != "oauth_per_user" or downstream.user
        )
        if not is_known:
            yield make_reason(
                ReasonCode.SESSION_UNKNOWN,
                f"Server {tool.server} has a connection for each caller, and this one's is not "
                "known.",
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
        now = self._clock()
        load.note_real(now - started, beside_early=beside_early, now=now)
        return outcome

    def _make_way(self, server: str) -> None:
        """Stop calls made ahead while there are more calls than places; the newest first."""
        per_server, total = self._places
        load = self._loads[server]
        for result in reversed(list(self._results)):
            is_crowded = load.real + load.early > per_server
            if not is_crowded and self._real_count + self._early_count <= total:
                return
            is_in_flight = result.outcome is None and not result.joiners
            if is_in_flight and (not is_crowded or result.tool.server == server):
                self._results.remove(result)

    @contextmanager
    def hold_write(self, caller: Caller, server: str) -> Iterator[None]:
        """Discard what a call may outdate, when it begins and when it ends."""
        who, load = (caller.user, caller.team), self._loads[server]
        self._writes[who] += 1
        load.writes += 1
        self._discard_outdated(who, server)
        try:
            yield
        finally:
            self._discard_outdated(who, server)
            load.writes -= 1
            self._writes[who] -= 1
            if not self._writes[who]:
                del self._writes[who]

    def _discard_outdated(self, who: tuple[str, int | None], server: str) -> None:
        self._results.remove_where(
            lambda result: (
                result.tool.server == server or (result.caller.user, result.caller.team) == who
            )
        )

    @contextmanager
    def note_request(self, key: EarlyKey | None) -> Iterator[None]:
        """Note that a client makes a call, so that it is not made ahead at the same time."""
        if key is None:
            yield
            return
        self._requested[key] += 1
        try:
            yield
        finally:
            self._requested[key] -= 1
            if not self._requested[key]:
                del self._requested[key]
