"""Which tools a client is shown where the exposure is chosen for it."""

import asyncio
from collections import OrderedDict

import mcp_types
import pytest
from mcp_types import Implementation

from gateway_project.mcp import exposure, handlers, meta_tools
from gateway_project.mcp import server as mcp_server
from gateway_project.mcp.runtime import PreparedRuntime
from tests.gateway.catalogues import catalogue, tool
from tests.gateway.conftest import ADMIN, ERAS, connected
from tests.patience import PATIENCE_S

CLAUDE = Implementation(name="claude-code", version="2.1.332")
CODEX = Implementation(name="codex-mcp-client", version="0.171.0")
LONG = "a_tool_with_a_name_of_more_than_forty_characters"


def tools(count, *, tokens=100, **values):
    return [tool(f"s:t{index:03}", token_count=tokens, **values) for index in range(count)]


def names(listed):
    return [item.name for item in listed.tools][len(meta_tools.TOOLS) :]


@pytest.fixture
def world(world):
    world.exposure = "auto"
    return world


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("client", "count", "tokens", "is_listed"),
    [
        (None, 12, 100, True),
        (None, 13, 100, False),
        (CLAUDE, 80, 5_000, True),
        (CLAUDE, 90, 10, False),
        (Implementation(name="claude-code", version="2.0.1"), 80, 5_000, False),
        (CODEX, 80, 100, False),
    ],
)
async def test_a_client_is_listed_what_costs_it_less_than_the_meta_tools(
    connect, world, era, client, count, tokens, is_listed
):
    world.catalogue = catalogue(*tools(count, tokens=tokens))
    async with connect(era, client_info=client) as connected:
        listed = await connected.list_tools()
    assert len(names(listed)) == (count if is_listed else 0)
    loaded = [one.name for one in listed.tools if "anthropic/alwaysLoad" in (one.meta or {})]
    assert ("call_tool" in loaded) is not is_listed
    assert "search_tools" in loaded


@pytest.mark.parametrize("era", ERAS)
async def test_pinned_tools_are_listed_where_all_are_too_many(connect, world, era):
    pinned = tool("s:pinned", token_count=500, pinned=True)
    world.catalogue = catalogue(*tools(20), pinned)
    async with connect(era) as client:
        assert names(await client.list_tools()) == ["s__pinned"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("count", [0, 5])
async def test_tools_that_every_task_takes_name_tasks_to_a_model_that_finds_tools_by_words(
    connect, world, era, count
):
    world.catalogue = catalogue(*tools(count, pinned=True))
    shown = {}
    for client in (CODEX, CLAUDE):
        async with connect(era, client_info=client) as connected:
            listed = await connected.list_tools()
        shown[client.name] = [tool.description for tool in listed.tools]
    plain = [tool.description for tool in meta_tools.TOOLS.values()]
    assert shown["claude-code"][: len(plain)] == plain
    needed = {"search_tools", "read_tool", "call_tool"}
    to_codex = shown["codex-mcp-client"][: len(plain)]
    for name, text, own in zip(meta_tools.TOOLS, to_codex, plain, strict=True):
        assert text.startswith(own)
        assert (text != own) is (name in needed)
    for word in ("files", "weather", "sends", "issues"):
        assert not any(word in text for text in plain)
        assert sum(word in text for text in to_codex) == len(needed)


@pytest.mark.parametrize("era", ERAS)
async def test_a_session_keeps_its_list_as_servers_come_and_go(connect, world, era):
    async with connect(era) as client:
        counts = []
        for count in (0, 12, 25, 26, 3):
            world.catalogue = catalogue(*tools(count))
            counts.append(len(names(await client.list_tools(cache_mode="refresh"))))
        assert counts == [0, 12, 25, 0, 0]
        assert not (await client.call_tool("s__t001", {})).is_error  # listed before


async def test_tools_that_a_slow_start_held_up_are_announced(world, monkeypatch):
    monkeypatch.setattr(mcp_server, "TOOLS_WAIT_S", 0.01)
    world.catalogue = catalogue(*tools(3))
    loaded, announced = asyncio.Event(), asyncio.Event()

    async def wire(readiness):
        await loaded.wait()
        await world.wire(readiness)

    async def hear(message):
        if isinstance(message, mcp_types.ToolListChangedNotification):
            announced.set()

    prepared = PreparedRuntime(handle=handlers.handle_request, run_wiring=wire)
    async with connected(
        lambda: prepared, mode="legacy", exposure="auto", message_handler=hear
    ) as (client, _):
        assert names(await client.list_tools()) == []
        loaded.set()
        async with asyncio.timeout(PATIENCE_S):
            await announced.wait()
        assert len(names(await client.list_tools())) == 3


def test_a_session_is_chosen_for_anew_after_a_long_silence(monkeypatch):
    view = exposure.find_view("auto", ADMIN, name="x")
    chosen, now = OrderedDict(), [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    for at, count, expected in ((1, 20, "meta"), (2, 2, "meta"), (9_000, 2, "full")):
        now[0] = float(at)
        found = exposure.choose_exposure(chosen, view, catalogue(*tools(count)), ADMIN)
        assert found.exposure == expected


@pytest.mark.parametrize(
    ("setting", "count"), [("auto,claude-code=full", 200), ("auto,claude-code=meta", 0)]
)
async def test_an_admin_s_word_for_a_client_comes_first(connect, world, setting, count):
    world.exposure = setting
    world.catalogue = catalogue(*tools(200))
    async with connect("auto", client_info=CLAUDE) as client:
        assert len(names(await client.list_tools())) == count


@pytest.mark.parametrize("era", ERAS)
async def test_names_are_shortened_only_for_clients_that_need_it(connect, world, era):
    world.catalogue = catalogue(tool(f"git:{LONG}"))
    async with connect(era, client_info=CLAUDE) as client:
        assert names(await client.list_tools()) == [f"git__{LONG}"]
        described = (
            await client.call_tool("describe_tool", {"tool": f"git:{LONG}"})
        ).structured_content
        assert described["name"] == f"git__{LONG}"
        assert not (await client.call_tool(f"git__{LONG}", {})).is_error
    async with connect(era) as client:
        (short,) = names(await client.list_tools())
        assert len(short) <= 40
        assert not (await client.call_tool(short, {})).is_error
