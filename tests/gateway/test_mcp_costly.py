"""Arguments too costly to judge, by each way in."""

import pytest

from gateway_project.foundation import schema_steps
from gateway_project.mcp.results import ERROR_KEY
from tests.gateway.catalogues import catalogue, tool
from tests.gateway.conftest import ERAS

UNIQUE = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}
GIVEN = {"a": [{"id": place} for place in range(5_000)]}

pytestmark = pytest.mark.parametrize("era", ERAS)


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch, world):
    monkeypatch.setattr(schema_steps, "MAX_STEPS", 5_000)
    world.catalogue = catalogue(tool("fs:write", definition_hash="dear", input_schema=UNIQUE))


def error(result):
    assert result.is_error
    assert "arguments_too_costly" in result.content[0].text
    assert "fewer or smaller" in result.content[0].text
    return result.meta[ERROR_KEY]


async def test_call_tool_reports_what_to_do(connect, era, world):
    async with connect(era) as client:
        result = await client.call_tool("call_tool", {"tool": "fs:write", "arguments": GIVEN})
    assert error(result)["code"] == "arguments_too_costly"
    assert world.upstream.calls == []


async def test_a_listed_tool_reports_what_to_do(connect, era, world):
    world.exposure = "full"
    async with connect(era) as client:
        result = await client.call_tool("fs__write", GIVEN)
    assert error(result)["code"] == "arguments_too_costly"
    assert world.upstream.calls == []


async def test_a_dry_run_and_a_run_report_what_to_do(connect, era):
    workflow = {"tasks": [{"id": "w", "tool": "fs:write", "arguments": GIVEN}]}
    async with connect(era) as client:
        dry = await client.call_tool(
            "run_workflow", {"workflow": workflow, "options": {"dry_run": True}}
        )
        run = await client.call_tool("run_workflow", {"workflow": workflow})
    (told,) = dry.structured_content["validation_errors"]
    assert told["path"] == "/tasks/0/arguments"
    assert "arguments_too_costly" in told["message"]
    assert error(run)["code"] == "workflow_not_runnable"


async def test_meta_tools_bound_the_validation_of_arguments(connect, era):
    given = {"query": "log", "context_tools": [1] * 20_000}
    async with connect(era) as client:
        result = await client.call_tool("search_tools", given)
    assert result.is_error
    assert result.meta[ERROR_KEY]["code"] in ("arguments_too_costly", "invalid_arguments")
