"""Liveness of queue workers, from their heartbeat rows."""

from __future__ import annotations

from typing import Final

from django.db import ProgrammingError, connection, transaction

_ALIVE: Final = """
SELECT EXISTS (SELECT FROM procrastinate_workers
               WHERE last_heartbeat > now() - make_interval(secs => %(alive_s)s))
"""


def is_any_worker_alive(*, alive_s: float) -> bool:
    """Whether any worker has a recent heartbeat; False if the queue has no tables yet.

    Args:
        alive_s: Seconds without a heartbeat after which a worker counts as dead.

    Raises:
        django.db.OperationalError: If the database is unavailable.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_ALIVE, {"alive_s": alive_s})
            return bool(cursor.fetchone()[0])
    except ProgrammingError:
        return False
