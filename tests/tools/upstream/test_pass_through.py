"""Everything a server offers beside tools, in both eras, exactly as it sends it."""

import json
from typing import Any

import pytest

from tests.tools.upstream.conftest import (
    SOON,
    Person,
    curious,
    eventually,
    legacy,
    script,
    stateless,
)
from tests.upstream_calls import SOMEBODY, call_tool, make_caller, restart, send_request
from tools.upstream import changes
from tools.upstream.errors import UpstreamError, UpstreamRefused
from tools.upstream.limits import UpstreamLimits
from tools.upstream.pool import UpstreamPool
from tools.upstream.request import Downstream

INQUIRING = script("inquiring.py")


async def told(pool: UpstreamPool) -> Any:
    return json.loads((await call_tool(pool, "curious", "told", {})).raw["content"][0]["text"])


async def test_a_listing_holds_all_pages_with_every_field_and_says_what_is_wrong():
    async with UpstreamPool([curious()]) as pool:
        listing = await pool.list_items("curious", "resources", caller=SOMEBODY)
        prompts = await pool.list_items("curious", "prompts", caller=SOMEBODY)
    assert listing.items == tuple(
        {"uri": f"test://{n}", "name": f"n{n}", "size": None, "custom": [n]} for n in range(3)
    )
    assert listing.complete
    assert (
        listing.problems == ("a resource without a name is left out: uri: text is required",) * 3
    )
    assert prompts.items == ({"name": "greet"},)


async def test_a_server_need_not_know_templates_nor_what_it_does_not_offer():
    async with UpstreamPool([curious(), legacy()]) as pool:
        assert (await pool.list_items("curious", "templates", caller=SOMEBODY)).items == ()
        for kind in ("resources", "templates", "prompts"):
            assert (await pool.list_items("legacy", kind, caller=SOMEBODY)).items == ()
        assert json.loads(
            (await call_tool(pool, "legacy", "methods", {})).raw["content"][0]["text"]
        )[-1] == ("tools/call")


async def test_tools_are_asked_for_even_if_a_server_forgets_to_offer_them():
    async with UpstreamPool([curious("without=tools,prompts")]) as pool:
        assert len((await pool.list_tools("curious")).tools) > 0
        assert (await pool.list_items("curious", "prompts", caller=SOMEBODY)).items == ()


async def test_a_looping_listing_of_resources_is_cut():
    async with UpstreamPool([curious("pages=loop")]) as pool:
        listing = await pool.list_items("curious", "resources", caller=SOMEBODY)
    assert [item["uri"] for item in listing.items] == ["test://0", "test://1"]
    assert not listing.complete
    assert "the list of resources repeats a cursor" in listing.problems[-1]


async def test_capabilities_are_known_once_a_server_was_connected():
    async with UpstreamPool([curious()]) as pool:
        assert pool.get_capabilities("curious") is None
        await pool.warm_up()
        assert pool.get_capabilities("curious")["resources"] == {
            "subscribe": True,
            "listChanged": True,
        }
        await restart(pool, "curious")
        assert "prompts" in pool.get_capabilities("curious")


async def test_results_of_any_request_are_unchanged():
    async with UpstreamPool([curious()]) as pool:
        params, meta = {"uri": "test://1"}, {"traceparent": "00-1", "progressToken": "mine"}
        assert await send_request(pool, "curious", "resources/read", params, meta=meta) == {
            "contents": [{"uri": "test://1", "text": "x", "extra": None}],
            "meta": {"traceparent": "00-1"},
        }
        assert await send_request(
            pool, "curious", "prompts/get", {"name": "greet", "odd": None}
        ) == {
            "messages": [],
            "got": {"name": "greet", "odd": None},
        }
        argument = {"name": "n", "value": "v"}
        assert await send_request(
            pool, "curious", "completion/complete", {"argument": argument}
        ) == {"completion": {"values": ["v"]}}
        with pytest.raises(UpstreamRefused, match="Method not found"):
            await send_request(pool, "curious", "tasks/list", {})


async def test_a_legacy_server_is_subscribed_to_once_for_all_and_again_when_it_starts_again():
    updated = []
    async with UpstreamPool(
        [curious()], policy=SOON, on_updated=lambda *what: updated.append(what)
    ) as pool:
        one, two = (make_caller(name) for name in ("one", "two"))
        for who in (one, two):
            uri = {"uri": "test://1"}
            assert (
                await send_request(pool, "curious", "resources/subscribe", uri, caller=who) == {}
            )
        await send_request(pool, "curious", "resources/unsubscribe", uri, caller=one)
        said = [["notifications/resources/updated", uri]]
        await call_tool(pool, "curious", "say", {"notifications": said})
        await eventually(lambda: updated == [("curious", "test://1", {two.client_key})])
        assert (await told(pool))["followed"] == [["subscribe", "test://1"]]

        await restart(pool, "curious")
        await eventually(lambda: len(updated) == 2)  # it may have changed in between
        assert (await told(pool))["followed"] == [["subscribe", "test://1"]]

        await send_request(pool, "curious", "resources/unsubscribe", uri, caller=two)
        await call_tool(pool, "curious", "say", {"notifications": said})
        assert (await told(pool))["followed"][-1] == ["unsubscribe", "test://1"]
        assert len(updated) == 2


