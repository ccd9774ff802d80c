"""Finds the runs that a process may claim, and the owners that hold runs."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from execution.store.leases import CLAIMABLE_CONDITION

_HAS_INSTRUCTIONS = """(run.status NOT IN ('queued', 'running') OR EXISTS (
    SELECT FROM execution_runcommand AS command
    WHERE command.run_id = run.id AND command.applied_at IS NULL))
"""

_CLAIMABLE_RUNS = f"""
SELECT id, "user", team_id, has_instructions, owner FROM (
    SELECT id, "user", team_id, has_instructions, owner, created_at, row_number() OVER (
        PARTITION BY "user", team_id, has_instructions ORDER BY created_at) AS place
    FROM (
        SELECT run.*, {_HAS_INSTRUCTIONS} AS has_instructions
        FROM execution_workflowexecution AS run
        WHERE {CLAIMABLE_CONDITION}) AS claimable
    WHERE has_instructions OR (
        NOT %(only_with_instructions)s AND (%(new)s OR status <> 'queued' OR epoch > 0))
) AS placed
WHERE place <= %(each)s ORDER BY has_instructions DESC, place, created_at
LIMIT %(limit)s
"""


_HOLDERS = """
SELECT owner, sum(extract(epoch FROM lease_until)) FROM execution_workflowexecution
WHERE owner <> '' AND ended_at IS NULL GROUP BY owner
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimableRun:
    """A run that may be claimed.

    Attributes:
        run: Its id.
        user: Name of the user it runs for.
        team: Primary key of the team acted for; None: none.
        has_instructions: Whether it has new instructions, or rests and has something to do.
        owner: Process that holds it, dead or with a lapsed lease; empty: none.
    """

    run: UUID
    user: str
    team: int | None
    has_instructions: bool
    owner: str = ""


def load_claimable_runs(
    *,
    dead: Collection[str] = (),
    each: int,
    limit: int,
    new: bool = True,
    only_with_instructions: bool = False,
) -> list[ClaimableRun]:
    """Return runs that may be claimed, those with instructions first.

    They are returned round-robin by user and team, oldest first, so that many runs of one user
    delay nobody else.

    Claimable are queued runs and those released unfinished; runs whose owner is dead or whose
    lease has lapsed; and resting runs with something to do: an open command, a decided or expired
    approval, or a passed deadline.

    Args:
        dead: Owners known to have ended.
        each: Maximum per user and team, and as many again with instructions; oldest first.
        limit: Maximum count.
        new: Whether to include runs never claimed before.
        only_with_instructions: Whether to return only runs with instructions.
    """
    values: dict[str, Any] = {
        "dead": list(dead),
        "each": each,
        "limit": limit,
        "new": new,
        "only_with_instructions": only_with_instructions,
    }
    with connection.cursor() as cursor:
        cursor.execute(_CLAIMABLE_RUNS, values)
        return [
            ClaimableRun(
                run=run, user=user, team=team, has_instructions=has_instructions, owner=owner
            )
            for run, user, team, has_instructions, owner in cursor.fetchall()
        ]


def load_holders() -> dict[str, Hashable]:
    """Return the owners that hold runs, each with a value that changes with its next renewal."""
    with connection.cursor() as cursor:
        cursor.execute(_HOLDERS)
        return dict(cursor.fetchall())
