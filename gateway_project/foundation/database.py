"""The door from async code to the synchronous stores."""

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
"""Each holds one connection; more would queue on two cores and crowd a small PostgreSQL."""

CLOSE_TIMEOUT_S = 5.0

STOOD_STILL = ("25P03", "25P04")
"""SQLSTATEs of a session that PostgreSQL ended because it idled in a transaction, or because its
transaction took too long."""
TOO_LARGE = "54"
"""Class of states by which PostgreSQL refuses a statement for its size (its appendix A); Django
reports them like a database that is away, and yet the same never works."""

_threads = ThreadPoolExecutor(max_workers=MAX_THREADS, thread_name_prefix="database")


async def in_database(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a store function on a database thread and return its result.

    The thread's connection is kept between calls, checked before each, and replaced if it is
    dead. Cancelling the caller does not stop a query that has begun.
    """
    context = contextvars.copy_context()
    call = partial(context.run, _with_live_connection, function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_threads, call)


def is_away(error: Error) -> bool:
    """Say whether the database could not be reached, or went away; the same may work again."""
    state = str(getattr(error.__cause__, "sqlstate", None))
    if isinstance(error, InternalError):
        return state in STOOD_STILL
    return isinstance(error, OperationalError | InterfaceError) and not state.startswith(TOO_LARGE)


def _with_live_connection(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    close_old_connections()
    return function(*args, **kwargs)


async def close_connections() -> None:
    """Close the connections of all database threads; they reopen on next use."""
    loop = asyncio.get_running_loop()
    # Each thread waits for the others, so that none takes two turns while another takes none.
    barrier = threading.Barrier(MAX_THREADS)
    turns = [
        asyncio.ensure_future(loop.run_in_executor(_threads, _close_one, barrier))
        for _ in range(MAX_THREADS)
    ]
    await asyncio.wait(turns)


def _close_one(barrier: threading.Barrier) -> None:
    connections.close_all()
    with suppress(threading.BrokenBarrierError):
        barrier.wait(CLOSE_TIMEOUT_S)
