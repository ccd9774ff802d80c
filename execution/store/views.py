"""Runs as they stand, for those who may see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Case, QuerySet, Value, When
from django.db.models.functions import Now

from execution.changes import WHOLE_TASK, Event
from execution.models import Approval, ExecutionEvent, Payload, TaskRun, WorkflowExecution
from execution.status import RunStatus, TaskStatus
from execution.store import payloads
from execution.store.escaping import original, original_json
from execution.store.payloads import Kind
from execution.store.runs import UnknownRun
from execution.view import MAX_TOOLS, ApprovalView, RunLine, RunView, TaskView
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer

Kept = Mapping[tuple[Kind, payloads.Place], Any]
"""What is kept of a run, opened."""

_LINES = """
SELECT run.id, run."user", run.team_id, run.status, run.is_direct,
    ARRAY(SELECT tool FROM execution_taskrun AS task
          WHERE task.run_id = run.id AND task.item = -1 ORDER BY task.position LIMIT %(tools)s),
    run.tasks_total,
    (SELECT count(*) FROM execution_taskrun AS task
     WHERE task.run_id = run.id AND task.item = -1 AND task.status = ANY(%(done)s)),
    (SELECT count(*) FROM execution_approval AS asked
     WHERE asked.run_id = run.id AND asked.status = 'pending' AND asked.expires_at > now()),
    run.created_at, run.started_at, run.ended_at, run.error_code
FROM execution_workflowexecution AS run
WHERE (%(anybody)s OR (run."user" = %(user)s AND run.team_id IS NOT DISTINCT FROM %(team)s))
  AND (%(status)s::text IS NULL OR run.status = %(status)s)
