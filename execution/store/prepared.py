"""Statements that are parsed and planned once for each connection, not each time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final

import psycopg
from django.db import connection
from psycopg.pq import PipelineStatus

LONGEST_TRANSACTION: Final = "30s"
"""Between statements that are sent together the time limit for a session that stands still amid a
transaction does not count, but this one does."""
TIMED_SINCE: Final = 170_000
"""First version of PostgreSQL that limits the time of a transaction."""
AT_ONCE: Final = 0
"""Uses before a statement is prepared. Django prepares none, for the sake of poolers that give
each transaction another connection; those cannot be used here anyway."""

_LIMIT: Final = f"SELECT set_config('transaction_timeout', '{LONGEST_TRANSACTION}', true)"


@contextmanager
def cursor(*, pipelined: bool = False) -> Iterator[psycopg.Cursor[Any]]:
    """Yield a cursor whose values are bound by the server.

    Args:
        pipelined: Whether statements, of other cursors too, are sent one after another and
            answered together: one round trip for all of them, unless what one of them found is
            asked for. Within another such cursor it is that one's. Where the server cannot limit
            the time of a transaction they are sent one by one, lest a process that is stopped in
            between keeps its locks.

    Raises:
        django.db.Error: If the database is away, or refuses a statement; pipelined, maybe later
            than that.
    """
    connection.ensure_connection()
    raw: psycopg.Connection[Any] = connection.connection
    raw.prepare_threshold = AT_ONCE
    with connection.wrap_database_errors, psycopg.Cursor(raw) as found:
        is_begun = raw.pgconn.pipeline_status != PipelineStatus.OFF
        begins = pipelined and not is_begun and raw.info.server_version >= TIMED_SINCE
        with raw.pipeline() if begins else nullcontext():
            if begins and connection.in_atomic_block:
                raw.execute(_LIMIT)
            yield found
