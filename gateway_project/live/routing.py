"""Addresses of the live updates, and the consumer of Channels that serves their viewers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast
from urllib.parse import parse_qs

import django.db
import structlog
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.layers import get_channel_layer
from channels.routing import URLRouter
from django.urls import path, re_path
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.live import feed as endings
from gateway_project.live.feed import Ending, Feed, ViewerEnded, load_viewer, read_session_key
from gateway_project.live.hub import Deliver, Hub, Seat, relay_from_database, relay_from_layer
from gateway_project.live.list_feeds import ApprovalsFeed, RunsFeed, ServersFeed, SpeculationsFeed
from gateway_project.live.run_feed import RunFeed
from gateway_project.mcp.http.names import AllowedNames

LAYER_ALIAS: Final = "live"
"""Name of the channel layer in Django's settings, which few installations have."""
MAX_NUMBER_CHARS: Final = 12
CLOSE_WAIT_S: Final = 5.0
"""How long a viewer who does not read may hold up their own end."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class LiveRoute:
    """An address of live updates.

    Attributes:
        path: As in Django's URL patterns.
        feed: What its viewers follow; made with what the address names.
    """

    path: str
    feed: type[Feed]


ROUTES: Final = (
    LiveRoute(path="live/runs/", feed=RunsFeed),
    LiveRoute(path="live/runs/<uuid:run>/", feed=RunFeed),
    LiveRoute(path="live/approvals/", feed=ApprovalsFeed),
    LiveRoute(path="live/speculation/", feed=SpeculationsFeed),
    LiveRoute(path="live/servers/", feed=ServersFeed),
)
"""Every address of live updates; tests of who sees what are derived from it."""


class LiveConsumer(AsyncWebsocketConsumer):
    """A connection of a viewer: judged once, then fed until it ends.

    Args:
        feed: What is followed.
        hub: The viewers of this process.
        names: Hosts that are answered, and origins that may connect.
    """

    channel_layer_alias = "none"  # each viewer is fed by the hub, and needs no channel

    def __init__(self, *, feed: type[Feed], hub: Hub, names: AllowedNames) -> None:
        super().__init__()
        self._feed_type = feed
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

    async def _admit(self, session: str) -> Ending | None:
        """Seat the viewer and begin to feed them; return why not."""
        viewer = await run_in_database_thread(load_viewer, session) if session else None
        if viewer is None:
            return endings.SIGNED_OUT
        if not viewer.caller.has_scope(self._feed_type.scope_needed):
            return endings.NOT_PERMITTED
        place = self.scope["url_route"]["kwargs"]
        try:
            await run_in_database_thread(self._feed_type.check_visible, viewer, **place)
        except LookupError:
            return endings.UNKNOWN
        key = (self._feed_type, *place.values())
        self._seat = seat = Seat(key=key, session=session, viewer=viewer)
        make_feed = partial(self._feed_type, **place)
        try:
            first = await self._hub.join(seat, make_feed, after=self._read_last_number())
        except ViewerEnded as error:
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


class _UnknownAddress(AsyncWebsocketConsumer):
    """Refuses a connection to any other address."""

    async def connect(self) -> None:
        """Refuse."""
        await self.close()


def make_live_application(names: AllowedNames, *, hub: Hub | None = None) -> ASGIApp:
    """Return the application that serves websockets.

    Args:
        names: Hosts that are answered, and origins that may connect.
        hub: The viewers of this process; None: a hub of its own.
    """
    shared = hub or Hub(_choose_relay())
    routes = [
        path(
            route.path,
            cast("Any", LiveConsumer.as_asgi(feed=route.feed, hub=shared, names=names)),
        )
        for route in ROUTES
    ]
    unknown = re_path("", cast("Any", _UnknownAddress.as_asgi()))
    return cast("ASGIApp", URLRouter([*routes, unknown]))


def serve_by_protocol(http: ASGIApp, websocket: ASGIApp) -> ASGIApp:
    """Return an application that serves websockets by one application and HTTP by another."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        chosen = websocket if scope["type"] == "websocket" else http
        await chosen(scope, receive, send)

    return serve


def _choose_relay() -> Callable[[Deliver], Awaitable[None]]:
    layer = get_channel_layer(LAYER_ALIAS)
    if layer is None:
        return relay_from_database
    return partial(relay_from_layer, layer)
