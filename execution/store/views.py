"""Loads views of runs, for callers who may see them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection

from execution.changes import WHOLE_TASK, RunEvent, TaskKey
from execution.models import ExecutionEvent, Speculation, WorkflowExecution
from execution.speculation.outcome import RESOLVE_AFTER_S
from execution.status import RunStatus, TaskStatus
from execution.store import payloads, prepared
from execution.store.approvals import build_pending_expression, build_status_expression
from execution.store.escaping import escape_text, unescape_json, unescape_text
from execution.store.payloads import PayloadKind
from execution.store.runs import UnknownRun
from execution.view import (
    ALL_RUNS,
    MAX_TOOLS,
    ApprovalView,
    RunFilter,
    RunSort,
    RunSummary,
    RunView,
    TaskView,
)
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer

OpenedPayloads = Mapping[tuple[PayloadKind, TaskKey], Any]
"""Unsealed payloads of a run."""
Row = Sequence[Any]

_VISIBLE: Final = """(%(anybody)s OR (
    run."user" = %(user)s AND run.team_id IS NOT DISTINCT FROM %(team)s)
    OR run.team_id = ANY(%(teams)s))
    AND (%(group)s::text IS NULL OR run.tool_group = %(group)s)"""
"""A caller limited to a group sees the runs of callers limited to the same one."""

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
SELECT id, task, item, tool, reason, {build_status_expression("asked")},
    definition_hash, arguments_digest, created_at, expires_at, decided_at, decided_by, decided_via
FROM execution_approval AS asked WHERE run_id = %(run)s
ORDER BY created_at, task, item, id
"""

_PAYLOADS: Final = """
SELECT kind, task, item, content FROM execution_payload
WHERE run_id = %(run)s
  AND (kind = 'workflow' AND item = %(version)s
       OR %(all)s AND kind NOT IN ('workflow', 'replan'))
"""
"""Only the current workflow: a run keeps one per version."""

_DURATION: Final = """(coalesce({run}.ended_at, now())
       - coalesce({run}.started_at, {run}.created_at))"""
_TOOK: Final = _DURATION.format(run="run")
_LAST_TOOK: Final = f"""(SELECT {_DURATION.format(run="last")}
    FROM execution_workflowexecution AS last WHERE last.id = %(after_run)s)"""
_ORDERS: Final[Mapping[RunSort, tuple[str, str]]] = {
    "newest": (
        """run.created_at <= %(before)s
       AND (run.created_at < %(before)s OR run.id > %(after_run)s)""",
        "run.created_at DESC, run.id",
    ),
    "oldest": (
        "(run.created_at, run.id) > (%(before)s, %(after_run)s::uuid)",
        "run.created_at, run.id",
    ),
    "longest": (
        f"({_TOOK} < {_LAST_TOOK} OR {_TOOK} = {_LAST_TOOK} AND run.id > %(after_run)s)",
        f"{_TOOK} DESC, run.id",
    ),
}
"""Of each order: which runs come after that of the page before, and the order itself."""

