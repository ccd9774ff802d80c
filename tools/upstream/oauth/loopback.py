"""A listener on this machine that a browser comes back to at the end of a sign-in."""

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

RECEIVED = "You can close this window and go back to the terminal, which says how it went.\n"
NOT_THIS = "This is not the sign-in that is being waited for.\n"
HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


@dataclass(kw_only=True)
class Loopback:
    """A listener that waits for one response.

    Attributes:
        redirect_uri: Where the browser must come back to.
    """

    redirect_uri: str
    _state: str = field(default="", init=False, repr=False)
    _answer: asyncio.Future[Mapping[str, str]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future(), init=False, repr=False
    )

    async def wait(self, state: str) -> Mapping[str, str]:
        """Return the parameters of the browser's address, once it brings this state."""
        self._state = state
        return await self._answer

    def take(self, given: Mapping[str, str]) -> bool:
        """Take a response; return False, and wait on, if it is of another state or of none."""
        if not self._state or given.get("state") != self._state:
            return False
        if not self._answer.done():
            self._answer.set_result(given)
        return True

    def paste(self, address: str) -> bool:
        """Take the address that a browser elsewhere came back to, as a person copied it."""
        try:
            query = urlsplit(address.strip()).query
            return self.take(dict(parse_qsl(query, max_num_fields=MAX_FIELDS)))
        except ValueError:
            return False

    async def receive(self, request: web.Request) -> web.Response:
        """Answer a browser."""
        if not self.take(dict(request.query)):
            return web.Response(text=NOT_THIS, status=400, headers=HEADERS)
        return web.Response(text=RECEIVED, headers=HEADERS)


@asynccontextmanager
async def listening() -> AsyncIterator[Loopback]:
    """Listen on a port that the system chooses.

    Raises:
        OSError: If this machine has no port left.

    References:
        RFC 8252, section 7.3: the address of the loopback interface, not its name.
    """
    application = web.Application()
    runner = web.AppRunner(
        application,
        access_log=None,
        max_line_size=MAX_LINE_BYTES,
        shutdown_timeout=SHUTDOWN_S,
    )
    loopback = Loopback(redirect_uri="")
    application.router.add_get(PATH, loopback.receive)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, 0).start()
        port = runner.addresses[0][1]
        loopback.redirect_uri = f"http://{HOST}:{port}{PATH}"
        yield loopback
    finally:
        await runner.cleanup()
