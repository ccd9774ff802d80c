"""Subscriptions at a modern server are renewed when it ends them."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from gateway_project.foundation.caller import GATEWAY
from tests.patience import PATIENCE_S
from tests.tools.upstream.conftest import eventually
from tools.upstream import listen
from tools.upstream.errors import ConnectionLost
from tools.upstream.in_flight import ClientProfile, InFlightRequests
from tools.upstream.listen import SubscriptionListener

ID = "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
GONE = MCPError(-32601, "no more")
BUSY = MCPError(-32603, "busy")


class Server:
    """Acknowledges each subscription, and ends it as told.

    An end is an exception to refuse with, one to break off with, or None for a graceful end.
    """

    def __init__(self, *ends: Any, acknowledges: bool = True) -> None:
        self.ends = list(ends)
        self.acknowledges = acknowledges
        self.listener: SubscriptionListener | None = None
        self.wanted: list[Any] = []
        self.open: list[str] = []

    async def open_stream(self, params: Mapping[str, Any], request_id: Any) -> None:
        self.wanted.append(params["notifications"])
        end = self.ends.pop(0) if self.ends else asyncio.Event()
        if end in (GONE, BUSY) or isinstance(end, ConnectionLost):
            raise end
        await asyncio.sleep(0)
        self.open.append(request_id)
        if self.acknowledges:
            self.hears(
                "notifications/subscriptions/acknowledged", request_id, notifications={"x": 1}
            )
        await asyncio.sleep(0)
        try:
            if isinstance(end, asyncio.Event):
                await end.wait()
            if isinstance(end, Exception):
                raise end
        finally:
            self.open.remove(request_id)

    def hears(self, method: str, request_id: Any, **params: Any) -> bool:
        assert self.listener is not None
        return self.listener.handle_notification(method, {"_meta": {ID: request_id}, **params})


@pytest.fixture
def renewed():
    return []


@pytest.fixture
async def group():
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        yield group


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(listen, "RELISTEN_S", 0.0)


def listening(server: Server, group: asyncio.TaskGroup) -> SubscriptionListener:
    client = ClientProfile(
        capabilities={},
        flights=InFlightRequests(GATEWAY, owner=None),
        on_list_changed=lambda _: None,
        on_resource_updated=lambda _: None,
        on_roots_asked=lambda _: False,
    )
    server.listener = SubscriptionListener(server.open_stream, client=client, group=group)
    return server.listener


def subscribe(server: Server, group: asyncio.TaskGroup, renewed: list[int]) -> Any:
    return listening(server, group).subscribe(
        {"toolsListChanged": True}, renewed=lambda: renewed.append(len(server.ends))
    )


@pytest.mark.parametrize("end", [None, MCPError(-1, "broken off")])
async def test_a_subscription_that_ends_is_opened_again_and_then_all_may_have_changed(
    end, group, renewed
):
    server = Server(end, end, GONE)
    subscription = subscribe(server, group, renewed)
    assert await subscription.honored == {"x": 1}
    await subscription.task
    assert renewed == [1]
    assert server.wanted == [{"toolsListChanged": True}] * 3


async def test_a_refusal_is_raised_and_ends_the_subscription(group, renewed):
    server = Server(GONE)
    subscription = subscribe(server, group, renewed)
    with pytest.raises(MCPError, match="no more"):
        await subscription.honored
    await subscription.task
    assert len(server.wanted) == 1


async def test_a_passing_refusal_does_not_end_a_subscription_that_was_accepted(group, renewed):
    server = Server(None, BUSY, None, GONE)
    subscription = subscribe(server, group, renewed)
    await subscription.honored
    await subscription.task
    assert len(server.wanted) == 4
    assert renewed == [1]


@pytest.mark.parametrize(("lasting_s", "pauses"), [(60.0, [1.0, 2.0, 4.0]), (-1.0, [1.0] * 3)])
async def test_only_streams_that_end_soon_are_reopened_ever_later(
    lasting_s, pauses, group, renewed, monkeypatch
):
    slept, sleep = [], asyncio.sleep

    async def note(delay_s):
        if delay_s:
            slept.append(delay_s)
        await sleep(0)

    monkeypatch.setattr(listen, "RELISTEN_S", 1.0)
    monkeypatch.setattr(listen, "LASTING_S", lasting_s)
    monkeypatch.setattr(listen.asyncio, "sleep", note)
    subscription = subscribe(Server(None, None, None, GONE), group, renewed)
    await subscription.task
    assert slept == pauses


async def test_a_subscription_that_ends_unacknowledged_is_opened_again(group, renewed):
    server = Server(None, GONE, acknowledges=False)
    subscription = subscribe(server, group, renewed)
    with pytest.raises(MCPError):
        await subscription.honored
    assert len(server.wanted) == 2
    assert renewed == []


async def test_a_server_that_takes_a_subscription_down_is_asked_again(group, renewed):
    server = Server(asyncio.Event())
    subscription = subscribe(server, group, renewed)
    await subscription.honored
    (request_id,) = server.open
    assert server.listener.handle_notification(
        "notifications/cancelled", {"requestId": request_id}
    )
    assert not server.listener.handle_notification(
        "notifications/cancelled", {"requestId": "other"}
    )
    assert not server.listener.handle_notification("notifications/cancelled", {"requestId": [1]})
    await eventually(lambda: bool(renewed))
    assert server.open != [request_id]
    subscription.close()


async def test_notifications_of_a_closed_subscription_are_consumed(group, renewed):
    server = Server()
    subscription = subscribe(server, group, renewed)
    await subscription.honored
    (request_id,) = server.open
    updated = "notifications/resources/updated"
    assert not server.hears(updated, request_id)
    assert not server.listener.handle_notification(updated, {})
    subscription.close()
    assert server.hears(updated, request_id)
    await asyncio.wait({subscription.task})
    assert server.hears(updated, request_id)
    assert server.open == []


async def test_an_acknowledgement_of_nothing_known_is_dropped(group, renewed):
    server = Server()
    subscription = subscribe(server, group, renewed)
    for params in ({}, {"_meta": {ID: "other"}, "notifications": {}}, {"_meta": 1}):
        assert server.listener.handle_notification(ACKNOWLEDGED, params)
    assert await subscription.honored == {"x": 1}
    subscription.close()


async def test_resources_that_cannot_be_followed_leave_those_followed_before(group):
    server = Server(asyncio.Event(), ConnectionLost("gone", server="s"))
    followed = listening(server, group)
    await followed.follow_resources(["a:1"], timeout_s=PATIENCE_S)
    with pytest.raises(ConnectionLost):
        await followed.follow_resources(["a:1", "a:2"], timeout_s=PATIENCE_S)
    assert server.open == ["listen-1"]
    await followed.follow_resources([], timeout_s=PATIENCE_S)
    await eventually(lambda: not server.open)
