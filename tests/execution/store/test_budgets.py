"""Reserved money never exceeds a budget, and comes back."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import connection

from execution.models import BudgetReservation, SpeculationAgreement, SpeculationBudget
from execution.speculation.agreements import (
    AgreementKey,
    ComparedResult,
)
from execution.store import agreements, budgets
from tests.factories import ServerFactory, TeamFactory, ToolFactory

AT = datetime(2026, 11, 23, 12, tzinfo=UTC)
PRICE = Decimal("0.02")


def reserve(at=AT, **values):
    wanted = {"server": "paid", "team": None, "dollars": PRICE} | values
    return budgets.reserve_money(uuid4(), at=at, **wanted)


@pytest.fixture
def budget(db):
    return SpeculationBudget.objects.create(
        server=ServerFactory(name="paid"), dollars_per_day=Decimal("0.05")
    )


def test_a_day_has_its_budget_and_the_next_another(budget):
    money = [uuid4() for _ in range(3)]
    fits = [
        budgets.reserve_money(one, server="paid", team=None, dollars=PRICE, at=AT) for one in money
    ]
    assert fits == [True, True, False]
    for one in money[:2]:
        budgets.settle_money(one, made=True, at=AT)
    assert not reserve(AT + timedelta(hours=11))
    assert reserve(AT + timedelta(hours=12))


def test_what_is_not_spent_comes_back(budget):
    money = uuid4()
    budgets.reserve_money(money, server="paid", team=None, dollars=PRICE * 2, at=AT)
    assert not reserve()
    budgets.settle_money(money, made=False, at=AT)
    assert reserve()


def test_money_of_a_killed_process_comes_back_after_a_while(budget):
    assert reserve(dollars=PRICE * 2)
    assert not reserve(AT + timedelta(seconds=budgets.LEASE_S - 1))
    assert reserve(AT + timedelta(seconds=budgets.LEASE_S))


def test_without_a_budget_nothing_is_reserved(db):
    assert not reserve()


@pytest.mark.django_db(transaction=True)
def test_fifty_at_once_never_exceed_a_budget():
    SpeculationBudget.objects.create(
        server=ServerFactory(name="paid"), dollars_per_day=Decimal("0.20")
    )

    def reserve_in_thread(_):
        try:
            return reserve()
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        fits = list(pool.map(reserve_in_thread, range(50)))
    assert sum(fits) == BudgetReservation.objects.count() == 10


def test_compared_results_add_up_and_a_reset_begins_anew(db):
    tool, team = ToolFactory(), TeamFactory()
    key = AgreementKey(tool.pk, "a" * 64, "b" * 64, team.pk)
    agreements.add_compared(
        [ComparedResult(key, True, age) for age in (1.0, 5.0, 3.0, 2.0)], at=AT
    )
    agreements.add_compared([ComparedResult(key._replace(team=None), False, 1.0)], at=AT)
    agreements.add_compared([ComparedResult(key._replace(tool=0), True, 1.0)], at=AT)
    loaded = agreements.load_agreements()
    assert loaded[key] == (4, 0, (5.0, 3.0, 2.0))
    assert loaded[key._replace(team=None)] == (0, 1, ())
    assert len(loaded) == 2
    failed = SpeculationAgreement.objects.get(team=None)
    (reset,) = agreements.reset_agreements([failed.pk], user="root", at=AT)
    assert (reset.agreed, reset.disagreed) == (0, 1)
    assert agreements.load_agreements()[key._replace(team=None)] == (0, 0, ())


def test_reservations_of_long_ago_are_deleted(budget):
    later = AT + timedelta(days=budgets.KEPT_DAYS, seconds=1)
    assert reserve()
    assert reserve(later)
    assert (
        budgets.count_old_reservations(at=later),
        budgets.delete_old_reservations(at=later),
    ) == (1, 1)
    assert BudgetReservation.objects.count() == 1
