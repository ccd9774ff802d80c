"""What a speculator needs of others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from execution.early_calls import EarlyCall, EarlyEnd, OnEarlyCallEnded
    from execution.speculation_rules import AdmissibilityReason, AdmissibilityRules
    from gateway_project.foundation.caller import Caller
    from tools.catalogue import CatalogueTool
    from tools.pinned_upstream import PinnedUpstream

    Reasons = tuple[AdmissibilityReason, ...]


class CallBudgets(Protocol):
    """Budgets of calls made ahead."""

    def check(self, early: EarlyCall, tool: CatalogueTool, caller: Caller) -> Reasons:
        """Return what refuses a call, as far as it is known in memory."""

    async def reserve(self, early: EarlyCall, tool: CatalogueTool, *, caller: Caller) -> Any:
        """Reserve what a call may use; return the reservation.

        Raises:
            SpeculationRefused: If a budget refuses it.
        """

    def settle(self, reservation: Any, *, made: bool) -> None:
        """Settle a reservation once the call has ended; not made: it was not sent at all."""

    def record_end(
        self, early: EarlyCall, tool: CatalogueTool, caller: Caller, end: EarlyEnd
    ) -> None:
        """Record whether a call was of use."""


class ServingRules(Protocol):
    """Which tools have earned that results made ahead are served."""

    def is_served(self, tool: CatalogueTool, team: int | None, age_s: float) -> bool:
        """Whether a result of this age is served now; otherwise it is compared."""

    def has_failed(self, tool: CatalogueTool, team: int | None) -> bool:
        """Whether a result was not that of the call made again, so that none will be served."""

    def record(self, tool: CatalogueTool, team: int | None, *, agreed: bool, age_s: float) -> None:
        """Record whether a result was that of the same call made again."""


async def _confirm_nothing() -> None:
    """Confirm nothing: the switch is always known."""


@dataclass(frozen=True, kw_only=True)
class SpeculatorDependencies:
    """The collaborators of a speculator.

    Attributes:
        rules: Returns catalogue and grants in force.
        upstream: The pool of upstream servers.
        is_on: Whether the switch is on, confirmed within the last second.
        confirm: Reads the switch now.
        allowance: Budgets.
        agreements: What earned being served.
        describe_trouble: What a caller may know of why a server is unreliable now; empty if it is
            healthy.
        on_ended: Called with what became of each call.
        places: Calls in flight that a server, and the process, have room for.
    """

    rules: Callable[[], AdmissibilityRules]
    upstream: PinnedUpstream
    is_on: Callable[[], bool]
    allowance: CallBudgets
    agreements: ServingRules
    confirm: Callable[[], Awaitable[None]] = _confirm_nothing
    describe_trouble: Callable[[Caller, str], str] = lambda _caller, _server: ""
    on_ended: OnEarlyCallEnded = lambda _ended: None
    places: tuple[int, int] = (8, 32)
