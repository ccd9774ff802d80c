"""SQL statements that write changes of runs, for many rows at once, given as JSON."""

from __future__ import annotations

from typing import Final

from execution.changes import WHOLE_TASK
from execution.codes import RUN_ALREADY_ENDED


def _format_rows_table(columns: str, *, rows: str = "rows", count: str = "count") -> str:
    """Return the SQL of a JSON parameter as a table.

    The limit equals the row count: it tells the planner how few there are, so that it uses indexes
    on the joined tables; for the function alone it would assume a hundred rows.
    """
    return (
        f"(SELECT * FROM json_to_recordset(%({rows})s) AS row ({columns}) "
        f"LIMIT %({count})s) AS given"
    )


_TASK_COLUMNS = (
    "run uuid, task text, item int, status text, attempts int, definition_hash text, "
    "arguments_digest text, called_at timestamptz, started_at timestamptz, "
    "ended_at timestamptz, duration_ms float8, error_code text, result_bytes bigint"
)
_TASKS = _format_rows_table(_TASK_COLUMNS, rows="tasks", count="tasks_count")
_EVENTS = _format_rows_table(
    "run uuid, seq bigint, kind text, task text, item int, at timestamptz, data jsonb",
    rows="events",
    count="events_count",
)
_RUNS = _format_rows_table(
    "run uuid, last_seq bigint, versions int, status text, is_final bool, error_code text, "
    "tasks_total int"
)
_CALLS = _format_rows_table(
    "id uuid, run uuid, task text, item int, definition_hash text, arguments_digest text, "
    "reason text"
)
_PLANNED = _format_rows_table("run uuid, task text, item int, position int, tool text")

INSERT_ITEMS: Final = f"""
INSERT INTO execution_taskrun (
    run_id, task, item, position, tool, status, attempts, definition_hash, arguments_digest,
    error_code)
SELECT given.run, given.task, given.item, whole.position, whole.tool, given.status, 0, '', '', ''
FROM {_format_rows_table(_TASK_COLUMNS)}
JOIN execution_taskrun AS whole
  ON whole.run_id = given.run AND whole.task = given.task AND whole.item = {WHOLE_TASK}
ON CONFLICT (run_id, task, item) DO NOTHING
"""
"""Inserts missing item rows; `WRITE_CHANGES` then fills them like all others."""

UPDATE_COMMANDS: Final = f"""
UPDATE execution_runcommand AS known SET applied_at = now(), outcome = given.outcome
FROM {_format_rows_table("id bigint, outcome text")}
WHERE known.id = given.id AND known.applied_at IS NULL
"""

WRITE_CHANGES: Final = f"""
WITH tasks AS (
UPDATE execution_taskrun AS known
SET status = given.status,
    attempts = coalesce(given.attempts, known.attempts),
    definition_hash = coalesce(given.definition_hash, known.definition_hash),
    arguments_digest = coalesce(given.arguments_digest, known.arguments_digest),
    started_at = coalesce(given.called_at, known.started_at, given.started_at),
    ended_at = given.ended_at, duration_ms = given.duration_ms, error_code = given.error_code,
    result_bytes = coalesce(given.result_bytes, known.result_bytes)
FROM {_TASKS}
WHERE known.run_id = given.run AND known.task = given.task AND known.item = given.item),
events AS (
INSERT INTO execution_executionevent (run_id, seq, kind, task, item, at, data)
SELECT run, seq, kind, task, item, at, data FROM {_EVENTS}
ON CONFLICT (run_id, seq) DO NOTHING),
given AS MATERIALIZED (SELECT * FROM {_RUNS}),
ended AS (SELECT run FROM given WHERE is_final),
withdrawn AS (
UPDATE execution_approval AS known SET status = 'withdrawn' FROM ended
WHERE known.run_id = ended.run AND known.status IN ('pending', 'approved')),
closed AS (
UPDATE execution_runcommand AS known
SET applied_at = now(), outcome = '{RUN_ALREADY_ENDED}' FROM ended
WHERE known.run_id = ended.run AND known.applied_at IS NULL),
changed AS (
UPDATE execution_workflowexecution AS known
SET last_seq = greatest(known.last_seq, given.last_seq),
    version = known.version + given.versions,
    tasks_total = coalesce(given.tasks_total, known.tasks_total),
    status = coalesce(given.status, known.status),
    error_code = coalesce(given.error_code, known.error_code),
    changed_at = now(),
    started_at = CASE WHEN given.status = 'running' THEN coalesce(known.started_at, now())
                      ELSE known.started_at END,
    ended_at = CASE WHEN given.status IS NULL THEN known.ended_at
                    WHEN given.is_final THEN now() END,
    owner = CASE WHEN given.is_final THEN '' ELSE known.owner END,
    lease_until = CASE WHEN given.is_final THEN NULL ELSE known.lease_until END
FROM given WHERE known.id = given.run)
SELECT pg_notify(%(channel)s, given.run::text) FROM given
"""
"""Writes task states, events and run states in one statement, to save round trips.

Ending a run releases it, withdraws its approvals and closes its commands.
"""

