"""ASGI application: the MCP endpoint beside everything else that the process serves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway_project.access.throttle import client_network
from gateway_project.foundation import endpoint
from gateway_project.mcp.http.answers import RequestRejected
from gateway_project.mcp.http.body import ClientGone, hold_body, replay_body
from gateway_project.mcp.http.checks import HeaderMap, header_text
from gateway_project.mcp.http.probes import Probes
from gateway_project.mcp.http.request_threads import RequestThreads
from gateway_project.mcp.http.service import HttpService

SERVICE_SCOPE_KEY: Final = "foregate.service"
"""Key of the service in the scope of the requests that it does not serve itself."""
MAX_FORM_BYTES: Final = 16 * 1024 * 1024
"""Largest body of a request to the console or the API."""
PROBES: Final = "/health"
"""Path of the probes, which count as one holder: their own."""
BODILESS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

log = logging.getLogger(__name__)


class Application:
    """Routes requests and runs the service for as long as the server runs.

    Under a server with the lifespan protocol (uvicorn) the service starts and stops with the
    server; under one without (daphne) the first request starts it.

    Args:
        make: Makes the service; called once, in the event loop.
        otherwise: Serves all other paths; by default the probes.
    """

    def __init__(
        self, make: Callable[[], HttpService], *, otherwise: ASGIApp | None = None
    ) -> None:
        self._make = make
        self._otherwise = otherwise or Probes(lambda: self.service)
        self._service: HttpService | None = None
        self._started: asyncio.Event | None = None
        self._background: asyncio.Task[None] | None = None
        self._threads = RequestThreads()

    @property
    def service(self) -> HttpService:
        """The service, made on first use."""
        if self._service is None:
            self._service = self._make()
        return self._service

    def close(self) -> None:
        """End streams that would keep the server from stopping."""
        if self._service is not None:
            self._service.gate.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Route an ASGI connection."""
        if scope["type"] == "lifespan":
            await self._handle_lifespan(receive, send)
        elif scope["type"] == "http" and endpoint.is_endpoint(scope["path"]):
            if self._started is None or not self._started.is_set():
                await self._start_service()
            await self.service.gate(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve_otherwise(scope, receive, send)
        else:
            await self._otherwise(scope, receive, send)

    async def _serve_otherwise(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of the console or of the API, which can reach the service."""
        headers = dict(scope["headers"])
        holder = _find_holder(scope, headers)
        try:
            if scope["method"] in BODILESS:
                await self._serve_in_thread(scope, receive, send, holder=holder)
                return
            async with hold_body(
                receive,
                declared=header_text(headers, b"content-length"),
                holder=holder,
                max_bytes=MAX_FORM_BYTES,
            ) as content:
                replayed = replay_body(content, receive)
                await self._serve_in_thread(scope, replayed, send, holder=holder)
        except RequestRejected as error:
            await error.problem.send(send)
        except ClientGone:
            return

    async def _serve_in_thread(
        self, scope: Scope, receive: Receive, send: Send, *, holder: str
    ) -> None:
        async with self._threads.lend(
            send, holder=holder, is_privileged=holder == PROBES
        ) as watched:
            inner = {**scope, SERVICE_SCOPE_KEY: self.service}
            await self._otherwise(inner, receive, watched)

    async def _handle_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self._started = asyncio.Event()
        async with self.service.run_service():
            self._started.set()
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _start_service(self) -> None:
        """Start the service under a server without the lifespan protocol."""
        if self._started is None:
            self._started = asyncio.Event()
            self._background = asyncio.get_running_loop().create_task(
                self._run_service(self._started)
            )
        await self._started.wait()

    async def _run_service(self, started: asyncio.Event) -> None:
        """Run until the loop ends; the top level of its task, which logs any error."""
        try:
            async with self.service.run_service():
                started.set()
                await asyncio.Event().wait()
        except Exception:
            log.exception("the MCP endpoint failed")
            raise


def _find_holder(scope: Scope, headers: HeaderMap) -> str:
    """Return who counts as the sender of a request before it is authenticated.

    Whoever invents a token or a cookie is soon refused, as it costs little to check.
    """
    if scope["path"].startswith(PROBES):
        return PROBES
    sent = header_text(headers, b"authorization") or header_text(headers, b"cookie")
    return sent or client_network((scope.get("client") or ("",))[0])
