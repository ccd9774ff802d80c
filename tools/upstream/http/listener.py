"""The stream of unsolicited messages from a handshake-era server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import aiohttp
import structlog
from mcp_types import JSONRPCError, JSONRPCResponse

from tools.upstream.errors import ConnectionLost, ProtocolViolation, UpstreamError
from tools.upstream.http.endpoint import HttpEndpoint
from tools.upstream.http.events import ServerSentEvent
from tools.upstream.http.exchange import NOT_ALLOWED, NOT_FOUND, OK
from tools.upstream.http.intake import MessageIntake
from tools.upstream.http.problems import translate_errors
from tools.upstream.http.session import HttpSession
from tools.upstream.http.stream import EventStream
from tools.upstream.limits import UpstreamLimits
from tools.upstream.parse import receive_message

WAIT_S, LONGEST_WAIT_S = 1.0, 300.0
STEADY_S = 30.0  # a stream that lasted this long resets the backoff

log = structlog.get_logger(__name__)


class StreamListener:
    """Holds the stream open, and resumes it after interruptions, with backoff.

    Args:
        endpoint: The server.
        session: The session whose headers the requests carry.
        intake: Receives the messages.
        limits: Caps on the messages.
        monotonic: Clock in seconds.
    """

    def __init__(
        self,
        endpoint: HttpEndpoint,
        *,
        session: HttpSession,
        intake: MessageIntake,
        limits: UpstreamLimits,
        monotonic: Callable[[], float],
    ) -> None:
        self._endpoint = endpoint
        self._session = session
        self._intake = intake
        self._limits = limits
        self._monotonic = monotonic
        self._was_open = False
        self._last_id = ""
        self._retry_s: float | None = None

    async def run(self) -> None:
        """Listen until cancelled, or until the server turns out to offer no such stream."""
        wait_s = WAIT_S
        while True:
            began = self._monotonic()
            try:
                if not await self._listen():
                    return
            except ConnectionLost:
                pass
            except UpstreamError as error:
                log.info("server.listener_stopped", server=self._endpoint.server, error=str(error))
                if isinstance(error, ProtocolViolation):
                    return
            steady = self._monotonic() - began >= STEADY_S
            wait_s = WAIT_S if steady else min(2 * wait_s, LONGEST_WAIT_S)
            await asyncio.sleep(min(max(self._retry_s or 0.0, wait_s), LONGEST_WAIT_S))

    async def _listen(self) -> bool:
        """Follow the stream to its end; False if the server offers none.

        Any other refusal of a stream that was open is temporary: the server restarts, or takes
        the broken stream for an open one still.
        """
        headers = self._session.listen_headers(self._last_id)
        answer = await self._endpoint.open("GET", headers)
        try:
            kind = answer.headers.get("Content-Type", "").lower()
            if answer.status != OK or not kind.startswith("text/event-stream"):
                return self._was_open and answer.status not in (NOT_FOUND, NOT_ALLOWED)
            self._was_open = self._intake.is_listening = True
            with translate_errors(self._endpoint.server, self._endpoint.url):
                await self._follow(answer)
        finally:
            self._intake.is_listening = False
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
                    if not await self._handle_event(event):
                        stream.count_waste(len(event.data))
        finally:
            self._last_id = stream.last_id or self._last_id
            self._retry_s = stream.retry_s

    async def _handle_event(self, event: ServerSentEvent) -> bool:
        if event.name != "message" or not event.data:
            return False
        try:
            message = await receive_message(event.data)
        except ValueError:
            self._intake.count_unusable(event.data)
            return False
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            # Answers belong on the streams of their requests, but some servers send all here.
            if self._intake.deliver_expected(message):
                return True
            self._intake.count_unusable(event.data)
            return False
        return self._intake.deliver_unsolicited(message, during=None)
