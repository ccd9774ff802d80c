"""MCP over streamable HTTP, of both eras, with an untrusted server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import aiohttp
from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, RequestId

from tools.upstream.errors import ServerUnreachable, SessionExpired, UpstreamError
from tools.upstream.http.body import drain_answer
from tools.upstream.http.endpoint import HttpEndpoint
from tools.upstream.http.exchange import HttpExchange
from tools.upstream.http.lifetime import RemoteSession
from tools.upstream.http.listener import StreamListener
from tools.upstream.http.session import HttpSession
from tools.upstream.origin import ConnectionOrigin
from tools.upstream.uninterrupted import run_uninterrupted
from tools.upstream.wire import TransportClosed

_INITIALIZED = "notifications/initialized"
GOODBYE_TIMEOUT_S = 2.0

# Answered only when they end, so they do not show that the server is responsive.
_OPEN_ENDED = frozenset({"subscriptions/listen"})


class HttpTransport(RemoteSession):
    """One session with a remote server.

    The first message makes the connection; leaving ends the session.

    Args:
        endpoint: The server.
        origin: Its name, secrets and limits.
    """

    def __init__(self, endpoint: HttpEndpoint, origin: ConnectionOrigin) -> None:
        super().__init__(endpoint, origin)
        self._session = HttpSession()
        self._connect_error: ServerUnreachable | None = None
        self._requests_in_flight = 0

    @property
    def failure_summary(self) -> str:
        """The last connection failure, or empty."""
        return str(self._connect_error or "")

    async def __aexit__(self, *_: object) -> None:
        """End the session, even if this task is being cancelled."""
        self.end(None)
        try:
            await run_uninterrupted(self._end_session())
        finally:
            await super().__aexit__()

    async def send(
        self,
        message: JSONRPCMessage,
        *,
        headers: Mapping[str, str],
        related: RequestId | None = None,  # noqa: ARG002 - the base's
    ) -> None:
        """Send a message in a request of its own; for a request, until its answer is there."""
        if self.ended.is_set():
            raise TransportClosed
        merged = self._session.post_headers(getattr(message, "method", None), headers)
        if isinstance(message, JSONRPCRequest):
            await self._send_request(message, merged)
        elif isinstance(message, JSONRPCNotification) and message.method == _INITIALIZED:
            # The server must receive it before the next request.
            await self.deliver(await self.encode(message), merged)
            if not self._session.is_modern:
                listener = StreamListener(self._endpoint, session=self._session, wire=self.wire)
                self.spawn(listener.run())
        elif not self._session.is_modern or _is_kept_notification(message):
            self.spawn(self.deliver(await self.encode(message), merged))
        # The rest is not sent in the modern era: closing a request's stream already cancels it,
        # and the protocol does not let clients send answers.

    async def _send_request(self, message: JSONRPCRequest, headers: Mapping[str, str]) -> None:
        exchange = HttpExchange(
            message, endpoint=self._endpoint, session=self._session, wire=self.wire
        )
        opened = self._begin_session if message.method == "initialize" else None
        counted = message.method not in _OPEN_ENDED
        self._requests_in_flight += counted
        try:
            async with self.interrupt_at_end():
                body = await self.encode(message)
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


def _is_kept_notification(message: JSONRPCMessage) -> bool:
    return isinstance(message, JSONRPCNotification) and message.method != "notifications/cancelled"
