"""A receiver of webhooks that listens on loopback, and what it received."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass(kw_only=True)
class Receiver:
    """Remembers requests, and answers each with the next status; at last with the last one."""

    url: str = ""
    statuses: list[int] = field(default_factory=lambda: [204])
    headers: dict[str, str] = field(default_factory=dict)
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.Response:
        """Remember a request and answer it."""
        self.received.append((dict(request.headers), await request.read()))
        self.arrived.set()
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        return web.Response(status=status, headers=self.headers)


@asynccontextmanager
async def receiving(**values: Any) -> Any:
    """Listen while the context is open; yields the receiver."""
    receiver = Receiver(**values)
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", receiver.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        receiver.url = f"http://127.0.0.1:{port}/hook"
        yield receiver
    finally:
        await runner.cleanup()
