"""Leases: which process holds a run and until when, by the database clock alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString, cast
from uuid import UUID

from django.db import connection, transaction

from execution.changes import TaskKey
from execution.codes import EXPIRED, SEALED
from execution.models import Approval, TaskRun, WorkflowExecution
from execution.planning import parse
from execution.snapshot import CannotResume, RunSnapshot, TaskSnapshot
from execution.status import RunStatus, TaskStatus
from execution.store import approvals, payloads, prepared
from execution.store.approvals import build_pending_expression
from execution.store.escaping import unescape_text
from execution.store.payloads import PayloadKind
from execution.store.runs import options_from_json
from execution.workflow import Workflow
from gateway_project.foundation import notify
from gateway_project.foundation.caller import Caller, CallerKind
from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from tools.store import teams

# A decision does not wake a paused run, nor a deadline an unknown one: a claimer could do nothing
# about it, would release it, and would find it claimable again.
CLAIMABLE_CONDITION = f"""
run.status IN ('queued', 'running', 'paused', 'waiting', 'unknown') AND (
  (run.owner <> '' AND (
      run.lease_until IS NULL OR run.lease_until <= now() OR run.owner = ANY(%(dead)s)))
  OR (run.owner = '' AND (
      run.status IN ('queued', 'running')
      OR EXISTS (SELECT FROM execution_runcommand AS command
                 WHERE command.run_id = run.id AND command.applied_at IS NULL)
      OR (run.status IN ('paused', 'waiting') AND run.deadline_at <= now())
      OR (run.status = 'waiting' AND EXISTS (
          SELECT FROM execution_taskrun AS task
          WHERE task.run_id = run.id AND task.status = 'waiting_approval'
            AND NOT EXISTS (
              SELECT FROM execution_approval AS asked
              WHERE asked.run_id = task.run_id AND asked.task = task.task
                AND asked.item = task.item AND {build_pending_expression("asked")}))))))
"""

# Locked rows are skipped: their holder may be stalled, and waiting would tie up one of the few
# database threads. Claimable runs are looked for again later.
_ACQUIRE = f"""
WITH before AS (
    SELECT run.id, run.owner FROM execution_workflowexecution AS run
    WHERE run.id = %(run)s AND {CLAIMABLE_CONDITION}
    FOR NO KEY UPDATE OF run SKIP LOCKED)
UPDATE execution_workflowexecution AS run
SET owner = %(owner)s, epoch = run.epoch + 1,
    lease_until = now() + make_interval(secs => %(lease_s)s)
FROM before WHERE run.id = before.id
RETURNING before.owner, run.epoch, extract(epoch FROM run.deadline_at - now())::float8
"""

_IDLE = f"""
SELECT run.ended_at IS NOT NULL OR (
    run.owner = '' AND run.status NOT IN ('queued', 'running')
    AND ({CLAIMABLE_CONDITION}) IS NOT TRUE)
