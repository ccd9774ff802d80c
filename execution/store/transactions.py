"""Transactions that release their locks soon even if the process stalls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from execution.store.fencing import MAX_IDLE_TIME

_SET_IDLE_LIMIT = (
    f"SELECT set_config('idle_in_transaction_session_timeout', '{MAX_IDLE_TIME}', true)"
)


@contextmanager
def short_transaction() -> Iterator[None]:
    """Open a transaction that PostgreSQL aborts, with its locks, if this process stalls in it.

    Raises:
        django.db.Error: If the database is unavailable, or has aborted it.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_SET_IDLE_LIMIT)
        yield
