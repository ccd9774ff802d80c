"""Threads in which requests of the console and the API are served, each with its connection.

Without them every request would have a thread of its own that connects to the database anew, and
as many requests at once as come would use up its connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Final

from asgiref.sync import ThreadSensitiveContext
from starlette.types import Message, Send

MAX_REQUESTS: Final = 40
"""Requests served at once, except streams; others wait. Half the connections of a database."""
MAX_IDLE: Final = 16
"""Threads that are kept for the next requests, with their connections."""
STREAM_TYPE: Final = b"text/event-stream"


class RequestThreads:
    """Lends a thread to each request; a stream gives up its place once it has begun."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(MAX_REQUESTS)
        self._idle: list[ThreadPoolExecutor] = []

    @asynccontextmanager
    async def lend(self, send: Send) -> AsyncIterator[Send]:
        """Run synchronous code of the block in one thread; yield what to send the response by."""
        place = _Place(self._places)
        await self._places.acquire()
        executor = self._idle.pop() if self._idle else ThreadPoolExecutor(max_workers=1)

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_stream(message):
                place.release()
            await send(message)

        try:
            async with ThreadSensitiveContext(executor=executor):
                yield watch
        finally:
            place.release()
            if len(self._idle) < MAX_IDLE:
                self._idle.append(executor)
            else:
                executor.shutdown(wait=False)


class _Place:
    """A place among the requests, released once."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places: asyncio.Semaphore | None = places

    def release(self) -> None:
        """Release it; does nothing if it was released."""
        places, self._places = self._places, None
        if places is not None:
            places.release()


def _is_stream(message: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(STREAM_TYPE)
        for name, value in message["headers"]
    )
