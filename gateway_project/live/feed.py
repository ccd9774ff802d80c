"""A feed: what changes in one matter, read once per process and put to all its viewers."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import django.db
import structlog

from gateway_project.foundation.database import is_database_away
from gateway_project.foundation.notify import Notification
from gateway_project.foundation.reasons import summarize_error
from gateway_project.live.mailbox import Ending, Mailbox
from gateway_project.live.viewers import Viewer

OUTAGE_RETRY_S: Final = 1.0

log = structlog.get_logger(__name__)


class Feed(ABC):
    """Reads changes when it is woken, and puts them to its viewers.

    For one event loop. Changes that come while it reads or pauses are read together afterwards.

    Attributes:
        channels: Channels of notifications that may concern it.
        pause_s: Shortest time between two reads.
        poll_s: Longest time between two reads, as notifications may be lost on their way.
    """

    channels: ClassVar[frozenset[str]]
    pause_s: ClassVar[float] = 0.05
    poll_s: ClassVar[float] = 30.0

    def __init__(self) -> None:
        self._viewers: dict[Mailbox, Viewer] = {}
        self._wake = asyncio.Event()
        self._reading = asyncio.Lock()
        self._is_stalled = False

    def handle_notification(self, notification: Notification | None) -> None:
        """Note a notification that may concern this feed; None: some may have been lost."""
        if notification is None or self.is_concerned(notification):
            self._wake.set()

    def is_concerned(self, notification: Notification) -> bool:
        """Whether a notification concerns this feed."""
        return notification.channel in self.channels

    async def run(self) -> None:
        """Read and publish until cancelled; viewers are told if the database is away."""
        while True:
            await self._wait_until_woken()
            try:
                async with self._reading:
                    self._wake.clear()
                    await self.publish_changes()
            except django.db.Error as error:
                if not is_database_away(error):
                    raise
                await self._stall(error)
            else:
                self._is_stalled = False
            await asyncio.sleep(self.pause_s)

    async def attach(self, mailbox: Mailbox, viewer: Viewer, *, after: int) -> Sequence[str]:
        """Add a viewer and return the messages with which they are up to date.

        Args:
            mailbox: Receives what happens from then on.
            viewer: Who looks on.
            after: Number of the last event that the viewer knows; of runs only.
        """
        async with self._reading:
            messages = await self.load_start(viewer, after=after)
            self._viewers[mailbox] = viewer
        return messages

    def detach(self, mailbox: Mailbox) -> None:
        """Remove a viewer."""
        self._viewers.pop(mailbox, None)

    def end_viewers(self, ending: Ending) -> None:
        """End all viewers."""
        for mailbox in self._viewers:
            mailbox.end(ending)

    @abstractmethod
    async def load_start(self, viewer: Viewer, *, after: int) -> Sequence[str]:
        """Return the first messages for a viewer; nothing is published meanwhile."""

    @abstractmethod
    async def publish_changes(self) -> None:
        """Read what has changed and put it to the viewers."""

    def publish(self, message: Mapping[str, Any]) -> None:
        """Put a message to all viewers; it is encoded once."""
        encoded = encode_message(message)
        for mailbox in self._viewers:
            mailbox.put(encoded)

    async def _wait_until_woken(self) -> None:
        try:
            async with asyncio.timeout(self.poll_s):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _stall(self, error: Exception) -> None:
        log.warning("live.database_unavailable", reason=summarize_error(error))
        if not self._is_stalled:
            self._is_stalled = True
            self.publish({"type": "stalled"})
        await asyncio.sleep(OUTAGE_RETRY_S)
        self._wake.set()


def encode_message(message: Mapping[str, Any]) -> str:
    """Return a message as it is sent."""
    return json.dumps(message, separators=(",", ":"), default=str)
