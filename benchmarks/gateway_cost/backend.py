"""The server behind every gateway measured: one echo tool, or a thousand.

python backend.py TOOLS          over stdio
python backend.py TOOLS PORT     over streamable HTTP
"""

from __future__ import annotations

import sys
from typing import Any

import anyio
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

_SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "What to say."},
        "times": {"type": "integer", "minimum": 1, "default": 1},
    },
    "required": ["text"],
}


def server(count: int) -> Server[Any]:
    """Return a server of `count` tools that all do the same."""
    tools = [
        Tool(
            name="echo" if number == 0 else f"echo_{number:04}",
            description=f"Say something again, in the {number}th way that this server knows.",
            input_schema=_SCHEMA,
        )
        for number in range(count)
    ]

    async def list_tools(
        _ctx: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def call_tool(
        _ctx: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        text = str((params.arguments or {}).get("text", ""))
        return CallToolResult(content=[TextContent(type="text", text=text)])

    return Server("echo", on_list_tools=list_tools, on_call_tool=call_tool)


def main() -> None:
    """Serve until stdin ends, or until killed."""
    built = server(int(sys.argv[1]))
    if len(sys.argv) > 2:
        import uvicorn

        application = built.streamable_http_app(json_response=True, stateless_http=True)
        uvicorn.run(application, port=int(sys.argv[2]), log_level="error", access_log=False)
        return

    async def serve() -> None:
        async with stdio_server() as (received, sent):
            await built.run(received, sent, built.create_initialization_options())

    anyio.run(serve)


if __name__ == "__main__":
    main()
