"""MCP over streamable HTTP, of both eras, with an untrusted server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import aiohttp
import anyio
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest

from tools.upstream.errors import ServerUnreachable, SessionExpired, UpstreamError
from tools.upstream.http.endpoint import HttpEndpoint
from tools.upstream.http.exchange import HttpExchange, drain_answer
from tools.upstream.http.intake import MessageIntake
from tools.upstream.http.lifetime import RemoteSession
from tools.upstream.http.listener import StreamListener
from tools.upstream.http.outbox import (
    MessageDelivery,
    encode_for_origin,
    read_stamped_headers,
)
from tools.upstream.http.session import HttpSession
from tools.upstream.origin import ConnectionOrigin
from tools.upstream.streams import MessageOutbox
from tools.upstream.uninterrupted import run_uninterrupted

GOODBYE_TIMEOUT_S = 2.0

# Answered only when they end, so they do not show that the server is responsive.
_OPEN_ENDED = frozenset({"subscriptions/listen"})


class HttpTransport(RemoteSession):
    """One session with a remote server; an `UpstreamTransport`.

    The first message makes the connection; leaving ends the session.

    Args:
        endpoint: The server.
        origin: Its name, secrets and limits.
    """

    def __init__(self, endpoint: HttpEndpoint, origin: ConnectionOrigin) -> None:
        self._intake = MessageIntake(origin)
        super().__init__(origin, on_end=self._intake.end)
        self._endpoint = endpoint
        self._session = HttpSession()
        self._deliveries = MessageDelivery(endpoint)
        self._connect_error: ServerUnreachable | None = None
        self._requests_in_flight = 0

    @property
    def messages_dropped(self) -> int:
        """Messages from the server that were unusable or over the rate limit."""
        return self._intake.dropped

    @property
    def failure_summary(self) -> str:
        """The last connection failure, or empty."""
        return str(self._connect_error or "")

    async def __aenter__(self) -> TransportStreams:
        """Open the transport; makes no connection yet."""
        await self.open()
        return self._intake.inbox, MessageOutbox(self._send)

    async def __aexit__(self, *_: object) -> None:
        """End the session, even if this task is being cancelled."""
        self.end(None)
        try:
            await run_uninterrupted(self._end_session())
        finally:
            await self.close()

    async def _send(self, item: SessionMessage) -> None:
        message = item.message
        if self.ended.is_set():
            raise anyio.BrokenResourceError
        method = getattr(message, "method", None)
        headers = self._session.post_headers(method, read_stamped_headers(item))
        if isinstance(message, JSONRPCRequest):
            await self._send_request(message, headers)
        elif method == "notifications/initialized":
            # The server must receive it before the next request.
            await self._deliveries.deliver(await encode_for_origin(message, self.origin), headers)
            if not self._session.is_modern:
                self.spawn(self._make_listener().run())
        elif not self._session.is_modern or _is_kept_notification(message):
            body = await encode_for_origin(message, self.origin)
            self.spawn(self._deliveries.deliver(body, headers))
        # The rest is not sent in the modern era: closing a request's stream already cancels it,
        # and the protocol does not let clients send answers.

    async def _send_request(self, message: JSONRPCRequest, headers: Mapping[str, str]) -> None:
        exchange = HttpExchange(
            message,
            modern=self._session.is_modern,
            endpoint=self._endpoint,
            session=self._session,
            intake=self._intake,
            limits=self.origin.limits,
        )
        opened = self._begin_session if message.method == "initialize" else None
        counted = message.method not in _OPEN_ENDED
        self._requests_in_flight += counted
        try:
            async with self.interrupt_at_end():
                body = await encode_for_origin(message, self.origin)
                unfinished = await exchange.run(headers, body, opened=opened)
        except UpstreamError as error:
            self._note_error(error)
            raise
        else:
            self._connect_error = None
        finally:
            self._requests_in_flight -= counted
            if self._connect_error is not None and not self._requests_in_flight:
                self.end(self._connect_error)
        if unfinished is not None:
            self.spawn(drain_answer(unfinished))

    def _begin_session(self, answer: aiohttp.ClientResponse) -> None:
        self._session.begin_session(answer.headers)

    def _note_error(self, error: UpstreamError) -> None:
        """Update the state of the session after an error."""
        if isinstance(error, SessionExpired) and self._session.id:
            self.end(error)
        elif isinstance(error, ServerUnreachable):
            self._connect_error = error  # cleared if another request reaches the server
        else:
            self._connect_error = None

    def _make_listener(self) -> StreamListener:
        return StreamListener(
            self._endpoint,
            session=self._session,
            intake=self._intake,
            limits=self.origin.limits,
            monotonic=self.origin.monotonic,
        )

    async def _end_session(self) -> None:
        """End the session at the server, which may refuse."""
        if not self._session.id or self.fault is not None:
            return
        try:
            async with asyncio.timeout(GOODBYE_TIMEOUT_S):
                answer = await self._endpoint.open("DELETE", self._session.listen_headers())
                answer.close()
        except (UpstreamError, TimeoutError):
            return


def _is_kept_notification(message: object) -> bool:
    return isinstance(message, JSONRPCNotification) and message.method != "notifications/cancelled"
