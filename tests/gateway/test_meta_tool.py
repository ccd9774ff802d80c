"""All that a further meta-tool takes: here one is made, and served like the others."""

import pytest

from gateway_project.access.roles import SEARCH, require_scope
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.schema_parts import COUNT, TEXT, describe_object
from gateway_project.foundation.user_error import UserError
from gateway_project.mcp import meta_tools
from gateway_project.mcp.meta_tool import READ_ONLY, MetaTool
from gateway_project.mcp.results import build_structured_reply
from tests.gateway.catalogues import catalogue, tool
from tests.gateway.conftest import ERAS


class NothingToCount(UserError):
    """The server has no tool that the caller may use."""

    code = "nothing_to_count"


async def _count_tools(request, args):
    require_scope(request.caller, SEARCH)
    usable = request.effects.catalogue().list_usable(request.caller)
    count = sum(tool.server == args["server"] for tool in usable)
    if not count:
        raise NothingToCount(f"{args['server']} has none")
    return build_structured_reply({"count": count})


COUNT_TOOLS = MetaTool(
    name="count_tools",
    description="Count the tools of a server.",
    takes={"server": TEXT},
    requires=["server"],
    output_schema=describe_object({"count": COUNT}),
    annotations=READ_ONLY,
    serve=_count_tools,
)


@pytest.fixture(autouse=True)
def _with_the_tool(monkeypatch, world):
    monkeypatch.setitem(meta_tools.TOOLS, COUNT_TOOLS.name, COUNT_TOOLS)
    world.catalogue = catalogue(tool("s:a"), tool("s:b"), tool("theirs:c", team=7))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("exposure", ["meta", "full"])
async def test_it_is_listed_after_the_others(connect, world, era, exposure):
    world.exposure = exposure
    async with connect(era) as client:
        listed = (await client.list_tools()).tools[: len(meta_tools.TOOLS)]
    assert [one.name for one in listed][-2:] == ["give_feedback", "count_tools"]
    assert listed[-1].input_schema == {
        "type": "object",
        "properties": {"server": {"type": "string"}},
        "required": ["server"],
        "additionalProperties": False,
    }
    assert listed[-1].annotations.read_only_hint


@pytest.mark.parametrize("era", ERAS)
async def test_it_is_called(connect, era):
    async with connect(era) as client:
        result = await client.call_tool("count_tools", {"server": "s"})
        misspelt = await client.call_tool("count_tool", {"server": "s"})
    assert result.structured_content == {"count": 2}
    assert misspelt.content[0].text.endswith("did you mean count_tools?")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"server": ["s"]}, "invalid_arguments: invalid arguments for count_tools: server must"),
        ({}, "invalid_arguments: invalid arguments for count_tools: server is missing"),
        ({"server": "s", "more": 1}, "invalid_arguments: invalid arguments for count_tools: "),
        ({"server": "theirs"}, "nothing_to_count: theirs has none"),
    ],
)
async def test_what_its_caller_can_mend_is_told(connect, world, era, arguments, text):
    world.caller = Caller(user="ann", team=3, person=None, scopes=frozenset({SEARCH}), kind="http")
    async with connect(era) as client:
        result = await client.call_tool("count_tools", arguments)
    assert result.is_error
    assert result.content[0].text.startswith(text)


@pytest.mark.parametrize("era", ERAS)
async def test_it_asks_for_the_scope(connect, world, era):
    world.caller = Caller(user="ann", team=3, person=None, scopes=frozenset({"call"}), kind="http")
    async with connect(era) as client:
        result = await client.call_tool("count_tools", {"server": "s"})
    assert result.content[0].text.startswith("not_permitted: 'ann' lacks the scope 'search'")
