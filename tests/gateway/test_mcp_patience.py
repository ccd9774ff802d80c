"""How long clients wait for a call, and what they read when it goes on without them."""

import asyncio
import json
import time
from types import SimpleNamespace

import pytest
from mcp_types import CLIENT_INFO_META_KEY, Implementation
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from gateway_project import flow
from gateway_project.client_config import clients
from gateway_project.client_config.connect import ClientTarget, ConnectionRecords, connect
from gateway_project.client_config.own_entry import OwnLaunch, build_entry
from gateway_project.client_config.read_config import find_own_call_limit_s
from gateway_project.mcp.client_request import MARGIN_S, ClientRequest
from gateway_project.mcp.results import ERROR_KEY
from tests.gateway import run_views
from tests.gateway.catalogues import catalogue, text_result, tool
from tests.gateway.conftest import ERAS
from tests.gateway.test_connect import AT, LAUNCH

CODEX = Implementation(name="codex-mcp-client", version="0.171.0")
CLAUDE = Implementation(name="claude-code", version="2.1.332")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def world(world):
    world.catalogue = catalogue(
        tool("git:log", read_doubt=""),
        tool("git:typed", pinned=True, output_schema={"type": "object"}),
    )
    return world


@pytest.fixture
def patience(monkeypatch):
    """What each call was given, by the flow's own argument."""
    given, call_tool = [], flow.call_tool

    async def call(*args, patience=None, **named):
        given.append(patience)
        return await call_tool(*args, patience=patience, **named)

    monkeypatch.setattr(flow, "call_tool", call)
    return given


def write_codex(folder, text):
    file = folder / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(text)


OWN = '[mcp_servers.foregate]\ncommand = "foregate"\nargs = ["gateway"]\n'


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("client", "call_s", "extends"),
    [
        (CODEX, 60, False),
        (CLAUDE, 1_800, True),
        (Implementation(name="gemini-cli-mcp-client", version="0.61.0"), 600, False),
        (Implementation(name="claude-ai", version="0.1.0"), 240, False),
    ],
)
async def test_a_known_client_is_answered_before_it_gives_up(
    connect, patience, era, client, call_s, extends
):
    async with connect(era, client_info=client) as connected:
        await connected.call_tool("call_tool", {"tool": "git:log"})
    (one,) = patience
    assert (one.call_s, one.extends) == (call_s - MARGIN_S, extends)
    assert 0 <= one.spent_s < one.call_s


async def test_any_other_client_is_waited_with(connect, patience):
    async with connect() as client:
        await client.call_tool("call_tool", {"tool": "git:log"})
    assert patience == [None]


async def test_the_setting_counts_for_every_client(connect, world, patience):
    world.call_patience_s = 90.0
    for client in (None, CODEX):
        async with connect(client_info=client) as connected:
            await connected.call_tool("call_tool", {"tool": "git:log"})
    assert [one.call_s for one in patience] == [90, 90]


@pytest.mark.parametrize(
    ("written", "call_s"),
    [
        (OWN + "tool_timeout_sec = 3600\n", 3_592),
        (OWN + "tool_timeout_sec = 20\n", 15),
        (OWN, 52),
        ("[mcp_servers.other]\ncommand = 'x'\ntool_timeout_sec = 900\n", 52),
        ("[mcp_servers", 52),
    ],
)
async def test_what_the_client_s_file_gives_our_entry_goes_before_that(
    connect, patience, tmp_path, written, call_s
):
    write_codex(tmp_path, written)
    async with connect("legacy", client_info=CODEX) as client:
        for _ in range(2):
            await client.call_tool("call_tool", {"tool": "git:log"})
    assert [one.call_s for one in patience] == [call_s, call_s]


async def test_a_written_limit_of_claude_code_is_one_that_progress_does_not_prolong(
    connect, patience, tmp_path
):
    entry = {"command": "foregate", "args": ["gateway"], "timeout": 600_000}
    (tmp_path / ".claude.json").write_text(json.dumps({"mcpServers": {"foregate": entry}}))
    async with connect(client_info=CLAUDE) as client:
        await client.call_tool("call_tool", {"tool": "git:log"})
    assert [(one.call_s, one.extends) for one in patience] == [(592, False)]


