"""Pages of servers (MCP Apps): how clients see them, and which tools are whose."""

import pytest
from mcp.client.extension import advertise
from mcp.shared.exceptions import MCPError

from gateway_project.foundation.caller import Caller
from gateway_project.mcp import meta_tools
from gateway_project.mcp.results import ERROR_KEY
from tests.gateway.catalogues import catalogue, server, tool
from tests.gateway.conftest import ERAS, hit
from tools.pinned_content import ContentUnavailable
from tools.upstream.result import UpstreamResult

pytestmark = pytest.mark.parametrize("era", ERAS)
PAGE = "ui://clock/face.html"
SHOWN = "ui://foregate/clock/clock%2Fface.html"
MIME_TYPE = "text/html;profile=mcp-app"
HOST = [advertise("io.modelcontextprotocol/ui", {"mimeTypes": [MIME_TYPE]})]
CSP = {"csp": {"connectDomains": ["https://time.example"]}}


def of_page(**ui):
    return {"_meta": {"ui": {"resourceUri": PAGE, **ui}, "ui/resourceUri": PAGE}}


@pytest.fixture
def world(world):
    """A server with a page, one with another, and one without any."""
    world.exposure = "full"
    world.catalogue = catalogue(
        tool("clock:tell", extras=of_page(), read_doubt=""),
        tool("clock:set", extras=of_page(visibility=["app"])),
        tool("clock:think", extras={"_meta": {"ui": {"visibility": ["model"]}}}),
        tool("clock:broken", extras=of_page(), state="quarantined"),
        tool("map:tell", extras=of_page(visibility=["model"])),
        tool("map:draw", extras=of_page()),
        tool("bank:pay"),
        servers=(server("bank"), server("clock", unprefixed=False)),
    )
    world.requests.lists = {
        ("clock", "resources"): [{"uri": PAGE, "name": "face", "_meta": {"ui": CSP}}]
    }

    async def read(requested):
        content = {"uri": requested.params["uri"], "mimeType": MIME_TYPE, "text": "<p>"}
        return {"contents": [content]}

    world.requests.answer = read
    return world


def code(result):
    return result.meta[ERROR_KEY]["code"]


async def test_tools_name_their_page_as_hosts_take_it_and_say_who_may_call_them(
    connect, world, era
):
    async with connect(era, extensions=HOST) as client:
        listed = {one.name: one.meta for one in (await client.list_tools()).tools}
    assert listed["clock__tell"] == {"ui": {"resourceUri": SHOWN}, "ui/resourceUri": SHOWN}
    assert listed["clock__set"]["ui"] == {"resourceUri": SHOWN, "visibility": ["app"]}
    for name in (*meta_tools.TOOLS, "bank__pay", "clock__think"):
        assert listed[name]["ui"] == {"visibility": ["model"]}
    assert "clock__broken" not in listed


async def test_a_client_that_shows_no_pages_never_hears_of_tools_for_them(connect, world, era):
    async with connect(era) as client:
        listed = {one.name: one.meta for one in (await client.list_tools()).tools}
        called = await client.call_tool("clock__set", {})
    assert "clock__set" not in listed
    assert listed["bank__pay"] is None
    assert (code(called), world.upstream.calls) == ("tool_unavailable", [])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("call_tool", {"tool": "clock:set"}),
        ("read_tool", {"tool": "clock__set"}),
        ("describe_tool", {"tool": "clock:set"}),
    ],
)
async def test_no_meta_tool_reaches_what_is_for_pages(connect, world, era, name, arguments):
    async with connect(era, extensions=HOST) as client:
        result = await client.call_tool(name, arguments)
    assert (code(result), world.upstream.calls) == ("tool_unavailable", [])


async def test_no_workflow_reaches_what_is_for_pages(connect, world, era):
    tasks = [{"id": "a", "tool": "clock:set", "arguments": {}}]
    async with connect(era, extensions=HOST) as client:
        result = await client.call_tool("run_workflow", {"workflow": {"tasks": tasks}})
    assert code(result) == "workflow_not_runnable"
    assert "is for the pages of its server" in result.content[0].text


@pytest.mark.parametrize("exposure", ["full", "hybrid", "meta"])
async def test_a_page_calls_tools_by_the_names_of_its_server(connect, world, era, exposure):
    world.exposure = exposure
    async with connect(era, extensions=HOST) as client:
        assert not (await client.call_tool("set", {})).is_error
        assert not (await client.call_tool("tell", {})).is_error
        refused = [await client.call_tool(name, {}) for name in ("pay", "think", "broken")]
    assert [call.tool for call in world.upstream.calls] == ["set", "tell"]
    assert [code(one) for one in refused] == ["unknown_tool"] * 3


