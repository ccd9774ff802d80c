"""Messages on their way to one viewer: bounded, and ended with a code that pages understand."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Final

MAX_WAITING: Final = 100
"""Messages that may wait for a viewer; one that falls further behind is dropped."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """Why a connection ends.

    Attributes:
        code: Close code of the websocket; those from 4000 are ours.
        reason: For people who read the log of their browser.
    """

    code: int
    reason: str


FAILED: Final = Ending(code=1011, reason="the live updates failed; see the log of the console")
BUSY: Final = Ending(code=1013, reason="too many viewers, or the database is away; try later")
SIGNED_OUT: Final = Ending(code=4401, reason="signed out")
NOT_PERMITTED: Final = Ending(code=4403, reason="your role does not allow this")
UNKNOWN: Final = Ending(code=4404, reason="there is no such thing for you")
RIGHTS_CHANGED: Final = Ending(code=4409, reason="your rights changed; connect again")
SLOW: Final = Ending(code=4429, reason="too slow; connect again and catch up")
CROWDED: Final = Ending(code=4430, reason="too many live pages of yours; close some")
SILENT: Final = Ending(code=1003, reason="viewers send nothing")


class ViewerEnded(Exception):
    """The viewer gets no further messages."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.reason)
        self.ending = ending


class Mailbox:
    """Messages that wait for one viewer."""

    def __init__(self) -> None:
        self._waiting: deque[str] = deque()
        self._changed = asyncio.Event()
        self._ending: Ending | None = None

    def put(self, message: str) -> None:
        """Add a message; a viewer that reads too slowly is ended instead."""
        if self._ending is not None:
            return
        if len(self._waiting) >= MAX_WAITING:
            self.end(SLOW)
            return
        self._waiting.append(message)
        self._changed.set()

    def end(self, ending: Ending) -> None:
        """End the viewer at once; what waits is not delivered, as they may no longer see it."""
        if self._ending is None:
            self._ending = ending
        self._waiting.clear()
        self._changed.set()

    async def take(self) -> str:
        """Wait for the next message.

        Raises:
            ViewerEnded: If there will be none.
        """
        while not self._waiting:
            if self._ending is not None:
                raise ViewerEnded(self._ending)
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft()
