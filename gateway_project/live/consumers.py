"""Consumers of Channels: one viewer's connection each, from the handshake to its end."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final
from urllib.parse import parse_qs
from uuid import UUID

import django.db
import structlog
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

from gateway_project.access.roles import APPROVE, READ
from gateway_project.foundation import sealing
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.sealing import Sealer
from gateway_project.live import mailbox as endings
from gateway_project.live.feed import Feed
from gateway_project.live.hub import Hub, Seat, TooManyViewers
from gateway_project.live.mailbox import Ending, ViewerEnded
from gateway_project.live.row_feeds import RunsFeed, SpeculationsFeed
from gateway_project.live.run_feed import RunFeed
from gateway_project.live.snapshot_feeds import ApprovalsFeed, ServersFeed
from gateway_project.live.viewers import Viewer, load_viewer, read_session_key
from gateway_project.mcp.http.names import AllowedNames
from gateway_project.use_cases import control_run

MAX_NUMBER_CHARS: Final = 12
CLOSE_WAIT_S: Final = 5.0
"""How long a viewer who does not read may hold up their own end."""

log = structlog.get_logger(__name__)


class LiveConsumer(AsyncWebsocketConsumer):
    """A connection of a viewer: judged once, then fed until it ends.

    Attributes:
        scope_needed: Scope of access that the viewer needs.

    Args:
        hub: The viewers of this process.
        names: Hosts that are answered, and origins that may connect.
    """

    channel_layer_alias = "none"  # each viewer is fed by the hub, and needs no channel
    scope_needed: ClassVar[str] = READ

    def __init__(self, *, hub: Hub, names: AllowedNames) -> None:
        super().__init__()
        self._hub = hub
        self._names = names
        self._seat: Seat | None = None
        self._feeding: asyncio.Task[None] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the connection; however it ends, the viewer leaves."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._leave()

    async def connect(self) -> None:
        """Judge the viewer and begin to feed them.

        A foreign page is refused without an answer. Anybody else is told by a close code why they
        get nothing, which a browser hides if the handshake fails.
        """
        headers = dict(self.scope["headers"])
        if not self._is_own_page(headers):
            await self.close()
            return
        await self.accept()
        try:
            ending = await self._admit(read_session_key(headers))
        except django.db.Error as error:
            log.warning("live.database_unavailable", reason=summarize_error(error))
            ending = endings.BUSY
        if ending is not None:
            self._leave()
            await self._end(ending)

    async def receive(self, text_data: Any = None, bytes_data: Any = None) -> None:  # noqa: ARG002
        """End a viewer who sends anything: there is nothing to say."""
        self._leave()
        await self._end(endings.SILENT)

    async def disconnect(self, code: int) -> None:  # noqa: ARG002
        """Let the viewer leave."""
        self._leave()

    @abstractmethod
    def make_key(self) -> Hashable:
        """Return the key of the feed."""

    @abstractmethod
    def make_feed(self) -> Feed:
        """Make the feed, for the first viewer."""

    def check_visible(self, viewer: Viewer) -> None:
        """Check that the viewer may see what they ask for; blocking.

        Raises:
            LookupError: If it does not exist, or not for them.
        """

    async def _admit(self, session: str) -> Ending | None:
        """Seat the viewer and begin to feed them; return why not."""
        viewer = await run_in_database_thread(load_viewer, session) if session else None
        if viewer is None:
            return endings.SIGNED_OUT
        if not viewer.caller.has_scope(self.scope_needed):
            return endings.NOT_PERMITTED
        try:
            await run_in_database_thread(self.check_visible, viewer)
        except LookupError:
            return endings.UNKNOWN
        self._seat = seat = Seat(key=self.make_key(), session=session, viewer=viewer)
        try:
            first = await self._hub.join(seat, self.make_feed, after=self._read_last_number())
        except TooManyViewers as error:
            return error.ending
        self._feeding = asyncio.get_running_loop().create_task(
            self._feed(seat, first), name="live viewer"
        )
        return None

    async def _feed(self, seat: Seat, first: Sequence[str]) -> None:
        """Send messages until there are no more; waits for a viewer who reads slowly."""
        try:
            for message in first:
                await self.send(text_data=message)
            while True:
                await self.send(text_data=await seat.mailbox.take())
        except ViewerEnded as error:
            self._hub.leave(seat)
            await self._end(error.ending)
        except Exception:
            # Top level of a task; the connection may be gone already.
            log.debug("live.viewer_lost", exc_info=True)
            self._hub.leave(seat)

    async def _end(self, ending: Ending) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_WAIT_S):
                await self.close(code=ending.code, reason=ending.reason)

    def _leave(self) -> None:
        if self._feeding is not None and self._feeding is not asyncio.current_task():
            self._feeding.cancel()
            self._feeding = None
        if self._seat is not None:
            self._hub.leave(self._seat)
            self._seat = None

    def _is_own_page(self, headers: dict[bytes, bytes]) -> bool:
        """Whether a page of the console, or one that is allowed to call, connects.

        Browsers send the origin with every websocket; a page elsewhere could use the cookie.
        """
        host = headers.get(b"host", b"").decode("latin-1")
        origin = headers.get(b"origin", b"").decode("latin-1")
        return self._names.is_own_host(host) and self._names.is_allowed_origin(origin, host=host)

    def _read_last_number(self) -> int:
        """Return the number of the last event that the viewer knows, as the page says."""
        query = parse_qs(self.scope.get("query_string", b"").decode("latin-1"))
        text = query.get("after", ["0"])[0]
        if not (text.isascii() and text.isdigit() and len(text) <= MAX_NUMBER_CHARS):
            return 0
        return int(text)


class RunsConsumer(LiveConsumer):
    """The list of runs."""

    def make_key(self) -> Hashable:
        """Return the key of the feed."""
        return "runs"

    def make_feed(self) -> Feed:
        """Make the feed."""
        return RunsFeed()


class RunConsumer(LiveConsumer):
    """One run."""

    @property
    def run(self) -> UUID:
        """Id of the run, from the address."""
        found: UUID = self.scope["url_route"]["kwargs"]["run"]
        return found

    def make_key(self) -> Hashable:
        """Return the key of the feed."""
        return ("run", self.run)

    def make_feed(self) -> Feed:
        """Make the feed."""
        return RunFeed(self.run, sealer=_load_sealer())

    def check_visible(self, viewer: Viewer) -> None:
        """Check that the viewer may see the run.

        Raises:
            UnknownRun: If not.
        """
        control_run.find_run(viewer.caller, self.run, sealer=_load_sealer())


class ApprovalsConsumer(LiveConsumer):
    """Calls that wait for the viewer's decision."""

    scope_needed: ClassVar = APPROVE

    def make_key(self) -> Hashable:
        """Return the key of the feed."""
        return "approvals"

    def make_feed(self) -> Feed:
        """Make the feed."""
        return ApprovalsFeed()


class SpeculationConsumer(LiveConsumer):
    """Predictions, and the switch of speculation."""

    def make_key(self) -> Hashable:
        """Return the key of the feed."""
        return "speculation"

    def make_feed(self) -> Feed:
        """Make the feed."""
        return SpeculationsFeed()


class ServersConsumer(LiveConsumer):
    """Conditions of servers."""

    def make_key(self) -> Hashable:
        """Return the key of the feed."""
        return "servers"

    def make_feed(self) -> Feed:
        """Make the feed."""
        return ServersFeed()


def _load_sealer() -> Sealer:
    return sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)
