"""Runs and predictions by the name of their user."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q

from execution.models import Speculation, WorkflowExecution
from execution.status import RunStatus

_FINISHED = [status.value for status in RunStatus if status.is_final]


@dataclass(frozen=True, kw_only=True)
class UserRuns:
    """How many runs a user has.

    Attributes:
        total: All that are kept.
        unfinished: Those that have not ended.
    """

    total: int
    unfinished: int


def count_runs(user: str) -> UserRuns:
    """Count the runs that are kept under a user's name."""
    found = WorkflowExecution.objects.filter(user=user).aggregate(
        total=Count("pk"), unfinished=Count("pk", filter=~Q(status__in=_FINISHED))
    )
    return UserRuns(**found)


def rename_predictions(before: str, after: str) -> None:
    """Give the predictions for a user their new name; the database does so to runs by itself."""
    Speculation.objects.filter(user=before).update(user=after)
