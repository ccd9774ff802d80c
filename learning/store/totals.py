"""Stores totals of resolved predictions per day: counters that any process adds to."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

from django.db import connection
from django.db.models import Sum

from learning.memory.event import Event, EventKind, EventOutcome
from learning.models import PredictionTotal
from tools.models import Tool

DECILES: Final = 10
NEXT_CALL: Final = PredictionTotal.Form.NEXT_CALL.value
INTENT: Final = PredictionTotal.Form.INTENT.value
_SUMS: Final = (
    "predictions", "hits", "wasted", "chance", "saved_ms", "wasted_ms", "cost", "unpriced",
)  # fmt: skip

# Tools and teams may have been deleted since; their predictions are dropped. Rows are locked in
# one order, so that two writers cannot deadlock.
_ADD = """
INSERT INTO learning_predictiontotal AS known
    (team_id, tool_id, form, shadow, day, decile,
     predictions, hits, wasted, chance, saved_ms, wasted_ms, cost, unpriced)
SELECT * FROM json_to_recordset(%s) AS given (
    team bigint, tool bigint, form text, shadow boolean, day date, decile smallint,
    predictions bigint, hits bigint, wasted bigint, chance float8, saved_ms float8,
    wasted_ms float8, cost numeric, unpriced bigint)
WHERE (tool IS NULL OR EXISTS (SELECT FROM tools_tool WHERE id = tool))
  AND (team IS NULL OR EXISTS (SELECT FROM tools_team WHERE id = team))
ORDER BY team, tool, form, shadow, day, decile
ON CONFLICT (team_id, tool_id, form, shadow, day, decile) DO UPDATE SET
    predictions = known.predictions + excluded.predictions,
    hits = known.hits + excluded.hits,
    wasted = known.wasted + excluded.wasted,
    chance = known.chance + excluded.chance,
    saved_ms = known.saved_ms + excluded.saved_ms,
    wasted_ms = known.wasted_ms + excluded.wasted_ms,
    cost = known.cost + excluded.cost,
    unpriced = known.unpriced + excluded.unpriced
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedPrediction:
    """A resolved prediction, as it is counted.

    Attributes:
        form: `NEXT_CALL` or `INTENT`.
        team: Primary key of the team; None: a caller without one.
        tool: Primary key of the tool; None: a workflow as a whole.
        is_shadow: Whether it was only predicted, not run ahead.
        chance: Probability stated for it, in [0, 1].
        is_wasted: Whether it was wrong or not used; neither: nobody can tell.
        takes_ms: Time that its result saves if it is right, and takes in vain otherwise.
        price: Price of running it, in US dollars; None: unknown.
        was_counted: Whether it was counted before, as one of which nobody could tell.
    """

    form: str
    team: int | None
    tool: int | None
    is_shadow: bool
    at: datetime
    chance: float
    is_hit: bool
    is_wasted: bool
    takes_ms: float
    price: Decimal | None
    was_counted: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class TotalRow:
    """Sums of predictions; the attributes mean what the columns of `PredictionTotal` do."""

    form: str
    is_shadow: bool
    tool: int | None
    tool_id: str
    server: str
    decile: int
    predictions: int
    hits: int
    wasted: int
    chance: float
    saved_ms: float
    wasted_ms: float
    cost: Decimal
    unpriced: int


def add_events(events: Iterable[Event]) -> None:
    """Add the resolved next-call predictions among events to the totals; ignore all others.

    Call it in the transaction that stores the events: both happen once, or neither does. Such an
    event is of the kind `SPECULATION_END`, names the tool, and its `data` holds `form` =
    "next_call", `chance`, `saves_ms` and `shadow`. Whole intents are counted when they are
    resolved, not here.
    """
    found = [
        event
        for event in events
        if event.kind is EventKind.SPECULATION_END and event.data.get("form") == NEXT_CALL
    ]
    prices = load_prices({event.tool for event in found if event.tool is not None})
    add_predictions(_count_event(event, prices) for event in found)


