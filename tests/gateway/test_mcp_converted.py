"""What a server would take is not refused for its form; the answer says what was converted."""

import json

import pytest
from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult

from gateway_project.mcp.results import CONVERTED_KEY, ERROR_KEY
from tests.gateway.catalogues import catalogue, tool
from tests.gateway.conftest import ERAS
from tools.danger import Danger
from tools.upstream.errors import UpstreamRefused
from tools.upstream.result import UpstreamResult

FIELDS = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "count": {"type": "integer"},
        "labels": {"type": "array", "items": {"type": "string"}},
    },
}


@pytest.fixture
def world(world):
    world.exposure = "full"
    world.catalogue = catalogue(tool("git:add", input_schema=FIELDS))
    return world


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("arguments", "sent", "pointers"),
    [
        ({"title": None, "count": "3"}, {"count": 3}, {"/title", "/count"}),
        ({"labels": '["a"]'}, {"labels": ["a"]}, {"/labels"}),
        ({"title": "x\ud83d", "count": 1}, {"title": "x\ufffd", "count": 1}, {"/title"}),
    ],
)
async def test_arguments_of_a_servers_tool_are_converted_and_it_is_said(
    connect, world, era, arguments, sent, pointers
):
    async with connect(era) as client:
        for name, given in (
            ("git__add", arguments),
            ("call_tool", {"tool": "git:add", "arguments": arguments}),
        ):
            result = await client.call_tool(name, given)
            assert not result.is_error
            said = {
                note["pointer"].removeprefix("/arguments") for note in result.meta[CONVERTED_KEY]
            }
            assert said == pointers
    assert [call.arguments for call in world.upstream.calls] == [sent, sent]


READS = {"readOnlyHint": True}


@pytest.mark.parametrize(
    ("described", "is_sent"),
    [
        ({"annotations": READS}, True),
        ({"annotations": READS, "danger": Danger.READ}, True),
        ({"annotations": {}}, False),
        ({"annotations": {"readOnlyHint": False}}, False),
        ({"annotations": READS, "danger": Danger.DESTRUCTIVE}, False),
        ({"annotations": READS, "vetoed": True}, False),
    ],
)
async def test_a_server_judges_what_does_not_fit_only_if_its_tool_declares_that_it_reads(
    connect, world, described, is_sent
):
    world.catalogue = catalogue(tool("git:log", input_schema=FIELDS, **described))
    given = {"count": "many", "labels": "a"}
    async with connect("auto") as client:
        result = await client.call_tool("git__log", given)
    if is_sent:
        assert [call.arguments for call in world.upstream.calls] == [given]
        assert {(note["pointer"], note["to"]) for note in result.meta[CONVERTED_KEY]} == {
            ("/count", "passed on"),
            ("/labels", "passed on"),
        }
        assert "many" in result.meta[CONVERTED_KEY][0]["from"]
    else:
        assert result.meta[ERROR_KEY]["code"] == "invalid_arguments"
        assert not world.upstream.calls


@pytest.mark.parametrize("is_rpc_error", [True, False])
async def test_what_the_server_does_not_take_either_is_explained_by_the_schema(
    connect, world, is_rpc_error
):
    async def refuse(_called, _progress):
        if is_rpc_error:
            raise UpstreamRefused(server="git", rpc_code=-32602, rpc_message="no")
        return UpstreamResult(raw={"content": [], "isError": True})

    world.upstream.answer = refuse
    world.catalogue = catalogue(tool("git:log", input_schema=FIELDS, annotations=READS))
    async with connect("auto") as client:
        wrong = await client.call_tool("git__log", {"count": "many"})
        right = await client.call_tool("git__log", {"count": 3})
    assert wrong.meta[ERROR_KEY]["code"] == "invalid_arguments"
    assert "count must be an integer" in str(wrong.content)
    assert "count must be an integer" not in str(right.content)
    assert len(world.upstream.calls) == 2


