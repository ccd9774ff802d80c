"""Figures are exact, and none is invented from too few outcomes."""

from datetime import UTC, datetime
from decimal import Decimal
from uuid import uuid4

import pytest

from execution.speculation.outcome import Outcome, ResolvedSpeculation
from learning.metrics import (
    MIN_SHOWN,
    Share,
    measure_calibration,
    measure_intents,
    measure_next_calls,
)
from learning.store.totals import TotalRow

AT = datetime(2026, 11, 23, 12, tzinfo=UTC)


def resolved(outcome, **given):
    values = {
        "id": uuid4(),
        "team": None,
        "is_shadow": True,
        "context_hash": 1,
        "domain_hash": 2,
        "confidence": 0.95,
        "ranked_confidence": 0.95,
        "threshold": 0.92,
        "is_admitted": True,
        "is_runnable": True,
        "tools": (1, 2),
        "saves_ms": 500.0,
        "tokens": 100,
        "outcome": Outcome(outcome),
        "weight": 0.0 if outcome == "expired" else 0.5,
        "is_explicit": False,
        "resolved_at": AT,
    }
    return ResolvedSpeculation(**{**values, **given})


def many(count, outcome, **given):
    return [resolved(outcome, **given) for _ in range(count)]


def measured(found, *, prices=None, token_price=None, was_run=False):
    return measure_intents(found, prices=prices or {}, token_price=token_price, was_run=was_run)


def total(decile, predictions, hits, *, tool="git:log", server="git", **given):
    values = {
        "form": "next_call",
        "is_shadow": True,
        "tool": 1,
        "tool_id": tool,
        "server": server,
        "decile": decile,
        "predictions": predictions,
        "hits": hits,
        "wasted": predictions - hits,
        "chance": 0.0,
        "saved_ms": 100.0 * hits,
        "wasted_ms": 100.0 * (predictions - hits),
        "cost": Decimal("0.5"),
        "unpriced": 0,
    }
    return TotalRow(**{**values, **given})


def test_intents_that_would_have_been_run_ahead_are_measured():
    found = measured(
        [
            *many(18, "hit"),
            *many(1, "miss"),
            *many(1, "rejected"),
            *many(5, "expired"),
            *many(30, "hit", is_admitted=False),
            *many(10, "modified", is_runnable=False),
        ]
    )
    assert found.success == Share(0.9, 20)
    assert found.waste == Share(2 / 25, 25)
    assert found.acceptance == Share(48 / 60, 60)
    assert found.outcomes == {"hit": 48, "miss": 1, "rejected": 1, "expired": 5, "modified": 10}
    assert (found.saved_s, found.wasted_s, found.tokens) == (9.0, 1.0, 1_800)


def test_suggestions_too_unsure_to_be_shown_are_neither_accepted_nor_refused():
    found = measured(many(30, "hit", confidence=0.69, is_admitted=False))
    assert found.acceptance == found.success == Share(None, 0)


def test_money_is_unknown_without_prices():
    wrong = many(1, "miss", tools=(1, 2))
    assert measured(wrong).saved_money is None
    assert measured(wrong, prices={1: Decimal(1)}).wasted_money is None
    assert measured(wrong, prices={1: Decimal(1), 2: None}).wasted_money is None
    assert measured(wrong, prices={1: Decimal(1), 2: Decimal("0.5")}).wasted_money == 1.5
    right = many(2, "hit", tokens=500_000)
    assert measured(right, token_price=15.0).saved_money == 15.0
    assert measured(many(1, "hit", tokens=None, saves_ms=None)).tokens == 0


def test_next_calls_are_counted_from_the_chance_that_keeps_waste_within_the_budget():
    rows = [total(1, 100, 10), total(4, 40, 20), total(8, 20, 18)]
    found = measure_next_calls(rows, calls=76)
    assert found.least_chance == 0.2
    assert (found.predictions, found.total.predictions, found.total.hits) == (160, 60, 38)
    assert found.total.waste == Share(22 / 60, 60)
    assert (found.total.saved_s, found.total.wasted_s) == (3.8, 2.2)
    assert found.hit_rate == Share(0.5, 76)


def test_a_budget_that_no_chance_keeps_gains_nothing():
    found = measure_next_calls([total(9, 40, 4)], calls=40)
    assert (found.least_chance, found.total.predictions, found.tools) == (None, 0, ())
    assert measure_next_calls([total(9, 40, 4)], calls=None, budget=1.0).hit_rate == Share(None, 0)


def test_gains_are_ranked_by_the_time_they_save():
    rows = [
        total(8, 30, 20, tool="git:log"),
        total(9, 30, 30, tool="git:log"),
        total(8, 30, 30, tool="files:read", server="files", unpriced=1),
    ]
    found = measure_next_calls(rows, calls=None)
    assert [(gain.name, gain.hits) for gain in found.tools] == [
        ("git:log", 50),
        ("files:read", 30),
    ]
    assert [gain.name for gain in found.servers] == ["git", "files"]
    assert [gain.wasted_money for gain in found.tools] == [1.0, None]


def test_calibration_is_of_the_tools_whatever_their_arguments():
    found = [
        *many(10, "hit", confidence=0.5),
        *many(5, "modified", confidence=0.5, changed_tools=(2, 1)),
        *many(5, "modified", confidence=0.5, changed_tools=(1,)),
        *many(9, "expired", confidence=0.5),
    ]
    figures = measure_calibration(found)
    assert (figures.samples, figures.error, figures.brier) == (20, 0.25, 0.25)
    assert [one.samples for one in figures.reliability] == [20]


@pytest.mark.parametrize("count", [0, MIN_SHOWN - 1])
def test_calibration_of_too_few_is_unknown(count):
    figures = measure_calibration(many(count, "hit"))
    assert (figures.samples, figures.error, figures.brier) == (count, None, None)
    assert figures.reliability == ()


def test_what_failed_is_no_success_and_wasted_what_it_took():
    ran = {"is_shadow": False, "took_ms": 100.0}
    failed = {"is_shadow": False, "took_ms": 5_000.0, "has_failed": True}
    found = measured(
        [*many(15, "hit", **ran), *many(2, "expired", **ran), *many(3, "failed", **failed)],
        was_run=True,
    )
    assert (found.success, found.waste, found.failed) == (Share(0.85, 20), Share(0.15, 20), 3)
    assert (found.saved_s, found.wasted_s) == (7.5, 15.0)
    assert found.mean_execution_s == pytest.approx(0.835)
    assert found.mean_confidence == pytest.approx(0.95)
    assert found.acceptance == Share(None, 15), "a failure says nothing of the tools"
    assert found.outcomes == {"hit": 15, "expired": 2, "failed": 3}


def test_the_speed_up_is_against_the_time_that_callers_needed_themselves():
    own = [resolved("hit", own_ms=own_ms) for own_ms in (2_000.0, 4_000.0)]
    others = [resolved("hit", own_ms=9_999.0, tools=(7,)), resolved("expired")]
    ahead = many(2, "hit", is_shadow=False, took_ms=500.0)
    failed = resolved("failed", is_shadow=False, took_ms=5_000.0, has_failed=True)
    found = [*own, *others, *ahead, failed]
    assert measured(found, was_run=True).speed_up == 6.0
    assert measured(ahead, was_run=True).speed_up is None
    assert measured(found).speed_up is None
