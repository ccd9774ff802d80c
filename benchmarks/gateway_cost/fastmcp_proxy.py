"""A FastMCP proxy, tuned: one connected client for all calls. Run in FastMCP's own environment.

python fastmcp_proxy.py PORT http URL
python fastmcp_proxy.py PORT stdio COMMAND [ARG …]
"""

from __future__ import annotations

import asyncio
import sys

from fastmcp.client import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.server.providers.proxy import FastMCPProxy


async def main() -> None:
    """Serve until killed."""
    port, kind, *rest = sys.argv[1:]
    target = rest[0] if kind == "http" else StdioTransport(command=rest[0], args=rest[1:])
    async with Client(target) as client:
        proxy = FastMCPProxy(client_factory=lambda: client, name="proxy")
        # Otherwise the SDK lists all tools before each call, to look for headers to check.
        proxy._mcp_server.get_tool_input_schema = lambda _: None
        await proxy.run_http_async(
            show_banner=False,
            host="127.0.0.1",
            port=int(port),
            path="/mcp",
            log_level="error",
            stateless_http=True,
            json_response=True,
            uvicorn_config={"access_log": False},
        )


if __name__ == "__main__":
    asyncio.run(main())