def _count_event(event: Event, prices: dict[int, Decimal | None]) -> CountedPrediction:
    is_hit = event.outcome is EventOutcome.HIT
    return CountedPrediction(
        form=NEXT_CALL,
        team=event.team,
        tool=event.tool,
        is_shadow=bool(event.data.get("shadow", True)),
        at=datetime.fromtimestamp(event.at, UTC),
        chance=float(event.data.get("chance", 0.0)),
        is_hit=is_hit,
        is_wasted=not is_hit,
        takes_ms=float(event.data.get("saves_ms") or 0.0),
        price=None if event.tool is None else prices.get(event.tool),
    )


def add_predictions(counted: Iterable[CountedPrediction]) -> None:
    """Add resolved predictions to the totals."""
    sums: dict[tuple[Any, ...], dict[str, Any]] = defaultdict(lambda: dict.fromkeys(_SUMS, 0))
    for one in counted:
        day = one.at.astimezone(UTC).date()
        key = (one.team, one.tool, one.form, one.is_shadow, day, choose_decile(one.chance))
        total = sums[key]
        total["predictions"] += not one.was_counted
        total["hits"] += one.is_hit
        total["wasted"] += one.is_wasted
        total["chance"] += 0.0 if one.was_counted else one.chance
        total["saved_ms"] += one.takes_ms if one.is_hit else 0.0
        total["wasted_ms"] += one.takes_ms if one.is_wasted else 0.0
        total["cost"] += one.price or 0 if one.is_wasted else 0
        total["unpriced"] += one.is_wasted and one.price is None
    keys = ("team", "tool", "form", "shadow", "day", "decile")
    rows = [{**dict(zip(keys, key, strict=True)), **total} for key, total in sums.items()]
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(_ADD, [json.dumps(rows, default=str)])


def choose_decile(chance: float) -> int:
    """Return the tenth that a chance falls into.

    Example:
        >>> choose_decile(0.0), choose_decile(0.39), choose_decile(1.0)
        (0, 3, 9)
    """
    return min(max(int(chance * DECILES), 0), DECILES - 1)


def load_prices(tools: Collection[int]) -> dict[int, Decimal | None]:
    """Return the price of a call of each tool that exists, in US dollars; None: unknown."""
    rows = Tool.objects.filter(pk__in=tools).values_list("pk", "server__price_per_call")
    return dict(rows)


def load_saved_ms(team: int | None, *, since: date, is_all: bool = False) -> float:
    """Return the time that calls made ahead saved a team's clients."""
    rows = PredictionTotal.objects.filter(day__gte=since, shadow=False)
    if not is_all:
        rows = rows.filter(team=team)
    found: float | None = rows.aggregate(saved=Sum("saved_ms"))["saved"]
    return found or 0.0


def load_totals(team: int | None, *, since: date) -> list[TotalRow]:
    """Return a team's totals by form, tool and decile, from a day on."""
    group = ("form", "shadow", "tool", "tool__server__name", "tool__name", "decile")
    rows = (
        PredictionTotal.objects.filter(team=team, day__gte=since)
        .values(*group)
        .annotate(**{f"sum_{name}": Sum(name) for name in _SUMS})
        .order_by("form", "shadow", "tool", "decile")
    )
    return [
        TotalRow(
            form=row["form"],
            is_shadow=row["shadow"],
            tool=row["tool"],
            tool_id=f"{row['tool__server__name']}:{row['tool__name']}" if row["tool"] else "",
            server=row["tool__server__name"] or "",
            decile=row["decile"],
            **{name: row[f"sum_{name}"] for name in _SUMS},
        )
        for row in rows
    ]


def count_old(*, before: date) -> int:
    """Return the number of totals of earlier days."""
    return PredictionTotal.objects.filter(day__lt=before).count()


def delete_old(*, before: date) -> int:
    """Delete totals of earlier days; return how many."""
    deleted, _ = PredictionTotal.objects.filter(day__lt=before).delete()
    return deleted
