"""What servers say about their use reaches models: approved, harmless, within a bound."""

import asyncio
from dataclasses import replace

import pytest
from mcp import Client

from gateway_project import server_instructions
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.mcp import handlers, meta_tools
from gateway_project.mcp.runtime import PreparedRuntime, Runtime
from gateway_project.mcp.server import build_server
from gateway_project.server_instructions import MAX_BYTES, add_to_instructions, share_bytes
from tests.gateway.catalogues import catalogue, server, tool
from tests.gateway.conftest import ERAS, hit

ADMIN = Caller(user="admin", team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="stdio")
WORDS = "Amounts are in cents.\n\nCall quote\u202e before pay."
FLAT = "Amounts are in cents. Call quote before pay."


@pytest.fixture
def world(world):
    world.catalogue = catalogue(
        tool("pay:pay", description="Pays an invoice"),
        tool("team:other", team=7),
        tool("off:off", enabled=False),
        servers=(
            server("pay", instructions=WORDS, groups=frozenset({"g"})),
            server("team", team=7, instructions="Secret."),
            server("off", instructions="Unusable."),
        ),
    )
    return world


@pytest.mark.parametrize("exposure", ["meta", "full"])
@pytest.mark.parametrize("is_ready", [True, False])
async def test_the_handshake_passes_on_what_servers_say(world, exposure, is_ready):
    async def hang(_readiness):
        await asyncio.Event().wait()

    prepared = PreparedRuntime(
        handle=handlers.handle_request, run_wiring=world.wire if is_ready else hang
    )
    kept = {} if is_ready else {"pay": WORDS.replace("\u202e", "")}
    runtime = Runtime(lambda: prepared, lambda: kept)
    async with asyncio.TaskGroup() as group:
        background = group.create_task(runtime.run())
        if is_ready:
            await runtime.readiness.wait_for_gateway()
        async with Client(build_server(runtime, exposure=exposure), mode="legacy") as client:
            said = client.instructions
        background.cancel()
    assert said.endswith(f"Servers say about their use:\n- pay: {FLAT}")


async def test_what_clients_of_the_stateless_era_may_cache_is_the_same_for_all(connect):
    async with connect("auto") as client:
        assert client.instructions == meta_tools.INSTRUCTIONS


@pytest.mark.parametrize("era", ERAS)
async def test_answers_tell_what_the_servers_of_their_tools_say(connect, world, era):
    world.hits = (hit("pay:pay"),)
    async with connect(era) as client:
        said = [
            (await client.call_tool(name, arguments)).structured_content
            for name, arguments in (
                ("search_tools", {"query": "pay an invoice", "detail": "full"}),
                ("run_intent", {"intent": "pay the invoice"}),
            )
        ]
        described = await client.call_tool("describe_tool", {"tool": "pay:pay"})
    told = WORDS.replace("\u202e", "")
    assert [answer["instructions"] for answer in said] == [{"pay": told}] * 2
    assert described.structured_content["server"]["instructions"] == told


def test_a_caller_limited_to_some_tools_of_a_server_does_not_learn_what_it_says_of_all(world):
    collected = server_instructions.collect_instructions
    assert collected(world.catalogue, ADMIN) == {"pay": WORDS.replace("\u202e", "")}
    assert collected(world.catalogue, replace(ADMIN, group="g")) == {}
    assert collected(world.catalogue, ADMIN, ["team"]) == {}


@pytest.mark.parametrize("count", [1, 3, 200])
def test_instructions_of_many_servers_keep_to_what_clients_read(count):
    texts = {f"s{number}": "Wörter und mehr " * 200 for number in range(count)}
    said = add_to_instructions(meta_tools.INSTRUCTIONS_LISTED, texts)
    assert len(said.encode()) <= MAX_BYTES
    assert said.startswith(meta_tools.INSTRUCTIONS_LISTED)
    assert said.count("…") >= 1
    shared = share_bytes({**texts, "short": "Be brief."})
    assert sum(len((name + text).encode()) for name, text in shared.items()) <= MAX_BYTES
    assert shared["short"] == "Be brief."


def test_the_next_gateway_tells_its_first_client_what_was_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("FOREGATE_HOME", str(tmp_path))
    assert server_instructions.load_kept_instructions() == {}
    server_instructions.keep_instructions(tmp_path, {"pay": "In cents."})
    assert server_instructions.load_kept_instructions() == {"pay": "In cents."}
    assert (tmp_path / server_instructions.FILE_NAME).stat().st_mode & 0o077 == 0
    (tmp_path / server_instructions.FILE_NAME).write_text("[")
    assert server_instructions.load_kept_instructions() == {}
