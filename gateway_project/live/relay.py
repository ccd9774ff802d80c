"""Brings the notifications of the database to the viewers of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol

import psycopg
import structlog

from gateway_project.foundation import advisory, notify
from gateway_project.foundation.notify import Notification, NotificationListener
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.task_group import TaskGroup

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

log = structlog.get_logger(__name__)


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
