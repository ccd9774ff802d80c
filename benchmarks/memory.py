"""Memory of a gateway before and after its embedding model is loaded."""

from __future__ import annotations

from benchmarks import catalogues
from benchmarks.gateway_process import GatewayProcess
from benchmarks.tables import markdown

TOOLS = 500


def run() -> str:
    """Read the resident memory once it can answer, and after the first search."""
    catalogues.fill(TOOLS)
    with GatewayProcess() as gateway:
        gateway.initialize()
        # Answered only once the catalogue is loaded; the model is loaded after the first list.
        gateway.call("describe_tool", {"tool": "bench0:none"})
        before = gateway.rss_mb()
        gateway.request("tools/list", {})
        gateway.call("search_tools", {"query": "find a flight to Lisbon"})
        after = gateway.rss_mb()
    rows = [("set up, before the model", f"{before:.0f}"), ("after a search", f"{after:.0f}")]
    return markdown([f"gateway process, {TOOLS} tools", "RSS MB"], rows)
