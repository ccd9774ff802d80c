"""Notifications on their way to viewers, with and without a channel layer."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from channels.layers import InMemoryChannelLayer

from gateway_project.foundation import notify
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.notify import Notification
from gateway_project.live import hub, routing
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def prompt_elections(monkeypatch):
    monkeypatch.setattr(hub, "ELECTION_INTERVAL_S", 0.02)
    monkeypatch.setattr(hub, "LAYER_RETRY_S", 0.01)


class Ears:
    """A process that hears."""

    def __init__(self, run):
        self.heard = asyncio.Queue()
        self.task = asyncio.create_task(run(self.heard.put_nowait))

    async def hear_until(self, wanted):
        async with asyncio.timeout(PATIENCE_S):
            while await self.heard.get() != wanted:
                pass

    async def end(self):
        self.task.cancel()
        await asyncio.wait([self.task])


@asynccontextmanager
async def hearing(*runs):
    ears = [Ears(run) for run in runs]
    try:
        yield ears
    finally:
        for one in ears:
            await one.end()


async def send(payload):
    await run_in_database_thread(notify.send_notification, notify.RUNS, payload)
    return Notification(channel=notify.RUNS, payload=payload)


async def test_notifications_of_the_database_are_delivered_after_a_resync():
    async with hearing(hub.relay_from_database) as (ears,):
        await ears.hear_until(None)
        await ears.hear_until(await send("x"))


async def test_one_process_listens_for_all_and_another_takes_over():
    layer = InMemoryChannelLayer()

    async def run(deliver):
        await hub.relay_from_layer(layer, deliver)

    async with hearing(run) as (first,):
        await first.hear_until(None)  # it receives
        await first.hear_until(None)  # it listens
        async with hearing(run) as (second,):
            await second.hear_until(None)
            sent = await send("x")
            await first.hear_until(sent)
            await second.hear_until(sent)
            await first.end()
            await second.hear_until(None)  # it listens in place of the first
            await second.hear_until(await send("y"))


async def test_a_layer_that_fails_is_tried_again():
    class Breaking(InMemoryChannelLayer):
        failures = 2

        async def group_add(self, group, channel):
            if self.failures:
                self.failures -= 1
                raise ConnectionError("no redis")
            await super().group_add(group, channel)

    layer = Breaking()

    async def run(deliver):
        await hub.relay_from_layer(layer, deliver)

    async with hearing(run) as (ears,):
        await ears.hear_until(None)
        await ears.hear_until(None)
        await ears.hear_until(await send("x"))


def test_without_a_layer_each_process_listens_itself():
    assert routing._choose_relay() is hub.relay_from_database


def test_a_configured_layer_is_used(settings):
    settings.CHANNEL_LAYERS = {
        routing.LAYER_ALIAS: {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    }
    assert routing._choose_relay().func is hub.relay_from_layer