_SUMMARIES = f"""
SELECT run.id, run."user", run.team_id, run.status, run.is_direct,
    ARRAY(SELECT tool FROM execution_taskrun AS task
          WHERE task.run_id = run.id AND task.item = {WHOLE_TASK}
          ORDER BY task.position LIMIT %(tools)s),
    run.tasks_total,
    (SELECT count(*) FROM execution_taskrun AS task
     WHERE task.run_id = run.id AND task.item = {WHOLE_TASK} AND task.status = ANY(%(done)s)),
    (SELECT count(*) FROM execution_approval AS asked
     WHERE asked.run_id = run.id AND {build_pending_expression("asked")}),
    run.created_at, run.started_at, run.ended_at, run.error_code
FROM execution_workflowexecution AS run
WHERE {_VISIBLE}
  AND (%(runs)s::uuid[] IS NULL OR run.id = ANY(%(runs)s::uuid[]))
  AND (%(status)s::text IS NULL OR run.status = %(status)s)
  AND (%(of_user)s = '' OR run."user" = %(of_user)s)
  AND (%(of_team)s::bigint IS NULL OR run.team_id = %(of_team)s)
  AND (%(since)s::timestamptz IS NULL OR run.created_at >= %(since)s)
  AND (%(until)s::timestamptz IS NULL OR run.created_at < %(until)s)
  AND (%(min_s)s::float8 IS NULL OR {_TOOK} >= make_interval(secs => %(min_s)s))
  AND (%(tool)s = '' OR EXISTS (
      SELECT FROM execution_taskrun AS task WHERE task.run_id = run.id
        AND %(tool)s IN (task.tool, split_part(task.tool, ':', 1))))
  AND (%(text)s = ''
       OR position(%(text)s IN lower(concat_ws(' ', run.id, run."user", run.error_code))) > 0
       OR EXISTS (SELECT FROM execution_taskrun AS task WHERE task.run_id = run.id
         AND position(%(text)s IN lower(concat_ws(' ', task.task, task.tool))) > 0))
"""
_IDS: Final = f"""
SELECT run.id, run.status, run.created_at FROM execution_workflowexecution AS run
WHERE run.id BETWEEN %(first)s AND %(last)s AND {_VISIBLE}
ORDER BY run.id LIMIT %(limit)s
"""
_HEX_DIGITS: Final = 32
_DONE_STATUSES: Final = [status.value for status in TaskStatus if status.is_done]


def load_view(
    run: UUID,
    *,
    caller: Caller | None,
    sealer: Sealer,
    group: str | None = None,
    results: bool = True,
    workflow: bool = False,
) -> RunView:
    """Load the current view of a run.

    Args:
        run: Its id.
        caller: Sees the runs of their own name and team; None: sees all.
        sealer: Opens its payloads.
        group: Only a run of callers limited to this tool group; None: the caller's group.
        results: Whether to read payloads, not only the state.
        workflow: Whether to read the workflow, even without other payloads.

    Raises:
        UnknownRun: If it does not exist or belongs to someone else.
        UnsealingFailed: If no key opens a payload.
    """
    values = {"run": run, **_build_visibility_values(caller)}
    if group is not None:
        values["group"] = group
    with prepared.cursor() as cursor:
        row = cursor.execute(_RUN, values).fetchone()
    if row is None:
        raise UnknownRun(run)
    # Payloads are read after the run: a result that arrives in between shows early, but is never
    # lost. Arguments are read after approvals: an approval never shows with those of an earlier
    # call.
    with (
        prepared.cursor(pipelined=True) as tasks,
        prepared.cursor() as approvals,
        prepared.cursor() as stored,
    ):
        tasks.execute(_TASKS, values)
        approvals.execute(_APPROVALS, values)
        if results or workflow:
            payload_values = {**values, "version": row[5], "all": results}
            stored.execute(_PAYLOADS, payload_values, binary=True)
        opened = _open_payloads(stored, sealer) if results or workflow else {}
        return _build_run_view(run, row, tuple(tasks), tuple(approvals), opened)


def load_status(run: UUID) -> RunStatus:
    """Return the status of a run; the cheapest query about it.

    Raises:
        UnknownRun: If it does not exist.
    """
    status_value = (
        WorkflowExecution.objects.filter(id=run).values_list("status", flat=True).first()
    )
    if status_value is None:
        raise UnknownRun(run)
    return RunStatus(status_value)


