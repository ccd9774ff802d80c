"""A feed: what changes in one matter, read once per process and put to all its viewers."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from importlib import import_module
from typing import Any, ClassVar, Final

import django.db
import structlog
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest

from gateway_project.access import callers, second_factor
from gateway_project.access.roles import READ
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import is_database_away
from gateway_project.foundation.notify import Notification
from gateway_project.foundation.reasons import summarize_error
from gateway_project.use_cases.decide_approval import Approver, load_approver
from tools.store import overview

OUTAGE_RETRY_S: Final = 1.0
MAX_WAITING: Final = 100
"""Messages that may wait for a viewer; one that falls further behind is dropped."""

log = structlog.get_logger(__name__)


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


class Feed(ABC):
    """Reads changes when it is woken, and puts them to its viewers.

    For one event loop. Changes that come while it reads or pauses are read together afterwards.

    Attributes:
        scope_needed: Scope of access that its viewers need.
        channels: Channels of notifications that may concern it.
        pause_s: Shortest time between two reads.
        poll_s: Longest time between two reads, as notifications may be lost on their way.
    """

    scope_needed: ClassVar[str] = READ
    channels: ClassVar[frozenset[str]]
    pause_s: ClassVar[float] = 0.05
    poll_s: ClassVar[float] = 30.0

    def __init__(self) -> None:
        self._viewers: dict[Mailbox, Viewer] = {}
        self._wake = asyncio.Event()
        self._reading = asyncio.Lock()
        self._is_stalled = False

    @classmethod  # noqa: B027 - whoever has the scope may see a list; its rows are chosen
    def check_visible(cls, viewer: Viewer, **place: Any) -> None:
        """Check that a viewer may see the feed at an address; blocking.

        Args:
            viewer: Who looks on.
            place: What the address names, as the feed is made with.

        Raises:
            LookupError: If it does not exist, or not for them.
        """

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


@dataclass(frozen=True, kw_only=True)
class Viewer:
    """A signed-in user with what they may see. Equal if nothing of that has changed.

    Attributes:
        caller: Whom they act as.
        approver: The runs and approvals of others that they may see.
        are_teams_used: As of the caller, where it does not count when two are compared.
    """

    caller: Caller
    approver: Approver
    are_teams_used: bool = True


def read_session_key(headers: dict[bytes, bytes]) -> str:
    """Return the key of the console session that a request names; empty: none."""
    try:
        cookies = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
    except CookieError:
        return ""
    morsel = cookies.get(settings.SESSION_COOKIE_NAME)
    return morsel.value if morsel is not None else ""


def load_viewer(session_key: str) -> Viewer | None:
    """Return the viewer of a session as of now; None: it is signed out or expired.

    So it is if the password of its user changed, or if they have yet to give a second factor.
    """
    request: Any = HttpRequest()
    request.session = _open_session(session_key)
    user = get_user(request)
    if not user.is_active or not user.is_authenticated:
        return None
    if second_factor.is_missing(request.session, user):
        return None
    caller = callers.make_caller(
        user,
        overview.load_teams(user.get_username()),
        kind="console",
        chosen=request.session.get(callers.TEAM_KEY),
    )
    return Viewer(
        caller=caller,
        approver=load_approver(caller),
        are_teams_used=caller.are_teams_used,
    )


def _open_session(session_key: str) -> SessionBase:
    engine = import_module(settings.SESSION_ENGINE)
    session: SessionBase = engine.SessionStore(session_key)
    return session
