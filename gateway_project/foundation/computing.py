"""The door from async code to what computes for long: vectors, rankings."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

MAX_THREADS: Final = 2
"""Apart from those of the database, so that no query waits for a model."""

_threads = ThreadPoolExecutor(max_workers=MAX_THREADS, thread_name_prefix="computing")


async def computed(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a function on a computing thread and return its result.

    It must not ask the database. Cancelling the caller does not stop what has begun.
    """
    context = contextvars.copy_context()
    call = partial(context.run, function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_threads, call)
