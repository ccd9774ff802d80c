"""Runs as they stand, for those who may see them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import connection

from execution.changes import WHOLE_TASK, Event
from execution.models import ExecutionEvent, WorkflowExecution
from execution.status import RunStatus, TaskStatus
from execution.store import payloads, prepared
from execution.store.approval_sql import stands, waits
from execution.store.escaping import original, original_json
from execution.store.payloads import Kind
from execution.store.runs import UnknownRun
from execution.view import MAX_TOOLS, ApprovalView, RunLine, RunView, TaskView
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer

Kept = Mapping[tuple[Kind, payloads.Place], Any]
"""What is kept of a run, opened."""
Row = Sequence[Any]

_VISIBLE: Final = """(%(anybody)s OR (
    run."user" = %(user)s AND run.team_id IS NOT DISTINCT FROM %(team)s))"""

_RUN: Final = f"""
SELECT "user", team_id, kind, is_direct, status, version, last_seq,
    created_at, changed_at, started_at, ended_at, delivered_at, deadline_at, options, error_code,
    NOT EXISTS (SELECT FROM execution_payload AS kept
                WHERE kept.run_id = run.id AND kept.kind = 'workflow')
FROM execution_workflowexecution AS run WHERE run.id = %(run)s AND {_VISIBLE}
"""

_TASKS: Final = """
SELECT task, item, position, tool, status, attempts, definition_hash,
    started_at, ended_at, duration_ms, error_code, result_bytes
FROM execution_taskrun WHERE run_id = %(run)s
"""

_APPROVALS: Final = f"""
SELECT id, task, item, tool, reason, {stands("asked")}, definition_hash, arguments_digest,
    created_at, expires_at, decided_at, decided_by, decided_via
FROM execution_approval AS asked WHERE run_id = %(run)s
ORDER BY created_at, task, item, id
"""

_PAYLOADS: Final = """
SELECT kind, task, item, content FROM execution_payload
WHERE run_id = %(run)s
  AND (kind = 'workflow' AND item = %(version)s
       OR %(all)s AND kind NOT IN ('workflow', 'replan'))
"""
"""Of workflows only the one that counts: a run has one of each version."""

_LINES = f"""
SELECT run.id, run."user", run.team_id, run.status, run.is_direct,
    ARRAY(SELECT tool FROM execution_taskrun AS task
          WHERE task.run_id = run.id AND task.item = {WHOLE_TASK}
          ORDER BY task.position LIMIT %(tools)s),
    run.tasks_total,
    (SELECT count(*) FROM execution_taskrun AS task
     WHERE task.run_id = run.id AND task.item = {WHOLE_TASK} AND task.status = ANY(%(done)s)),
    (SELECT count(*) FROM execution_approval AS asked
     WHERE asked.run_id = run.id AND {waits("asked")}),
    run.created_at, run.started_at, run.ended_at, run.error_code
FROM execution_workflowexecution AS run
WHERE {_VISIBLE}
  AND (%(status)s::text IS NULL OR run.status = %(status)s)
