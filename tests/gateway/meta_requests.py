"""Requests to any meta-tool for a tool, made from the arguments that it declares."""

from __future__ import annotations

from typing import Any, Final

from gateway_project.mcp.meta_tool import MetaTool

NOBODY: Final = "00000000-0000-4000-8000-000000000000"
WIDEST: Final = {"limit": 50, "detail": "full"}
"""What makes an answer tell most."""
NAMES_NOTHING: Final = {
    *("parameters", "context", "mode", "token_budget", "select", "max_tokens"),
    *("fresh", "timeout_s", "wait_s", "approval"),
}
"""Arguments that name neither a tool nor a server."""


def list_requests(meta_tool: MetaTool, tool: str) -> list[dict[str, Any]]:
    """Return arguments that name a tool: the required ones, and each other one beside them."""
    server = tool.partition(":")[0]
    workflow = {"tasks": [{"id": "a", "tool": tool, "arguments": {}}]}
    ways = {
        "tool": tool,
        "arguments": {},
        "query": f"read notes {server}",
        "intent": f"read the notes of the {server}",
        "server": server,
        "category": server,
        "context_tools": [tool],
        "tools_considered": [tool],
        "workflow": workflow,
        "options": {"dry_run": True},
        "run_id": NOBODY,
        "action": "replan",
        "speculation_id": "0" * 32,
        "verdict": "modify",
    }
    unknown = meta_tool.takes.keys() - ways.keys() - WIDEST.keys() - NAMES_NOTHING
    assert not unknown, f"say how {unknown} of {meta_tool.name} name a tool, or that they do not"
    least = {name: ways[name] for name in meta_tool.requires}
    least |= {name: value for name, value in WIDEST.items() if name in meta_tool.takes}
    others = [name for name in meta_tool.takes if name in ways and name not in least]
    return [least, *({**least, name: ways[name]} for name in others)]