async def test_a_gateway_whose_folder_is_gone_goes_by_the_table(
    connect, patience, tmp_path, monkeypatch
):
    write_codex(tmp_path, OWN + "tool_timeout_sec = 3600\n")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    async with connect("legacy", client_info=CODEX) as client:
        result = await client.call_tool("call_tool", {"tool": "git:log"})
    monkeypatch.chdir(tmp_path)
    assert not result.is_error
    assert [one.call_s for one in patience] == [52]


@pytest.mark.parametrize(
    "name", [name for name, one in clients.CLIENTS.items() if "timeout" in str(one.own_fields)]
)
def test_what_connect_client_writes_is_read_back(tmp_path, name):
    client = clients.CLIENTS[name]
    path = clients.candidate_files(name)[0]
    target = ClientTarget(client=client, path=path, name="foregate")
    wanted = build_entry(client, path, OwnLaunch(command=LAUNCH.command))
    records = ConnectionRecords(tmp_path / "b")
    connect(target, wanted, record_store=records, at=AT, dry_run=False)
    is_of_calls = any(key in clients.CLIENTS[name].keys.get("call_limit", ()) for key in wanted)
    assert find_own_call_limit_s(name) == (3_600 if is_of_calls else None)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("call_tool", {"tool": "git:log", "max_tokens": 10}),
        ("read_tool", {"tool": "git:log", "select": "content"}),
        ("git__typed", {}),
    ],
)
async def test_a_call_that_goes_on_is_answered_with_its_run(connect, world, era, name, arguments):
    gate = asyncio.Event()

    async def answer(_called, _progress):
        await gate.wait()
        return text_result("late")

    world.upstream.answer, world.call_patience_s, world.exposure = answer, 0.01, "hybrid"
    async with connect(era) as client:
        result = await client.call_tool(name, arguments)
        ((_, options),) = world.runs.started
        gate.set()
        assert (await options["adopts"].sending).result.raw["content"][0]["text"] == "late"
    assert result.is_error  # whatever the tool's results look like, this is none
    assert result.structured_content is None
    error = result.meta[ERROR_KEY]
    assert (error["code"], error["run_id"]) == ("call_continues", str(run_views.RUN))
    assert f"get_run with this run_id returns its result, with wait_s up to {0.01:g}" in (
        result.content[0].text
    )
    assert len(world.upstream.calls) == 1
    assert (world.counted, world.seen) == ([], []), "its run is learned from"


@pytest.mark.parametrize("name", ["get_run", "run_workflow", "control_run"])
async def test_waits_for_runs_end_before_the_client_gives_up(connect, world, name):
    workflow = {"workflow": {"tasks": [{"id": "a", "tool": "git:log"}]}}
    async with connect(client_info=CODEX) as client:
        await client.call_tool("run_workflow", workflow | {"options": {"wait_s": 300}})
        asked = {
            "get_run": {"run_id": str(run_views.RUN), "wait_s": 300},
            "run_workflow": workflow | {"options": {"wait_s": 300}},
            "control_run": {"run_id": str(run_views.RUN), "action": "pause", "wait_s": 300},
        }
        world.runs.waited.clear()
        await client.call_tool(name, asked[name])
    (waited_s,) = world.runs.waited
    assert 0 < waited_s <= 60 - MARGIN_S


async def test_over_http_the_limit_is_that_of_http_and_no_file_of_this_machine_counts(
    world, tmp_path
):
    entry = {"command": "foregate", "args": ["gateway"], "timeout": 600_000}
    (tmp_path / ".claude.json").write_text(json.dumps({"mcpServers": {"foregate": entry}}))
    info = {"name": CLAUDE.name, "version": CLAUDE.version}
    ctx = SimpleNamespace(
        request=object(),
        params={"_meta": {CLIENT_INFO_META_KEY: info}},
        protocol_version=MODERN_PROTOCOL_VERSIONS[-1],
    )
    request = ClientRequest(ctx=ctx, effects=world.effects, caller=world.caller)
    found = await request.find_patience()
    assert (found.call_s, found.extends) == (300 - MARGIN_S, True)


async def test_a_request_that_waited_for_the_gateway_has_less_time_left(world):
    world.call_patience_s = 100.0
    ctx = SimpleNamespace(request=None, params={}, protocol_version="2025-06-18")
    request = ClientRequest(
        ctx=ctx,
        effects=world.effects,
        caller=world.caller,
        arrived_at=time.monotonic() - 40,
    )
    assert (await request.find_patience()).left_s <= 60
    assert await request.limit_wait_s(300) <= 60
    assert await request.limit_wait_s(5) == 5