ORDER BY run.created_at DESC, run.id LIMIT %(limit)s
"""
_DONE: Final = [status.value for status in TaskStatus if status.is_done]


def view(
    run: UUID,
    *,
    caller: Caller | None,
    sealer: Sealer,
    results: bool = True,
    workflow: bool = False,
) -> RunView:
    """Return a run as it stands.

    Args:
        run: Its id.
        caller: Who asks: sees the runs of their own name and team; None: sees all.
        sealer: Opens what is kept of it.
        results: Whether to read what was given and answered, not only how it stands.
        workflow: Whether to read what it is to do, though nothing else of that.

    Raises:
        UnknownRun: If there is none, or it is somebody else's.
        SealBroken: If no key opens what is kept.
    """
    values = {"run": run, **_seen_by(caller)}
    with prepared.cursor() as cursor:
        row = cursor.execute(_RUN, values).fetchone()
    if row is None:
        raise UnknownRun(run)
    # Read after the run itself: a result that comes in between is shown early, never lost. The
    # arguments after the approvals: an approval is never shown with those of the call before.
    with (
        prepared.cursor(pipelined=True) as tasks,
        prepared.cursor() as asked,
        prepared.cursor() as stored,
    ):
        tasks.execute(_TASKS, values)
        asked.execute(_APPROVALS, values)
        if results or workflow:
            wanted = {**values, "version": row[5], "all": results}
            stored.execute(_PAYLOADS, wanted, binary=True)
        kept = _opened(stored, sealer) if results or workflow else {}
        return _run(run, row, tuple(tasks), tuple(asked), kept)


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
        **_seen_by(caller),
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


def _seen_by(caller: Caller | None) -> dict[str, Any]:
    return {
        "anybody": caller is None,
        "user": "" if caller is None else caller.user,
        "team": None if caller is None else caller.team,
    }


def _opened(rows: Iterable[Sequence[Any]], sealer: Sealer) -> Kept:
    return {
        (Kind(kind), (original(task), item)): payloads.opened(content, sealer=sealer)
        for kind, task, item, content in rows
    }


def _run(
    run: UUID, row: Sequence[Any], tasks: Sequence[Row], asked: Sequence[Row], kept: Kept
) -> RunView:
    user, team, kind, is_direct, stands, version, last_seq, *times, options, code, expired = row
    created_at, changed_at, started_at, ended_at, delivered_at, deadline_at = times
    return RunView(
        id=run,
        user=user,
        team=team,
        kind=kind,
        is_direct=is_direct,
        status=RunStatus(stands),
        version=version,
        last_seq=last_seq,
        created_at=created_at,
        changed_at=changed_at,
        started_at=started_at,
        ended_at=ended_at,
        delivered_at=delivered_at,
        deadline_at=deadline_at,
        tasks=_tasks(tasks, kept),
        approvals=tuple(_approval(run, row, one, kept) for one in asked),
        workflow=kept.get((Kind.WORKFLOW, ("", version))),
        intent=kept.get((Kind.INTENT, ("", WHOLE_TASK)), ""),
        options=json.loads(options),
        error_code=code,
        error=kept.get((Kind.ERROR, ("", WHOLE_TASK)), "") if code else "",
        has_expired=expired,
    )


def _tasks(rows: Sequence[Row], kept: Kept) -> tuple[TaskView, ...]:
    positions: dict[str, int] = {row[0]: row[2] for row in rows if row[1] == WHOLE_TASK}
    views = [_task(row, positions.get(str(row[0]), int(row[2])), kept) for row in rows]
    return tuple(sorted(views, key=lambda one: (one.position, one.task, one.item)))


def _task(row: Row, position: int, kept: Kept) -> TaskView:
    name, item, _, tool, stands, attempts, definition_hash, *times, code, result_bytes = row
    started_at, ended_at, duration_ms = times
    task = original(name)
    return TaskView(
        task=task,
        item=item,
        position=position,
        tool=original(tool),
        status=TaskStatus(stands),
        attempts=attempts,
        definition_hash=definition_hash,
        started_at=started_at,
        ended_at=ended_at,
        duration_ms=duration_ms,
        error_code=code,
        error=kept.get((Kind.ERROR, (task, item)), "") if code else "",
        result=kept.get((Kind.RESULT, (task, item))),
        result_bytes=result_bytes,
    )


def _approval(run: UUID, of: Row, row: Row, kept: Kept) -> ApprovalView:
    user, team, *_ = of
    pk, name, item, tool, reason, status, definition_hash, digest, *times, by, via = row
    created_at, expires_at, decided_at = times
    task = original(name)
    return ApprovalView(
        id=pk,
        run=run,
        task=task,
        item=item,
        tool=original(tool),
        reason=original(reason),
        user=user,
        team=team,
        status=status,
        created_at=created_at,
        expires_at=expires_at,
        definition_hash=definition_hash,
        arguments_digest=digest,
        arguments=kept.get((Kind.ARGUMENTS, (task, item))),
        decided_at=decided_at,
        decided_by=by,
        decided_via=via,
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
