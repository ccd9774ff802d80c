"""What a token may ask for that lacks a scope: what belongs to a session needs none."""

import pytest
from mcp.shared.exceptions import MCPError

from gateway_project.foundation.caller import Caller
from tests.gateway.catalogues import catalogue, server, tool
from tests.gateway.conftest import ERAS

pytestmark = pytest.mark.filterwarnings("ignore:The logging capability")


@pytest.fixture
def world(world):
    """Two running servers that log."""
    world.catalogue = catalogue(tool("a:x"), servers=(server("a"), server("b")))
    world.requests.able = {"a": {"logging": {}}, "b": {"logging": {}}}
    return world


def caller(*scopes: str) -> Caller:
    return Caller(user="ann", team=None, person=None, scopes=frozenset(scopes), kind="http")


async def test_any_token_may_set_the_log_level_of_its_session(connect, world):
    world.caller = caller()
    async with connect("legacy") as client:
        await client.session.set_logging_level("error")
    assert world.requests.made == [], "servers are sent it with the client's own requests"


@pytest.mark.parametrize("era", ERAS)
async def test_without_the_scope_read_a_session_opens_and_its_lists_are_empty(connect, world, era):
    world.caller = caller("search", "call")
    async with connect(era) as client:
        assert (await client.list_tools()).tools
        assert (await client.list_resources()).resources == []
        assert (await client.list_resource_templates()).resource_templates == []
        assert (await client.list_prompts()).prompts == []
        with pytest.raises(MCPError, match="not_permitted: 'ann' may not read"):
            await client.read_resource("foregate://a/x")
