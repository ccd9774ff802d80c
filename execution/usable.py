"""Whether a tool that is known may be called now."""

from __future__ import annotations

from execution.call_errors import ToolUnavailable
from tools.catalogue import Catalogue, CatalogueTool


def require_usable(tool: CatalogueTool, catalogue: Catalogue) -> None:
    """Make sure that a tool may be called now, as far as it and its server are concerned.

    Raises:
        ToolUnavailable: If it may not.
    """
    server = catalogue.servers.get(tool.server)
    if server is None or not server.enabled:
        raise ToolUnavailable(tool.tool, "server_disabled")
    if tool.state != "active":
        raise ToolUnavailable(tool.tool, tool.state, findings=tool.findings)
    if not tool.enabled:
        raise ToolUnavailable(tool.tool, "disabled")
