"""Single calls that waited for approval: each is answered once."""

from __future__ import annotations

from uuid import UUID

from django.db.models.functions import Now

from execution.models import WorkflowExecution


def deliver(run: UUID) -> bool:
    """Note that the caller was given what came of a single call; the same call is new again.

    Args:
        run: Its id; nothing happens to other runs, nor to one that has not ended.

    Returns:
        Whether this was the first time.
    """
    ended = WorkflowExecution.objects.filter(
        pk=run, is_direct=True, ended_at__isnull=False, delivered_at__isnull=True
    )
    # The key is what finds the run of the same call; nobody else's name for it is lost.
    return ended.update(delivered_at=Now(), idempotency_key="") == 1
