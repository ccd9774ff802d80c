"""Totals of predictions are exact, per team, and never doubled."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from learning.memory.event import Event, EventKind, EventOutcome
from learning.models import PredictionTotal
from learning.store import totals
from learning.store.totals import CountedPrediction
from tests.factories import TeamFactory, ToolFactory

pytestmark = pytest.mark.django_db

AT = datetime(2026, 11, 23, 12, tzinfo=UTC)
DAY = date(2026, 11, 23)


def counted(**given):
    values = {
        "form": totals.INTENT,
        "team": None,
        "tool": None,
        "is_shadow": True,
        "at": AT,
        "chance": 0.75,
        "is_hit": True,
        "is_wasted": False,
        "takes_ms": 100.0,
        "price": None,
    }
    return CountedPrediction(**{**values, **given})


def wrong(**given):
    return counted(is_hit=False, is_wasted=True, **given)


def ended(tool, outcome=EventOutcome.HIT, **data):
    return Event(
        kind=EventKind.SPECULATION_END,
        at=AT.timestamp(),
        team=None,
        session=1,
        tool=tool,
        outcome=outcome,
        data={"form": "next_call", "chance": 0.4, "saves_ms": 20.0, "shadow": True, **data},
    )


def test_predictions_of_one_kind_and_day_are_summed_up():
    totals.add_predictions([counted(), wrong(price=Decimal("0.25"))])
    totals.add_predictions([counted(), wrong(), counted(is_hit=False)])
    (row,) = totals.load_totals(None, since=DAY)
    assert (row.decile, row.predictions, row.hits, row.wasted) == (7, 5, 2, 2)
    assert (row.chance, row.saved_ms, row.wasted_ms) == (3.75, 200.0, 200.0)
    assert (row.cost, row.unpriced) == (Decimal("0.25"), 1)


def test_a_teams_totals_are_seen_by_nobody_else():
    team = TeamFactory().pk
    totals.add_predictions([counted(team=team)])
    assert totals.load_totals(None, since=DAY) == []
    assert totals.load_totals(TeamFactory().pk, since=DAY) == []
    assert [row.hits for row in totals.load_totals(team, since=DAY)] == [1]


def test_predictions_of_deleted_tools_and_teams_are_dropped():
    totals.add_predictions([counted(tool=10**9), counted(team=10**9), counted()])
    assert PredictionTotal.objects.get().predictions == 1


def test_resolved_next_calls_among_events_are_counted_by_tool():
    tool = ToolFactory(server__name="git", name="log", server__price_per_call=Decimal("0.5"))
    other = Event(kind=EventKind.TASK_COMPLETE, at=AT.timestamp(), team=None, session=1)
    intent = ended(None, form="intent")
    missed = ended(tool.pk, EventOutcome.EXPIRED)
    totals.add_events([other, intent, ended(tool.pk), missed])
    (row,) = totals.load_totals(None, since=DAY)
    assert (row.tool_id, row.server, row.form, row.decile) == ("git:log", "git", "next_call", 4)
    assert (row.predictions, row.hits, row.wasted) == (2, 1, 1)
    assert (row.saved_ms, row.wasted_ms, row.cost, row.unpriced) == (20.0, 20.0, Decimal("0.5"), 0)


def test_totals_of_earlier_days_are_deleted():
    totals.add_predictions([counted()])
    assert totals.count_old(before=DAY) == 0
    assert totals.delete_old(before=DAY + timedelta(days=1)) == 1
