"""A server that prints rubbish, reports progress, and waits until it is cancelled."""

import asyncio
import os
import sys
import warnings
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("chatty")


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Count aloud, reporting progress at each number."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, f"at {number}")
    return f"counted to {to}"


@server.tool()
def rubbish() -> str:
    """Print what is no protocol, on both outputs, and warn."""
    os.write(1, b"this is not JSON\n\xff\xfe\n")
    sys.stderr.write("nor is this\n")
    warnings.warn("nor this", stacklevel=1)
    return "printed"


@server.tool()
async def wait(marker: str) -> str:
    """Wait until cancelled; the marker file tells what became of the call."""
    _note(marker, "waiting")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        _note(marker, "cancelled")
        raise
    return ""


def _note(marker: str, word: str) -> None:
    Path(marker).write_text(word)


if __name__ == "__main__":
    server.run("stdio")
