"""Removing what is kept no longer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from execution.codes import EXPIRED
from execution.models import Payload, WorkflowExecution
from execution.store import closing, force_acquire
from execution.store.runs import KEY_HOURS
from gateway_project.foundation import advisory

LOCK: Final = "run expiry"
CHUNK: Final = 200
"""Runs that one transaction removes, with all that belongs to them."""
FAILED_AT_ONCE: Final = 20
"""Runs that one transaction ends; each may have many tasks."""

_FORGET_KEYS = """
UPDATE execution_workflowexecution SET idempotency_key = '' WHERE id IN (
    SELECT id FROM execution_workflowexecution
    WHERE idempotency_key <> '' AND created_at <= now() - make_interval(hours => %s)
    FOR NO KEY UPDATE SKIP LOCKED)
"""

_STALE = """
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
class Swept:
    """What was removed.

    Attributes:
        payloads: Runs of which nothing that was given or answered is kept any more.
        failed: Runs that had not ended and were failed, since what they need is gone.
        runs: Runs removed altogether.
        keys: Idempotency keys that no longer name their run.
    """

    payloads: int = 0
    failed: int = 0
    runs: int = 0
    keys: int = 0


def sweep(*, payload_days: float, run_days: float) -> Swept:
    """Remove what has expired, by the clock of the database; beside another sweep: nothing.

    Args:
        payload_days: Days after its end, or its last change, that what a run was given and
            answered is kept; a run that has not ended by then is failed as `expired`, unless a
            process holds it.
        run_days: Days after its end that a run and its events are kept.
    """
    with advisory.claimed(LOCK, wait_s=0) as is_ours:
        if not is_ours:
            return Swept()
        return Swept(
            failed=_fail(payload_days * DAY_S),
            payloads=_forget_payloads(payload_days * DAY_S),
            runs=_forget_runs(run_days * DAY_S),
            keys=_forget_keys(),
        )


def _forget_keys() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_FORGET_KEYS, [KEY_HOURS])
        return int(cursor.rowcount)


def _fail(age_s: float) -> int:
    failed = 0
    while True:
        with transaction.atomic():
            found = [
                force_acquire.seize(run, me=LOCK) for run in _ids(_STALE, [age_s, FAILED_AT_ONCE])
            ]
            seized = [one for one in found if one is not None]
            closing.end(seized, code=EXPIRED)
        failed += len(seized)
        if len(seized) < FAILED_AT_ONCE:
            return failed


def _forget_payloads(age_s: float) -> int:
    forgotten = 0
    while runs := _ids(_STALE_PAYLOADS, [age_s, EXPIRED, CHUNK]):
        Payload.objects.filter(run__in=runs).delete()
        forgotten += len(runs)
    return forgotten


def _forget_runs(age_s: float) -> int:
    removed = 0
    while runs := _ids(_OLD_RUNS, [age_s, CHUNK]):
        with transaction.atomic():
            WorkflowExecution.objects.filter(id__in=runs).delete()
        removed += len(runs)
    return removed


def _ids(statement: str, values: Sequence[Any]) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return [pk for (pk,) in cursor.fetchall()]
