"""Transactions that hold up nobody for long, whatever becomes of the process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from execution.store.fencing import LONGEST_STILL

_LIMIT = f"SELECT set_config('idle_in_transaction_session_timeout', '{LONGEST_STILL}', true)"


@contextmanager
def short() -> Iterator[None]:
    """Open a transaction that PostgreSQL ends, locks and all, if this process stands still in it.

    Raises:
        django.db.Error: If the database is away, or has ended it.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_LIMIT)
        yield
