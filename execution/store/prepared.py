"""Statements that are parsed and planned once for each connection, not each time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final

import psycopg
from django.db import DataError, connection
from django.db import transaction as django_transaction
from psycopg.pq import PipelineStatus, TransactionStatus

from execution.store import patience

LONGEST_S: Final = patience.LONGEST_S
"""Between statements that are sent together the limit for a session that idles does not count,
only the one for a whole transaction does; that is given a second more for each megabyte that it
has to carry."""
TIMED_SINCE: Final = 170_000
"""First version of PostgreSQL that limits the time of a transaction."""
AT_ONCE: Final = 0
"""Uses before a statement is prepared. Django prepares none, for the sake of poolers that give
each transaction another connection; those cannot be used here anyway."""

_pipelined = threading.local()
_LIMIT: Final = "SELECT set_config('transaction_timeout', %s, true)"

# That a statement failed is raised; it also says so of each that was sent after it.
logging.getLogger("psycopg").setLevel(logging.ERROR)


@contextmanager
def cursor(*, pipelined: bool = False, size: int = 0) -> Iterator[psycopg.Cursor[Any]]:
    """Yield a cursor whose values are bound by the server.

    Args:
        pipelined: Whether statements, of other cursors too, are sent one after another and
            answered together: one round trip for all of them, unless what one of them found is
            asked for. Within another such cursor it is that one's. Where the server cannot limit
            the time of a transaction they are sent one by one, lest a process that is stopped in
            between keeps its locks.
        size: Bytes that the statements carry, about.

    Raises:
        django.db.Error: If the database is away, or refuses a statement; pipelined, maybe later
            than that.
    """
    raw = _connection()
    with connection.wrap_database_errors, psycopg.Cursor(raw) as found:
        is_begun = raw.pgconn.pipeline_status != PipelineStatus.OFF
        begins = pipelined and not is_begun and can_limit()
        with _pipeline(raw) if begins else nullcontext():
            if begins and connection.in_atomic_block:
                raw.execute(_LIMIT, [time_limit(size)])
            yield found


@contextmanager
def transaction(*, size: int = 0) -> Iterator[None]:
    """Send the statements of a transaction together with its beginning and its end.

    One round trip for all of them, unless what one of them found is asked for. Only statements of
    `cursor` belong in it. What they found can be asked for afterwards, and counts only then.
    Within a transaction it is a part of that; where the server cannot limit its time the
    statements are sent one by one.

    Args:
        size: As for `cursor`.

    Raises:
        django.db.Error: If the database is away, or refuses a statement or the end of the
            transaction; nothing of it stands then.
    """
    raw = _connection()
    if connection.in_atomic_block or not can_limit():
        with django_transaction.atomic(), cursor(pipelined=True, size=size):
            yield
        return
    try:
        with cursor(pipelined=True) as control:
            control.execute("BEGIN")
            control.execute(_LIMIT, [time_limit(size)])
            yield
            control.execute("COMMIT")
    except BaseException:
        _roll_back(raw)
        raise


def can_limit() -> bool:
    """Whether the server can limit the time of a transaction."""
    return _connection().info.server_version >= TIMED_SINCE


def is_unmet(error: DataError) -> bool:
    """Say whether a statement failed for what it required.

    SQL can divide by zero to have a transaction fail; nothing else here does.
    """
    return isinstance(error.__cause__, psycopg.errors.DivisionByZero)


def time_limit(size: int) -> str:
    """Return how long a transaction may take that carries so many bytes, for the server."""
    usual_ms = LONGEST_S * 1000 + size // 1000
    return f"{int(usual_ms * patience.times())}ms"


@contextmanager
def _pipeline(raw: psycopg.Connection[Any]) -> Iterator[None]:
    """Send statements together, all of this thread through one connection.

    Were it replaced on the way, what follows would be carried out without what came before.
    """
    _pipelined.connection = raw
    try:
        with raw.pipeline():
            yield
    finally:
        _pipelined.connection = None


def _connection() -> psycopg.Connection[Any]:
    """Return the connection of this thread, as it is beneath Django's."""
    raw: psycopg.Connection[Any] | None = getattr(_pipelined, "connection", None)
    if raw is None:
        connection.ensure_connection()
        raw = connection.connection
        raw.prepare_threshold = AT_ONCE
    return raw


def _roll_back(raw: psycopg.Connection[Any]) -> None:
    """Undo what was begun; a connection of which nobody knows how it stands is given up."""
    try:
        raw.rollback()
    except psycopg.Error:
        connection.close()
    if raw.pgconn.transaction_status != TransactionStatus.IDLE:
        connection.close()
