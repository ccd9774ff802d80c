"""Which process holds a run, and for how long: by the clock of the database alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

from django.db import connection, transaction

from execution.models import TaskRun, WorkflowExecution
from execution.status import RunStatus, TaskStatus
from execution.store import decisions, payloads, prepared
from execution.store.approval_sql import waits
from execution.store.escaping import original
from execution.store.payloads import Kind
from execution.store.runs import options_of
from execution.workflow import Options
from gateway_project.foundation import notify
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.caller import Kind as WayIn
from gateway_project.foundation.sealing import Sealer

# A paused run is not woken by a decision, nor an unknown one by its deadline: what took it could
# do nothing about it, would give it back, and would find it waiting again.
CLAIMABLE = f"""
run.status IN ('queued', 'running', 'paused', 'waiting', 'unknown') AND (
  (run.owner <> '' AND (
      run.lease_until IS NULL OR run.lease_until <= now() OR run.owner = ANY(%(dead)s)))
  OR (run.owner = '' AND (
      run.status IN ('queued', 'running')
      OR EXISTS (SELECT FROM execution_runcommand AS told
                 WHERE told.run_id = run.id AND told.applied_at IS NULL)
      OR (run.status IN ('paused', 'waiting') AND run.deadline_at <= now())
      OR (run.status = 'waiting' AND EXISTS (
          SELECT FROM execution_taskrun AS task
          WHERE task.run_id = run.id AND task.status = 'waiting_approval'
            AND NOT EXISTS (
              SELECT FROM execution_approval AS asked
              WHERE asked.run_id = task.run_id AND asked.task = task.task
                AND asked.item = task.item AND {waits("asked")}))))))
"""

# A row that is locked is passed over: whoever has it may stand still, and waiting would cost a
# database thread, of which there are few. What is to be had is looked for again.
_ACQUIRE = f"""
WITH before AS (
    SELECT run.id, run.owner FROM execution_workflowexecution AS run
    WHERE run.id = %(run)s AND {CLAIMABLE}
    FOR NO KEY UPDATE OF run SKIP LOCKED)
UPDATE execution_workflowexecution AS run
SET owner = %(owner)s, epoch = run.epoch + 1,
    lease_until = now() + make_interval(secs => %(lease_s)s)
FROM before WHERE run.id = before.id
RETURNING before.owner, run.epoch, extract(epoch FROM run.deadline_at - now())::float8
"""

_IDLE = f"""
SELECT run.ended_at IS NOT NULL OR (
    run.owner = '' AND run.status NOT IN ('queued', 'running') AND ({CLAIMABLE}) IS NOT TRUE)
FROM execution_workflowexecution AS run WHERE run.id = %(run)s
"""

# Locked in the order in which a batch of changes locks its runs, so that neither waits for ever.
_RENEW = """
WITH held AS (
    SELECT run.id FROM execution_workflowexecution AS run
    JOIN unnest(%(runs)s::uuid[], %(epochs)s::bigint[]) AS mine (id, epoch)
      ON run.id = mine.id AND run.epoch = mine.epoch
    WHERE run.owner = %(owner)s ORDER BY run.id FOR NO KEY UPDATE OF run)
