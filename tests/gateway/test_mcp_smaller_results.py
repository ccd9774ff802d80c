"""Results cut to what a client asks for, with a link to all of them."""

import json

import pytest

from gateway_project.mcp.results import ERROR_KEY
from tests.gateway.conftest import ERAS
from tools.upstream.result import UpstreamResult

ROWS = {"rows": [{"id": number, "name": "n" * 40} for number in range(100)]}
PICTURE = {"type": "image", "mimeType": "image/png", "data": "iVBO"}


def text(result):
    return result.content[0].text


@pytest.fixture
def give(world):
    """Have the server answer with a result."""
    world.result_link_bytes = 1_000_000

    def give(raw):
        async def answer(_called, _progress):
            return UpstreamResult(raw=raw)

        world.upstream.answer = answer

    return give


async def call(client, name="call_tool", **values):
    arguments = {"tool": "time:get_current_time", "arguments": {}, **values}
    return await client.call_tool(name, arguments)


async def read_link(client, result):
    (link,) = [block for block in result.content if block.type == "resource_link"]
    return json.loads((await client.read_resource(link.uri)).contents[0].text)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("form", ["structured", "text"])
async def test_a_part_is_selected_and_all_of_it_linked(connect, give, era, form):
    raw = {"content": [{"type": "text", "text": json.dumps(ROWS)}, PICTURE], "_meta": {"a": 1}}
    give({**raw, "structuredContent": ROWS} if form == "structured" else raw)
    async with connect(era) as client:
        result = await call(client, select="rows[?id > `97`].id")
        assert text(result) == "[98,99]"
        assert [block.type for block in result.content] == ["text", "resource_link"]
        assert (result.structured_content, result.meta["a"]) == (None, 1)
        whole = await read_link(client, result)
        assert whole["content"] == raw["content"]
        assert text(await call(client, select="rows[0].name")) == "n" * 40
        assert text(await call(client, select="nothing")) == "null"


@pytest.mark.parametrize("era", ERAS)
async def test_a_text_is_cut_to_its_tokens(connect, give, era):
    raw = {"content": [{"type": "text", "text": "word " * 1_000}, PICTURE]}
    give(raw)
    async with connect(era) as client:
        result = await call(client, max_tokens=100)
        assert 380 <= len(text(result)) <= 440  # a token has four characters here
        assert text(result).endswith("cut to 100 tokens.")
        assert [block.type for block in result.content] == ["text", "image", "resource_link"]
        assert await read_link(client, result) == raw
        selected = await call(client, select="@", max_tokens=10)
        assert len(text(selected)) < 80


@pytest.mark.parametrize("values", [{}, {"max_tokens": 100_000}])
async def test_a_result_that_fits_is_sent_as_it_is(connect, give, world, values):
    raw = {"content": [{"type": "text", "text": "a"}, PICTURE], "structuredContent": ROWS}
    give(raw)
    async with connect("auto") as client:
        result = await call(client, **values)
    assert result.structured_content == ROWS
    assert [block.type for block in result.content] == ["text", "image"]
    assert not (world.home / "results").exists()


async def test_a_server_s_error_is_told_in_full(connect, give):
    give({"content": [{"type": "text", "text": "it failed " * 50}], "isError": True})
    async with connect("auto") as client:
        result = await call(client, select="a", max_tokens=1)
    assert text(result) == "it failed " * 50


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"select": "rows["}, "select must be a JMESPath expression"),
        ({"select": ""}, "select must be a JMESPath expression"),
        ({"max_tokens": 0}, "max_tokens must be 1 or more"),
    ],
)
@pytest.mark.parametrize("name", ["call_tool", "read_tool"])
async def test_what_is_wrong_is_said_before_the_call(connect, world, era, values, why, name):
    async with connect(era) as client:
        result = await call(client, name, **values)
    assert result.meta[ERROR_KEY]["code"] == "invalid_arguments"
    assert why in text(result)
    assert world.upstream.calls == []


async def test_a_result_that_the_expression_does_not_fit_is_not_lost(connect, give):
    give({"content": [{"type": "text", "text": '{"rows": 5}'}]})
    async with connect("auto") as client:
        result = await call(client, select="sum(rows)")
        assert "`select` was not applied" in text(result)
        assert '{"rows": 5}' in text(result)
        assert (await read_link(client, result))["content"][0]["text"] == '{"rows": 5}'
