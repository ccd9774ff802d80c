"""Holds the runs that a restored backup has left open."""

from __future__ import annotations

from typing import Final

from django.db import connection
from django.db.models.functions import Now

from execution.codes import RUN_RESTORED
from execution.control import Action
from execution.models import RunCommand

EPOCHS_SKIPPED: Final = 1_000_000
"""More claims than a run has had since its backup: a process that still holds it is fenced off."""

# Their former owners are gone, as far as the backup knows: it takes a claim to tell what is
# unknown. An unknown run that rests waits for a person already.
_HOLD_OPEN_RUNS = f"""
WITH held AS (
    UPDATE execution_workflowexecution
    SET status = 'paused', changed_at = now(), last_seq = last_seq + 1,
        epoch = epoch + {EPOCHS_SKIPPED}, lease_until = NULL,
        owner = CASE owner WHEN '' THEN '' ELSE '{RUN_RESTORED}' END
    WHERE ended_at IS NULL AND (status <> 'unknown' OR owner <> '')
    RETURNING id, last_seq)
INSERT INTO execution_executionevent (run_id, seq, kind, task, item, at, data)
SELECT id, last_seq, 'run_paused', '', -1, now(), '{{"reason": "{RUN_RESTORED}"}}' FROM held
"""


def hold_open_runs() -> int:
    """Pause all open runs, in the transaction that has loaded a backup; return how many.

    What they called after the backup is not in it, so nothing may be called again before somebody
    has looked: they wait to be resumed, replanned or aborted.
    """
    undone = RunCommand.objects.filter(applied_at=None).exclude(action=Action.ABORT)
    undone.update(applied_at=Now(), outcome=RUN_RESTORED)
    with connection.cursor() as cursor:
        cursor.execute(_HOLD_OPEN_RUNS)
        return int(cursor.rowcount)
