"""A server made with the SDK: speaks both eras, and changes its tools on request."""

import asyncio

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("modern", instructions="Call echo.")


@server.tool()
def echo(text: str) -> str:
    """Return the text."""
    return text


@server.tool()
async def hang() -> str:
    """Never return."""
    await asyncio.Event().wait()
    return ""


@server.tool()
async def grow(ctx: Context) -> str:
    """Add a tool and say so."""
    server.add_tool(lambda: "grown", name="grown", description="New.")
    await ctx.notify_tools_changed()
    return "ok"


if __name__ == "__main__":
    server.run("stdio")
