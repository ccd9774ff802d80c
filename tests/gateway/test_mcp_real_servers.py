"""The four combinations of eras with servers in processes of their own."""

import sys
from pathlib import Path

import pytest
from mcp_types import ElicitResult

from tests.fakes import FakePins
from tests.gateway.catalogues import catalogue, server, tool
from tests.gateway.conftest import ERAS
from tests.patience import PATIENCE_S
from tools.pinned_upstream import PinnedUpstream
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec

SCRIPT = Path(__file__).parent.parent / "servers" / "asks.py"
SERVERS = ("handshake", "stateless")
ABLE = frozenset({"prompts", "resources", "tools"})


def spec(era):
    return ServerSpec(
        name=era,
        command=sys.executable,
        args=("-I", "-S", str(SCRIPT), era),
        env={},
        connect_timeout_s=PATIENCE_S,
        call_timeout_s=PATIENCE_S,
    )


@pytest.fixture
async def world(world):
    world.exposure = "full"
    world.catalogue = catalogue(
        *(tool(f"{era}:greet") for era in SERVERS),
        servers=tuple(server(era, capabilities=ABLE) for era in SERVERS),
    )
    async with UpstreamPool([spec(era) for era in SERVERS]) as pool:
        world.requests = pool
        world.upstream = approving(pool)
        yield world


def approving(pool):
    """Take whatever the servers list as what was approved."""
    pinned = PinnedUpstream(pool, catalogue=FakePins, on_changed=lambda _: None)
    pinned._is_as_pinned = lambda *_: True
    return pinned


async def ada(_context, _params):
    return ElicitResult(action="accept", content={"name": "Ada"})


@pytest.mark.parametrize("behind", SERVERS)
@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_a_prompt_and_a_resource_ask_their_user(connect, world, era, behind):
    async with connect(era, elicitation_callback=ada) as client:
        result = await client.call_tool(f"{behind}__greet", {})
        assert result.content[0].text == "Hello Ada"
        prompt = await client.get_prompt(f"{behind}__greeting")
        assert prompt.messages[0].content.text == "Hello Ada"
        listed = await client.list_resources()
        uri = next(item.uri for item in listed.resources if behind in item.uri)
        resource = await client.read_resource(uri)
        assert resource.contents[0].text == "Hello Ada"


@pytest.mark.parametrize("behind", SERVERS)
@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_cannot_be_asked_gets_an_error_at_once(connect, world, era, behind):
    async with connect(era) as client:
        result = await client.call_tool(f"{behind}__greet", {})
    assert result.is_error
    assert "elicitation" in result.content[0].text


@pytest.mark.parametrize("era", ERAS)
async def test_lists_hold_what_all_servers_offer(connect, world, era):
    async with connect(era) as client:
        prompts = (await client.list_prompts()).prompts
        templates = (await client.list_resource_templates()).resource_templates
    assert [item.name for item in prompts] == ["handshake__greeting", "stateless__greeting"]
    assert len(templates) == 2
