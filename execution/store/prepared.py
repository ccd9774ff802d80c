"""Statements that are parsed and planned once for each connection, not each time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final

import psycopg
from django.db import connection
from psycopg.pq import PipelineStatus

AT_ONCE: Final = 0
"""Uses before a statement is prepared. Django prepares none, for the sake of poolers that give
each transaction another connection; those cannot be used here anyway."""


@contextmanager
def cursor(*, pipelined: bool = False) -> Iterator[psycopg.Cursor[Any]]:
    """Yield a cursor whose values are bound by the server.

    Args:
        pipelined: Whether statements, of other cursors too, are sent one after another and
            answered together: one round trip for all of them, unless what one of them found is
            asked for. Within another such cursor it is that one's.

    Raises:
        django.db.Error: If the database is away, or refuses a statement; pipelined, maybe later
            than that.
    """
    connection.ensure_connection()
    raw: psycopg.Connection[Any] = connection.connection
    raw.prepare_threshold = AT_ONCE
    with connection.wrap_database_errors, psycopg.Cursor(raw) as found:
        is_begun = raw.pgconn.pipeline_status != PipelineStatus.OFF
        with raw.pipeline() if pipelined and not is_begun else nullcontext():
            yield found
