"""Whether a known tool may be called now, and as one that only reads."""

from __future__ import annotations

from execution.call_errors import NotRead, ToolUnavailable
from tools.catalogue import Catalogue, CatalogueTool


def require_usable(tool: CatalogueTool, catalogue: Catalogue) -> None:
    """Require that a tool and its server are enabled and active.

    Raises:
        ToolUnavailable: If they are not.
    """
    server = catalogue.servers.get(tool.server)
    if server is None or not server.enabled:
        raise ToolUnavailable(tool.tool, "server_disabled")
    if tool.state != "active":
        raise ToolUnavailable(
            tool.tool, tool.state, findings=tool.findings, places=tool.changed_places
        )
    if not tool.enabled:
        raise ToolUnavailable(tool.tool, "disabled")


def require_for_models(tool: CatalogueTool) -> None:
    """Require that models may call a tool.

    Raises:
        ToolUnavailable: If its server keeps it for its own pages.
    """
    if not tool.is_for_models:
        raise ToolUnavailable(tool.tool, "for_pages")


def require_read(tool: CatalogueTool) -> None:
    """Require that a tool only reads, as far as this installation takes its server's word.

    Raises:
        NotRead: If it is not known to.
    """
    if tool.read_doubt:
        raise NotRead(tool.tool, tool.read_doubt)
