import asyncio

import pytest

from gateway_project.live import mailbox as mailboxes
from gateway_project.live.mailbox import SIGNED_OUT, SLOW, Mailbox, ViewerEnded


async def test_messages_are_taken_in_order():
    box = Mailbox()
    box.put("a")
    box.put("b")
    assert [await box.take(), await box.take()] == ["a", "b"]


async def test_a_message_wakes_who_waits_for_it():
    box = Mailbox()
    waiting = asyncio.create_task(box.take())
    await asyncio.sleep(0)
    box.put("late")
    assert await waiting == "late"


async def test_a_viewer_who_reads_too_slowly_is_ended_and_holds_no_messages(monkeypatch):
    monkeypatch.setattr(mailboxes, "MAX_WAITING", 3)
    box = Mailbox()
    for number in range(4):
        box.put(str(number))
    with pytest.raises(ViewerEnded) as raised:
        await box.take()
    assert raised.value.ending is SLOW
    assert not box._waiting


async def test_what_waits_is_not_delivered_after_the_end():
    box = Mailbox()
    box.put("secret")
    box.end(SIGNED_OUT)
    box.put("more")
    with pytest.raises(ViewerEnded) as raised:
        await box.take()
    assert raised.value.ending is SIGNED_OUT


async def test_the_first_reason_for_an_end_counts():
    box = Mailbox()
    box.end(SIGNED_OUT)
    box.end(SLOW)
    with pytest.raises(ViewerEnded) as raised:
        await box.take()
    assert raised.value.ending is SIGNED_OUT
