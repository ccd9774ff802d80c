"""Ended runs that have not been learned from yet."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import structlog
from django.db import connection

from execution.changes import WHOLE_TASK
from execution.codes import TOOL_ERROR
from execution.ended_run import AnsweredCalls, CallDurations, CallResult, EndedRun
from execution.models import WorkflowExecution
from execution.planning.parse import InvalidWorkflow, parse
from execution.status import RunStatus
from execution.store import payloads
from execution.store.escaping import unescape_text
from execution.store.payloads import PayloadKind
from execution.workflow import Workflow
from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from tools.store import teams

RESULTS_PER_TOOL: Final = 3
MAX_RESULT_BYTES: Final = 1_000_000
"""Larger results are ignored."""
MAX_RESULTS_BYTES: Final = 4_000_000
"""Total bytes of results considered per run."""

# The row of a for-each task is not a call; its items are.
_ANSWERED_CALLS = f"""
FROM execution_taskrun AS ran
WHERE run_id = %(run)s AND attempts > 0 AND started_at IS NOT NULL AND ended_at IS NOT NULL
  AND (status = 'succeeded' OR (status = 'failed' AND error_code = '{TOOL_ERROR}'))
  AND (item >= 0 OR NOT EXISTS (
      SELECT FROM execution_taskrun AS one
      WHERE one.run_id = ran.run_id AND one.task = ran.task AND one.item >= 0))
"""

_CALLS = f"""
SELECT task, tool, count(*) FILTER (WHERE status = 'succeeded'),
       count(*) FILTER (WHERE status = 'failed'), min(started_at), max(ended_at)
{_ANSWERED_CALLS}
GROUP BY task, tool
ORDER BY min(position), task
"""

_TIMES = f"""
SELECT tool, count(*), sum(duration_ms)
{_ANSWERED_CALLS} AND duration_ms >= 0
GROUP BY 1
ORDER BY 1
"""

_RESULTS = """
SELECT tool, definition_hash, content FROM (
    SELECT *, sum(size) OVER (ORDER BY nth, tool) AS total FROM (
        SELECT ran.tool, ran.definition_hash, held.content, held.size,
               row_number() OVER (PARTITION BY ran.tool ORDER BY ran.position, ran.item) AS nth
        FROM execution_taskrun AS ran
        JOIN execution_payload AS held
          ON held.run_id = ran.run_id AND held.task = ran.task AND held.item = ran.item
         AND held.kind = 'result'
        WHERE ran.run_id = %(run)s AND ran.status = 'succeeded' AND ran.attempts > 0
          AND held.size <= %(one)s
    ) AS numbered
    WHERE nth <= %(each)s
) AS summed
WHERE total <= %(all)s
"""

log = structlog.get_logger(__name__)


class _RunRow(NamedTuple):
    user: str
    team: int | None
    status: str
    is_direct: bool
    ended_at: datetime
    version: int


def load_unlearned_runs(*, settled_s: float, limit: int) -> list[UUID]:
    """Return ended runs that have not been learned from, oldest first.

    Args:
        settled_s: Minimum seconds since the end; the process that ended a run comes first.
        limit: Maximum count.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM execution_workflowexecution "
            "WHERE ended_at <= now() - make_interval(secs => %s) AND learned_at IS NULL "
            "ORDER BY ended_at LIMIT %s",
            [settled_s, limit],
        )
        return [run for (run,) in cursor.fetchall()]


def load_ended_run(run: UUID, *, sealer: Sealer) -> EndedRun | None:
    """Load the data of an ended run that has not been learned from; None: not such a run.

    Expired payloads, and those whose key is gone, are left out.

    Args:
        run: Its id.
        sealer: Opens its payloads.
    """
    found = WorkflowExecution.objects.filter(
        pk=run, ended_at__isnull=False, learned_at__isnull=True
    ).values_list("user", "team_id", "status", "is_direct", "ended_at", "version")
    row = next(map(_RunRow._make, found), None)
    if row is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(_CALLS, {"run": run})
        calls = tuple(
            AnsweredCalls(
                task=unescape_text(task),
                tool=unescape_text(tool),
                succeeded=held,
                failed=bad,
                started_at=start,
                ended_at=end,
            )
            for task, tool, held, bad, start, end in cursor.fetchall()
        )
        cursor.execute(_TIMES, {"run": run})
        times = tuple(
            CallDurations(tool=unescape_text(tool), calls=count, total_ms=total)
            for tool, count, total in cursor.fetchall()
        )
    intent = _open_payload(run, PayloadKind.INTENT, sealer=sealer)
    return EndedRun(
        run=run,
        contributor=teams.find_contributor(row.user, row.team),
        status=RunStatus(row.status),
        is_direct=row.is_direct,
        ended_at=row.ended_at,
        intent=intent if isinstance(intent, str) else "",
        workflow=_load_workflow(run, row.version, sealer),
        answered_calls=calls,
        call_durations=times,
        results=tuple(_iterate_results(run, sealer)),
    )


def mark_learned(run: UUID, *, at: datetime) -> bool:
    """Mark a run as learned from; return whether it was not before.

    Concurrent calls wait for the end of this transaction.
    """
    rows = WorkflowExecution.objects.filter(pk=run, ended_at__isnull=False, learned_at=None)
    return bool(rows.update(learned_at=at))


def _load_workflow(run: UUID, version: int, sealer: Sealer) -> Workflow | None:
    """Return the final workflow, after all replans."""
    document = _open_payload(run, PayloadKind.WORKFLOW, item=version, sealer=sealer)
    if document is None:
        return None
    try:
        return parse(document)
    except InvalidWorkflow as error:  # written by a version with other rules
        log.warning("run.workflow_unreadable", run=str(run), reason=str(error))
        return None


def _iterate_results(run: UUID, sealer: Sealer) -> Iterator[CallResult]:
    limits = {"one": MAX_RESULT_BYTES, "each": RESULTS_PER_TOOL, "all": MAX_RESULTS_BYTES}
    with connection.cursor() as cursor:
        cursor.execute(_RESULTS, {"run": run, **limits})
        rows = cursor.fetchall()
    for tool, definition_hash, content in rows:
        try:
            raw = payloads.open_payload(content, sealer=sealer)
        except UnsealingFailed:
            continue
        if isinstance(raw, dict):
            yield CallResult(tool=unescape_text(tool), definition_hash=definition_hash, raw=raw)


def _open_payload(run: UUID, kind: PayloadKind, *, item: int = WHOLE_TASK, sealer: Sealer) -> Any:
    """Return a payload; None if it is gone or no key opens it."""
    try:
        return payloads.load_payload(run, kind, item=item, sealer=sealer)
    except UnsealingFailed as error:
        log.warning("run.payload_unreadable", run=str(run), kind=kind.value, reason=str(error))
        return None
