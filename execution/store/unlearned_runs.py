"""Runs that have ended and were not learned from yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import structlog
from django.db import connection

from execution.changes import WHOLE_TASK
from execution.codes import TOOL_ERROR
from execution.ended_run import Answered, EndedRun, Result, Timed
from execution.models import WorkflowExecution
from execution.planning.parse import InvalidWorkflow, parse
from execution.status import RunStatus
from execution.store import payloads
from execution.store.escaping import original
from execution.store.payloads import Kind
from execution.workflow import Workflow
from gateway_project.foundation.sealing import SealBroken, Sealer

RESULTS_A_TOOL: Final = 3
MAX_RESULT_BYTES: Final = 1_000_000
"""A larger result is not looked at."""
MAX_RESULTS_BYTES: Final = 4_000_000
"""Of all results that are looked at of one run."""

# A row that stands for a whole list is no call: its items are.
_ANSWERED = f"""
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
{_ANSWERED}
GROUP BY task, tool
ORDER BY min(position), task
"""

_TIMES = f"""
SELECT tool, width_bucket(duration_ms, %(bounds)s::float8[]), count(*), sum(duration_ms)
{_ANSWERED} AND duration_ms >= 0
GROUP BY 1, 2
ORDER BY 1, 2
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


class _Row(NamedTuple):
    team: int | None
    status: str
    is_direct: bool
    ended_at: datetime
    version: int


def unlearned(*, settled_s: float, limit: int) -> list[UUID]:
    """Return runs that have ended and that nobody has learned from, the oldest first.

    Args:
        settled_s: Only those that ended so many seconds ago: whoever ended them comes first.
        limit: How many at most.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM execution_workflowexecution "
            "WHERE ended_at <= now() - make_interval(secs => %s) AND learned_at IS NULL "
            "ORDER BY ended_at LIMIT %s",
            [settled_s, limit],
        )
        return [run for (run,) in cursor.fetchall()]


def load(run: UUID, *, sealer: Sealer, bounds_ms: Sequence[float]) -> EndedRun | None:
    """Return what a run shows that has ended and was not learned from; None: there is none.

    What of it has expired, or is sealed with a key that is gone, is left out.

    Args:
        run: Its id.
        sealer: Opens what it was given and answered.
        bounds_ms: Ascending; durations are counted between them.
    """
    found = WorkflowExecution.objects.filter(
        pk=run, ended_at__isnull=False, learned_at__isnull=True
    ).values_list("team_id", "status", "is_direct", "ended_at", "version")
    row = next(map(_Row._make, found), None)
    if row is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(_CALLS, {"run": run})
        calls = tuple(
            Answered(
                task=original(task),
                tool=original(tool),
                held=held,
                failed=bad,
                started_at=start,
                ended_at=end,
            )
            for task, tool, held, bad, start, end in cursor.fetchall()
        )
        cursor.execute(_TIMES, {"run": run, "bounds": list(bounds_ms)})
        times = tuple(
            Timed(tool=original(tool), bucket=bucket, calls=count, total_ms=total)
            for tool, bucket, count, total in cursor.fetchall()
        )
    intent = _opened(run, Kind.INTENT, sealer=sealer)
    return EndedRun(
        run=run,
        team=row.team,
        status=RunStatus(row.status),
        is_direct=row.is_direct,
        ended_at=row.ended_at,
        intent=intent if isinstance(intent, str) else "",
        workflow=_workflow(run, row.version, sealer),
        answered=calls,
        timed=times,
        results=tuple(_results(run, sealer)),
    )


def mark(run: UUID, *, at: datetime) -> bool:
    """Note that a run was learned from; say whether nobody had before.

    Whoever else would do so waits for the end of this transaction.
    """
    rows = WorkflowExecution.objects.filter(pk=run, ended_at__isnull=False, learned_at=None)
    return bool(rows.update(learned_at=at))


def _workflow(run: UUID, version: int, sealer: Sealer) -> Workflow | None:
    """Return the workflow as it was carried out in the end, after all that was replanned."""
    document = _opened(run, Kind.WORKFLOW, item=version, sealer=sealer)
    if document is None:
        return None
    try:
        return parse(document)
    except InvalidWorkflow as error:  # of a version that took other workflows
        log.warning("run.workflow_not_read", run=str(run), reason=str(error))
        return None


def _results(run: UUID, sealer: Sealer) -> Iterator[Result]:
    limits = {"one": MAX_RESULT_BYTES, "each": RESULTS_A_TOOL, "all": MAX_RESULTS_BYTES}
    with connection.cursor() as cursor:
        cursor.execute(_RESULTS, {"run": run, **limits})
        rows = cursor.fetchall()
    for tool, definition_hash, content in rows:
        try:
            raw = payloads.opened(content, sealer=sealer)
        except SealBroken:
            continue
        if isinstance(raw, dict):
            yield Result(tool=original(tool), definition_hash=definition_hash, raw=raw)


def _opened(run: UUID, kind: Kind, *, item: int = WHOLE_TASK, sealer: Sealer) -> Any:
    """Return what a run holds of a kind; None where it is gone, or no key opens it any more."""
    try:
        return payloads.one(run, kind, item=item, sealer=sealer)
    except SealBroken as error:
        log.warning("run.not_opened", run=str(run), kind=kind.value, reason=str(error))
        return None
