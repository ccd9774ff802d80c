"""Threads in which requests of the console and the API are served, each with its connection.

Without them every request would have a thread of its own that connects to the database anew, and
as many requests at once as come would use up its connections.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from asgiref.sync import ThreadSensitiveContext
from starlette.types import Message, Send

from gateway_project.foundation.shares import Bound, Shares
from gateway_project.mcp.http.answers import reject

REQUESTS: Final = Bound(total=40, each=20, fraction=0.5)
"""Requests served at once, except streams, and those of one holder; others wait. Half the
connections of a database."""
MAX_WAITING: Final = 100
"""Requests of one holder that wait."""
MAX_IDLE: Final = 16
"""Threads that are kept for the next requests, with their connections."""
STREAM_TYPE: Final = b"text/event-stream"


class RequestThreads:
    """Lends a thread to each request; a stream gives up its place once it has begun.

    Holders whose requests wait take turns.
    """

    def __init__(self) -> None:
        self._places = Shares(REQUESTS)
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        self._idle: list[ThreadPoolExecutor] = []

    @asynccontextmanager
    async def lend(
        self, send: Send, *, holder: Hashable, is_privileged: bool = False
    ) -> AsyncIterator[Send]:
        """Run synchronous code of the block in one thread; yield what to send the response by.

        Args:
            send: Of the request.
            holder: Who sent it.
            is_privileged: Whether it may also have what is left for others.

        Raises:
            RequestRejected: If too many requests of the holder wait already.
        """
        if holder in self._waiting or not self._places.take(holder, is_privileged=is_privileged):
            await self._wait(holder)
        place = _Place(partial(self._give_back, holder))
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

    async def _wait(self, holder: Hashable) -> None:
        """Wait until the holder has been given a place."""
        turns = self._waiting.setdefault(holder, deque())
        if len(turns) >= MAX_WAITING:
            wait = (b"retry-after", b"1")
            message = f"{MAX_WAITING} requests of yours wait already; wait for one to end"
            raise reject(429, "throttled", message, headers=(wait,))
        turn = asyncio.get_running_loop().create_future()
        turns.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back(holder)
            else:
                turns.remove(turn)
                if not turns:
                    self._waiting.pop(holder, None)
            raise

    def _give_back(self, holder: Hashable) -> None:
        """Return a place, and let those have their turn who may have one now."""
        self._places.give_back(holder)
        for other in list(self._waiting):
            turns = self._waiting[other]
            if self._places.take(other):
                turns.popleft().set_result(None)
                self._waiting.move_to_end(other)
                if not turns:
                    del self._waiting[other]


class _Place:
    """A place among the requests, released once."""

    def __init__(self, give_back: Callable[[], None]) -> None:
        self._give_back: Callable[[], None] | None = give_back

    def release(self) -> None:
        """Release it; does nothing if it was released."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back()


def _is_stream(message: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(STREAM_TYPE)
        for name, value in message["headers"]
    )
