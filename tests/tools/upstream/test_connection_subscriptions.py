"""What a connection follows, at a server of the later era."""

import asyncio

import pytest

from tools.upstream.client import ServerListeners
from tools.upstream.connection_subscriptions import ConnectionSubscriptions
from tools.upstream.errors import ConnectionLost
from tools.upstream.listen import Subscription
from tools.upstream.peer import ServerPeer


class Listener:
    """Opens subscriptions that are answered as told: a mapping, or an error."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.opened = []

    def subscribe(self, wanted, *, renewed):
        honored = asyncio.get_running_loop().create_future()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            honored.set_exception(answer)
        else:
            honored.set_result(answer)
        self.opened.append(Subscription(wanted=wanted, honored=honored))
        return self.opened[-1]


def following(listener):
    async def ask(method, params):
        raise AssertionError(method)

    return ConnectionSubscriptions(
        ServerPeer(era="modern", protocol_version="2026-07-28", capabilities={}),
        ask=ask,
        listener=listener,
        listeners=ServerListeners(
            on_list_changed=lambda _: None, on_resource_updated=lambda _: None
        ),
        timeout_s=5,
    )


async def test_a_subscription_that_fails_is_closed_and_the_one_before_it_stays():
    listener = Listener({"resourceSubscriptions": ["a:1"]}, ConnectionLost("gone", server="s"))
    followed = following(listener)
    await followed.subscribe("a:1", all_uris=["a:1"])
    with pytest.raises(ConnectionLost):
        await followed.subscribe("a:2", all_uris=["a:1", "a:2"])
    assert [one.closed for one in listener.opened] == [False, True]
