"""What clients are told of changes, in both eras."""

import asyncio

import mcp_types
import pytest
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError

from gateway_project.mcp import changes
from gateway_project.mcp.changes import ChangeHub
from tests.gateway.catalogues import catalogue, server, tool
from tests.patience import PATIENCE_S
from tools.upstream.errors import UpstreamRefused


@pytest.fixture
def world(world):
    world.exposure = "full"
    world.catalogue = catalogue(tool("a:x"), servers=(server("a"), server("c", team=7)))
    world.requests.lists = {("a", "resources"): [{"uri": "file:///x", "name": "x"}]}
    return world


class Heard:
    """Collects what a client of the handshake era is told."""

    def __init__(self):
        self.arrived = asyncio.Queue()

    async def __call__(self, message):
        if isinstance(message, mcp_types.Notification):
            self.arrived.put_nowait(message)

    async def next(self):
        async with asyncio.timeout(PATIENCE_S):
            return await self.arrived.get()


async def subscribe(client, uri):
    params = mcp_types.SubscribeRequestParams(uri=uri)
    request = mcp_types.SubscribeRequest(params=params)
    return await client.session.send_request(request, mcp_types.EmptyResult)


async def unsubscribe(client, uri):
    params = mcp_types.UnsubscribeRequestParams(uri=uri)
    request = mcp_types.UnsubscribeRequest(params=params)
    return await client.session.send_request(request, mcp_types.EmptyResult)


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("tools", "notifications/tools/list_changed"),
        ("prompts", "notifications/prompts/list_changed"),
        ("resources", "notifications/resources/list_changed"),
    ],
)
async def test_a_handshake_client_is_notified_of_changed_lists(connect, world, kind, method):
    heard = Heard()
    async with connect("legacy", message_handler=heard) as client:
        await client.list_prompts()
        world.readiness.notify_list_changed(kind)
        world.readiness.notify_list_changed(kind)
        assert (await heard.next()).method == method


async def test_a_listening_client_gets_the_notifications_it_asked_for(connect, world):
    async with connect("auto") as client:
        await client.list_prompts()
        async with client.listen(tools_list_changed=True, resources_list_changed=True) as stream:
            for kind in ("prompts", "tools", "resources"):
                world.readiness.notify_list_changed(kind)
            async with asyncio.timeout(PATIENCE_S):
                assert [await anext(stream), await anext(stream)] == [
                    ToolsListChanged(),
                    ResourcesListChanged(),
                ]


async def test_a_list_that_never_changes_is_never_announced(connect, world):
    world.exposure = "meta"
    async with connect("auto") as client:
        await client.list_prompts()
        async with client.listen(tools_list_changed=True, resources_list_changed=True) as stream:
            world.readiness.notify_list_changed("tools")
            world.readiness.notify_list_changed("resources")
            async with asyncio.timeout(PATIENCE_S):
                assert await anext(stream) == ResourcesListChanged()


@pytest.mark.parametrize("uri", ["file:///x", "foregate://a/file%3A%2F%2F%2Fx"])
async def test_an_update_is_announced_under_the_subscribed_uri(connect, world, uri):
    heard = Heard()
    async with connect("legacy", message_handler=heard) as client:
        await subscribe(client, uri)
        client_key = world.requests.made[0].caller.client_key
        world.readiness.notify_resource_updated("a", "file:///other", {client_key})
        world.readiness.notify_resource_updated("a", "file:///x", {client_key})
        assert (await heard.next()).params.uri == uri
        await unsubscribe(client, uri)
    made = [(made.method, made.params) for made in world.requests.made]
    assert made == [
        ("resources/subscribe", {"uri": "file:///x"}),
        ("resources/unsubscribe", {"uri": "file:///x"}),
    ]


async def test_an_update_from_another_callers_connection_is_not_announced(connect, world):
    heard = Heard()
    async with connect("legacy", message_handler=heard) as client:
        await subscribe(client, "file:///x")
        world.readiness.notify_resource_updated("a", "file:///x", {("another", None, None, "")})
        world.readiness.notify_list_changed("prompts")
        assert (await heard.next()).method == "notifications/prompts/list_changed"


async def test_subscriptions_of_a_disconnected_client_are_dropped(connect, world):
    async with connect("legacy") as client:
        await subscribe(client, "file:///x")
    assert [made.method for made in world.requests.made] == [
        "resources/subscribe",
        "resources/unsubscribe",
    ]


async def test_a_stream_announces_updates_and_unsubscribes_at_its_end(connect, world):
    async with connect("auto") as client:
        async with client.listen(
            resource_subscriptions=["file:///x", "foregate://c/team%3A", "nowhere:"]
        ) as stream:
            assert stream.honored.resource_subscriptions == ["file:///x"]
            client_key = world.requests.made[0].caller.client_key
            world.readiness.notify_resource_updated("a", "file:///x", {client_key})
            async with asyncio.timeout(PATIENCE_S):
                assert await anext(stream) == ResourceUpdated(uri="file:///x")
        await client.list_tools()
    assert [made.method for made in world.requests.made] == [
        "resources/subscribe",
        "resources/unsubscribe",
    ]


async def test_a_refused_subscription_is_reported(connect, world):
    async def refuse(requested):
        raise UpstreamRefused(server="a", rpc_code=-32601, rpc_message="no subscriptions")

    world.requests.answer = refuse
    async with connect("legacy") as client:
        with pytest.raises(MCPError, match="no subscriptions"):
            await subscribe(client, "file:///x")


async def test_too_many_followers_are_refused(monkeypatch):
    monkeypatch.setattr(changes, "MAX_FOLLOWERS", 1)
    following = ChangeHub()
    with (
        following.follow(print, {}, client=str),
        pytest.raises(MCPError, match="too many"),
        following.follow(print, {}, client=str),
    ):
        pass
