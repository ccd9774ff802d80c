"""What runs are told to do."""

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
from execution.store.payloads import Kind
from execution.store.runs import UnknownRun
from gateway_project.foundation import notify
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer


class RunOver(Exception):
    """The run has ended: nothing can be told it."""

    def __init__(self, status: RunStatus) -> None:
        super().__init__(f"the run is {status}: nothing can be done about it any more")
        self.status = status


@dataclass(frozen=True, kw_only=True)
class Command:
    """Something a run is told to do.

    Attributes:
        id: Primary key; goes into `Changes.applied` once it is carried out.
        action: continue, pause, resume, abort or replan.
        detail: Figures and words that belong to it.
        workflow: JSON of what replaces the workflow, for replan.
    """

    id: int
    action: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    workflow: Mapping[str, Any] | None = None


def add(
    run: UUID,
    action: str,
    *,
    caller: Caller,
    sealer: Sealer,
    workflow: Mapping[str, Any] | None = None,
    detail: Mapping[str, Any] | None = None,
) -> int:
    """Tell a run something; the process that runs it is notified.

    Args:
        run: Its id; whether the caller may has been asked before.
        action: As in `Command`.
        caller: Who tells it.
        sealer: Seals the workflow.
        workflow: Of a replan.
        detail: Figures and words that belong to it; no payloads.

    Returns:
        Primary key of the command.

    Raises:
        UnknownRun: If there is no such run.
        RunOver: If it has ended.
    """
    with transactions.short():
        # Locked, so that a run that ends just now either knows of the command or refuses it.
        row = WorkflowExecution.objects.select_for_update(no_key=True).filter(id=run).first()
        if row is None:
            raise UnknownRun(run)
        if RunStatus(row.status).is_final:
            raise RunOver(RunStatus(row.status))
        command = RunCommand.objects.create(
            run=row,
            action=action,
            user=caller.user,
            kind=caller.kind,
            created_at=Now(),
            detail=dict(detail or {}),
        )
        if workflow is not None:
            sealed = payloads.seal(
                workflow, run=run, kind=Kind.REPLAN, item=command.pk, sealer=sealer
            )
            payloads.insert([sealed])
        notify.send(notify.RUN_WORK, str(run))
    return int(command.pk)


def open(run: UUID, *, sealer: Sealer) -> tuple[Command, ...]:  # noqa: A001 - read as commands.open
    """Return what a run was told and has not been carried out, in order.

    Raises:
        SealBroken: If what came with one cannot be opened.
    """
    rows = list(RunCommand.objects.filter(run=run, applied_at__isnull=True).order_by("id"))
    return tuple(
        _command(
            row,
            payloads.one(run, Kind.REPLAN, item=row.pk, sealer=sealer)
            if row.action == Action.REPLAN
            else None,
        )
        for row in rows
    )


def are_open(run: UUID) -> bool:
    """Whether a run was told something that has not been carried out."""
    return RunCommand.objects.filter(run=run, applied_at__isnull=True).exists()


def outcome(command: int) -> str | None:
    """Return what came of a command: `done`, or a code that says why not; None: it is open."""
    rows = RunCommand.objects.filter(id=command, applied_at__isnull=False)
    return rows.values_list("outcome", flat=True).first()


def _command(row: RunCommand, workflow: Mapping[str, Any] | None) -> Command:
    return Command(
        id=row.pk,
        action=row.action,
        detail=row.detail,
        workflow=workflow,
    )
