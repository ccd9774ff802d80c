"""An MCP server over stdio whose tools return one of a few values: `TOOLS VALUES`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def _serve(count: int, values: int) -> None:
    schema = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
    tools = [
        types.Tool(
            name=f"step_{number}",
            description=f"Does step {number} to an item",
            input_schema=schema,
            annotations=types.ToolAnnotations(read_only_hint=True),
        )
        for number in range(count)
    ]

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        number = int((params.arguments or {}).get("item", "v0")[1:])
        tool = int(params.name.removeprefix("step_"))
        value = {"item": f"v{number}", "other": f"v{(7 * number + tool) % values}"}
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=str(value))], structured_content=value
        )

    server: Server[Any] = Server("steps", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2])))
