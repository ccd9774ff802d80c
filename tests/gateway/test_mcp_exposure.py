"""Tools of servers that clients see listed, and calls of them by their exposed names."""

import asyncio
import json

import pytest
from mcp.shared.exceptions import MCPError

from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.mcp import exposure, handlers, meta_tools
from gateway_project.mcp.results import ERROR_KEY
from gateway_project.mcp.runtime import PreparedRuntime
from gateway_project.readiness import NotReady
from tests.gateway.catalogues import catalogue, server, tool
from tests.gateway.conftest import ERAS, LOG_FIELDS, connected
from tools.upstream.errors import UpstreamRefused

ADMIN = Caller(user="admin", team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="stdio")
META = list(meta_tools.TOOLS)


def names(listed):
    return [item.name for item in listed.tools]


@pytest.fixture
def world(world):
    world.exposure = "full"
    world.catalogue = catalogue(
        tool(
            "git:git_log",
            input_schema=LOG_FIELDS,
            pinned=True,
            title="Log\u200b",
            description="Sh\u202eows.",
        ),
        tool("git:off", enabled=False),
        tool("git:changed", state="quarantined"),
        tool("my.files:read file"),
        tool("free:call_tool"),
        tool("free:plain", annotations={"readOnlyHint": True, "custom": 1}),
        tool("team:secret", team=7),
        servers=(server("free", unprefixed=True), server("team", team=7)),
    )
    return world


@pytest.mark.parametrize("era", ERAS)
async def test_full_exposure_lists_every_usable_tool_by_name(connect, world, era):
    async with connect(era) as client:
        listed = await client.list_tools()
        assert client.instructions == meta_tools.INSTRUCTIONS_LISTED
    assert names(listed) == [
        *META,
        "call_tool_" + names(listed)[len(META)][-6:],
        "git__git_log",
        "my_files__read_file_12003d",
        "plain",
    ]
    log = listed.tools[len(META) + 1]
    assert (log.title, log.description) == ("Log", "Shows.")
    fields = LOG_FIELDS["properties"]
    assert log.input_schema == {
        **LOG_FIELDS,
        "properties": {**fields, "max_count": {**fields["max_count"], "type": "integer"}},
    }
    assert listed.tools[len(META) + 3].annotations.read_only_hint is True


ICONS = [{"src": "data:image/png;base64,iVBO", "sizes": ["16x16"], "theme": "dark"}]
SAID = {
    "_meta": {"anthropic/requiresUserInteraction": True, "a": {"b": "c\u202ed"}, "foregate/x": 1},
    "icons": ICONS,
    "execution": {"taskSupport": "required"},
    "x-odd": [1],
    "annotations": {"vendorHint": 1},
}


@pytest.mark.parametrize("era", ERAS)
async def test_metadata_and_icons_are_listed_as_pinned(connect, world, era):
    world.catalogue = catalogue(
        tool("lab:ask", extras=SAID, annotations={"readOnlyHint": True}),
        tool("lab:old", extras=None),
    )
    async with connect(era) as client:
        listed = (await client.list_tools()).tools[len(META) :]
        described = (
            await client.call_tool("describe_tool", {"tool": "lab:ask"})
        ).structured_content
    assert listed[0].meta == {"anthropic/requiresUserInteraction": True, "a": {"b": "cd"}}
    assert [icon.model_dump(by_alias=True, exclude_none=True) for icon in listed[0].icons] == ICONS
    assert (listed[1].meta, listed[1].icons) == (None, None)
    assert described["extras"]["icons"] == [{**ICONS[0], "src": "data:image/png;base64,"}]
    assert described["extras"]["execution"] == SAID["execution"]


def test_members_that_the_sdk_does_not_know_are_listed_too_but_no_tasks():
    shown = catalogue(tool("lab:ask", extras=SAID, annotations={"readOnlyHint": True}))
    (item,) = exposure.list_exposed(shown, ADMIN, "full")
    assert item["x-odd"] == [1]
    assert item["annotations"] == {"vendorHint": 1, "readOnlyHint": True}
    assert "execution" not in item


def test_a_pin_that_took_its_extras_is_listed_anew():
    former, known = (
        catalogue(tool("lab:a", definition_hash="a" * 64, extras=extras))
        for extras in (None, SAID)
    )
    assert "_meta" not in exposure.list_exposed(former, ADMIN, "full")[0]
    assert "_meta" in exposure.list_exposed(known, ADMIN, "full")[0]
    assert known.find_changed_lists(former) == ("tools",)


@pytest.mark.parametrize("era", ERAS)
async def test_hybrid_exposure_lists_pinned_tools(connect, world, era):
    world.exposure = "hybrid"
    async with connect(era) as client:
        assert names(await client.list_tools()) == [*META, "git__git_log"]
        result = await client.call_tool("plain", {})
    assert result.meta[ERROR_KEY]["code"] == "unknown_tool"
    assert 'use call_tool with {"tool": "free:plain"' in result.content[0].text