async def test_the_number_of_subscribed_resources_is_limited():
    async with UpstreamPool([curious()], limits=UpstreamLimits(max_subscriptions=1)) as pool:
        await send_request(pool, "curious", "resources/subscribe", {"uri": "test://1"})
        with pytest.raises(UpstreamError, match="unsubscribe from some"):
            await send_request(pool, "curious", "resources/subscribe", {"uri": "test://2"})


async def test_one_user_who_follows_as_much_as_they_may_leaves_room_for_the_others():
    clients = [make_caller("ann", f"client-{number}") for number in range(5)]
    async with UpstreamPool([curious()], limits=UpstreamLimits(max_subscriptions=4)) as pool:

        async def follow(caller, name):
            uri = {"uri": f"test://{name}"}
            await send_request(pool, "curious", "resources/subscribe", uri, caller=caller)

        for number, client in enumerate(clients[:2]):
            await follow(client, number)
        for number, client in enumerate(clients[2:], 2):
            with pytest.raises(UpstreamError, match="of 2 by you"):
                await follow(client, number)
        await follow(make_caller("bob"), "bobs")


async def test_a_modern_server_is_subscribed_to_by_listening():
    updated = []
    async with UpstreamPool([INQUIRING], on_updated=lambda *what: updated.append(what)) as pool:
        await call_tool(pool, "inquiring", "touch", {})
        for uri in ("test://clock", "test://other"):
            assert await send_request(pool, "inquiring", "resources/subscribe", {"uri": uri}) == {}
        await call_tool(pool, "inquiring", "touch", {})
        await eventually(lambda: updated == [("inquiring", "test://clock", {SOMEBODY.client_key})])
        await send_request(pool, "inquiring", "resources/unsubscribe", {"uri": "test://clock"})
        await send_request(pool, "inquiring", "resources/unsubscribe", {"uri": "test://other"})
        await call_tool(pool, "inquiring", "touch", {})
        assert len(updated) == 1


async def test_changes_of_all_kinds_of_lists_are_heard_in_both_eras(monkeypatch):
    monkeypatch.setattr(changes, "SETTLE_S", 0.01)
    changed = set()
    kinds = ("tools", "resources", "prompts")
    said = [[f"notifications/{kind}/list_changed", {}] for kind in kinds]
    async with UpstreamPool(
        [curious(), stateless()], on_changed=lambda *what: changed.add(what)
    ) as pool:
        await call_tool(pool, "curious", "say", {"notifications": said})
        await call_tool(pool, "stateless", "rearrange", {})
        expected = {("curious", kind) for kind in kinds}
        expected |= {("stateless", "resources"), ("stateless", "prompts")}
        await eventually(lambda: changed == expected)


async def test_a_modern_server_is_told_what_the_client_of_each_request_can_do():
    person = Person(capabilities={"elicitation": {"form": {}}, "roots": {}}, log_level="warning")
    async with UpstreamPool([stateless()]) as pool:
        meta = {"traceparent": "00-1", "progressToken": 7, "vendor/x": [1]}
        result = await call_tool(pool, "stateless", "meta", {}, meta=meta, **person.options)
        sent = json.loads(result.raw["content"][0]["text"])
        await call_tool(pool, "stateless", "complain", {}, **person.options)
    protocol = "io.modelcontextprotocol/"
    assert sent.pop(protocol + "clientInfo")["name"] == "foregate"
    assert sent.pop("progressToken") != 7
    assert sent == {
        "traceparent": "00-1",
        "vendor/x": [1],
        protocol + "protocolVersion": "2026-07-28",
        protocol + "clientCapabilities": {
            "elicitation": {"form": {}},
            "roots": {},
            "extensions": {protocol + "tasks": {}},
        },
        protocol + "logLevel": "warning",
    }
    assert person.told == [("notifications/message", {"level": "error", "data": "not fine"})]


async def test_a_modern_server_that_needs_input_gets_it_by_another_call():
    of = Downstream(capabilities={"elicitation": {"form": {}}})
    async with UpstreamPool([INQUIRING]) as pool:
        first = await call_tool(pool, "inquiring", "greet", {}, downstream=of)
        assert first.is_interim
        assert first.raw["resultType"] == "input_required"
        answers = {
            key: {"action": "accept", "content": {"name": "Ann"}}
            for key in first.raw["inputRequests"]
        }
        second = await call_tool(
            pool,
            "inquiring",
            "greet",
            {},
            downstream=of,
            input_responses=answers,
            request_state=first.raw["requestState"],
        )
    assert not second.is_interim
    assert second.raw["content"][0]["text"] == "hello Ann"
