"""Calls by day, from the events that are kept."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.db import connection

from learning.memory.event import KIND_CODES, EventKind, EventOutcome
from learning.models import AdaptiveThreshold, EpisodicEvent, ThresholdChange
from learning.models.events import NO_TEAM

MAX_EVENTS: Final = 20_000
"""Newest calls that are counted; `prune` keeps fewer events by default."""

_ERRORS: Final = f"{EventOutcome.FAILED.value}, {EventOutcome.UNANSWERED.value}"
_CALLS: Final = f"""
SELECT (at AT TIME ZONE 'UTC')::date AS day, count(*),
    count(*) FILTER (WHERE outcome IN ({_ERRORS})),
    percentile_cont(0.95) WITHIN GROUP (ORDER BY duration_ms)
FROM (
    SELECT at, outcome, duration_ms FROM learning_episodicevent
    WHERE (%(all)s OR coalesce(team_id, {NO_TEAM}) = %(team)s) AND at >= %(since)s
      AND kind = {KIND_CODES[EventKind.TASK_COMPLETE]}
    ORDER BY at DESC LIMIT {MAX_EVENTS}) AS newest
GROUP BY GROUPING SETS ((day), ()) ORDER BY day NULLS LAST
"""


class CallCounts(NamedTuple):
    """Calls of a day, or of all days together.

    Attributes:
        day: In UTC; None: all days together.
        errors: Calls whose tool reported an error, or that got no answer.
        p95_ms: Duration that 95 % of them did not exceed; None: there was none.
    """

    day: date | None
    calls: int
    errors: int
    p95_ms: float | None


def load_call_counts(
    team: int | None, *, since: datetime, is_all: bool = False
) -> tuple[tuple[CallCounts, ...], CallCounts]:
    """Return the calls of each day on which there were any, oldest first, and of all of them."""
    key = NO_TEAM if team is None else team
    values: dict[str, Any] = {"team": key, "since": since, "all": is_all}
    with connection.cursor() as cursor:
        cursor.execute(_CALLS, values)
        *days, total = (CallCounts(*row) for row in cursor.fetchall())
    return tuple(days), total


class ThresholdCounts(NamedTuple):
    """How many thresholds a team has, and how their history looks.

    Attributes:
        thresholds: Stored thresholds.
        overridden: Those that an administrator set.
        suspended: Those of contexts in which nothing is run ahead.
        changes: Recorded changes.
    """

    thresholds: int
    overridden: int
    suspended: int
    changes: int


def count_calls(team: int | None, *, since: datetime, at: datetime) -> int | None:
    """Return how many calls a team made; None: older events may have been deleted."""
    config, own = settings.FOREGATE, EpisodicEvent.objects.filter(team=team)
    if at - since > timedelta(days=config.event_days):
        return None
    expiring = own.exclude(kind=KIND_CODES[EventKind.SPECULATION_END])
    if expiring.count() >= config.events_per_team and not expiring.filter(at__lt=since).exists():
        return None
    return own.filter(kind=KIND_CODES[EventKind.TASK_COMPLETE], at__gte=since).count()


def count_thresholds(team: int | None) -> ThresholdCounts:
    """Return how many thresholds a team has."""
    own = AdaptiveThreshold.objects.filter(team=team)
    return ThresholdCounts(
        thresholds=own.count(),
        overridden=own.filter(override__isnull=False).count(),
        suspended=own.filter(suspended=True).count(),
        changes=ThresholdChange.objects.filter(threshold__team=team).count(),
    )
