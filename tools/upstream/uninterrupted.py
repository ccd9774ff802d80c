"""Runs work that a cancellation must not interrupt."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


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
