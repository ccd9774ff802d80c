"""A server that joins a set into a default, so that its order is another at each start."""

from typing import Annotated

from mcp.server.mcpserver import MCPServer
from pydantic import Field

FIELDS = {"summary", "status", "assignee", "labels", "created", "updated", "priority", "reporter"}

server = MCPServer("unstable")


@server.tool()
def search_issues(
    jql: str, fields: Annotated[str, Field(description="Which fields.")] = ",".join(FIELDS)
) -> str:
    """Search issues."""
    return f"{jql}: {len(fields.split(','))}"


if __name__ == "__main__":
    server.run("stdio")