WITHDRAW_APPROVALS: Final = f"""
UPDATE execution_approval AS known SET status = 'withdrawn' FROM {_CALLS}
WHERE known.run_id = given.run AND known.task = given.task AND known.item = given.item
  AND known.status IN ('pending', 'approved')
"""

SUPERSEDE_APPROVALS: Final = f"""
UPDATE execution_approval AS known
SET status = CASE WHEN known.expires_at <= now() THEN 'expired' ELSE 'withdrawn' END
FROM {_CALLS}
WHERE known.run_id = given.run AND known.task = given.task AND known.item = given.item
  AND known.status IN ('pending', 'approved')
  AND (known.expires_at <= now() OR known.definition_hash <> given.definition_hash
       OR known.arguments_digest <> given.arguments_digest)
"""
"""Replaces earlier requests for another call of the same task or item, or expired ones."""

INSERT_APPROVALS: Final = f"""
INSERT INTO execution_approval (
    id, run_id, task, item, tool, definition_hash, arguments_digest, reason, status, created_at,
    expires_at, decided_by, decided_via)
SELECT given.id, given.run, given.task, given.item, whole.tool, given.definition_hash,
       given.arguments_digest, given.reason, 'pending', now(),
       now() + make_interval(secs => %(expiry_s)s), '', ''
FROM {_CALLS}
JOIN execution_taskrun AS whole
  ON whole.run_id = given.run AND whole.task = given.task AND whole.item = {WHOLE_TASK}
ON CONFLICT (run_id, task, item) WHERE status IN ('pending', 'approved') DO NOTHING
"""

USE_APPROVALS: Final = f"""
UPDATE execution_approval AS known SET status = 'used', used_at = now()
FROM {_format_rows_table("id uuid")}
WHERE known.id = given.id
"""

DELETE_REMOVED_TASKS: Final = f"""
WITH planned AS (SELECT given.run, given.task FROM {_PLANNED})
DELETE FROM execution_taskrun AS known
WHERE known.run_id IN (SELECT run FROM planned) AND known.attempts = 0
  AND known.status IN ('pending', 'waiting_approval', 'skipped', 'cancelled')
  AND (known.run_id, known.task) NOT IN (SELECT run, task FROM planned)
"""

WITHDRAW_REMOVED_TASKS: Final = f"""
WITH planned AS (SELECT given.run, given.task FROM {_PLANNED})
UPDATE execution_approval AS known SET status = 'withdrawn'
WHERE known.run_id IN (SELECT run FROM planned) AND known.status IN ('pending', 'approved')
  AND (known.run_id, known.task) NOT IN (SELECT run, task FROM planned)
"""

INSERT_PLANNED_TASKS: Final = f"""
INSERT INTO execution_taskrun AS known (
    run_id, task, item, position, tool, status, attempts, definition_hash, arguments_digest,
    error_code)
SELECT run, task, item, position, tool, 'pending', 0, '', '', '' FROM {_PLANNED}
ON CONFLICT (run_id, task, item) DO UPDATE
SET position = excluded.position, tool = excluded.tool
"""
