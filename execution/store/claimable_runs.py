"""Which runs wait for a process to take them, and whose they are."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from execution.store.leases import CLAIMABLE

_TOLD = """(run.status NOT IN ('queued', 'running') OR EXISTS (
    SELECT FROM execution_runcommand AS told
    WHERE told.run_id = run.id AND told.applied_at IS NULL))
"""

_WAITING = f"""
SELECT id, "user", team_id, is_told, owner FROM (
    SELECT id, "user", team_id, is_told, owner, created_at, row_number() OVER (
        PARTITION BY "user", team_id, is_told ORDER BY created_at) AS place
    FROM (
        SELECT run.*, {_TOLD} AS is_told FROM execution_workflowexecution AS run
        WHERE {CLAIMABLE}) AS claimable
    WHERE is_told OR (NOT %(only_told)s AND (%(new)s OR status <> 'queued' OR epoch > 0))
) AS placed
WHERE place <= %(each)s ORDER BY is_told DESC, place, created_at
LIMIT %(limit)s
"""


_HOLDERS = """
SELECT owner, sum(extract(epoch FROM lease_until)) FROM execution_workflowexecution
WHERE owner <> '' AND ended_at IS NULL GROUP BY owner
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """A run that waits for a process.

    Attributes:
        run: Its id.
        user: Name of the user it runs for.
        team: Primary key of the team that they act for.
        is_told: Whether it rests and is to do something, or was told something.
        owner: Process that holds it, dead or with a lease that has lapsed; empty: nobody.
    """

    run: UUID
    user: str
    team: int | None
    is_told: bool
    owner: str = ""


def waiting(
    *,
    dead: Collection[str] = (),
    each: int,
    limit: int,
    new: bool = True,
    only_told: bool = False,
) -> list[Waiting]:
    """Return runs that wait for a process to take them: those that were told something first.

    Of each user in each team comes the oldest, then of each the next: whoever starts many keeps
    nobody else waiting.

    They are those that are queued or were given back unfinished; those whose holder is dead, or
    whose lease has lapsed; and those at rest of which something is to be done: a command is open,
    what they wait for was decided or has expired, or their deadline has passed.

    Args:
        dead: Owners known to be gone.
        each: Most that are returned of one user in one team, and as many that were told something;
            the oldest.
        limit: Most that are returned.
        new: Whether also runs that nobody has taken yet.
        only_told: Whether only those that were told something.
    """
    values: dict[str, Any] = {
        "dead": list(dead),
        "each": each,
        "limit": limit,
        "new": new,
        "only_told": only_told,
    }
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, values)
        return [
            Waiting(run=run, user=user, team=team, is_told=is_told, owner=owner)
            for run, user, team, is_told, owner in cursor.fetchall()
        ]


def holders() -> dict[str, Hashable]:
    """Return the processes that hold runs, each with what its next sign of life will change."""
    with connection.cursor() as cursor:
        cursor.execute(_HOLDERS)
        return dict(cursor.fetchall())
