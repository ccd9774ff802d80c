"""The door from async code to the synchronous stores."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import close_old_connections, connections

P = ParamSpec("P")
R = TypeVar("R")

MAX_THREADS = 4
"""Each holds one connection; more would queue on two cores and crowd a small PostgreSQL."""

_threads = ThreadPoolExecutor(max_workers=MAX_THREADS, thread_name_prefix="database")


async def in_database(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a store function on a database thread and return its result.

    The thread's connection is kept between calls, checked before each, and replaced if it is
    dead. Cancelling the caller does not stop a query that has begun.
    """
    context = contextvars.copy_context()
    call = partial(context.run, _with_live_connection, function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_threads, call)


def _with_live_connection(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    close_old_connections()
    return function(*args, **kwargs)


async def close_connections() -> None:
    """Close the connections of all database threads; they reopen on next use."""
    loop = asyncio.get_running_loop()
    barrier_size = MAX_THREADS
    async with asyncio.TaskGroup() as group:
        for _ in range(barrier_size):
            group.create_task(_close_one(loop))


async def _close_one(loop: asyncio.AbstractEventLoop) -> None:
    await loop.run_in_executor(_threads, connections.close_all)
