import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPError

from gateway_project.mcp import large_results
from tests.gateway.catalogues import catalogue, tool
from tests.gateway.conftest import ERAS
from tools.upstream.result import UpstreamResult

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=30,
)
RAW = {
    "content": [{"type": "text", "text": "word\u202e " * 1_000}, {"type": "text", "text": "end"}],
    "structuredContent": {"a": None},
    "_meta": {"theirs": 1},
    "x": [1.5],
}


@pytest.fixture
def world(world):
    world.result_link_bytes = 2_000
    world.exposure = "full"
    world.raw = RAW

    async def answer(_called, _progress):
        return UpstreamResult(raw=world.raw)

    world.upstream.answer = answer
    schema = {"type": "object"}
    world.catalogue = catalogue(tool("git:log"), tool("git:typed", output_schema=schema))
    return world


@given(VALUES)
def test_the_size_estimate_is_at_most_twice_the_sent_size(value):
    size = len(
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "surrogatepass"
        )
    )
    assert not large_results.exceeds_bytes(value, 2 * size + 2)


def test_the_size_estimate_counts_bytes_up_to_the_limit():
    assert large_results.exceeds_bytes({"a": "ä" * 100}, 150)
    assert not large_results.exceeds_bytes({"a": "a" * 100}, 150)
    assert large_results.exceeds_bytes([[]] * 1_000_000, 100)
    assert large_results.exceeds_bytes({"a" * 200: 1}, 150)


@pytest.mark.parametrize("era", ERAS)
async def test_a_large_result_is_linked_to_and_read_whole(connect, world, era):
    async with connect(era) as client:
        result = await client.call_tool("call_tool", {"tool": "git:log"})
        note, link = result.content
        assert note.text.startswith("This result has ")
        assert "it begins:\n\nword word" in note.text
        assert len(note.text) < 2_500
        assert result.structured_content is None
        assert result.meta["theirs"] == 1
        assert result.meta["foregate/result"]["uri"] == link.uri
        assert result.meta["foregate/call"]["tool"] == "git:log"
        read = await client.read_resource(link.uri)
        (content,) = read.contents
        assert json.loads(content.text) == RAW
        assert len(content.text.encode()) == link.size
        with pytest.raises(MCPError, match="unknown_result"):
            await client.read_resource(link.uri[:-1] + "_")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("scope", "may"), [("search", False), ("read", False), ("call", True)])
async def test_reading_a_stored_result_requires_the_call_scope(connect, world, era, scope, may):
    async with connect(era) as client:
        link = (await client.call_tool("call_tool", {"tool": "git:log"})).content[1]
    world.caller = replace(world.caller, scopes=frozenset({scope}))
    async with connect(era) as client:
        if may:
            assert json.loads((await client.read_resource(link.uri)).contents[0].text) == RAW
        else:
            with pytest.raises(MCPError, match=r"not_permitted: .* the scope 'call'"):
                await client.read_resource(link.uri)


@pytest.mark.parametrize("era", ERAS)
async def test_an_error_stays_an_error(connect, world, era):
    world.raw = {
        "content": [{"type": "text", "text": "A" * 5_000}],
        "isError": True,
    }
    async with connect(era) as client:
        result = await client.call_tool("git__log", {})
    assert result.is_error
    assert result.content[1].type == "resource_link"


def picture(characters):
    return {"type": "image", "data": "iVBO" * (characters // 4), "mimeType": "image/png"}


BLOB = {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "JVBE" * 3_000_000}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", ["git__log", "call_tool"])
async def test_pictures_are_sent_as_pictures(connect, world, era, name):
    world.raw = {"content": [{"type": "text", "text": "x"}, picture(3_000_000)]}
    async with connect(era) as client:
        arguments = {"tool": "git:log"} if name == "call_tool" else {}
        result = await client.call_tool(name, arguments)
    assert [block.type for block in result.content] == ["text", "image"]
    assert len(result.content[1].data) == 3_000_000


@pytest.mark.parametrize(
    ("era", "block", "mime_type"),
    [
        ("auto", picture(6_000_000), "image/png"),
        ("legacy", {**picture(6_000_000), "type": "audio", "mimeType": "audio/wav"}, "audio/wav"),
        ("auto", {"type": "resource", "resource": BLOB}, "application/pdf"),
        (
            "legacy",
            {"type": "resource", "resource": {**BLOB, "mimeType": None}},
            "application/octet-stream",
        ),
    ],
)
async def test_the_link_to_a_blob_too_large_leads_to_the_blob(
    connect, world, era, block, mime_type
):
    world.raw = {"content": [{"type": "text", "text": "x"}, block, picture(4)]}
    async with connect(era) as client:
        result = await client.call_tool("call_tool", {"tool": "git:log"})
        text, link, small = result.content
        assert (text.text, link.type, link.mime_type) == ("x", "resource_link", mime_type)
        assert small.type == "image"
        (read,) = (await client.read_resource(link.uri)).contents
    assert read.mime_type == mime_type
    assert read.blob == block.get("data", BLOB["blob"])
    assert link.size == len(read.blob) // 4 * 3


async def test_beside_a_long_text_a_picture_is_still_sent(connect, world):
    world.raw = {"content": [{"type": "text", "text": "A" * 5_000}, picture(8_000)]}
    async with connect("auto") as client:
        result = await client.call_tool("call_tool", {"tool": "git:log"})
    assert [block.type for block in result.content] == ["text", "resource_link", "image"]


async def test_the_blobs_of_an_answer_are_bounded_together(connect, world):
    world.raw = {"content": [picture(4_800_000) for _ in range(5)]}
    async with connect("auto") as client:
        result = await client.call_tool("call_tool", {"tool": "git:log"})
    assert [block.type for block in result.content] == ["image"] * 3 + ["resource_link"] * 2


async def test_a_client_known_to_take_less_is_sent_links(connect, world, monkeypatch):
    monkeypatch.setattr(
        "gateway_project.mcp.client_state.read_client_name", lambda _ctx: "claude-ai"
    )
    world.raw = {"content": [picture(700_000), picture(400_000)]}
    async with connect("auto") as client:
        result = await client.call_tool("call_tool", {"tool": "git:log"})
    assert [block.type for block in result.content] == ["image", "resource_link"]


@pytest.mark.parametrize("era", ERAS)
async def test_where_clients_check_structured_content_it_is_sent_whole(connect, world, era):
    async with connect(era) as client:
        result = await client.call_tool("git__typed", {})
        assert result.structured_content == {"a": None}
        assert len((await client.call_tool("call_tool", {"tool": "git:typed"})).content) == 2


async def test_it_can_be_switched_off(connect, world):
    world.result_link_bytes = 0
    async with connect("auto") as client:
        assert (await client.call_tool("git__log", {})).content[1].text == "end"


async def test_without_disk_space_the_result_is_sent_inline(connect, world):
    world.home.joinpath("results").write_text("in the way")
    async with connect("auto") as client:
        assert (await client.call_tool("git__log", {})).content[1].text == "end"
