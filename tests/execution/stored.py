"""Runs in the database, made with as few words as a test wants to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import connection

from execution import events
from execution.changes import WHOLE_TASK, RunChanges, RunEvent, TaskChange
from execution.models import Approval, RunCommand, WorkflowExecution
from execution.status import RunStatus, TaskStatus
from execution.store import runs, writing
from execution.store.runs import CreatedRun, NewRun
from execution.workflow import RunOptions
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer

AT = datetime(2026, 5, 4, 12, tzinfo=UTC)
ADMIN = Caller(user="admin", team=None, person=None, scopes=frozenset({"*"}), kind="stdio")
EXPIRY_S = 3_600.0


def new(
    tasks: Sequence[str] = ("a", "b"),
    *,
    caller: Caller = ADMIN,
    key: str | None = None,
    owner: str = "us",
    lease_s: float = 60.0,
    intent: str = "",
    options: RunOptions | None = None,
    is_direct: bool = False,
) -> NewRun:
    return NewRun(
        caller=caller,
        workflow={"tasks": [{"id": task, "tool": f"s:{task}", "arguments": {}} for task in tasks]},
        tasks=[(task, f"s:{task}") for task in tasks],
        intent=intent,
        options=options or RunOptions(),
        idempotency_key=key,
        is_direct=is_direct,
        owner=owner,
        lease_s=lease_s,
    )


def held(sealer: Sealer, tasks: Sequence[str] = ("a", "b"), **said: Any) -> CreatedRun:
    """Make a run that this process holds."""
    return runs.create_run(new(tasks, **said), sealer=sealer)


def change(task: str = "a", status: str = "running", **said: Any) -> TaskChange:
    item = said.pop("item", WHOLE_TASK)
    return TaskChange(task, item, TaskStatus(status), AT, **said)


def changes(
    run: UUID, *tasks: TaskChange, seqs: Sequence[int] = (), epoch: int = 1, **said: Any
) -> RunChanges:
    happened = tuple(RunEvent(seq=seq, kind=events.TASK_STARTED, at=AT, task="a") for seq in seqs)
    return RunChanges(run=run, epoch=epoch, tasks=tasks, events=happened, **said)


def write(sealer: Sealer, *batch: RunChanges) -> Sequence[Exception | None]:
    """Write a batch, and say why which of it was refused."""
    return writing.write_batch(batch, sealer=sealer, approval_expiry_s=EXPIRY_S)


def row(run: UUID) -> WorkflowExecution:
    return WorkflowExecution.objects.get(id=run)


def task_row(run: UUID, task: str = "a", item: int = -1) -> Mapping[str, Any]:
    return dict(row(run).tasks.filter(task=task, item=item).values().get())


def asked(sealer: Sealer, run: UUID, *, seq: int = 2, status: str = "approved") -> Approval:
    """Ask for the approval of task a, and decide it."""
    asking = change("a", "waiting_approval", approval_reason="it deletes", **CALL)
    write(sealer, changes(run, asking, seqs=[seq]))
    approval = Approval.objects.get(run=run, status="pending")
    Approval.objects.filter(id=approval.pk).update(status=status)
    return approval


CALL = {"definition_hash": "d" * 64, "arguments_digest": "e" * 64}
"""What the approvals of these tests are about."""


def shift_clock(run: UUID, *, seconds: float) -> None:
    """Let a run look as if it had been written so long ago, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE execution_workflowexecution SET
                   created_at = created_at - make_interval(secs => %(s)s),
                   changed_at = changed_at - make_interval(secs => %(s)s),
                   ended_at = ended_at - make_interval(secs => %(s)s),
                   lease_until = lease_until - make_interval(secs => %(s)s),
                   deadline_at = deadline_at - make_interval(secs => %(s)s)
               WHERE id = %(run)s""",
            {"s": seconds, "run": run},
        )


def ended(sealer: Sealer, status: str = "succeeded", **said: Any) -> UUID:
    """Make a run that is over."""
    made = held(sealer, **said)
    write(sealer, changes(made.run, seqs=[2], status=RunStatus(status)))
    return made.run


def unknown(sealer: Sealer, **said: Any) -> UUID:
    """Make a run of which a call was lost."""
    run = held(sealer, **said).run
    write(sealer, changes(run, change("a"), seqs=[2]))
    write(sealer, changes(run, change("a", "unknown"), seqs=[3], status=RunStatus.UNKNOWN))
    return run


def told() -> list[tuple[Any, ...]]:
    """Return what runs were told, in order, and by whom."""
    fields = ("action", "user", "kind", "detail")
    return list(RunCommand.objects.order_by("pk").values_list(*fields))