async def test_arguments_as_json_text_are_read(connect, world):
    async with connect("auto") as client:
        result = await client.call_tool(
            "call_tool", {"tool": "git:add", "arguments": '{"count": "3"}'}
        )
        fine = await client.call_tool("call_tool", {"tool": "git:add", "arguments": {"count": 3}})
        wrong = await client.call_tool(
            "call_tool", {"tool": "git:add", "arguments": {"count": "x"}}
        )
    assert [note["pointer"] for note in result.meta[CONVERTED_KEY]] == ["/arguments", "/count"]
    assert CONVERTED_KEY not in fine.meta
    assert wrong.meta[ERROR_KEY]["code"] == "invalid_arguments"
    assert [call.arguments for call in world.upstream.calls] == [{"count": 3}] * 2


async def test_arguments_of_the_gateways_own_tools_are_converted(connect, world):
    task = {"id": "a", "tool": "git:add", "arguments": '{"count": 3}'}
    async with connect("auto") as client:
        found = await client.call_tool("search_tools", {"query": "add", "limit": "3"})
        planned = await client.call_tool(
            "run_workflow",
            {
                "workflow": '{"tasks": [{"id": "a", "tool": "git:add"}]}',
                "options": '{"dry_run": "true"}',
            },
        )
        nested = await client.call_tool(
            "run_workflow", {"workflow": {"tasks": [task]}, "options": {"dry_run": True}}
        )
    assert found.meta[CONVERTED_KEY] == [{"pointer": "/limit", "from": "text", "to": "integer"}]
    assert [note["pointer"] for note in planned.meta[CONVERTED_KEY]] == [
        "/workflow",
        "/options",
        "/options/dry_run",
    ]
    assert planned.structured_content["validation_errors"] == []
    assert nested.structured_content["validation_errors"] == []
    assert nested.meta[CONVERTED_KEY][0]["pointer"] == "/workflow/tasks/0/arguments"


async def test_arguments_of_tasks_are_converted_before_the_run_is_recorded(connect, world):
    reference = {"$ref": "a", "pointer": "/n"}
    tasks = [
        {"id": "a", "tool": "git:add", "arguments": {"count": "3", "title": None}},
        {"id": "b", "tool": "git:add", "arguments": {"title": reference, "labels": '["x"]'}},
    ]
    async with connect("auto") as client:
        run = await client.call_tool("run_workflow", {"workflow": {"tasks": tasks}})
        plan = await client.call_tool(
            "run_workflow", {"workflow": {"tasks": tasks}, "options": {"dry_run": True}}
        )
    ((planned, _),) = world.runs.started
    assert [dict(task.arguments) for task in planned.workflow.tasks] == [
        {"count": 3},
        {"title": reference, "labels": ["x"]},
    ]
    for answer in (run, plan):
        said = [note["pointer"] for note in answer.meta[CONVERTED_KEY]]
        assert sorted(said) == [
            "/workflow/tasks/0/arguments/count",
            "/workflow/tasks/0/arguments/title",
            "/workflow/tasks/1/arguments/labels",
        ]
        assert len(answer.structured_content["converted"]) == 3


async def test_a_text_that_reads_as_a_reference_is_not_made_one(connect, world):
    tasks = [
        {"id": "a", "tool": "git:add", "arguments": {}},
        {"id": "b", "tool": "git:add", "arguments": {"count": '{"$ref": "a", "pointer": "/n"}'}},
    ]
    async with connect("auto") as client:
        run = await client.call_tool("run_workflow", {"workflow": {"tasks": tasks}})
    assert run.meta[ERROR_KEY]["code"] == "workflow_not_runnable"


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", ["git__add", "call_tool"])
async def test_all_arguments_of_a_call_as_json_text_are_read(connect, world, era, name):
    given = {"count": 3}
    text = json.dumps(given if name == "git__add" else {"tool": "git:add", "arguments": given})
    params = CallToolRequestParams.model_construct(name=name, arguments=text)
    async with connect(era) as client:
        result = await client.session.send_request(
            CallToolRequest.model_construct(method="tools/call", params=params), CallToolResult
        )
    assert [call.arguments for call in world.upstream.calls] == [{"count": 3}]
    assert result.meta[CONVERTED_KEY] == [{"pointer": "", "from": "text", "to": "object"}]
