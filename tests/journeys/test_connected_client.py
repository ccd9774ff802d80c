"""A person moves a client's servers behind the gateway, and back again."""

from __future__ import annotations

import asyncio
import json
import os

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.journeys.gateways import JOURNEY_S, Installation, fixture_server


async def test_import_connect_start_and_undo_end_where_they_began(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    home = tmp_path / "home"
    home.mkdir()
    installation = Installation(home=home)
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    servers = json.dumps({"modern": fixture_server("stateless")}, indent="\t")
    original = f'\ufeff// mine\r\n{{"mcpServers": {servers},}}'.encode()
    file.write_bytes(original)

    installation.manage_all(("import_servers", "--from", "cursor"), ("discover", "--no-embed"))
    assert file.read_bytes() == original
    installation.manage("connect_client", "cursor")
    text = file.read_text("utf-8-sig")
    entry = json.loads(text.partition("\n")[2].replace(",}", "}"))["mcpServers"]["foregate"]
    # As the client does it: the entry's own environment, and little else.
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **entry["env"]}
    parameters = StdioServerParameters(command=entry["command"], args=entry["args"], env=env)
    async with asyncio.timeout(JOURNEY_S), Client(parameters) as client:
        called = await client.call_tool(
            "call_tool", {"tool": "modern:echo", "arguments": {"text": "hello"}}
        )
        assert "hello" in called.content[0].text
    installation.manage("connect_client", "cursor", "--undo")
    assert file.read_bytes() == original
