"""Remote servers made with the SDK, served in the test's own event loop."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from pydantic import Field

from tests.patience import PATIENCE_S


def make_server() -> MCPServer:
    """Return a server that speaks both eras."""
    server = MCPServer("modern", instructions="Call echo.")

    @server.tool()
    def echo(text: str) -> str:
        """Return the text."""
        return text

    @server.tool()
    async def steps(ctx: Context) -> str:
        """Report progress."""
        await ctx.report_progress(1, 2, "half")
        await ctx.report_progress(2, 2, "whole")
        return "done"

    @server.tool()
    async def hang() -> str:
        """Never return."""
        try:
            await asyncio.Event().wait()
        finally:
            CANCELLED.set()
        return ""

    @server.tool()
    def region(
        region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    ) -> str:
        """Return the region."""
        return region

    return server


CANCELLED = asyncio.Event()


class _Quiet(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[str]:
    """Serve an ASGI application; yields its origin."""
    config = uvicorn.Config(
        app, port=0, log_level="error", timeout_graceful_shutdown=1, ws="none", lifespan="on"
    )
    server = _Quiet(config)
    task = asyncio.ensure_future(server.serve())
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not server.started:  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                while server.server_state.connections:  # noqa: ASYNC110 - likewise
                    await asyncio.sleep(0.01)
        server.should_exit = True
        await task
