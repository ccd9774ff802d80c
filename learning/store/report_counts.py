"""Counts that a report shows beside predictions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from learning.memory.event import KIND_CODES, EventKind
from learning.models import AdaptiveThreshold, EpisodicEvent, ThresholdChange

MAX_COUNTED: Final = 10_000
"""Events of a team that are kept at least; if there are more, some may be missing."""
MAX_AGE: Final = timedelta(days=30)


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
    calls = EpisodicEvent.objects.filter(
        team=team, kind=KIND_CODES[EventKind.TASK_COMPLETE], at__gte=since
    ).count()
    return calls if calls < MAX_COUNTED and at - since <= MAX_AGE else None


def count_thresholds(team: int | None) -> ThresholdCounts:
    """Return how many thresholds a team has."""
    own = AdaptiveThreshold.objects.filter(team=team)
    return ThresholdCounts(
        thresholds=own.count(),
        overridden=own.filter(override__isnull=False).count(),
        suspended=own.filter(suspended=True).count(),
        changes=ThresholdChange.objects.filter(threshold__team=team).count(),
    )
