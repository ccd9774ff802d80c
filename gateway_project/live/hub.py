"""The viewers of this process: their feeds, their rights, and what feeds them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import django.db
import psycopg
import structlog

from gateway_project.foundation import advisory, notify
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.database import is_database_away, run_in_database_thread
from gateway_project.foundation.notify import Notification, NotificationListener
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.shares import Bound
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.live.feed import (
    BUSY,
    CROWDED,
    FAILED,
    RIGHTS_CHANGED,
    SIGNED_OUT,
    Feed,
    Mailbox,
    Viewer,
    ViewerEnded,
    load_viewer,
)

VIEWERS: Final = Bound(total=1_000, each=50)
"""Connections of the process, and of one user; one page holds one. More are asked to come back."""
RECHECK_S: Final = 2.0
"""How soon a sign-out, a lost role or a lost team ends a connection."""

CHANNELS: Final = (
    notify.CATALOGUE,
    notify.PREDICTIONS,
    notify.RUNS,
    notify.RUN_WORK,
    notify.SERVER_STATUS,
    notify.SPECULATION,
)
GROUP: Final = "foregate.live"
"""Group of the channel layer that all processes with viewers are in."""
MESSAGE_TYPE: Final = "live.notification"
LISTENER_LOCK: Final = "foregate live listener"
ELECTION_WAIT_S: Final = 0.01
ELECTION_INTERVAL_S: Final = 5.0
"""How often a process tries to become the one that listens for all."""
LAYER_RETRY_S: Final = 1.0

Deliver = Callable[[Notification | None], None]
"""Takes a notification; None: some may have been lost."""
RunRelay = Callable[[Deliver], Awaitable[None]]

log = structlog.get_logger(__name__)


@dataclass(eq=False, kw_only=True)
class Seat:
    """A viewer's place at a feed.

    Attributes:
        key: Key of the feed.
        session: Key of the console session on which the viewer's rights rest.
        viewer: Who it is, with the rights that they had when they came.
        mailbox: Takes their messages.
    """

    key: Hashable
    session: str
    viewer: Viewer
    mailbox: Mailbox = field(default_factory=Mailbox)


class Hub:
    """Runs feeds while somebody looks on; without viewers it holds no connection and no task.

    For one event loop.

    Args:
        run_relay: Delivers notifications until cancelled.
        recheck_s: Interval of checks whether viewers still have their rights.
    """

    def __init__(self, run_relay: RunRelay, *, recheck_s: float = RECHECK_S) -> None:
        self._run_relay = run_relay
        self._recheck_s = recheck_s
        self._feeds: dict[Hashable, Feed] = {}
        self._feed_tasks: dict[Hashable, asyncio.Task[None]] = {}
        self._seats: set[Seat] = set()
        self._common: asyncio.Task[None] | None = None

    @property
    def viewer_count(self) -> int:
        """Number of connected viewers."""
        return len(self._seats)

    async def join(
        self, seat: Seat, make_feed: Callable[[], Feed], *, after: int
    ) -> Sequence[str]:
        """Seat a viewer; return the messages with which they are up to date.

        Args:
            seat: Of a viewer who may see the feed.
            make_feed: Makes it if nobody looks on yet.
            after: Number of the last event that they know.

        Raises:
            ViewerEnded: If there is no room.
        """
        self._check_room(seat.viewer.caller)
        self._seats.add(seat)
        feed = self._feeds.get(seat.key)
        if feed is None:
            feed = self._feeds[seat.key] = make_feed()
            self._feed_tasks[seat.key] = self._start(feed.run(), f"live {seat.key}", feed)
        if self._common is None:
            self._common = self._start(self._run_common(), "live", None)
        return await feed.attach(seat.mailbox, seat.viewer, after=after)

    def leave(self, seat: Seat) -> None:
        """Remove a viewer, and end what nobody needs any more."""
        if seat not in self._seats:
            return
        self._seats.discard(seat)
        feed = self._feeds.get(seat.key)
        if feed is not None:
            feed.detach(seat.mailbox)
        if not any(other.key == seat.key for other in self._seats):
            self._feeds.pop(seat.key, None)
            self._cancel(self._feed_tasks.pop(seat.key, None))
        if not self._seats:
            self._cancel(self._common)
            self._common = None

    def deliver(self, notification: Notification | None) -> None:
        """Pass a notification to the feeds that it may concern; None: some may have been lost."""
        for feed in self._feeds.values():
            feed.handle_notification(notification)

    def _check_room(self, caller: Caller) -> None:
        held = sum(seat.viewer.caller.user == caller.user for seat in self._seats)
        is_superuser = caller.has_scope(SCOPE_ALL)
        if not VIEWERS.admits(held=held, in_all=len(self._seats), is_privileged=is_superuser):
            raise ViewerEnded(CROWDED if held >= VIEWERS.each else BUSY)

    async def _run_common(self) -> None:
        async with TaskGroup() as group:
            group.create_task(self._relay(), name="live relay")
            group.create_task(self._recheck(), name="live rights")

    async def _relay(self) -> None:
        await self._run_relay(self.deliver)

    async def _recheck(self) -> None:
        """End viewers who signed out or whose rights changed; they connect again if they may."""
        while True:
            await asyncio.sleep(self._recheck_s)
            for session in {seat.session for seat in self._seats}:
                try:
                    viewer = await run_in_database_thread(load_viewer, session)
                except django.db.Error as error:
                    if not is_database_away(error):
                        raise
                    log.warning("live.rights_not_checked", reason=summarize_error(error))
                    break
                for seat in self._seats:
                    if seat.session == session and seat.viewer != viewer:
                        seat.mailbox.end(SIGNED_OUT if viewer is None else RIGHTS_CHANGED)

    def _start(self, work: Awaitable[None], name: str, feed: Feed | None) -> asyncio.Task[None]:
        async def run() -> None:
            try:
                await work
            except Exception:
                # Top level of a task. Viewers connect again, which starts it anew.
                log.exception("live.failed", task=name)
                for seat in self._seats:
                    if feed is None or self._feeds.get(seat.key) is feed:
                        seat.mailbox.end(FAILED)

        return asyncio.get_running_loop().create_task(run(), name=name)

    @staticmethod
    def _cancel(task: asyncio.Task[None] | None) -> None:
        if task is not None:
            task.cancel()


class ChannelLayer(Protocol):
    """The parts of a channel layer that are used."""

    async def new_channel(self) -> str:
        """Return the name of a channel of this process."""

    async def group_add(self, group: str, channel: str) -> None:
        """Add a channel to a group."""

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        """Send to all channels of a group."""

    async def receive(self, channel: str) -> dict[str, Any]:
        """Wait for the next message of a channel."""


async def relay_from_database(deliver: Deliver) -> None:
    """Listen to the database until cancelled: one connection for all viewers of this process."""

    async def on_event(notification: Notification) -> None:
        deliver(notification)

    async def on_resync() -> None:
        deliver(None)

    await NotificationListener(CHANNELS, on_event=on_event, on_resync=on_resync).run()


async def relay_from_layer(layer: ChannelLayer, deliver: Deliver) -> None:
    """Receive from a channel layer until cancelled; one process of the fleet listens for all.

    Only ids go through the layer. If it fails, or the listening process ends, notifications may
    be lost, so that feeds are told to read everything again.
    """
    while True:
        try:
            async with TaskGroup() as group:
                group.create_task(_receive(layer, deliver), name="live layer")
                group.create_task(_listen_for_all(layer), name="live listener")
        except Exception as error:  # noqa: BLE001 - any of the layer's library; it is tried again
            log.warning("live.layer_failed", reason=summarize_error(error))
        await asyncio.sleep(LAYER_RETRY_S)


async def _receive(layer: ChannelLayer, deliver: Deliver) -> None:
    channel = await layer.new_channel()
    await layer.group_add(GROUP, channel)
    deliver(None)
    while True:
        message = await layer.receive(channel)
        named = message["channel"]
        deliver(Notification(channel=named, payload=message["payload"]) if named else None)


async def _listen_for_all(layer: ChannelLayer) -> None:
    """Listen while no other process does, and send on what comes."""
    while True:
        try:
            async with advisory.hold_lock(LISTENER_LOCK, timeout_s=ELECTION_WAIT_S):
                await _send_notifications(layer)
        except psycopg.errors.LockNotAvailable:
            log.debug("live.another_process_listens")
        except psycopg.Error as error:
            log.warning("live.election_failed", reason=summarize_error(error))
        await asyncio.sleep(ELECTION_INTERVAL_S)


async def _send_notifications(layer: ChannelLayer) -> None:
    async def send(channel: str, payload: str) -> None:
        message = {"type": MESSAGE_TYPE, "channel": channel, "payload": payload}
        await layer.group_send(GROUP, message)

    async def on_event(notification: Notification) -> None:
        await send(notification.channel, notification.payload)

    async def on_resync() -> None:
        await send("", "")

    await NotificationListener(CHANNELS, on_event=on_event, on_resync=on_resync).run()
