"""Threads on which async code runs the synchronous stores."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import (
    Error,
    InterfaceError,
    InternalError,
    OperationalError,
    close_old_connections,
    connection,
    connections,
)

P = ParamSpec("P")
R = TypeVar("R")

MAX_THREADS = 4
"""Each has one connection; more would queue on two cores and crowd a small PostgreSQL."""

CLOSE_TIMEOUT_S = 5.0

OUTAGE_SQLSTATES = ("25006", "25P03", "25P04")
"""SQLSTATEs of a database that takes no writes at present (it is read-only, or a standby), and of
a session that PostgreSQL ended because it idled in a transaction, or because its transaction took
too long."""
WRITE_OBSTACLE_SQL = """
SELECT current_setting('transaction_read_only') = 'on', (
    SELECT min(format('the table %I is locked by process %s', class.relname, held.pid))
    FROM pg_locks AS held
    JOIN pg_class AS class ON class.oid = held.relation
    LEFT JOIN pg_stat_activity AS holder ON holder.pid = held.pid
    WHERE held.granted AND held.locktype = 'relation' AND class.relkind = 'r'
      AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND class.relnamespace = current_schema()::regnamespace
      AND held.mode IN (
        'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'
      )
      AND coalesce(holder.xact_start < clock_timestamp() - interval '5 s', true)
)
"""
"""Whether the session is read-only, and which table has been locked against writes for more than
five seconds. A role may not see when another role's transaction began; it is then taken as old."""
TOO_LARGE_CLASS = "54"
"""Class of SQLSTATEs by which PostgreSQL refuses a statement for its size (its appendix A). Django
raises the same exception as for an unreachable database, but a retry never succeeds."""

_threads = ThreadPoolExecutor(max_workers=MAX_THREADS, thread_name_prefix="database")


async def run_in_database_thread(
    function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
) -> R:
    """Run a store function on a database thread and return its result.

    The thread's connection is reused across calls, checked before each, and replaced if it is
    dead. Cancelling the caller does not stop a running query.
    """
    context = contextvars.copy_context()
    call = partial(context.run, _run_with_live_connection, function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_threads, call)


def is_database_away(error: Error) -> bool:
    """Whether the database is unreachable, lost the connection or takes no writes at present.

    A retry may help.
    """
    state = str(getattr(error.__cause__, "sqlstate", None))
    if isinstance(error, InternalError):
        return state in OUTAGE_SQLSTATES
    return isinstance(error, OperationalError | InterfaceError) and not state.startswith(
        TOO_LARGE_CLASS
    )


def find_write_obstacle() -> str:
    """Return why the database takes no writes at present; empty if it does.

    Raises:
        Error: If it cannot be reached.
    """
    with connection.cursor() as cursor:
        cursor.execute(WRITE_OBSTACLE_SQL)
        return describe_write_obstacle(*cursor.fetchone())


def describe_write_obstacle(is_read_only: bool, lock: str | None) -> str:
    """Describe a row of `WRITE_OBSTACLE_SQL`; empty if there is no obstacle."""
    if is_read_only:
        return (
            "the database is read-only: make it writable, or point DATABASE_URL at the primary "
            "server"
        )
    return f"{lock}, nothing can be written: end that process's transaction" if lock else ""


def _run_with_live_connection(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    close_old_connections()
    return function(*args, **kwargs)


async def close_connections() -> None:
    """Close the connections of all database threads; they reopen on next use."""
    loop = asyncio.get_running_loop()
    # Each thread waits for the others, so that every thread runs the function exactly once.
    barrier = threading.Barrier(MAX_THREADS)
    futures = [
        asyncio.ensure_future(loop.run_in_executor(_threads, _close_thread_connections, barrier))
        for _ in range(MAX_THREADS)
    ]
    await asyncio.wait(futures)


def _close_thread_connections(barrier: threading.Barrier) -> None:
    connections.close_all()
    with suppress(threading.BrokenBarrierError):
        barrier.wait(CLOSE_TIMEOUT_S)