@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_is_called_by_its_exposed_name_under_the_same_rules(connect, world, era):
    async with connect(era) as client:
        result = await client.call_tool("git__git_log", {"repo_path": "/x"})
        assert result.meta["foregate/call"]["tool"] == "git:git_log"
        assert (await client.call_tool("plain", {})).content[0].text == "plain"
        wrong = await client.call_tool("git__git_log", {"repo_path": 5})
        assert wrong.meta[ERROR_KEY]["code"] == "invalid_arguments"
        off = await client.call_tool("git__off", {})
        assert off.meta[ERROR_KEY]["code"] == "tool_unavailable"
        hidden = await client.call_tool("team__secret", {})
        assert hidden.meta[ERROR_KEY]["code"] == "unknown_tool"
    assert [called.tool for called in world.upstream.calls] == ["git_log", "plain"]


async def test_the_tool_list_depends_only_on_permissions(world):
    known = world.catalogue
    team = Caller(user="x", team=7, person=None, scopes=frozenset({"call"}), kind="http")
    reader = Caller(user="x", team=7, person=None, scopes=frozenset({"read"}), kind="http")
    mine = [item["name"] for item in exposure.list_exposed(known, team, "full")]
    assert "team__secret" in mine
    assert exposure.list_exposed(known, reader, "full") == ()
    other = Caller(user="y", team=7, person=None, scopes=frozenset({"call"}), kind="stdio")
    assert exposure.list_exposed(known, team, "full") is exposure.list_exposed(
        known, other, "full"
    )
    assert exposure.list_exposed(known, ADMIN, "meta") == ()


async def test_lists_state_cache_lifetime_and_scope(connect, world):
    async with connect("auto") as client:
        listed = await client.list_tools()
        assert (listed.cache_scope, listed.ttl_ms > 0) == ("private", True)
    world.exposure = "meta"
    async with connect("auto") as client:
        assert (await client.list_tools()).cache_scope == "public"


async def test_a_list_before_startup_is_short_and_not_cacheable(monkeypatch):
    monkeypatch.setattr("gateway_project.readiness.RETRY_TIMEOUT_S", 0.01)

    async def refuse(readiness):
        readiness.refuse(NotReady("database_unavailable", "away"))
        await asyncio.Event().wait()

    prepared = PreparedRuntime(handle=handlers.handle_request, run_wiring=refuse)
    async with connected(lambda: prepared, exposure="full") as (client, _):
        listed = await client.list_tools()
        assert (names(listed), listed.ttl_ms) == (META, 0)
        assert (await client.list_prompts()).prompts == []
        with pytest.raises(MCPError, match="database_unavailable: away"):
            await client.read_resource("x:y")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "odd",
    [
        {"input_schema": {}},
        {"input_schema": {"type": "dict", "properties": {"a": "str"}}},
        {"input_schema": {"type": "object", "required": "a"}},
        {"input_schema": {"type": "object"}, "output_schema": {"type": "array"}},
        {"annotations": {"readOnlyHint": "perhaps"}},
        {
            "input_schema": {
                "type": "object",
                "properties": {"a": {"type": "string", "x-mcp-header": "a b"}},
            }
        },
    ],
)
async def test_one_invalid_definition_does_not_break_the_list(connect, world, era, odd):
    world.catalogue = catalogue(tool("git:odd", **odd), tool("git:sound"))
    async with connect(era) as client:
        listed = await client.list_tools()
        assert names(listed)[len(META) :] == ["git__odd", "git__sound"]
        assert not (await client.call_tool("git__sound", {})).is_error
    assert "x-mcp-header" not in json.dumps(listed.tools[len(META)].input_schema)


async def test_a_valid_header_annotation_is_kept_and_found_by_name(world):
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}
    known = catalogue(tool("git:log", input_schema=schema, definition_hash="h1"))
    assert exposure.find_input_schema(known, ADMIN, "full", "git__log") == schema
    assert exposure.find_input_schema(known, ADMIN, "meta", "git__log") is None
    assert exposure.find_input_schema(known, ADMIN, "full", "nothing") is None


@pytest.mark.parametrize("era", ERAS)
async def test_a_missing_client_capability_is_the_protocol_error(connect, world, era):
    data = {"requiredCapabilities": {"elicitation": {}}}

    async def answer(_called, _progress):
        raise UpstreamRefused(server="git", rpc_code=-32021, rpc_message="lacking", data=data)

    world.upstream.answer = answer
    async with connect(era) as client:
        if era == "legacy":
            result = await client.call_tool("plain", {})
            assert result.meta[ERROR_KEY]["code"] == "upstream_refused"
            return
        with pytest.raises(MCPError) as refused:
            await client.call_tool("plain", {})
    assert (refused.value.code, refused.value.data) == (-32021, data)


@pytest.mark.parametrize("prefix", ["", "git:"])
async def test_a_bare_name_of_the_gateways_own_tools_reaches_no_server(connect, world, prefix):
    world.catalogue = catalogue(tool("git:get_run"), tool("git:search_tools"))
    task = {"id": "a", "tool": f"{prefix}get_run", "arguments": {}}
    async with connect("auto") as client:
        called = await client.call_tool("call_tool", {"tool": f"{prefix}get_run"})
        planned = await client.call_tool(
            "run_workflow", {"workflow": {"tasks": [task]}, "options": {"dry_run": True}}
        )
        described = await client.call_tool("describe_tool", {"tool": f"{prefix}search_tools"})
    assert called.is_error is described.is_error is not prefix
    assert len(world.upstream.calls) == (1 if prefix else 0)
    problems = planned.structured_content["validation_errors"]
    assert bool(problems) is not prefix
    if not prefix:
        assert "call it directly" in called.content[0].text
        assert "call it directly" in problems[0]["message"]
