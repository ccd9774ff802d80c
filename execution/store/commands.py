"""Commands to runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models.functions import Now

from execution.control import Action
from execution.models import RunCommand, WorkflowExecution
from execution.status import RunStatus
from execution.store import payloads, transactions
from execution.store.payloads import PayloadKind
from execution.store.runs import UnknownRun
from gateway_project.foundation import notify
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer


class RunEnded(Exception):
    """The run has ended and takes no more commands."""

    def __init__(self, status: RunStatus) -> None:
        super().__init__(f"the run is {status} and can no longer be changed")
        self.status = status


@dataclass(frozen=True, kw_only=True)
class PendingCommand:
    """A command that is not applied yet.

    Attributes:
        id: Primary key; goes into `RunChanges.applied_commands` once applied.
        action: continue, pause, resume, abort or replan.
        detail: Further figures and words.
        workflow: JSON of the replacement workflow, for replan.
    """

    id: int
    action: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    workflow: Mapping[str, Any] | None = None


def add_command(
    run: UUID,
    action: str,
    *,
    caller: Caller,
    sealer: Sealer,
    workflow: Mapping[str, Any] | None = None,
    detail: Mapping[str, Any] | None = None,
) -> int:
    """Store a command; the process executing the run is notified.

    Args:
        run: Its id; the caller must be authorised already.
        action: As in `PendingCommand`.
        caller: The caller.
        sealer: Seals the workflow.
        workflow: Replacement workflow, for replan.
        detail: Further figures and words; no payloads.

    Returns:
        Primary key of the command.

    Raises:
        UnknownRun: If the run does not exist.
        RunEnded: If it has ended.
    """
    with transactions.short_transaction():
        # Locked, so that a run ending now either sees the command or refuses it.
        row = WorkflowExecution.objects.select_for_update(no_key=True).filter(id=run).first()
        if row is None:
            raise UnknownRun(run)
        if RunStatus(row.status).is_final:
            raise RunEnded(RunStatus(row.status))
        command = RunCommand.objects.create(
            run=row,
            action=action,
            user=caller.user,
            kind=caller.kind,
            created_at=Now(),
            detail=dict(detail or {}),
        )
        if workflow is not None:
            sealed = payloads.seal_payload(
                workflow, run=run, kind=PayloadKind.REPLAN, item=command.pk, sealer=sealer
            )
            payloads.insert_payloads([sealed])
        notify.send_notification(notify.RUN_WORK, str(run))
    return int(command.pk)


def load_open_commands(run: UUID, *, sealer: Sealer) -> tuple[PendingCommand, ...]:
    """Return the commands that a run has not applied, in order.

    Raises:
        UnsealingFailed: If a command's payload cannot be opened.
    """
    rows = list(RunCommand.objects.filter(run=run, applied_at__isnull=True).order_by("id"))
    return tuple(
        _build_command(
            row,
            payloads.load_payload(run, PayloadKind.REPLAN, item=row.pk, sealer=sealer)
            if row.action == Action.REPLAN
            else None,
        )
        for row in rows
    )


def has_open_commands(run: UUID) -> bool:
    """Whether a run has commands that are not applied."""
    return RunCommand.objects.filter(run=run, applied_at__isnull=True).exists()


def load_outcome(command: int) -> str | None:
    """Return the outcome of a command: `done` or a refusal code; None: not applied yet."""
    rows = RunCommand.objects.filter(id=command, applied_at__isnull=False)
    return rows.values_list("outcome", flat=True).first()


def _build_command(row: RunCommand, workflow: Mapping[str, Any] | None) -> PendingCommand:
    return PendingCommand(
        id=row.pk,
        action=row.action,
        detail=row.detail,
        workflow=workflow,
    )
