"""An MCP server over stdio with a given number of tools: `START COUNT`."""

from __future__ import annotations

import asyncio
import itertools
import sys
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from benchmarks.definitions import definitions


async def _serve(start: int, count: int) -> None:
    tools = [
        types.Tool(
            name=item.name, description=item.description, input_schema=dict(item.input_schema)
        )
        for item in itertools.islice(definitions(start + count), start, start + count)
    ]

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    server: Server[Any] = Server("many", on_list_tools=list_tools)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2])))
