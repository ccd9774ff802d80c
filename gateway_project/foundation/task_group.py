"""A task group that fails with a single error, as callers and error messages expect.

`asyncio.TaskGroup` wraps every failure in an exception group, so that `except SomeError` around
it does not match and edges report an internal error. The product uses the class below instead.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from types import TracebackType
from typing import Any, Final

MAX_NOTES: Final = 10

log = logging.getLogger(__name__)


class TaskGroup(asyncio.TaskGroup):
    """An `asyncio.TaskGroup` that raises the error which ended it, never a group.

    This is the error of the `async with` block itself, or else that of the first task that
    failed. Errors of tasks that failed while being cancelled are logged and added to it as notes.
    Cancellation works as in `asyncio.TaskGroup`.
    """

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        """Wait for all tasks.

        Raises:
            BaseException: The error which ended the group.
        """
        try:
            return await super().__aexit__(exc_type, exc, tb)
        except BaseExceptionGroup as group:
            error = pick_main_error(group, preferred=exc)
        context = error.__context__
        try:
            raise error
        finally:
            error.__context__ = context  # instead of the group handled above
            del error, exc, context  # they would form reference cycles with this frame


def pick_main_error(
    group: BaseExceptionGroup[Any], *, preferred: BaseException | None = None
) -> BaseException:
    """Return the most informative error in a group; the others become notes of it.

    Args:
        group: May contain groups in turn.
        preferred: Returned if it is in the group; otherwise the first error is. A
            `ConnectionError` comes last, since it is often the consequence of another failure.
    """
    errors = list(_iterate_leaves(group))
    candidates = [error for error in errors if not isinstance(error, ConnectionError)] or errors
    main = next((error for error in candidates if error is preferred), candidates[0])
    others = [error for error in errors if error is not main]
    for other in others[:MAX_NOTES]:
        main.add_note(f"another task also failed: {other!r}")
        log.warning("task failed with %r, in addition to %r", other, main)
    return main


def _iterate_leaves(group: BaseExceptionGroup[Any]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _iterate_leaves(error)
        else:
            yield error


async def run_uninterrupted(work: Coroutine[Any, Any, None]) -> None:
    """Await work that has its own timeout; a cancellation is deferred until it is done.

    Raises:
        asyncio.CancelledError: After the work, if the caller was cancelled meanwhile.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                raise
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled
