import asyncio
import json

import mcp_types
import pytest

from gateway_project.mcp import handlers, meta_tools
from gateway_project.mcp import server as mcp_server
from gateway_project.mcp.results import ERROR_KEY
from gateway_project.mcp.runtime import PreparedRuntime
from gateway_project.readiness import NotReady
from tests.gateway.catalogues import FakeUpstream, never
from tests.gateway.conftest import ERAS, connected
from tests.patience import PATIENCE_S
from tools.catalogue import Catalogue
from tools.upstream.result import UpstreamResult

pytestmark = pytest.mark.parametrize("era", ERAS)


def code(result):
    assert result.is_error
    return result.meta[ERROR_KEY]["code"]


def text(result):
    return result.content[0].text


async def test_the_list_is_constant_and_marked_for_loading(connect, era):
    async with connect(era) as client:
        first, second = await client.list_tools(), await client.list_tools()
    assert [tool.name for tool in first.tools] == list(meta_tools.TOOLS)
    assert first.tools == second.tools
    loaded = [tool.name for tool in first.tools if (tool.meta or {}).get("anthropic/alwaysLoad")]
    assert loaded == [
        *("search_tools", "run_intent", "read_tool"),
        *("call_tool", "read_workflow", "run_workflow"),
    ]


async def test_the_handshake_names_the_server_and_its_instructions(connect, era):
    async with connect(era) as client:
        assert client.server_info.name == "foregate"
        assert client.server_info.version == mcp_server.VERSION
        assert client.instructions == meta_tools.INSTRUCTIONS
        assert client.server_capabilities.tools is not None


async def test_the_list_is_answered_while_everything_behind_it_hangs(era):
    async def hang(_readiness):
        await asyncio.Event().wait()

    prepared = PreparedRuntime(handle=handlers.handle_request, run_wiring=hang)
    async with connected(lambda: prepared, mode=era) as (client, _):
        assert len((await client.list_tools()).tools) == len(meta_tools.TOOLS)


async def test_models_load_from_the_handshake_on(world, era):
    prepared = PreparedRuntime(handle=handlers.handle_request, run_wiring=world.wire)
    async with connected(lambda: prepared, mode=era) as (_, runtime):
        assert runtime.readiness.in_use.is_set()


async def test_a_search_answers_in_structure_and_in_text(connect, era):
    async with connect(era) as client:
        await client.list_tools()
        result = await client.call_tool("search_tools", {"query": "show the log"})
    assert not result.is_error
    found = result.structured_content
    assert json.loads(text(result)) == found
    assert [tool["tool"] for tool in found["tools"]] == ["git:git_log", "git:git_status"]
    assert found["tools"][0]["name"] == "git__git_log"
    assert found["tools"][0]["arguments"] == "repo_path: string, max_count?: integer = 10"
    assert found["tokens"]["listing_all"] == 170
    assert found["run_order"] == []


async def test_a_search_accepts_all_its_arguments(connect, world, era):
    given = {
        "query": "log",
        "limit": 1,
        "server": "git",
        "category": "vcs",
        "token_budget": 500,
        "detail": "full",
    }
    async with connect(era) as client:
        found = (await client.call_tool("search_tools", given)).structured_content
    assert found["tools"][0]["schema"]["properties"]["max_count"]["type"] == "int"
    assert found["tokens"]["budget"] == 500
    assert (world.searched[0].limit, world.searched[0].scope.server) == (1, "git")


async def test_a_description_has_the_whole_definition(connect, era):
    async with connect(era) as client:
        await client.list_tools()
        result = await client.call_tool("describe_tool", {"tool": "git:git_log"})
    told = result.structured_content
    assert json.loads(text(result)) == told
    assert told["input_schema"]["required"] == ["repo_path"]
    assert told["danger"]["level"] == "write"
    assert told["server"]["name"] == "git"
    assert told["state"] == "active"
    assert told["output_schema"] is None


async def test_a_call_returns_the_server_result_with_metadata(connect, era):
    async with connect(era) as client:
        result = await client.call_tool(
            "call_tool", {"tool": "git:git_log", "arguments": {"repo_path": "/x"}}
        )
    assert text(result) == "git_log"
    assert result.meta["foregate/call"]["tool"] == "git:git_log"


