"""A server with a page (MCP Apps) from a file, and a tool that only its page may call."""

import sys
from pathlib import Path

from mcp.server.apps import APP_MIME_TYPE, Apps
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resources import FileResource

PAGE = "ui://paged/page.html"
apps = Apps()
state = {"count": 0}


@apps.tool(resource_uri=PAGE)
def show_count() -> str:
    """Show the count of clicks."""
    return f"count {state['count']}"


@apps.tool(resource_uri=PAGE, visibility=["app"])
def bump() -> str:
    """Count one more click."""
    state["count"] += 1
    return f"count {state['count']}"


apps.add_resource(
    FileResource(uri=PAGE, name="page", path=Path(sys.argv[1]).resolve(), mime_type=APP_MIME_TYPE)
)
MCPServer("paged", extensions=[apps]).run()