UPDATE execution_workflowexecution AS run
SET lease_until = now() + make_interval(secs => %(lease_s)s)
FROM held WHERE run.id = held.id RETURNING run.id
"""

_RELEASE = """
UPDATE execution_workflowexecution SET owner = '', lease_until = NULL
WHERE id = %(run)s AND epoch = %(epoch)s AND owner <> ''
RETURNING status
"""


@dataclass(frozen=True, kw_only=True)
class HeldTask:
    """How a task, or one of its items, stood when its run was taken.

    What it gave is not here: `payloads.results` reads that where it is needed.

    Attributes:
        status: How it stands.
        attempts: Calls made so far.
        definition_hash: Of the definition that was called; empty: none was.
        arguments_digest: Keyed digest of what it was called with; empty: it was not.
        error_code: Stable word; empty: no error.
        approval: Newest approval asked for its call; None: none was.
        approval_status: How that stands by the clock of the database; empty: there is none.
    """

    status: TaskStatus
    attempts: int = 0
    definition_hash: str = ""
    arguments_digest: str = ""
    error_code: str = ""
    approval: UUID | None = None
    approval_status: str = ""


@dataclass(frozen=True, kw_only=True)
class Held:
    """A run that this process has taken.

    Attributes:
        run: Its id.
        epoch: Of this hold; every write names it.
        last_seq: Number of its newest event.
        status: How it stood.
        version: Of its workflow.
        workflow: JSON of the workflow as it is now; None: it has expired.
        options: How it is carried out.
        deadline_at: When it is to be ended, by the clock of this machine, however that differs
            from the database's; None: never.
        caller: Who it runs for, as they were at its start.
        tasks: How each task stands, by id and item.
        was_lost: Whether the process before had not given it back.
    """

    run: UUID
    epoch: int
    last_seq: int
    status: RunStatus
    version: int
    workflow: Mapping[str, Any] | None
    options: Options
    deadline_at: datetime | None
    caller: Caller
    tasks: Mapping[tuple[str, int], HeldTask]
    was_lost: bool = False


def acquire(
    run: UUID, *, owner: str, lease_s: float, sealer: Sealer, dead: Collection[str] = ()
) -> Held | None:
    """Take a run if it may be taken; of several processes that try, one does.

    It may be taken if `store.waiting` names it: nobody holds it, or the lease has lapsed, or who
    holds it is dead; and there is something to do about it.

    Args:
        run: Its id.
        owner: This process.
        lease_s: Seconds from now until others may take it.
        sealer: Opens what is kept of it.
        dead: Owners known to be gone.

    Returns:
        What is known of it; None: it is not to be taken, or somebody has locked it just now.
    """
    values: dict[str, Any] = {"run": run, "owner": owner, "lease_s": lease_s, "dead": list(dead)}
    with connection.cursor() as cursor:
        cursor.execute(_ACQUIRE, values)
        taken = cursor.fetchone()
    if taken is None:
        return None
    before, epoch, left_s = taken
    # Read once it is taken: a long run takes its time, and its row would be locked meanwhile.
    row = WorkflowExecution.objects.get(id=run)
    row.epoch = epoch  # should it be somebody else's by now, what is done here is refused
    return _held(row, was_lost=before != "", left_s=left_s, sealer=sealer)


def renew(owner: str, held: Mapping[UUID, int], *, lease_s: float) -> set[UUID]:
    """Hold runs for longer.

    Args:
        owner: This process.
        held: Its runs, and the epoch of each hold.
        lease_s: Seconds from now.

    Returns:
        Those that it holds still; the others have been taken by somebody.
    """
    values: dict[str, Any] = {
        "runs": list(held),
        "epochs": list(held.values()),
        "owner": owner,
        "lease_s": lease_s,
    }
    with prepared.cursor() as cursor:
        cursor.execute(_RENEW, values)
        return {run for (run,) in cursor.fetchall()}


def release(run: UUID, epoch: int) -> bool:
    """Give a run back: nobody holds it from now on. Others are told unless it is over.

    A run that has ended was given back by the write that ended it.

    Returns:
        Whether it was held with this epoch.
    """
    with transaction.atomic(), prepared.cursor() as cursor:
        cursor.execute(_RELEASE, {"run": run, "epoch": epoch})
        released = cursor.fetchone()
        if released is not None and not RunStatus(released[0]).is_final:
            notify.send(notify.RUN_WORK, str(run))
    return released is not None


def is_idle(run: UUID) -> bool:
    """Whether nothing happens to a run before somebody does something, or ever again.

    Unlike its status this knows of what was decided or told and nobody has taken up yet.
    """
    with prepared.cursor() as cursor:
        found = cursor.execute(_IDLE, {"run": run, "dead": []}).fetchone()
    return found is None or bool(found[0])


def owners() -> set[str]:
    """Return the processes that hold runs."""
    held = WorkflowExecution.objects.exclude(owner="").filter(ended_at__isnull=True)
    return set(held.values_list("owner", flat=True).distinct())


def _held(row: WorkflowExecution, *, was_lost: bool, left_s: float | None, sealer: Sealer) -> Held:
    return Held(
        run=row.pk,
        epoch=row.epoch,
        last_seq=row.last_seq,
        status=RunStatus(row.status),
        version=row.version,
        workflow=payloads.one(row.pk, Kind.WORKFLOW, item=row.version, sealer=sealer),
        options=options_of(row.options),
        deadline_at=None if left_s is None else datetime.now(UTC) + timedelta(seconds=left_s),
        caller=Caller(
            user=row.user,
            team=row.team_id,
            scopes=frozenset(row.scopes),
            kind=cast("WayIn", row.kind),
        ),
        tasks=_tasks(row.pk),
        was_lost=was_lost,
    )


def _tasks(run: UUID) -> dict[tuple[str, int], HeldTask]:
    asked = {(one.task, one.item): one for one in decisions.newest(run)}
    tasks = {}
    for row in TaskRun.objects.filter(run=run):
        place = original(row.task), row.item
        newest = asked.get(place)
        tasks[place] = HeldTask(
            status=TaskStatus(row.status),
            attempts=row.attempts,
            definition_hash=row.definition_hash,
            arguments_digest=row.arguments_digest,
            error_code=row.error_code,
            approval=newest.approval if newest else None,
            approval_status=newest.status if newest else "",
        )
    return tasks
