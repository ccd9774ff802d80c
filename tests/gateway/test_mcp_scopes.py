"""What a token may ask for that lacks a scope: what belongs to a session needs none."""

import pytest

from gateway_project.foundation.caller import Caller
from tests.gateway.catalogues import catalogue, server, tool

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
