"""What is called ahead stays within waste, calls a minute and money."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import django.db

from execution.call_outcome import SpeculationForm
from execution.speculation.allowance import Allowance
from execution.speculation.calls import SpeculationEnd, SpeculationRefused
from execution.speculation.limits import DEFAULT_CALLS_PER_MINUTE, ServerLimits
from tests.execution.speculation_setup import ANN, known_server, known_tool, planned_call, rules

FREE_TOOL = known_tool("git:show", pk=1)
PRICED_TOOL = known_tool("paid:search", pk=2)
CATALOGUE = rules(
    FREE_TOOL,
    PRICED_TOOL,
    servers=(known_server(), known_server("paid", price_per_call=Decimal("0.02"))),
).catalogue


def early(form=SpeculationForm.INTENT, **values):
    return planned_call(tool="git:show", form=form, **values)


class World:
    """An allowance over a purse."""

    def __init__(self, limits=None, *, dollars=Decimal(0)):
        self.now, self.left, self.settled, self.away = 100.0, dollars, [], False
        self.limits = limits or {}
        self.allowance = Allowance(
            catalogue=lambda: CATALOGUE,
            load_limits=self.load,
            reserve_money=self.reserve,
            settle_money=self.settle,
            clock=lambda: self.now,
        )

    async def load(self):
        return self.limits

    async def reserve(self, _money, _server, _team, price):
        await asyncio.sleep(0)
        if self.away:
            raise django.db.OperationalError
        if price > self.left:
            return False
        self.left -= price
        return True

    async def settle(self, money, made):
        self.settled.append((money, made))

    async def try_reserve(self, one=None, tool=FREE_TOOL):
        try:
            return await self.allowance.reserve(one or early(), tool, caller=ANN)
        except SpeculationRefused as refused:
            return [reason.code.value for reason in refused.reasons]


async def make_world(*args, **values):
    world = World(*args, **values)
    await world.allowance.exchange()
    return world


async def test_nothing_is_allowed_before_the_limits_are_loaded():
    assert await World().try_reserve() == ["over_budget"]


async def test_fifty_at_once_stay_within_the_calls_of_a_minute():
    world = await make_world({"git": ServerLimits(waste=0.5, calls_per_minute=7)})
    reserved = await asyncio.gather(*(world.try_reserve() for _ in range(50)))
    assert sum(one != ["over_rate"] for one in reserved) == 7
    world.now += 59.0
    assert await world.try_reserve() == ["over_rate"]
    world.now += 1.0
    assert await world.try_reserve() != ["over_rate"]


async def test_without_limits_of_its_own_a_server_has_the_defaults():
    world = await make_world()
    reserved = [await world.try_reserve() for _ in range(DEFAULT_CALLS_PER_MINUTE + 1)]
    assert [one for one in reserved if isinstance(one, list)] == [["over_rate"]]


async def test_a_priced_server_costs_nothing_until_an_admin_allows_it():
    world = await make_world(dollars=Decimal(1))
    assert await world.try_reserve(tool=PRICED_TOOL) == ["over_budget"]
    assert world.left == 1


async def test_money_is_reserved_before_and_settled_after():
    limits = {"paid": ServerLimits(waste=0.1, dollars_per_day=Decimal("0.05"))}
    world = await make_world(limits, dollars=Decimal("0.05"))
    reserved = await asyncio.gather(*(world.try_reserve(tool=PRICED_TOOL) for _ in range(50)))
    paid = [one for one in reserved if not isinstance(one, list)]
    assert len(paid) == 2
    for one, made in zip(paid, (True, False), strict=True):
        world.allowance.settle(one, made=made)
    await world.allowance.exchange()
    assert world.settled == [(paid[0].money, True), (paid[1].money, False)]


async def test_without_a_database_nothing_priced_is_called_and_free_calls_go_on():
    limits = {"paid": ServerLimits(waste=0.1, dollars_per_day=Decimal(1))}
    world = await make_world(limits, dollars=Decimal(1))
    world.away = True
    assert await world.try_reserve(tool=PRICED_TOOL) == ["over_budget"]
    assert not isinstance(await world.try_reserve(), list)


async def test_unlikely_calls_are_not_worth_it_and_outcomes_move_what_is():
    world = await make_world()
    unlikely = early(SpeculationForm.NEXT_CALL, chance=0.2, next_chance=0.05)
    assert await world.try_reserve(unlikely) == ["not_worth_it"]
    likely = [early(SpeculationForm.NEXT_CALL, chance=0.6, next_chance=0.6) for _ in range(30)]
    for one in likely:
        assert not isinstance(await world.try_reserve(one), list)
    for one in likely:
        world.allowance.record_end(one, SpeculationEnd.UNUSED)
    late = early(SpeculationForm.NEXT_CALL, chance=0.3, next_chance=0.3)
    assert await world.try_reserve(late) == ["not_worth_it"]


async def test_a_budget_of_zero_never_calls_ahead_but_intents():
    world = await make_world({"git": ServerLimits(waste=0.0)})
    sure = early(SpeculationForm.NEXT_CALL, chance=1.0, next_chance=1.0)
    assert await world.try_reserve(sure) == ["not_worth_it"]
    assert not isinstance(await world.try_reserve(), list)


async def test_changed_limits_count_once_they_are_announced():
    world = await make_world()
    world.limits = {"git": ServerLimits(waste=0.5, calls_per_minute=0)}
    assert not isinstance(await world.try_reserve(), list)
    world.allowance.invalidate()
    await world.allowance.exchange()
    assert await world.try_reserve() == ["over_rate"]


async def test_other_callers_of_a_team_share_a_budget_and_other_teams_do_not():
    world = await make_world()
    for _ in range(40):
        one = early(SpeculationForm.NEXT_CALL, chance=0.45, next_chance=0.45)
        if not isinstance(await world.try_reserve(one), list):
            world.allowance.record_end(one, SpeculationEnd.FAILED)
    one = early(SpeculationForm.NEXT_CALL, chance=0.45, next_chance=0.45)
    assert world.allowance.check(one, FREE_TOOL, replace(ANN, user="ben"))
    assert not world.allowance.check(one, FREE_TOOL, replace(ANN, team=8))


async def test_what_money_refuses_is_neither_waste_nor_weighed_any_more():
    limits = {"paid": ServerLimits(waste=0.5, dollars_per_day=Decimal(1))}
    world = await make_world(limits)
    for _ in range(40):
        one = early(SpeculationForm.NEXT_CALL, chance=0.6, next_chance=0.6)
        assert await world.try_reserve(one, PRICED_TOOL) == ["over_budget"]
        world.allowance.record_end(one, SpeculationEnd.FAILED)
    world.left = Decimal(1)
    late = early(SpeculationForm.NEXT_CALL, chance=0.4, next_chance=0.4)
    assert not isinstance(await world.try_reserve(late, PRICED_TOOL), list)


async def test_what_is_not_sent_in_the_end_lets_nothing_else_be_wasted():
    async def count_admitted(*, unsent):
        world = await make_world(
            {"git": ServerLimits(waste=0.2, calls_per_minute=1_000, dollars_per_day=Decimal(0))}
        )
        for _ in range(unsent):
            sure = early(SpeculationForm.NEXT_CALL, chance=1.0, next_chance=1.0)
            reservation = await world.allowance.reserve(sure, FREE_TOOL, caller=ANN)
            world.allowance.settle(reservation, made=False)
        unlikely = [early(SpeculationForm.NEXT_CALL, chance=0.6, next_chance=0.6)] * 100
        answers = [await world.try_reserve(one) for one in unlikely]
        return sum(not isinstance(one, list) for one in answers)

    assert 0 < await count_admitted(unsent=0) == await count_admitted(unsent=200) < 100
