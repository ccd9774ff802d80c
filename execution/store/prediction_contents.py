"""What predictions were made for: intent, calls and results; sealed, and kept as those of runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from execution.models import Speculation
from execution.store import payloads
from gateway_project.foundation.sealing import Sealer

DELETE_BATCH: Final = 1_000


def load_content(speculation: UUID, *, sealer: Sealer) -> Mapping[str, Any] | None:
    """Return what a prediction was made for, as `PredictedIntent.describe` has it.

    Returns:
        None if there is no such prediction, or nothing was kept of it, or it has expired.

    Raises:
        UnsealingFailed: If no key opens it.
    """
    sealed = Speculation.objects.filter(pk=speculation).values_list("content", flat=True).first()
    return None if sealed is None else payloads.open_payload(sealed, sealer=sealer)


def count_contents(*, before: datetime) -> int:
    """Return the number of predictions made before some time whose content is stored."""
    return _select_with_content(before).count()


def delete_contents(*, before: datetime) -> int:
    """Delete the content of predictions made before some time; return of how many."""
    old = _select_with_content(before).values_list("pk", flat=True)
    total = 0
    while batch := list(old[:DELETE_BATCH]):
        total += Speculation.objects.filter(pk__in=batch).update(content=None)
    return total


def _select_with_content(before: datetime) -> QuerySet[Speculation]:
    return Speculation.objects.filter(created_at__lt=before, content__isnull=False)
