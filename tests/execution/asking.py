"""Calls that wait for a person, in the database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models.functions import Now

from execution.models import Approval
from execution.status import RunStatus
from gateway_project.foundation.sealing import Sealer
from tests.execution.stored import CALL, change, changes, held, write

ARGUMENTS: Mapping[str, Any] = {"path": "/x"}


def waiting(
    sealer: Sealer,
    *,
    arguments: Mapping[str, Any] = ARGUMENTS,
    asks: str = "it deletes",
    **said: Any,
) -> Approval:
    """Make a run that waits for approval; one after another, they are asked a second apart."""
    run = held(sealer, **said).run
    asking = change("a", "waiting_approval", approval_reason=asks, arguments=arguments, **CALL)
    write(sealer, changes(run, asking, seqs=[2], status=RunStatus.WAITING))
    place = Approval.objects.count()
    Approval.objects.filter(run=run).update(created_at=Now() + timedelta(seconds=place))
    return Approval.objects.get(run=run)


def late(approval: Approval) -> None:
    """Let the time be up in which an approval can be decided or used.

    In a test that is one transaction, SQL's now() is when that began, however long ago.
    """
    Approval.objects.filter(pk=approval.pk).update(expires_at=Now() - timedelta(days=1))
