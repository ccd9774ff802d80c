"""How much faster runs were than their tasks one after another."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from django.db import connection

# Runs that a person or an agent kept waiting say nothing, nor do those of a single call. The row
# of a for-each task is not a call; its items are.
MAX_RUNS: Final = 2_000
"""Newest runs that are measured: thousands more say the same, and cost seconds."""
_SPEED: Final = f"""
SELECT count(*), coalesce(sum(task_ms), 0), coalesce(sum(wall_ms), 0) FROM (
    SELECT extract(epoch FROM run.ended_at - run.started_at)::float8 * 1000 AS wall_ms,
           sum(ran.duration_ms) AS task_ms
    FROM (
        SELECT id, started_at, ended_at FROM execution_workflowexecution
        WHERE (%(all)s OR team_id = %(owner)s OR team_id IS NULL AND "user" = (
              SELECT username FROM auth_user WHERE id = (
                  SELECT person_id FROM tools_team WHERE id = %(owner)s))) AND status = 'succeeded'
          AND NOT is_direct AND ended_at >= %(since)s AND started_at IS NOT NULL
        ORDER BY created_at DESC LIMIT {MAX_RUNS}) AS run
    JOIN execution_taskrun AS ran ON ran.run_id = run.id
    WHERE ran.duration_ms IS NOT NULL
      AND (ran.item >= 0 OR NOT EXISTS (
          SELECT FROM execution_taskrun AS one
          WHERE one.run_id = ran.run_id AND one.task = ran.task AND one.item >= 0))
      AND NOT EXISTS (SELECT FROM execution_approval AS asked WHERE asked.run_id = run.id)
      AND NOT EXISTS (SELECT FROM execution_runcommand AS told WHERE told.run_id = run.id)
    GROUP BY run.id, run.started_at, run.ended_at
    HAVING count(*) > 1) AS measured
"""


class RunSpeed(NamedTuple):
    """Times of finished runs with several calls.

    Attributes:
        runs: Number of them, of the newest `MAX_RUNS`.
        task_ms: Total duration of their calls.
        wall_ms: Total time that they took.
    """

    runs: int
    task_ms: float
    wall_ms: float

    @property
    def speed_up(self) -> float | None:
        """How many times faster than one call after another; None: nothing was measured."""
        return self.task_ms / self.wall_ms if self.wall_ms > 0 else None


def load_run_speed(owner: int | None, *, since: datetime, is_all: bool = False) -> RunSpeed:
    """Return the times of runs that succeeded.

    Args:
        owner: Primary key of the team, or private team, whose runs they are.
        since: Earliest end.
        is_all: Whether the runs of all teams count.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SPEED, {"owner": owner, "since": since, "all": is_all})
        return RunSpeed(*cursor.fetchone())
