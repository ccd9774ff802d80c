"""The ends of the wire that the SDK holds."""

import asyncio

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification

from tools.upstream.streams import FAIR_SHARE, HIGH_WATER, LOW_WATER, MessageInbox, MessageOutbox

MESSAGE = SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="x"))


class Tap:
    def __init__(self) -> None:
        self.events: list[str] = []

    def inbox(self) -> MessageInbox:
        return MessageInbox(
            pause=lambda: self.events.append("pause"), resume=lambda: self.events.append("resume")
        )


async def test_messages_come_out_in_order_and_then_the_end():
    inbox = Tap().inbox()
    other = SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="y"))
    inbox.put(MESSAGE)
    inbox.put(other)
    inbox.end()
    inbox.put(MESSAGE)
    assert [item async for item in inbox] == [MESSAGE, other]
    with pytest.raises(anyio.EndOfStream):
        await inbox.receive()


async def test_a_reader_is_woken_by_a_message_and_by_the_end():
    inbox = Tap().inbox()
    async with asyncio.TaskGroup() as group:
        reader = group.create_task(inbox.receive())
        await asyncio.sleep(0)
        inbox.put(MESSAGE)
    assert reader.result() is MESSAGE
    async with asyncio.TaskGroup() as group:
        rest = group.create_task(anext(inbox, None))
        await asyncio.sleep(0)
        inbox.end()
    assert rest.result() is None


async def test_closing_drops_what_is_left():
    async with Tap().inbox() as inbox:
        inbox.put(MESSAGE)
    inbox.put(MESSAGE)
    with pytest.raises(anyio.ClosedResourceError):
        await inbox.receive()


async def test_reading_pauses_when_full_and_resumes_when_nearly_empty():
    tap = Tap()
    inbox = tap.inbox()
    for _ in range(HIGH_WATER + 5):
        inbox.put(MESSAGE)
    assert tap.events == ["pause"]
    for _ in range(HIGH_WATER + 5 - LOW_WATER):
        await inbox.receive()
    assert tap.events == ["pause"]
    await inbox.receive()
    assert tap.events == ["pause", "resume"]


async def test_a_full_inbox_lets_other_tasks_have_a_turn():
    inbox, turns = Tap().inbox(), 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.ensure_future(other())
    for _ in range(10 * FAIR_SHARE):
        inbox.put(MESSAGE)
    for _ in range(10 * FAIR_SHARE):
        await inbox.receive()
    task.cancel()
    assert turns >= 9


async def test_a_closed_outbox_takes_nothing():
    sent = []

    async def send(item):
        sent.append(item)

    async with MessageOutbox(send) as outbox:
        await outbox.send(MESSAGE)
    with pytest.raises(anyio.ClosedResourceError):
        await outbox.send(MESSAGE)
    assert sent == [MESSAGE]
