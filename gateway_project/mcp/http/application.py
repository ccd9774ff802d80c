"""The ASGI application: the MCP endpoint beside whatever else the process serves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway_project.mcp.http.probes import Probes
from gateway_project.mcp.http.service import Service

PATH: Final = "/mcp"

log = logging.getLogger(__name__)


class Application:
    """Routes requests, and runs the service for as long as the server runs.

    A server that tells of its start and its end (uvicorn) has the service started and stopped with
    it. One that does not (daphne) has it started by the first request.

    Args:
        make: Makes the service; called once, in the event loop.
        otherwise: Serves all other paths; by default what a monitor asks.
    """

    def __init__(self, make: Callable[[], Service], *, otherwise: ASGIApp | None = None) -> None:
        self._make = make
        self._otherwise = otherwise or Probes(lambda: self.service)
        self._service: Service | None = None
        self._started: asyncio.Event | None = None
        self._background: asyncio.Task[None] | None = None

    @property
    def service(self) -> Service:
        """The service, made when it is first needed."""
        if self._service is None:
            self._service = self._make()
        return self._service

    def close(self) -> None:
        """End streams that would keep the server from ending."""
        if self._service is not None:
            self._service.gate.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve what the server hands on."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http" and scope["path"].rstrip("/") == PATH:
            if self._started is None or not self._started.is_set():
                await self._start()
            await self.service.gate(scope, receive, send)
        else:
            await self._otherwise(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self._started = asyncio.Event()
        async with self.service.running():
            self._started.set()
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _start(self) -> None:
        """Start the service where the server tells nothing of its life."""
        if self._started is None:
            self._started = asyncio.Event()
            self._background = asyncio.get_running_loop().create_task(self._run(self._started))
        await self._started.wait()

    async def _run(self, started: asyncio.Event) -> None:
        """Run until the loop ends; the task's own top, so that no error of it is lost."""
        try:
            async with self.service.running():
                started.set()
                await asyncio.Event().wait()
        except Exception:
            log.exception("the MCP endpoint ended")
            raise
