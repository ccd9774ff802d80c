"""What else passes between servers and clients amid a call: sampling, roots, addresses, logs."""

import mcp_types
import pytest
from mcp.shared.exceptions import MCPError

from tests.gateway.asking_servers import (
    CALL,
    Person,
    able,
    asks_in_the_middle,
    returns_what_it_needs,
    text,
)
from tests.gateway.catalogues import text_result
from tests.gateway.conftest import ERAS
from tools.upstream.errors import UpstreamRefused


@pytest.mark.parametrize("era", ERAS)
async def test_sampling_and_roots_pass_too(connect, world, era):
    sample = {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}],
        "maxTokens": 5,
    }

    async def sampled(_context, params):
        content = mcp_types.TextContent(type="text", text=params.messages[0].content.text + "!")
        return mcp_types.CreateMessageResult(role="assistant", content=content, model="m")

    async def roots(_context):
        return mcp_types.ListRootsResult(roots=[mcp_types.Root(uri="file:///work")])

    world.upstream.answer = asks_in_the_middle(
        ("sampling/createMessage", sample), ("roots/list", {})
    )
    async with connect(era, sampling_callback=sampled, list_roots_callback=roots) as client:
        result = text(await client.call_tool(*CALL))
    assert "Hi!" in result
    assert "file:///work" in result


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", ["handshake", "stateless"])
async def test_visits_to_an_address_pass_between_the_eras(connect, world, era, server):
    visit = {"mode": "url", "message": "Sign in", "url": "https://example.com/in"}
    person = Person()
    if server == "handshake":
        visit["elicitationId"] = "e1"
        world.upstream.answer = asks_in_the_middle(("elicitation/create", visit))
    else:
        requests = {"who": {"method": "elicitation/create", "params": visit}}
        world.upstream.answer = returns_what_it_needs(requests=requests)
    async with able(connect, era, person) as client:
        assert "accept" in text(await client.call_tool(*CALL))
    assert person.asked[0].url == "https://example.com/in"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", ["handshake", "stateless"])
@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "file:///etc/passwd", " https://x.y", None]
)
async def test_url_elicitation_allows_only_web_addresses(connect, world, era, server, url):
    visit = {"mode": "url", "message": "Sign in", "url": url, "elicitationId": "e1"}
    if server == "handshake":
        world.upstream.answer = asks_in_the_middle(("elicitation/create", visit))
    else:
        requests = {"who": {"method": "elicitation/create", "params": visit}}
        world.upstream.answer = returns_what_it_needs(requests=requests)
    person = Person()
    async with able(connect, era, person) as client:
        assert (await client.call_tool(*CALL)).is_error
    assert person.asked == []


async def test_the_url_elicitation_error_passes_to_clients_that_support_it(connect, world):
    data = {
        "elicitations": [
            {"mode": "url", "message": "m", "url": "https://x.y", "elicitationId": "1"}
        ]
    }

    async def answer(called, _progress):
        if len(world.upstream.calls) % 2:
            raise UpstreamRefused(server="git", rpc_code=-32042, rpc_message="visit", data=data)
        assert called.input_responses is None
        return text_result("in")

    world.upstream.answer = answer
    person = Person()
    async with able(connect, "auto", person) as client:
        assert text(await client.call_tool(*CALL)) == "in"
    assert person.asked[0].url == "https://x.y"
    async with able(connect, "legacy") as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool(*CALL)
    (visit,) = refused.value.data["elicitations"]
    assert (refused.value.code, visit["message"]) == (-32042, "git asks: m")
    assert (visit["url"], visit["_meta"]) == ("https://x.y", {"foregate/server": "git"})


@pytest.mark.filterwarnings("ignore:The logging capability")
@pytest.mark.parametrize("era", ERAS)
async def test_log_messages_reach_a_subscribed_client(connect, world, era):
    heard = []

    async def hear(params):
        heard.append((params.level, params.data))

    wanted = []

    async def answer(called, _progress):
        wanted.append(level := called.downstream.log_level)
        if level is not None:
            note = {"level": level, "data": {"x": None}}
            await called.downstream.tell("notifications/message", note)
        await called.downstream.tell("notifications/tools/list_changed", {})
        return text_result("done")

    world.upstream.answer = answer
    async with connect(era, logging_callback=hear) as client:
        await client.call_tool(*CALL)
        if era == "legacy":
            await client.session.set_logging_level("error")
            await client.call_tool(*CALL)
    if era == "legacy":
        assert wanted == ["info", "error"]
        assert heard == [(level, {"x": None}) for level in wanted]
    else:
        assert (wanted, heard) == ([None], [])  # it says with each request what it wants
