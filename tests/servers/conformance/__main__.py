"""Run the fixture: on stdio, or with --http PORT on loopback (0 chooses a port and prints it)."""

from __future__ import annotations

import argparse
import asyncio
import os
import socket

import uvicorn
from mcp.server.stdio import stdio_server

from tests.servers.conformance.events import Events
from tests.servers.conformance.fixture import Fixture

RETRY_MS = 100


async def serve_stdio(fixture: Fixture) -> None:
    async with stdio_server() as (incoming, outgoing):
        await fixture.run(incoming, outgoing, fixture.create_initialization_options())


def serve_http(fixture: Fixture, port: int) -> None:
    listener = socket.create_server(("127.0.0.1", port))
    app = fixture.streamable_http_app(event_store=Events(), retry_interval=RETRY_MS)
    os.write(1, b"http://127.0.0.1:%d/mcp\n" % listener.getsockname()[1])
    config = uvicorn.Config(app, http="h11", log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--http", type=int, metavar="PORT")
    parser.add_argument("--era", choices=("both", "legacy", "modern"), default="both")
    options = parser.parse_args()
    fixture = Fixture(era=options.era)
    if options.http is None:
        asyncio.run(serve_stdio(fixture))
    else:
        serve_http(fixture, options.http)


if __name__ == "__main__":
    main()
