"""read_tool and read_workflow call what only reads, and nothing else."""

import pytest
from mcp_types import ElicitResult

from gateway_project.find.tool_card import make_card
from gateway_project.mcp import meta_tools
from gateway_project.mcp.results import ERROR_KEY
from tests.gateway.catalogues import catalogue, tool
from tests.gateway.conftest import ERAS
from tools.upstream.result import UpstreamResult


@pytest.fixture
def world(world):
    world.catalogue = catalogue(tool("git:log", read_doubt=""), tool("git:push"))
    return world


@pytest.mark.parametrize("era", ERAS)
async def test_a_read_is_called_and_another_tool_is_not(connect, world, era):
    async with connect(era) as client:
        read = await client.call_tool("read_tool", {"tool": "git:log", "arguments": {}})
        refused = await client.call_tool("read_tool", {"tool": "git:push"})
    assert not read.is_error
    assert refused.is_error
    assert refused.meta[ERROR_KEY]["code"] == "not_a_read"
    assert "call_tool" in refused.content[0].text
    assert [call.tool for call in world.upstream.calls] == ["log"]


async def test_what_changed_since_the_server_asked_the_user_is_judged_again(connect, world):
    """A server that asks first is called again after the answer, by the catalogue of then."""

    async def ask_once(_called, _progress):
        world.catalogue = catalogue(tool("git:log"), tool("git:push"))
        return UpstreamResult(
            raw={
                "resultType": "input_required",
                "inputRequests": {
                    "q": {
                        "method": "elicitation/create",
                        "params": {
                            "mode": "form",
                            "message": "Which?",
                            "requestedSchema": {"type": "object", "properties": {}},
                        },
                    }
                },
            }
        )

    world.upstream.answer = ask_once

    async def accept(_context, _params):
        return ElicitResult(action="accept", content={})

    async with connect("legacy", elicitation_callback=accept) as client:
        result = await client.call_tool("read_tool", {"tool": "git:log"})
    assert result.is_error
    assert result.meta[ERROR_KEY]["code"] == "not_a_read"
    assert len(world.upstream.calls) == 1


@pytest.mark.parametrize("era", ERAS)
async def test_a_workflow_with_one_other_tool_is_not_started(connect, era):
    tasks = [{"id": "a", "tool": "git:log"}, {"id": "b", "tool": "git:push"}]
    plan = {"options": {"dry_run": True}}
    async with connect(era) as client:
        refused = await client.call_tool("read_workflow", {"workflow": {"tasks": tasks}} | plan)
        planned = await client.call_tool(
            "read_workflow", {"workflow": {"tasks": tasks[:1]}} | plan
        )
        invalid = await client.call_tool(
            "read_workflow", {"workflow": {"tasks": tasks[:1]}, "options": {"dry": True}}
        )
    assert refused.meta[ERROR_KEY]["code"] == "not_a_read"
    assert not planned.is_error
    assert planned.structured_content["layers"] == [["a"]]
    assert invalid.meta[ERROR_KEY]["code"] == "invalid_arguments"


async def test_answers_say_which_tools_only_read(connect, world):
    async with connect() as client:
        described = [
            await client.call_tool("describe_tool", {"tool": name})
            for name in ("git:log", "git:push")
        ]
    cards = [
        make_card(one, name="x", detail="name", score=1, reasons=()).as_json()
        for one in world.catalogue.tools.values()
    ]
    assert [one.get("reads") for one in cards] == [True, None]
    assert [one.structured_content["reads"] for one in described] == [True, False]


def test_only_what_reads_says_so_to_clients():
    hints = {one.name: one.annotations.read_only_hint for one in meta_tools.TOOLS.values()}
    assert hints["read_tool"] is hints["read_workflow"] is True
    assert hints["call_tool"] is hints["run_workflow"] is False
