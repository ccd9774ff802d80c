"""Budgets of calls made ahead: waste, calls a minute, money; reserved before, settled after."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

import django.db
import structlog

from execution.call_outcome import SpeculationForm
from execution.speculation.calls import SpeculationEnd, SpeculationRefused, SpeculativeCall
from execution.speculation.limits import FREE, PRICED, ServerLimits
from execution.speculation.rules import AdmissibilityReason, ReasonCode, make_reason
from execution.speculation.waste_budget import WasteBudget
from gateway_project.foundation.reasons import summarize_error

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller
    from tools.catalogue import Catalogue, CatalogueTool

WINDOW_S: Final = 60.0
RETRY_S: Final = 1.0
REFRESH_S: Final = 60.0
"""Limits are read again after this long even without a notification."""
USED: Final = frozenset({SpeculationEnd.SERVED, SpeculationEnd.COMPARED})
"""Ends of calls that were requested."""

LoadLimits = Callable[[], Awaitable[Mapping[str, ServerLimits]]]
ReserveMoney = Callable[[UUID, str, int | None, Decimal], Awaitable[bool]]
SettleMoney = Callable[[UUID, bool], Awaitable[None]]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Reservation:
    """What a call made ahead may use.

    Attributes:
        prediction: Id of the prediction that the call belongs to.
        money: Id of the reserved money; None: the call is free.
    """

    prediction: UUID
    money: UUID | None


class Allowance:
    """The budgets of a process; for one event loop.

    Nothing is allowed until the limits are loaded. Calls without a price never wait for the
    database.

    Args:
        catalogue: Servers and their prices.
        load_limits: Loads the limits that admins have set, by server.
        reserve_money: Reserves a price for a server and a team; returns whether it fits.
        settle_money: Settles reserved money: whether the call was made.
        clock: Monotonic clock, in seconds.
    """

    def __init__(
        self,
        *,
        catalogue: Callable[[], Catalogue],
        load_limits: LoadLimits,
        reserve_money: ReserveMoney,
        settle_money: SettleMoney,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._catalogue = catalogue
        self._load_limits = load_limits
        self._store_reservation = reserve_money
        self._store_settlement = settle_money
        self._clock = clock
        self._limits: Mapping[str, ServerLimits] | None = None
        self._budgets: dict[tuple[str, int | None], WasteBudget] = {}
        self._recent: defaultdict[str, deque[float]] = defaultdict(deque)
        self._weighed: dict[UUID, tuple[WasteBudget, float]] = {}
        self._unsettled: list[tuple[UUID, bool]] = []
        self._wake = asyncio.Event()
        self._is_stale = True

    def check(
        self, call: SpeculativeCall, tool: CatalogueTool, caller: Caller
    ) -> tuple[AdmissibilityReason, ...]:
        """Return what refuses a call, as far as it is known in memory."""
        if self._limits is None:
            return (
                make_reason(ReasonCode.OVER_BUDGET, "The budgets of servers are not loaded yet."),
            )
        limits, reasons = self._find_limits(tool.server), []
        if len(self._list_recent(tool.server)) >= limits.calls_per_minute:
            reasons.append(
                make_reason(
                    ReasonCode.OVER_RATE,
                    f"{limits.calls_per_minute} calls were made ahead at server {tool.server} in "
                    "the last minute, as many as its budget allows.",
                )
            )
        if self._find_price(tool.server) > limits.dollars_per_day:
            reasons.append(_explain_money(tool))
        if call.form is SpeculationForm.NEXT_CALL:
            budget = self._find_budget(tool.server, caller.owner, limits)
            if not budget.admits(call.chance, call.next_chance):
                reasons.append(
                    make_reason(
                        ReasonCode.NOT_WORTH_IT,
                        f"A chance of {call.chance:.2f} is too low for the waste budget of "
                        f"{budget.budget:g} of server {tool.server}.",
                    )
                )
        return tuple(reasons)

    async def reserve(
        self, call: SpeculativeCall, tool: CatalogueTool, *, caller: Caller
    ) -> Reservation:
        """Reserve what a call may use.

        Raises:
            SpeculationRefused: If a budget refuses it.
        """
        reasons = self.check(call, tool, caller)
        if reasons:
            raise SpeculationRefused(reasons)
        self._recent[tool.server].append(self._clock())
        if call.form is SpeculationForm.NEXT_CALL:
            budget = self._find_budget(tool.server, caller.owner, self._find_limits(tool.server))
            budget.record_dispatch(call.chance)
            self._weighed[call.prediction] = budget, call.chance
        price = self._find_price(tool.server)
        if not price:
            return Reservation(call.prediction, None)
        try:
            money = await self._reserve_money(tool, caller, price)
        except BaseException:
            self._withdraw(call.prediction)
            raise
        return Reservation(call.prediction, money)

    def settle(self, reservation: Reservation, *, made: bool) -> None:
        """Settle a reservation once the call has ended; not made: it was not sent at all."""
        if not made:
            self._withdraw(reservation.prediction)
        if reservation.money is not None:
            self._unsettled.append((reservation.money, made))
            self._wake.set()

    def record_end(self, call: SpeculativeCall, end: SpeculationEnd) -> None:
        """Record whether a call was of use, which moves the threshold of its waste budget."""
        weighed = self._weighed.pop(call.prediction, None)
        if weighed is not None:
            budget, chance = weighed
            budget.record_outcome(chance, was_used=end in USED)

    def invalidate(self) -> None:
        """Mark the limits as stale: an admin may have changed some."""
        self._is_stale = True
        self._wake.set()

    async def run(self) -> None:
        """Load limits as they change and settle reservations, until cancelled; settle then too."""
        try:
            while True:
                try:
                    await self.exchange()
                except django.db.Error as error:
                    log.warning("speculation.budgets_not_loaded", reason=summarize_error(error))
                    self._is_stale = True
                    await asyncio.sleep(RETRY_S)
                    continue
                with suppress(TimeoutError):
                    async with asyncio.timeout(REFRESH_S):
                        await self._wake.wait()
        finally:
            with suppress(django.db.Error, TimeoutError):
                async with asyncio.timeout(2.0):
                    await self._settle_all()

    async def exchange(self) -> None:
        """Settle what has ended, and load the limits if they may have changed.

        Raises:
            django.db.Error: If the database is unavailable; nothing is lost.
        """
        self._wake.clear()
        await self._settle_all()
        if self._is_stale or self._limits is None:
            self._is_stale = False
            self._limits = dict(await self._load_limits())

    def _withdraw(self, prediction: UUID) -> None:
        """Weigh a call no more: it was not sent, so it is no waste."""
        weighed = self._weighed.pop(prediction, None)
        if weighed is not None:
            budget, chance = weighed
            budget.withdraw_dispatch(chance)

    async def _settle_all(self) -> None:
        while self._unsettled:
            money, made = self._unsettled[0]
            await self._store_settlement(money, made)
            self._unsettled.pop(0)

    async def _reserve_money(self, tool: CatalogueTool, caller: Caller, price: Decimal) -> UUID:
        money = uuid4()
        try:
            fits = await self._store_reservation(money, tool.server, caller.team, price)
        except django.db.Error:
            fits = False
        except BaseException:  # whether it is reserved is unknown
            self._unsettled.append((money, False))
            self._wake.set()
            raise
        if not fits:
            raise SpeculationRefused((_explain_money(tool),))
        return money

    def _find_limits(self, server: str) -> ServerLimits:
        found = (self._limits or {}).get(server)
        if found is not None:
            return found
        return PRICED if self._find_price(server) else FREE

    def _find_price(self, server: str) -> Decimal:
        known = self._catalogue().servers.get(server)
        return (known.price_per_call if known is not None else None) or Decimal(0)

    def _find_budget(self, server: str, team: int | None, limits: ServerLimits) -> WasteBudget:
        """Return the waste budget of a server and a team; a new one if its share has changed."""
        budget = self._budgets.get((server, team))
        if budget is None or budget.budget != limits.waste:
            budget = self._budgets[server, team] = WasteBudget(limits.waste)
        return budget

    def _list_recent(self, server: str) -> deque[float]:
        recent, since = self._recent[server], self._clock() - WINDOW_S
        while recent and recent[0] <= since:
            recent.popleft()
        return recent


def _explain_money(tool: CatalogueTool) -> AdmissibilityReason:
    return make_reason(
        ReasonCode.OVER_BUDGET,
        f"A call of {tool.tool} costs more than is left of today's budget of its server; an "
        "admin can raise it.",
    )
