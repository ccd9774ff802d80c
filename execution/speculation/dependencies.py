"""What a speculator needs of others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from execution.speculation.agreements import Agreements
    from execution.speculation.allowance import Allowance
    from execution.speculation.calls import OnSpeculationEnded
    from execution.speculation.rules import AdmissibilityRules
    from gateway_project.foundation.caller import Caller
    from tools.pinned_upstream import PinnedUpstream


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
    allowance: Allowance
    agreements: Agreements
    confirm: Callable[[], Awaitable[None]] = _confirm_nothing
    describe_trouble: Callable[[Caller, str], str] = lambda _caller, _server: ""
    on_ended: OnSpeculationEnded = lambda _ended: None
    places: tuple[int, int] = (8, 32)