FROM execution_workflowexecution AS run WHERE run.id = %(run)s
"""

# Locked in the order in which a batch of changes locks its runs, to avoid deadlocks.
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

# Claiming a run raises its epoch; ending or releasing it does not.
_TAKEN_OVER = """
SELECT mine.id FROM unnest(%(runs)s::uuid[], %(epochs)s::bigint[]) AS mine (id, epoch)
LEFT JOIN execution_workflowexecution AS run ON run.id = mine.id AND run.epoch = mine.epoch
WHERE run.id IS NULL OR run.owner NOT IN (%(owner)s, '')
"""

_RELEASE = """
UPDATE execution_workflowexecution SET owner = '', lease_until = NULL
WHERE id = %(run)s AND epoch = %(epoch)s AND owner <> ''
RETURNING status
"""


def acquire_lease(
    run: UUID, *, owner: str, lease_s: float, sealer: Sealer, dead: Collection[str] = ()
) -> RunSnapshot | None:
    """Claim a run if possible; of several concurrent claims, one succeeds.

    A run is claimable (`CLAIMABLE_CONDITION`) if nobody holds it, its lease has lapsed or its
    owner is dead, and there is something to do.

    Args:
        run: Its id.
        owner: This process.
        lease_s: Length of the lease in seconds.
        sealer: Opens its payloads.
        dead: Owners known to have ended.

    Returns:
        The run, with the rights that its caller had at its start; None: not claimable, or its row
        is locked.

    Raises:
        CannotResume: If it was claimed and its workflow has expired, or cannot be opened or read.
    """
    values: dict[str, Any] = {"run": run, "owner": owner, "lease_s": lease_s, "dead": list(dead)}
    with connection.cursor() as cursor:
        cursor.execute(_ACQUIRE, values)
        claim = cursor.fetchone()
    if claim is None:
        return None
    before, epoch, left_s = claim
    # Read after the claim: reading a long run takes time, during which its row would be locked.
    row = WorkflowExecution.objects.get(id=run)
    row.epoch = epoch  # if it has been claimed again by now, writes are fenced
    return _build_snapshot(row, was_lost=before != "", left_s=left_s, sealer=sealer)


def renew_leases(owner: str, held: Mapping[UUID, int], *, lease_s: float) -> set[UUID]:
    """Renew leases.

    Args:
        owner: This process.
        held: Epochs of its claims, by run.
        lease_s: Length of the lease in seconds.

    Returns:
        The runs still held; the others have ended, or another process has claimed them
        (`find_taken_over`).
    """
    return _select_runs(_RENEW, owner, held, lease_s=lease_s)


def find_taken_over(owner: str, held: Mapping[UUID, int]) -> set[UUID]:
    """Return the runs that another process has claimed since, and deleted ones.

    Excludes runs that this process has just ended, although nobody holds them: its `held` may not
    reflect the end yet.

    Args:
        owner: This process.
        held: Epochs of its claims, by run.
    """
    return _select_runs(_TAKEN_OVER, owner, held)


def _select_runs(
    statement: LiteralString, owner: str, held: Mapping[UUID, int], **values: Any
) -> set[UUID]:
    values |= {"runs": list(held), "epochs": list(held.values()), "owner": owner}
    with prepared.cursor() as cursor:
        cursor.execute(statement, values)
        return {run for (run,) in cursor.fetchall()}


def release_lease(run: UUID, epoch: int) -> bool:
    """Release a run; notifies others unless it has ended.

    The write that ends a run also releases it.

    Returns:
        Whether it was held with this epoch.
    """
    with transaction.atomic(), prepared.cursor() as cursor:
        cursor.execute(_RELEASE, {"run": run, "epoch": epoch})
        released = cursor.fetchone()
        if released is not None and not RunStatus(released[0]).is_final:
            notify.send_notification(notify.RUN_WORK, str(run))
    return released is not None


def is_run_at_rest(run: UUID) -> bool:
    """Whether nothing happens to a run until someone acts, or ever again.

    Unlike the status, this considers open commands and decisions.
    """
    with prepared.cursor() as cursor:
        row = cursor.execute(_IDLE, {"run": run, "dead": []}).fetchone()
    return row is None or bool(row[0])


def load_owners() -> set[str]:
    """Return the owners that hold runs."""
    held = WorkflowExecution.objects.exclude(owner="").filter(ended_at__isnull=True)
    return set(held.values_list("owner", flat=True).distinct())


def _build_snapshot(
    row: WorkflowExecution, *, was_lost: bool, left_s: float | None, sealer: Sealer
) -> RunSnapshot:
    return RunSnapshot(
        run=row.pk,
        caller=Caller(
            user=row.user,
            team=row.team_id,
            person=teams.find_private_team(row.user),
            scopes=frozenset(row.scopes),
            kind=cast("CallerKind", row.kind),
            group=row.tool_group or None,
        ),
        epoch=row.epoch,
        last_seq=row.last_seq,
        workflow=_load_workflow(row, sealer),
        options=options_from_json(row.options),
        deadline_at=None if left_s is None else datetime.now(UTC) + timedelta(seconds=left_s),
        tasks=_load_tasks(row.pk),
        status=RunStatus(row.status),
        was_lost=was_lost,
    )


def _load_workflow(row: WorkflowExecution, sealer: Sealer) -> Workflow:
    """Return the current workflow of a run.

    Raises:
        CannotResume: If it has expired, or cannot be opened or read.
    """
    try:
        stored = payloads.load_payload(
            row.pk, PayloadKind.WORKFLOW, item=row.version, sealer=sealer
        )
        if stored is None:
            raise CannotResume(
                EXPIRED, "the run's workflow is no longer stored; start it again if needed"
            )
        return parse.parse(stored)
    except UnsealingFailed as error:
        raise CannotResume(SEALED, str(error)) from None
    except parse.InvalidWorkflow as error:
        raise CannotResume(error.code, f"the stored workflow cannot be read: {error}") from None


def _load_tasks(run: UUID) -> dict[TaskKey, TaskSnapshot]:
    granted = {
        (decision.task, decision.item): decision.approval
        for decision in approvals.load_newest_decisions(run)
        if decision.status == Approval.Status.APPROVED
    }
    tasks = {}
    for row in TaskRun.objects.filter(run=run):
        key = unescape_text(row.task), row.item
        tasks[key] = TaskSnapshot(
            status=TaskStatus(row.status),
            attempts=row.attempts,
            error_code=row.error_code,
            approval=granted.get(key),
            definition_hash=row.definition_hash,
            arguments_digest=row.arguments_digest,
        )
    return tasks
