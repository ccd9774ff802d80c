"""The stream of unsolicited messages from a handshake-era server."""

from __future__ import annotations

import asyncio

import aiohttp
import structlog
from mcp_types import JSONRPCError, JSONRPCResponse

from tools.upstream.errors import ConnectionLost, ProtocolViolation, UpstreamError
from tools.upstream.http.body import EventStream, is_stream
from tools.upstream.http.endpoint import HttpEndpoint
from tools.upstream.http.events import ServerSentEvent
from tools.upstream.http.exchange import NOT_ALLOWED, NOT_FOUND, OK, HttpSession
from tools.upstream.http.problems import translate_errors
from tools.upstream.parse import receive_message
from tools.upstream.wire import Wire

WAIT_S, LONGEST_WAIT_S = 1.0, 300.0
STEADY_S = 30.0  # a stream that lasted this long resets the backoff

log = structlog.get_logger(__name__)


class StreamListener:
    """Holds the stream open, and resumes it after interruptions, with backoff.

    Args:
        endpoint: The server.
        session: The session whose headers the requests carry.
        wire: Receives the messages.
    """

    def __init__(self, endpoint: HttpEndpoint, *, session: HttpSession, wire: Wire) -> None:
        self._endpoint = endpoint
        self._session = session
        self._wire = wire
        self._monotonic = wire.origin.monotonic
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
            if answer.status != OK or not is_stream(answer):
                return self._was_open and answer.status not in (NOT_FOUND, NOT_ALLOWED)
            self._was_open = self._session.is_listening = True
            with translate_errors(self._endpoint.server, self._endpoint.url):
                await self._follow(answer)
        finally:
            self._session.is_listening = False
            answer.close()
        return True

    async def _follow(self, answer: aiohttp.ClientResponse) -> None:
        stream = EventStream(
            answer,
            origin=self._wire.origin,
            max_event_bytes=self._wire.origin.limits.max_line_bytes,
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
            self._wire.count_unusable(event.data)
            return False
        # Answers belong on the streams of their requests, but some servers send all here.
        is_taken = self._wire.receive(message)
        if not is_taken and isinstance(message, JSONRPCResponse | JSONRPCError):
            self._wire.count_unusable(event.data)
        return is_taken