ORDER BY run.created_at DESC, run.id LIMIT %(limit)s
"""
_DONE: Final = [status.value for status in TaskStatus if status.is_done]
_OPEN: Final = [Approval.Status.PENDING, Approval.Status.APPROVED]


def view(run: UUID, *, caller: Caller | None, sealer: Sealer, results: bool = True) -> RunView:
    """Return a run as it stands.

    Args:
        run: Its id.
        caller: Who asks: sees the runs of their own name and team; None: sees all.
        sealer: Opens what is kept of it.
        results: Whether to read what was given and answered, not only how it stands.

    Raises:
        UnknownRun: If there is none, or it is somebody else's.
        SealBroken: If no key opens what is kept.
    """
    row = _visible(caller).filter(id=run).first()
    if row is None:
        raise UnknownRun(run)
    # Read after the run itself: a result that comes in between is shown early, never lost.
    tasks = list(TaskRun.objects.filter(run=run))
    kept = payloads.of_run(run, list(Kind), sealer=sealer) if results else {}
    return RunView(
        id=row.pk,
        user=row.user,
        team=row.team_id,
        kind=row.kind,
        is_direct=row.is_direct,
        status=RunStatus(row.status),
        version=row.version,
        last_seq=row.last_seq,
        created_at=row.created_at,
        changed_at=row.changed_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        delivered_at=row.delivered_at,
        deadline_at=row.deadline_at,
        tasks=_tasks(tasks, kept),
        approvals=_approvals(run, kept),
        workflow=kept.get((Kind.WORKFLOW, ("", row.version))),
        intent=kept.get((Kind.INTENT, ("", WHOLE_TASK)), ""),
        options=row.options,
        error_code=row.error_code,
        error=kept.get((Kind.ERROR, ("", WHOLE_TASK)), "") if row.error_code else "",
        has_expired=not Payload.objects.filter(run=run, kind=Kind.WORKFLOW).exists(),
    )


def status(run: UUID) -> RunStatus:
    """Return how a run stands; the cheapest question about it.

    Raises:
        UnknownRun: If there is none.
    """
    found = WorkflowExecution.objects.filter(id=run).values_list("status", flat=True).first()
    if found is None:
        raise UnknownRun(run)
    return RunStatus(found)


def lines(
    caller: Caller | None, *, status: RunStatus | None = None, limit: int = 50
) -> list[RunLine]:
    """Return runs, newest first.

    Args:
        caller: As in `view`.
        status: Only those that stand so.
        limit: At most so many.
    """
    values: dict[str, Any] = {
        "anybody": caller is None,
        "user": "" if caller is None else caller.user,
        "team": None if caller is None else caller.team,
        "status": None if status is None else status.value,
        "limit": limit,
        "tools": MAX_TOOLS,
        "done": _DONE,
    }
    with connection.cursor() as cursor:
        cursor.execute(_LINES, values)
        return [_line(row) for row in cursor.fetchall()]


def events(run: UUID, *, after: int = 0, limit: int = 1_000) -> list[Event]:
    """Return the events of a run that follow one, in order.

    Args:
        run: Its id; whether the caller may see it has been asked before.
        after: Number of the last one known.
        limit: At most so many.
    """
    rows = ExecutionEvent.objects.filter(run=run, seq__gt=after).order_by("seq")[:limit]
    return [
        Event(
            seq=row.seq,
            kind=row.kind,
            at=row.at,
            task=original(row.task),
            item=row.item,
            data=original_json(row.data),
        )
        for row in rows
    ]


def _visible(caller: Caller | None) -> QuerySet[WorkflowExecution]:
    rows = WorkflowExecution.objects.all()
    return rows if caller is None else rows.filter(user=caller.user, team=caller.team)


def _tasks(rows: Sequence[TaskRun], kept: Kept) -> tuple[TaskView, ...]:
    positions = {row.task: row.position for row in rows if row.item == WHOLE_TASK}
    views = [_task(row, positions.get(row.task, row.position), kept) for row in rows]
    return tuple(sorted(views, key=lambda one: (one.position, one.task, one.item)))


def _task(row: TaskRun, position: int, kept: Kept) -> TaskView:
    task = original(row.task)
    return TaskView(
        task=task,
        item=row.item,
        position=position,
        tool=original(row.tool),
        status=TaskStatus(row.status),
        attempts=row.attempts,
        definition_hash=row.definition_hash,
        started_at=row.started_at,
        ended_at=row.ended_at,
        duration_ms=row.duration_ms,
        error_code=row.error_code,
        error=kept.get((Kind.ERROR, (task, row.item)), "") if row.error_code else "",
        result=kept.get((Kind.RESULT, (task, row.item))),
        result_bytes=row.result_bytes,
    )


def _approvals(run: UUID, kept: Kept) -> tuple[ApprovalView, ...]:
    late = When(status__in=_OPEN, expires_at__lte=Now(), then=Value(Approval.Status.EXPIRED))
    rows = Approval.objects.filter(run=run).annotate(stands=Case(late, default="status"))
    return tuple(
        ApprovalView(
            id=row.pk,
            run=run,
            task=original(row.task),
            item=row.item,
            tool=original(row.tool),
            reason=original(row.reason),
            status=row.stands,
            created_at=row.created_at,
            expires_at=row.expires_at,
            definition_hash=row.definition_hash,
            arguments_digest=row.arguments_digest,
            arguments=kept.get((Kind.ARGUMENTS, (original(row.task), row.item))),
            decided_at=row.decided_at,
            decided_by=row.decided_by,
        )
        for row in rows.order_by("created_at", "id")
    )


def _line(row: Sequence[Any]) -> RunLine:
    run, user, team, stands, is_direct, tools, total, done, approvals, *times, code = row
    created_at, started_at, ended_at = times
    return RunLine(
        id=run,
        user=user,
        team=team,
        status=RunStatus(stands),
        is_direct=is_direct,
        tools=tuple(original(tool) for tool in tools),
        tasks_total=total,
        tasks_done=done,
        approvals=approvals,
        created_at=created_at,
        started_at=started_at,
        ended_at=ended_at,
        error_code=code,
    )
