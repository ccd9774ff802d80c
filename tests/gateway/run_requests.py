"""Workflows asked for over MCP, and how the answers are read."""

import json
from dataclasses import replace

import jsonschema

from execution.status import RunStatus, TaskStatus
from gateway_project.mcp import meta_tools
from gateway_project.mcp.results import ERROR_KEY

FLOW = {
    "tasks": [
        {"id": "log", "tool": "git__git_log", "arguments": {"repo_path": "/r"}},
        {
            "id": "later",
            "tool": "time:get_current_time",
            "arguments": {"zone": {"$ref": "log", "pointer": "/zone"}},
        },
    ]
}


async def called(client, name, **arguments):
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content[0].text
    answer = result.structured_content
    jsonschema.validate(answer, meta_tools.TOOLS[name].output_schema)
    assert json.loads(result.content[0].text) == answer
    return answer


async def refused(client, name, **arguments):
    result = await client.call_tool(name, arguments)
    assert result.is_error
    return result.meta[ERROR_KEY] | {"text": result.content[0].text}


def run_done(view):
    tasks = tuple(replace(task, status=TaskStatus.SUCCEEDED) for task in view.tasks)
    return replace(view, tasks=tasks, status=RunStatus.SUCCEEDED)
