"""A loopback HTTP listener that receives the browser's redirect at the end of a sign-in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from aiohttp import web

HOST = "127.0.0.1"
PATH = "/callback"
MAX_LINE_BYTES = 16_384
MAX_FIELDS = 50
SHUTDOWN_S = 1.0

RECEIVED_TEXT = "You can close this window and go back to the terminal for the result.\n"
WRONG_STATE_TEXT = "This is not the expected sign-in.\n"
HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


@dataclass(kw_only=True)
class LoopbackListener:
    """Waits for one authorization response.

    Attributes:
        redirect_uri: Address the browser must be redirected to.
    """

    redirect_uri: str
    _state: str = field(default="", init=False, repr=False)
    _answer: asyncio.Future[Mapping[str, str]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future(), init=False, repr=False
    )

    async def wait_for_response(self, state: str) -> Mapping[str, str]:
        """Wait for a response with this state, and return its query parameters."""
        self._state = state
        return await self._answer

    def accept_response(self, parameters: Mapping[str, str]) -> bool:
        """Accept a response if it has the expected state; return whether it did."""
        if not self._state or parameters.get("state") != self._state:
            return False
        if not self._answer.done():
            self._answer.set_result(parameters)
        return True

    def accept_pasted_url(self, address: str) -> bool:
        """Accept a redirect address that a person copied from a browser elsewhere."""
        try:
            query = urlsplit(address.strip()).query
            return self.accept_response(dict(parse_qsl(query, max_num_fields=MAX_FIELDS)))
        except ValueError:
            return False

    async def handle_request(self, request: web.Request) -> web.Response:
        """Handle the browser's request."""
        if not self.accept_response(dict(request.query)):
            return web.Response(text=WRONG_STATE_TEXT, status=400, headers=HEADERS)
        return web.Response(text=RECEIVED_TEXT, headers=HEADERS)


@asynccontextmanager
async def open_loopback() -> AsyncIterator[LoopbackListener]:
    """Listen on a port that the system chooses.

    Raises:
        OSError: If no port is free.

    References:
        RFC 8252, section 7.3: use the loopback IP address, not `localhost`.
    """
    application = web.Application()
    runner = web.AppRunner(
        application,
        access_log=None,
        max_line_size=MAX_LINE_BYTES,
        shutdown_timeout=SHUTDOWN_S,
    )
    loopback = LoopbackListener(redirect_uri="")
    application.router.add_get(PATH, loopback.handle_request)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, 0).start()
        port = runner.addresses[0][1]
        loopback.redirect_uri = f"http://{HOST}:{port}{PATH}"
        yield loopback
    finally:
        await runner.cleanup()
