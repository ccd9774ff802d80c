"""Direct calls that waited for approval: each result is delivered once."""

from __future__ import annotations

from uuid import UUID

from django.db.models.functions import Now

from execution.models import WorkflowExecution


def mark_delivered(run: UUID) -> bool:
    """Mark a direct call's result as delivered; the same call then starts a new run.

    Args:
        run: Its id; no effect on other runs, or on one that has not ended.

    Returns:
        Whether this was the first time.
    """
    ended = WorkflowExecution.objects.filter(
        pk=run, is_direct=True, ended_at__isnull=False, delivered_at__isnull=True
    )
    # The key identifies the run of the same call; it is never one chosen by the caller.
    return ended.update(delivered_at=Now(), idempotency_key="") == 1