async def test_a_result_passes_unaltered(connect, world, era):
    raw = {
        "content": [
            {"type": "text", "text": "a\u202e\x07", "annotations": {"priority": 0.5}},
            {"type": "image", "data": "AAAA", "mimeType": "image/png", "_meta": {"x": None}},
            {"type": "resource_link", "uri": "file:///a", "name": "a"},
        ],
        "structuredContent": {"a": None, "b": [1, None, {"c": 1.5}]},
        "isError": True,
        "_meta": {"com.example/x": {"y": None}},
        "x-unknown": [1],
    }

    async def answer(_called, _progress):
        return UpstreamResult(raw=raw)

    world.upstream.answer = answer
    async with connect(era) as client:
        result = await client.call_tool("call_tool", {"tool": "git:git_status"})
    seen = result.model_dump(by_alias=True, mode="json", exclude_unset=True)
    assert seen["content"] == raw["content"]
    assert seen["structuredContent"] == raw["structuredContent"]
    assert seen["isError"] is True
    assert seen["_meta"]["com.example/x"] == {"y": None}


async def test_structured_content_that_is_no_object_reaches_clients_of_both_eras(
    connect, world, era
):
    async def answer(_called, _progress):
        return UpstreamResult(raw={"content": [], "structuredContent": [1, 2]})

    world.upstream.answer = answer
    async with connect(era) as client:
        result = await client.call_tool("call_tool", {"tool": "git:git_status"})
    assert result.structured_content == ([1, 2] if era == "auto" else {"result": [1, 2]})


async def test_progress_of_the_server_reaches_the_client_that_asked_for_it(connect, world, era):
    if era == "auto":
        pytest.skip("the in-memory transport of this era carries no token; see the journeys")

    async def answer(_called, progress):
        await progress(1.0, 4.0, "a quarter")
        return UpstreamResult(raw={"content": []})

    arrived = asyncio.Queue()

    async def on_progress(progress, total, message):
        await arrived.put((progress, total, message))

    world.upstream.answer = answer
    async with connect(era) as client:
        await client.call_tool(
            "call_tool", {"tool": "git:git_status"}, progress_callback=on_progress
        )
        async with asyncio.timeout(PATIENCE_S):
            assert await arrived.get() == (1.0, 4.0, "a quarter")


async def test_no_progress_is_sent_unrequested(connect, world, era):
    asked = []

    async def answer(_called, progress):
        asked.append(progress)
        return UpstreamResult(raw={"content": []})

    world.upstream.answer = answer
    async with connect(era) as client:
        await client.call_tool("call_tool", {"tool": "git:git_status"})
    assert asked == [None]


async def test_trace_context_is_forwarded_and_hop_metadata_is_not(connect, world, era):
    async with connect(era) as client:
        await client.call_tool(
            "call_tool", {"tool": "git:git_status"}, meta={"com.example/tenant": "a"}
        )
    (called,) = world.upstream.calls
    meta = called.meta
    assert meta["com.example/tenant"] == "a"
    assert not [key for key in meta if "modelcontextprotocol" in key or "rogress" in key]


async def test_a_call_that_the_client_cancels_is_cancelled_upstream(connect, world, era):
    world.upstream = FakeUpstream(answer=never)
    async with connect(era) as client, asyncio.TaskGroup() as group:
        call = group.create_task(client.call_tool("call_tool", {"tool": "git:git_status"}))
        await world.upstream.called.wait()
        call.cancel()
        async with asyncio.timeout(PATIENCE_S):
            await world.upstream.cancelled.wait()


async def test_invalid_arguments_are_reported_to_the_model(connect, era):
    async with connect(era) as client:
        result = await client.call_tool("search_tools", {"qeury": "x", "limit": "five"})
    assert code(result) == "invalid_arguments"
    assert "query is missing; expected string" in text(result)
    assert "did you mean query?" in text(result)
    assert 'limit must be an integer, not the text "five"' in text(result)
    assert '"limit": "integer, at least 1, at most 50"' in text(result)
    paths = [problem["path"] for problem in result.meta[ERROR_KEY]["problems"]]
    assert paths == ["/limit", "/query", "/qeury"]


async def test_arguments_of_the_upstream_tool_are_validated_too(connect, world, era):
    async with connect(era) as client:
        result = await client.call_tool(
            "call_tool", {"tool": "git:git_log", "arguments": {"repo_path": 5}}
        )
    assert code(result) == "invalid_arguments"
    assert "repo_path must be a string, not 5" in text(result)
    assert world.upstream.calls == []


