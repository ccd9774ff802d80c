"""Thread pools for CPU-bound work of async code: vectors, large messages, validation."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from gateway_project.foundation import abandonment

P = ParamSpec("P")
R = TypeVar("R")

WORKER_THREADS: Final = 2
"""Separate from the database threads, so that no query waits for a model."""
MESSAGE_THREADS: Final = 2
"""For large messages, so that they do not delay a search. Each computing thread may delay the
event loop by Python's switch interval of 5 ms."""
VALIDATION_THREADS: Final = 2
"""For arguments that are costly to validate (seconds each), so that they delay no message."""

_worker_threads = ThreadPoolExecutor(max_workers=WORKER_THREADS, thread_name_prefix="computing")
_message_threads = ThreadPoolExecutor(max_workers=MESSAGE_THREADS, thread_name_prefix="side")
_validation_threads = ThreadPoolExecutor(
    max_workers=VALIDATION_THREADS, thread_name_prefix="judging"
)
_caller_locks: WeakValueDictionary[tuple[asyncio.AbstractEventLoop, Hashable], asyncio.Lock] = (
    WeakValueDictionary()
)


async def run_in_worker_thread(
    function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
) -> R:
    """Run a CPU-bound function on a worker thread and return its result.

    The function must not use the database. Cancelling the caller stops it only if it checks
    `abandonment.is_abandoned`.
    """
    return await _run_in_pool(_worker_threads, partial(function, *args, **kwargs))


async def run_in_message_thread(
    function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
) -> R:
    """Run a function on one of the few threads for large messages.

    Cancelling the caller prevents a start that is still pending; a running function stops only
    if it checks `abandonment.is_abandoned`.
    """
    return await _run_in_pool(_message_threads, partial(function, *args, **kwargs))


def compute_in_message_thread(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a function as `run_in_message_thread` does, for code that has a thread of its own.

    Computing on many threads at once, however short each takes, would delay the event loop by the
    switch interval of each.
    """
    return _message_threads.submit(partial(function, *args, **kwargs)).result()


async def run_in_validation_thread(
    caller: Hashable, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
) -> R:
    """Run a function on one of the few threads for costly validation.

    Each caller has one function running at a time and its others wait without a thread, so that
    no caller occupies all threads. Cancelling works as for `run_in_message_thread`.

    Args:
        caller: Identifies the caller that the work is for.
        function: The function to run.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
    """
    lock = _caller_locks.setdefault((asyncio.get_running_loop(), caller), asyncio.Lock())
    async with lock:
        return await _run_in_pool(_validation_threads, partial(function, *args, **kwargs))


async def _run_in_pool(threads: ThreadPoolExecutor, call: Callable[[], R]) -> R:
    abandoned = threading.Event()
    context = contextvars.copy_context()
    context.run(abandonment.bind_abandoned_event, abandoned)
    try:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(threads, partial(context.run, call))
    except asyncio.CancelledError:
        abandoned.set()
        raise
