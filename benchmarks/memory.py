"""Memory of a gateway before and after its embedding model is loaded."""

from __future__ import annotations

from benchmarks import catalogues
from benchmarks.gateway_process import GatewayProcess
from benchmarks.tables import markdown

TOOLS = 500


def run() -> str:
    """Read the resident memory after the first list and after the first searches."""
    catalogues.fill(TOOLS)
    with GatewayProcess() as gateway:
        gateway.initialize()
        gateway.request("tools/list", {})
        before = gateway.rss_mb()
        gateway.call("search_tools", {"query": "find a flight to Lisbon"})
        after = gateway.rss_mb()
    rows = [("after the first tools/list", f"{before:.0f}"), ("after a search", f"{after:.0f}")]
    return markdown([f"gateway process, {TOOLS} tools", "RSS MB"], rows)
