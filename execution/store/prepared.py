"""Cursors and transactions whose statements are prepared once per connection."""

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

from execution.store import retry_patience

MAX_TRANSACTION_S: Final = retry_patience.MAX_TRANSACTION_S
"""In a pipeline the session's idle timeout does not apply, only the transaction timeout does; that
is extended by one second per megabyte carried."""
MIN_TIMEOUT_VERSION: Final = 170_000
"""First PostgreSQL version with `transaction_timeout`."""
PREPARE_THRESHOLD: Final = 0
"""Uses before a statement is prepared. Django prepares none, to support transaction poolers; those
cannot be used here anyway."""

_pipelined = threading.local()
_SET_TIME_LIMIT: Final = "SELECT set_config('transaction_timeout', %s, true)"

# A failed statement raises; psycopg also logs every statement sent after it.
logging.getLogger("psycopg").setLevel(logging.ERROR)


@contextmanager
def cursor(*, pipelined: bool = False, size: int = 0) -> Iterator[psycopg.Cursor[Any]]:
    """Yield a cursor with server-side parameter binding.

    Args:
        pipelined: Whether to pipeline statements, including those of other cursors: one round
            trip for all, unless a result is read in between. A nested pipelined cursor joins the
            outer pipeline. If the server cannot limit transaction time, statements are sent one
            by one, lest a process stopped in between keep its locks.
        size: Approximate bytes that the statements carry.

    Raises:
        django.db.Error: If the database is unavailable or rejects a statement; in a pipeline this
            may be raised by a later statement.
    """
    raw = _get_connection()
    with connection.wrap_database_errors, psycopg.Cursor(raw) as found:
        is_begun = raw.pgconn.pipeline_status != PipelineStatus.OFF
        begins = pipelined and not is_begun and can_limit_transactions()
        with _open_pipeline(raw) if begins else nullcontext():
            if begins and connection.in_atomic_block:
                raw.execute(_SET_TIME_LIMIT, [format_time_limit(size)])
            yield found


@contextmanager
def transaction(*, size: int = 0) -> Iterator[None]:
    """Pipeline the statements of a transaction with its BEGIN and COMMIT.

    One round trip for all, unless a result is read in between. Use only statements of `cursor`
    in it; results may be read afterwards and are valid only then. Inside a transaction it is a
    savepoint of that; if the server cannot limit transaction time, statements are sent one by
    one.

    Raises:
        django.db.Error: If the database is unavailable or rejects a statement or the commit;
            nothing is written then.
    """
    raw = _get_connection()
    if connection.in_atomic_block or not can_limit_transactions():
        with django_transaction.atomic(), cursor(pipelined=True, size=size):
            yield
        return
    try:
        with cursor(pipelined=True) as control:
            control.execute("BEGIN")
            control.execute(_SET_TIME_LIMIT, [format_time_limit(size)])
            yield
            control.execute("COMMIT")
    except BaseException:
        _roll_back(raw)
        raise


def can_limit_transactions() -> bool:
    """Whether the server supports a transaction timeout."""
    return _get_connection().info.server_version >= MIN_TIMEOUT_VERSION


def is_unmet_requirement(error: DataError) -> bool:
    """Whether a statement failed because its precondition was not met.

    Such SQL divides by zero to abort its transaction; nothing else here does.
    """
    return isinstance(error.__cause__, psycopg.errors.DivisionByZero)


def format_time_limit(size: int) -> str:
    """Return the transaction timeout for a payload of `size` bytes, in PostgreSQL's notation."""
    usual_ms = MAX_TRANSACTION_S * 1000 + size // 1000
    return f"{int(usual_ms * retry_patience.get_time_factor())}ms"


@contextmanager
def _open_pipeline(raw: psycopg.Connection[Any]) -> Iterator[None]:
    """Open a pipeline and pin this thread's statements to its connection.

    If the connection were replaced midway, later statements would run without earlier ones.
    """
    _pipelined.connection = raw
    try:
        with raw.pipeline():
            yield
    finally:
        _pipelined.connection = None


def _get_connection() -> psycopg.Connection[Any]:
    """Return this thread's psycopg connection beneath Django's."""
    raw: psycopg.Connection[Any] | None = getattr(_pipelined, "connection", None)
    if raw is None:
        connection.ensure_connection()
        raw = connection.connection
        raw.prepare_threshold = PREPARE_THRESHOLD
    return raw


def _roll_back(raw: psycopg.Connection[Any]) -> None:
    """Roll back; close the connection if its state is unclear."""
    try:
        raw.rollback()
    except psycopg.Error:
        connection.close()
    if raw.pgconn.transaction_status != TransactionStatus.IDLE:
        connection.close()
