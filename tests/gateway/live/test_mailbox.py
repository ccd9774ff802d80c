import pytest

from gateway_project.live.feed import SIGNED_OUT, SLOW, Mailbox, ViewerEnded


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