@pytest.mark.parametrize("name", ["describe_tool", "call_tool"])
async def test_an_unknown_tool_error_suggests_the_likely_one(connect, era, name):
    async with connect(era) as client:
        result = await client.call_tool(name, {"tool": "git:gitlog"})
    assert code(result) == "unknown_tool"
    assert "did you mean git:git_log" in text(result)
    assert result.meta[ERROR_KEY]["suggestions"][0] == "git:git_log"


@pytest.mark.parametrize("name", ["describe_tool", "call_tool", "git__git_log"])
async def test_a_tool_that_its_server_has_just_announced_is_waited_for(connect, world, era, name):
    world.announced, world.catalogue = world.catalogue, Catalogue()
    world.exposure = "full"
    arguments = {} if name == "git__git_log" else {"tool": "git:git_log"}
    async with connect(era) as client:
        result = await client.call_tool(name, arguments)
    assert "unknown_tool" not in text(result)


@pytest.mark.parametrize("name", ["git__git_log", "git:git_log", "git_log"])
async def test_calling_an_upstream_tool_directly_explains_call_tool(connect, era, name):
    async with connect(era) as client:
        await client.call_tool("search_tools", {"query": "log"})
        result = await client.call_tool(name, {})
    assert code(result) == "unknown_tool"
    assert 'use call_tool with {"tool": "git:git_log", "arguments": {}}' in text(result)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("serch_tools", "did you mean search_tools?"), ("zzz", "it has search_tools, describe_tool")],
)
async def test_a_misspelt_tool_of_the_gateway_is_recognised(connect, era, name, hint):
    async with connect(era) as client:
        result = await client.call_tool(name, {})
    assert code(result) == "unknown_tool"
    assert hint in text(result)


async def test_without_a_database_the_result_gives_the_reason(era):
    async def refuse(readiness):
        readiness.refuse(NotReady("database_unavailable", "cannot reach PostgreSQL at x:1"))
        await asyncio.Event().wait()

    prepared = PreparedRuntime(handle=handlers.handle_request, run_wiring=refuse)
    async with connected(lambda: prepared, mode=era) as (client, runtime):
        await runtime.get_prepared()
        runtime.readiness.refuse(NotReady("database_unavailable", "cannot reach PostgreSQL"))
        call = asyncio.create_task(client.call_tool("search_tools", {"query": "x"}))
        await runtime.readiness.wanted.wait()
        runtime.readiness.refuse(NotReady("database_unavailable", "cannot reach PostgreSQL"))
        result = await call
    assert code(result) == "database_unavailable"
    assert text(result) == "database_unavailable: cannot reach PostgreSQL"


async def test_a_gateway_that_failed_setup_lists_its_tools_and_gives_the_reason(era):
    def prepare():
        raise NotReady("configuration", "FOREGATE_LOG_LEVEL: should be 'debug' or 'info'")

    async with connected(prepare, mode=era) as (client, _):
        assert len((await client.list_tools()).tools) == len(meta_tools.TOOLS)
        listed = await client.list_prompts()
        assert listed.prompts == []
        assert listed.meta[ERROR_KEY] == {"code": "configuration"}
        result = await client.call_tool("search_tools", {"query": "x"})
    assert code(result) == "configuration"
    assert "FOREGATE_LOG_LEVEL" in text(result)


async def test_a_defect_fails_one_call_and_is_logged(connect, world, era, caplog):
    async def answer(_called, _progress):
        raise ZeroDivisionError("a defect")

    world.upstream.answer = answer
    async with connect(era) as client:
        result = await client.call_tool("call_tool", {"tool": "git:git_status"})
        assert code(result) == "internal_error"
        assert "a defect" not in text(result)
        assert result.meta[ERROR_KEY]["request_id"] in text(result)
        assert not (await client.call_tool("search_tools", {"query": "log"})).is_error


async def test_unsupported_methods_are_refused(connect, era):
    async with connect(era) as client:
        with pytest.raises(Exception, match="Method not found"):
            await client.session.send_request(
                mcp_types.Request(method="tasks/list", params=None), mcp_types.EmptyResult
            )


def test_annotations_are_honest(era):
    hints = {tool.name: tool.annotations for tool in meta_tools.TOOLS.values()}
    worst = mcp_types.ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
    )
    assert hints["call_tool"] == worst
    assert hints["search_tools"].read_only_hint
    assert hints["describe_tool"].read_only_hint
