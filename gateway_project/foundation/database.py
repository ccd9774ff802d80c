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
    connections,
)

P = ParamSpec("P")
R = TypeVar("R")

MAX_THREADS = 4
"""Each has one connection; more would queue on two cores and crowd a small PostgreSQL."""

CLOSE_TIMEOUT_S = 5.0

TIMEOUT_SQLSTATES = ("25P03", "25P04")
"""SQLSTATEs of a session that PostgreSQL ended because it idled in a transaction, or because its
transaction took too long."""
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
    """Whether the database is unreachable or the connection was lost, so that a retry may help."""
    state = str(getattr(error.__cause__, "sqlstate", None))
    if isinstance(error, InternalError):
        return state in TIMEOUT_SQLSTATES
    return isinstance(error, OperationalError | InterfaceError) and not state.startswith(
        TOO_LARGE_CLASS
    )


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
