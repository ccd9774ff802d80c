"""The stream on which a server of the handshake era speaks without having been asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import aiohttp
import structlog
from mcp_types import JSONRPCError, JSONRPCResponse

from tools.upstream.errors import ConnectionLost, ProtocolViolation, UpstreamError
from tools.upstream.http.endpoint import Endpoint
from tools.upstream.http.events import Event
from tools.upstream.http.exchange import OK
from tools.upstream.http.intake import Intake
from tools.upstream.http.problems import translated
from tools.upstream.http.session import HttpSession
from tools.upstream.http.stream import EventStream
from tools.upstream.limits import Limits
from tools.upstream.parse import read_message

WAIT_S, LONGEST_WAIT_S = 1.0, 300.0
STEADY_S = 30.0  # a stream that lasted so long was not ended out of spite

log = structlog.get_logger(__name__)


class Listener:
    """Holds the stream open, and opens it again where it broke off.

    Args:
        endpoint: The server.
        session: What its requests carry.
        intake: Takes what comes.
        limits: Caps on that.
        monotonic: Clock in seconds.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        session: HttpSession,
        intake: Intake,
        limits: Limits,
        monotonic: Callable[[], float],
    ) -> None:
        self._endpoint = endpoint
        self._session = session
        self._intake = intake
        self._limits = limits
        self._monotonic = monotonic
        self._last_id = ""
        self._retry_s: float | None = None

    async def run(self) -> None:
        """Listen until cancelled, or until the server shows that it has no such stream."""
        wait_s = WAIT_S
        while True:
            began = self._monotonic()
            try:
                if not await self._listen():
                    return
            except ConnectionLost:
                pass
            except UpstreamError as error:
                log.info("not listening to server", server=self._endpoint.server, error=str(error))
                if isinstance(error, ProtocolViolation):
                    return
            steady = self._monotonic() - began >= STEADY_S
            wait_s = WAIT_S if steady else min(2 * wait_s, LONGEST_WAIT_S)
            await asyncio.sleep(min(max(self._retry_s or 0.0, wait_s), LONGEST_WAIT_S))

    async def _listen(self) -> bool:
        """Follow the stream to its end; False if there is none to follow."""
        headers = self._session.listen_headers(self._last_id)
        answer = await self._endpoint.open("GET", headers)
        try:
            kind = answer.headers.get("Content-Type", "").lower()
            if answer.status != OK or not kind.startswith("text/event-stream"):
                return False
            with translated(self._endpoint.server, self._endpoint.url):
                await self._follow(answer)
        finally:
            answer.close()
        return True

    async def _follow(self, answer: aiohttp.ClientResponse) -> None:
        stream = EventStream(
            answer,
            server=self._endpoint.server,
            max_event_bytes=self._limits.max_line_bytes,
            max_rubbish_bytes=self._limits.max_rubbish_bytes,
            flowing=self._intake.flowing,
        )
        try:
            while (events := await stream.next()) is not None:
                for event in events:
                    if not self._take(event):
                        stream.wasted(len(event.data))
        finally:
            self._last_id = stream.last_id or self._last_id
            self._retry_s = stream.retry_s

    def _take(self, event: Event) -> bool:
        if event.name != "message" or not event.data:
            return False
        try:
            message = read_message(event.data)
        except ValueError:
            self._intake.unusable(event.data)
            return False
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._intake.unusable(event.data)  # answers come on the streams of their requests
            return False
        return self._intake.unasked(message, during=None)
