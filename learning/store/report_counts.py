"""Counts that a report shows beside predictions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings

from learning.memory.event import KIND_CODES, EventKind
from learning.models import AdaptiveThreshold, EpisodicEvent, ThresholdChange


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
