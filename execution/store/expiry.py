"""Deletes expired payloads and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from execution.codes import EXPIRED
from execution.models import Payload, WorkflowExecution
from execution.store import closing
from execution.store.runs import IDEMPOTENCY_KEY_HOURS
from gateway_project.foundation import advisory

LOCK_NAME: Final = "run expiry"
RUNS_PER_CHUNK: Final = 200
"""Runs deleted per transaction, with everything that belongs to them."""
MAX_FAILED_PER_CHUNK: Final = 20
"""Runs failed per transaction; each may have many tasks."""

_OLD_KEYS = """
SELECT id FROM execution_workflowexecution
WHERE idempotency_key <> '' AND created_at <= now() - make_interval(hours => %s)
"""

_CLEAR_KEYS = f"""
UPDATE execution_workflowexecution SET idempotency_key = ''
WHERE id IN ({_OLD_KEYS} FOR NO KEY UPDATE SKIP LOCKED)
"""

_STALE_RUNS = """
SELECT id FROM execution_workflowexecution
WHERE ended_at IS NULL AND changed_at <= now() - make_interval(secs => %s)
  AND (lease_until IS NULL OR lease_until <= now())
ORDER BY id LIMIT %s FOR NO KEY UPDATE SKIP LOCKED
"""

_STALE_PAYLOADS = """
SELECT id FROM execution_workflowexecution AS run
WHERE (run.ended_at <= now() - make_interval(secs => %s) OR run.error_code = %s)
  AND EXISTS (SELECT FROM execution_payload AS kept WHERE kept.run_id = run.id)
LIMIT %s
"""

_OLD_RUNS = """
SELECT id FROM execution_workflowexecution
WHERE ended_at <= now() - make_interval(secs => %s) LIMIT %s
"""

DAY_S: Final = 86_400.0


@dataclass(frozen=True, kw_only=True)
class ExpiryCounts:
    """Counts of what was deleted.

    Attributes:
        payloads: Runs whose payloads were deleted.
        failed: Unfinished runs that were failed because their payloads expired.
        runs: Runs deleted entirely.
        keys: Idempotency keys released.
    """

    payloads: int = 0
    failed: int = 0
    runs: int = 0
    keys: int = 0


def delete_expired(*, payload_days: float, run_days: float) -> ExpiryCounts:
    """Delete what has expired, by the database clock; does nothing during another sweep.

    Args:
        payload_days: Days that payloads are kept after a run's end or last change; a run
            unfinished by then is failed as `expired`, unless a process holds it.
        run_days: Days that a run and its events are kept after its end.
    """
    with advisory.try_lock(LOCK_NAME, wait_s=0) as is_ours:
        if not is_ours:
            return ExpiryCounts()
        return ExpiryCounts(
            failed=_fail_stale_runs(payload_days * DAY_S),
            payloads=_delete_payloads(payload_days * DAY_S),
            runs=_delete_runs(run_days * DAY_S),
            keys=_clear_keys(),
        )


def count_expired(*, payload_days: float, run_days: float) -> ExpiryCounts:
    """Count what `delete_expired` would delete; it takes the same arguments."""
    everything = None  # LIMIT NULL
    failed = _count(_STALE_RUNS, [payload_days * DAY_S, everything])
    ended = _count(_STALE_PAYLOADS, [payload_days * DAY_S, EXPIRED, everything])
    return ExpiryCounts(
        failed=failed,
        payloads=ended + failed,
        runs=_count(_OLD_RUNS, [run_days * DAY_S, everything]),
        keys=_count(_OLD_KEYS, [IDEMPOTENCY_KEY_HOURS]),
    )


def _clear_keys() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_CLEAR_KEYS, [IDEMPOTENCY_KEY_HOURS])
        return int(cursor.rowcount)


def _fail_stale_runs(age_s: float) -> int:
    failed = 0
    while True:
        with transaction.atomic():
            found = [
                closing.seize_run(run, me=LOCK_NAME)
                for run in _select_ids(_STALE_RUNS, [age_s, MAX_FAILED_PER_CHUNK])
            ]
            seized = [one for one in found if one is not None]
            closing.end_runs(seized, code=EXPIRED)
        failed += len(seized)
        if len(seized) < MAX_FAILED_PER_CHUNK:
            return failed


def _delete_payloads(age_s: float) -> int:
    deleted = 0
    while runs := _select_ids(_STALE_PAYLOADS, [age_s, EXPIRED, RUNS_PER_CHUNK]):
        Payload.objects.filter(run__in=runs).delete()
        deleted += len(runs)
    return deleted


def _delete_runs(age_s: float) -> int:
    deleted = 0
    while runs := _select_ids(_OLD_RUNS, [age_s, RUNS_PER_CHUNK]):
        with transaction.atomic():
            WorkflowExecution.objects.filter(id__in=runs).delete()
        deleted += len(runs)
    return deleted


def _count(statement: str, values: Sequence[Any]) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"WITH expired AS ({statement}) SELECT count(*) FROM expired", values)
        return int(cursor.fetchone()[0])


def _select_ids(statement: str, values: Sequence[Any]) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return [pk for (pk,) in cursor.fetchall()]
