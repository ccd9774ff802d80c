"""Tokens of the gateway's own tools, compared with listing everything."""

from __future__ import annotations

import json

from benchmarks.definitions import load_public_tools
from benchmarks.gateway_process import GatewayProcess
from benchmarks.tables import markdown
from tools import token_count

WINDOW = 200_000


def run() -> str:
    """Count the tokens of the gateway's list, and of listing everything."""
    with GatewayProcess() as gateway:
        gateway.initialize()
        listed = gateway.request("tools/list", {})["tools"]
    own = sum(
        token_count.count_definition(tool["name"], tool["description"], tool["inputSchema"])
        for tool in listed
    )
    whole = token_count.count_tokens(json.dumps(listed, ensure_ascii=False, separators=(",", ":")))
    rows: list[tuple[object, ...]] = [
        ("gateway: name, description, input schema", len(listed), own, f"{own / WINDOW:.2%}"),
        ("gateway: everything sent, output schemas too", len(listed), whole, _share(whole)),
    ]
    for name in ("livemcpbench", "sealtools"):
        tools = load_public_tools(name)
        if tools is not None:
            tokens = sum(
                token_count.count_definition(t["name"], t["description"], t["input_schema"])
                for t in tools
            )
            rows.append((f"listing all of {name}", len(tools), f"{tokens:,}", _share(tokens)))
    return markdown(["what", "tools", "tokens (o200k_base)", "share of 200k"], rows)


def _share(tokens: int) -> str:
    return f"{tokens / WINDOW:.2%}"