def load_summaries(
    caller: Caller | None,
    *,
    teams: Collection[int] = (),
    runs: Collection[UUID] | None = None,
    wanted: RunFilter = ALL_RUNS,
    after: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[RunSummary]:
    """Return runs, newest first unless another order is wanted.

    Args:
        caller: As in `load_view`.
        teams: Also the runs of these teams, by primary key.
        runs: Only these; None: all.
        wanted: Which of them.
        after: Time and id of the last run of the page before; None: the first page.
        limit: Maximum count.
    """
    values: dict[str, Any] = {
        **_build_visibility_values(caller, teams),
        "before": after[0] if after else None,
        "after_run": after[1] if after else None,
        "runs": None if runs is None else list(runs),
        "status": None if wanted.status is None else wanted.status.value,
        "tool": escape_text(wanted.tool),
        "of_user": wanted.user,
        "of_team": wanted.team,
        "since": wanted.since,
        "until": wanted.until,
        "min_s": wanted.min_duration_s,
        "text": escape_text(wanted.text.lower()),
        "limit": limit,
        "tools": MAX_TOOLS,
        "done": _DONE_STATUSES,
    }
    follows, order = _ORDERS[wanted.sort]
    page = f"AND (%(before)s::timestamptz IS NULL OR {follows}) ORDER BY {order} LIMIT %(limit)s"
    with connection.cursor() as cursor:
        cursor.execute(_SUMMARIES + page, values)
        return [_build_summary(row) for row in cursor.fetchall()]


def find_runs(
    prefix: str, caller: Caller | None, *, teams: Collection[int] = (), limit: int
) -> list[tuple[UUID, RunStatus, datetime]]:
    """Return id, status and time of the runs whose id begins with some hexadecimal digits.

    Args:
        prefix: Up to 32 digits; dashes are ignored. Anything else is the beginning of no id.
        caller: As in `load_view`.
        teams: As in `load_summaries`.
        limit: Maximum count.
    """
    digits = prefix.replace("-", "").lower()
    if not digits or len(digits) > _HEX_DIGITS or digits.strip("0123456789abcdef"):
        return []
    values = {
        **_build_visibility_values(caller, teams),
        "first": UUID(digits.ljust(_HEX_DIGITS, "0")),
        "last": UUID(digits.ljust(_HEX_DIGITS, "f")),
        "limit": limit,
    }
    with connection.cursor() as cursor:
        cursor.execute(_IDS, values)
        return [(run, RunStatus(status), at) for run, status, at in cursor.fetchall()]


def load_events(run: UUID, *, after: int = 0, limit: int = 1_000) -> list[RunEvent]:
    """Return a run's events after a sequence number, in order.

    Args:
        run: Its id; the caller must be authorised already.
        after: Last known sequence number.
        limit: Maximum count.
    """
    rows = ExecutionEvent.objects.filter(run=run, seq__gt=after).order_by("seq")[:limit]
    return [
        RunEvent(
            seq=row.seq,
            kind=row.kind,
            at=row.at,
            task=unescape_text(row.task),
            item=row.item,
            data=unescape_json(row.data),
        )
        for row in rows
    ]


def _build_visibility_values(caller: Caller | None, teams: Collection[int] = ()) -> dict[str, Any]:
    return {
        "teams": list(teams),
        "anybody": caller is None,
        "user": "" if caller is None else caller.user,
        "team": None if caller is None else caller.team,
        "group": None if caller is None else caller.group,
    }


def _open_payloads(rows: Iterable[Sequence[Any]], sealer: Sealer) -> OpenedPayloads:
    return {
        (PayloadKind(kind), (unescape_text(task), item)): payloads.open_payload(
            content, sealer=sealer
        )
        for kind, task, item, content in rows
    }


def _build_run_view(
    run: UUID,
    row: Sequence[Any],
    tasks: Sequence[Row],
    approvals: Sequence[Row],
    opened: OpenedPayloads,
) -> RunView:
    user, team, kind, is_direct, status, version, last_seq, *times, options, code, expired = row
    created_at, changed_at, started_at, ended_at, delivered_at, deadline_at = times
    return RunView(
        id=run,
        user=user,
        team=team,
        kind=kind,
        is_direct=is_direct,
        status=RunStatus(status),
        version=version,
        last_seq=last_seq,
        created_at=created_at,
        changed_at=changed_at,
        started_at=started_at,
        ended_at=ended_at,
        delivered_at=delivered_at,
        deadline_at=deadline_at,
        tasks=_build_task_views(tasks, opened),
        approvals=tuple(_build_approval_view(run, row, one, opened) for one in approvals),
        workflow=opened.get((PayloadKind.WORKFLOW, ("", version))),
        intent=opened.get((PayloadKind.INTENT, ("", WHOLE_TASK)), ""),
        options=json.loads(options),
        error_code=code,
        error=opened.get((PayloadKind.ERROR, ("", WHOLE_TASK)), "") if code else "",
        has_expired=expired,
    )


def _build_task_views(rows: Sequence[Row], opened: OpenedPayloads) -> tuple[TaskView, ...]:
    positions: dict[str, int] = {row[0]: row[2] for row in rows if row[1] == WHOLE_TASK}
    views = [
        _build_task_view(row, positions.get(str(row[0]), int(row[2])), opened) for row in rows
    ]
    return tuple(sorted(views, key=lambda one: (one.position, one.task, one.item)))


def _build_task_view(row: Row, position: int, opened: OpenedPayloads) -> TaskView:
    name, item, _, tool, status, attempts, definition_hash, *times, code, result_bytes = row
    started_at, ended_at, duration_ms = times
    task = unescape_text(name)
    return TaskView(
        task=task,
        item=item,
        position=position,
        tool=unescape_text(tool),
        status=TaskStatus(status),
        attempts=attempts,
        definition_hash=definition_hash,
        started_at=started_at,
        ended_at=ended_at,
        duration_ms=duration_ms,
        error_code=code,
        error=opened.get((PayloadKind.ERROR, (task, item)), "") if code else "",
        result=opened.get((PayloadKind.RESULT, (task, item))),
        result_bytes=result_bytes,
    )


def _build_approval_view(run: UUID, of: Row, row: Row, opened: OpenedPayloads) -> ApprovalView:
    user, team, *_ = of
    pk, name, item, tool, reason, status, definition_hash, digest, *times, by, via = row
    created_at, expires_at, decided_at = times
    task = unescape_text(name)
    return ApprovalView(
        id=pk,
        run=run,
        task=task,
        item=item,
        tool=unescape_text(tool),
        reason=unescape_text(reason),
        user=user,
        team=team,
        status=status,
        created_at=created_at,
        expires_at=expires_at,
        definition_hash=definition_hash,
        arguments_digest=digest,
        arguments=opened.get((PayloadKind.ARGUMENTS, (task, item))),
        decided_at=decided_at,
        decided_by=by,
        decided_via=via,
    )


def _build_summary(row: Sequence[Any]) -> RunSummary:
    run, user, team, status, is_direct, tools, total, done, approvals, *times, code = row
    created_at, started_at, ended_at = times
    return RunSummary(
        id=run,
        user=user,
        team=team,
        status=RunStatus(status),
        is_direct=is_direct,
        tools=tuple(unescape_text(tool) for tool in tools),
        tasks_total=total,
        tasks_done=done,
        approvals=approvals,
        created_at=created_at,
        started_at=started_at,
        ended_at=ended_at,
        error_code=code,
    )


def find_followed_prediction(
    caller: Caller | None, run: UUID, *, created_at: datetime
) -> UUID | None:
    """Return the prediction that a client followed with a run; None: none that is known.

    Args:
        caller: Sees those that they own; None: sees all.
        run: Id of the run.
        created_at: When it was requested.
    """
    rows = Speculation.objects.filter(
        run=run,  # has no index: the newest of a time are looked through
        created_at__gte=created_at - timedelta(seconds=RESOLVE_AFTER_S),
        created_at__lte=created_at,
    )
    if caller is not None:
        rows = rows.filter(team__isnull=False, team=caller.owner)
    return rows.order_by("-created_at").values_list("pk", flat=True).first()