async def test_a_name_of_two_servers_with_pages_is_nobody_s(connect, world, era):
    world.catalogue = catalogue(
        *(tool(f"{name}:tell", extras=of_page()) for name in ("clock", "map"))
    )
    async with connect(era, extensions=HOST) as client:
        result = await client.call_tool("tell", {})
    assert "several servers with pages have one: clock, map" in result.content[0].text
    assert world.upstream.calls == []


async def test_a_server_of_another_team_makes_no_name_ambiguous(connect, world, era):
    tools = [tool("clock:tell", extras=of_page()), tool("map:tell", extras=of_page(), team=7)]
    world.catalogue = catalogue(*tools, servers=(server("map", team=7),))
    async with connect(era, extensions=HOST) as client:
        assert not (await client.call_tool("tell", {})).is_error
    assert [call.server for call in world.upstream.calls] == ["clock"]


async def test_a_page_of_another_team_s_server_is_neither_called_nor_read(connect, world, era):
    tools = [tool("clock:tell", extras=of_page(), team=7)]
    world.catalogue = catalogue(*tools, servers=(server("clock", team=7),))
    async with connect(era, extensions=HOST) as client:
        assert code(await client.call_tool("tell", {})) == "unknown_tool"
        with pytest.raises(MCPError, match="unknown_resource"):
            await client.read_resource(SHOWN)
    assert world.requests.made == []


async def test_who_may_not_read_gets_no_page(connect, world, era):
    world.caller = Caller(
        user="a", team=None, person=None, scopes=frozenset({"call"}), kind="stdio"
    )
    async with connect(era, extensions=HOST) as client:
        with pytest.raises(MCPError, match="not_permitted"):
            await client.read_resource(SHOWN)
    assert world.requests.made == []


@pytest.mark.parametrize("uri", [SHOWN, PAGE])
async def test_a_page_is_read_as_pinned_with_the_sandbox_it_asks_for(connect, world, era, uri):
    async with connect(era, extensions=HOST) as client:
        (content,) = (await client.read_resource(uri)).contents
    assert (content.uri, content.text, content.meta) == (uri, "<p>", {"ui": CSP})
    ((name, own, page),) = world.admitted_pages
    assert (name, own, page["contents"][0]["_meta"]) == ("clock", PAGE, {"ui": CSP})


async def test_a_page_that_is_not_as_pinned_is_not_handed_out(connect, world, era):
    world.page_error = ContentUnavailable("page", "clock", "x", "changed")
    async with connect(era, extensions=HOST) as client:
        with pytest.raises(MCPError, match="page_unavailable: page 'x'") as caught:
            await client.read_resource(PAGE)
    assert caught.value.error.data[ERROR_KEY]["code"] == "page_unavailable"


async def test_pages_are_listed_under_one_name_whatever_their_server_s_prefix(connect, world, era):
    world.catalogue = catalogue(tool("clock:tell"), servers=(server("clock", unprefixed=True),))
    async with connect(era) as client:
        (listed,) = (await client.list_resources()).resources
    assert (listed.uri, listed.meta) == (SHOWN, {"ui": CSP})


async def test_the_result_of_a_meta_tool_names_the_page_of_the_tool_that_was_called(
    connect, world, era
):
    world.exposure = "meta"
    async with connect(era, extensions=HOST) as client:
        for name in ("call_tool", "read_tool"):
            result = await client.call_tool(name, {"tool": "clock:tell"})
            assert result.meta["ui"] == {"resourceUri": SHOWN}
        assert "ui" not in (await client.call_tool("call_tool", {"tool": "bank:pay"})).meta
    async with connect(era) as client:
        assert "ui" not in (await client.call_tool("call_tool", {"tool": "clock:tell"})).meta


async def test_a_page_that_a_result_names_itself_goes_before_its_tool_s(connect, world, era):
    async def answer(_called, _progress):
        meta = {"ui": {"resourceUri": "ui://clock/other.html"}}
        return UpstreamResult(raw={"content": [], "_meta": meta})

    world.upstream.answer = answer
    other = {"resourceUri": "ui://foregate/clock/clock%2Fother.html"}
    async with connect(era, extensions=HOST) as client:
        listed = await client.call_tool("clock__tell", {})
        meta_tool = await client.call_tool("call_tool", {"tool": "clock:tell"})
    assert listed.meta["ui"] == meta_tool.meta["ui"] == other


async def test_clients_hear_that_the_gateway_knows_of_pages(connect, world, era):
    async with connect(era) as client:
        declared = client.server_capabilities.model_dump(by_alias=True)
    assert declared["extensions"]["io.modelcontextprotocol/ui"] == {}


async def test_no_search_finds_what_is_for_pages(connect, world, era):
    world.hits = tuple(hit(name) for name in ("clock:set", "clock:tell"))
    async with connect(era) as client:
        found = (await client.call_tool("search_tools", {"query": "clock"})).structured_content
    assert [one["tool"] for one in found["tools"]] == ["clock:tell"]
