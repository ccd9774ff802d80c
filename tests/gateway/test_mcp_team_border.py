"""Two teams over MCP: whatever is asked, another team's server is as unknown as none."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference

from gateway_project.foundation.caller import Caller
from gateway_project.mcp import handlers, meta_tools
from tests.gateway.catalogues import catalogue, server, tool
from tests.gateway.conftest import hit
from tests.gateway.meta_requests import list_requests
from tools import mcp_tasks, skills

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
OURS, THEIRS = 3, 7
FOREIGN, UNKNOWN = "bravo", "omega"

METHODS: Final[dict[str, Any]] = {
    "tools/list": lambda c, _: c.list_tools(),
    "tools/call": lambda c, name: c.call_tool(f"{name}__notes", {}),
    "resources/list": lambda c, _: c.list_resources(),
    "resources/templates/list": lambda c, _: c.list_resource_templates(),
    "prompts/list": lambda c, _: c.list_prompts(),
    "resources/read": lambda c, name: c.read_resource(f"foregate://{name}/note%3A%2F%2F%2F"),
    "prompts/get": lambda c, name: c.get_prompt(f"{name}__greet", {}),
    "completion/complete": lambda c, name: c.complete(
        PromptReference(type="ref/prompt", name=f"{name}__greet"), {"name": "a", "value": "b"}
    ),
    "logging/setLevel": lambda c, _: c.set_logging_level("error"),
    "resources/subscribe": lambda c, name: c.subscribe_resource(
        f"foregate://{name}/note%3A%2F%2F%2F"
    ),
    "resources/unsubscribe": lambda c, name: c.unsubscribe_resource(
        f"foregate://{name}/note%3A%2F%2F%2F"
    ),
}
"""How each method is asked for something of a server."""
ELSEWHERE: Final = frozenset(
    [
        "subscriptions/listen",
        *mcp_tasks.TASK_METHODS,
        *(skills.LIST_METHOD, skills.GET_METHOD, skills.DIRECTORY_METHOD),
    ]
)
"""Methods tried by tests of their own: what has changed by test_mcp_changes.py, tasks, whose ids
are sealed for their caller, by test_mcp_server_tasks.py, and skills by test_mcp_skills.py."""


@pytest.fixture
def world(world):
    """A server of all teams, and one of another team, with everything."""
    lists = {
        "resources": [{"uri": "note:///", "name": "note"}],
        "templates": [{"uriTemplate": "note:///{name}", "name": "t"}],
        "prompts": [{"name": "greet", "arguments": [{"name": "a"}]}],
    }
    for name in ("shared", FOREIGN):
        world.requests.able[name] = {
            "resources": {"subscribe": True}, "prompts": {}, "completions": {}, "logging": {}
        }  # fmt: skip
        for kind, items in lists.items():
            world.requests.lists[name, kind] = items
    world.hits = (hit(f"{FOREIGN}:notes", 0.9), hit("shared:read", 0.4))
    world.exposure = "full"
    world.caller = Caller(
        user="ann",
        team=OURS,
        person=None,
        scopes=frozenset({"search", "call", "read"}),
        kind="http",
    )
    fill(world, with_foreign=True)
    return world


def fill(world, *, with_foreign):
    tools, servers = [tool("shared:read", description="Read notes.")], [server("shared")]
    if with_foreign:
        notes = f"{FOREIGN}:notes"
        tools.append(tool(notes, description="Read bravo notes.", team=THEIRS))
        servers.append(server(FOREIGN, team=THEIRS))
    world.catalogue = catalogue(*tools, servers=tuple(servers))


async def ask(request):
    """Return what is answered, or the error, as text."""
    try:
        return str(await request)
    except MCPError as error:
        return f"{error.error.code} {error.error.message}"


def normalize(text, name):
    """Return an answer without what differs from request to request."""
    return re.sub(r"[0-9a-f]{16}", "", text.replace(name, "X"))


def test_every_method_is_tried():
    assert set(METHODS) | ELSEWHERE == set(handlers._METHOD_HANDLERS)


@pytest.mark.parametrize("method", METHODS)
async def test_a_method_knows_nothing_of_another_team_s_server(connect, world, method):
    make_request = METHODS[method]
    async with connect("legacy") as client:
        foreign = await ask(make_request(client, FOREIGN))
        unknown = await ask(make_request(client, UNKNOWN))
    assert normalize(foreign, FOREIGN) == normalize(unknown, UNKNOWN)
    assert FOREIGN not in {one.server for one in world.requests.made}
    assert FOREIGN not in {name for name, _ in world.requests.listed}
    if method.endswith("/list"):
        assert FOREIGN not in foreign
        assert "shared" in foreign


@pytest.mark.parametrize("name", meta_tools.TOOLS)
async def test_a_meta_tool_knows_nothing_of_another_team_s_tool(connect, world, name):
    asked = [list_requests(meta_tools.TOOLS[name], f"{one}:notes") for one in (FOREIGN, UNKNOWN)]
    async with connect("legacy") as client:
        for of_foreign, of_unknown in zip(*asked, strict=True):
            foreign = await ask(client.call_tool(name, of_foreign))
            unknown = await ask(client.call_tool(name, of_unknown))
            assert normalize(foreign, FOREIGN) == normalize(unknown, UNKNOWN)
            assert f"Read {FOREIGN} notes." not in foreign
    assert FOREIGN not in {one.server for one in world.requests.made}


@pytest.mark.parametrize("method", [name for name in METHODS if name.endswith("/list")])
async def test_a_list_is_that_of_an_installation_without_the_other_team(connect, world, method):
    async with connect("legacy") as client:
        beside = await ask(METHODS[method](client, FOREIGN))
    fill(world, with_foreign=False)
    async with connect("legacy") as client:
        alone = await ask(METHODS[method](client, FOREIGN))
    assert beside == alone
