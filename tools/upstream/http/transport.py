"""MCP over streamable HTTP, of both eras, with a server that may misbehave in every way."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType

import aiohttp
import anyio
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest

from tools.upstream.errors import SessionExpired, Unreachable, UpstreamError
from tools.upstream.finish import to_the_end
from tools.upstream.http.endpoint import Endpoint
from tools.upstream.http.exchange import Exchange, settle
from tools.upstream.http.intake import Intake
from tools.upstream.http.lifetime import Lifetime
from tools.upstream.http.listener import Listener
from tools.upstream.http.outbox import Deliveries, HttpOutbox, encoded, stamped
from tools.upstream.http.session import HttpSession
from tools.upstream.origin import Origin

GOODBYE_TIMEOUT_S = 2.0

# Answered when they end, so that they are no sign of a server at work.
_OPEN_ENDED = frozenset({"subscriptions/listen"})


class HttpTransport:
    """One session with a remote server; an `UpstreamTransport`.

    Entering makes no connection, the first message does; leaving ends the session.

    Args:
        endpoint: The server.
        origin: Its name, secrets and limits.
    """

    def __init__(self, endpoint: Endpoint, origin: Origin) -> None:
        self._endpoint = endpoint
        self._origin = origin
        self._session = HttpSession()
        self._intake = Intake(origin)
        self._lifetime = Lifetime(origin.server, on_end=self._intake.end)
        self._deliveries = Deliveries(endpoint, self._judge)
        self._doubt: Unreachable | None = None
        self._at_work = 0

    @property
    def ended(self) -> asyncio.Event:
        """Set as soon as no answer can come any more."""
        return self._lifetime.ended

    async def room(self) -> None:
        """Return at once: each request has a connection of its own."""

    @property
    def unsent_bytes(self) -> int:
        """None: what is sent waits in its own connection."""
        return 0

    @property
    def pid(self) -> int | None:
        """None: its process, if it has one, is somewhere else."""
        return None

    @property
    def messages_dropped(self) -> int:
        """Messages of the server that were unusable or too many."""
        return self._intake.dropped

    @property
    def last_words(self) -> str:
        """What kept a connection from being made last, empty if nothing did."""
        return str(self._doubt or "")

    @property
    def ended_well(self) -> bool:
        """Whether the server merely ended the session."""
        return self._lifetime.ended_well

    def why_ended(self, *, while_doing: str) -> UpstreamError:  # noqa: ARG002 - the protocol's
        """Return the error for what was under way when the session ended."""
        return self._lifetime.why_ended()

    async def __aenter__(self) -> TransportStreams:
        """Be ready to send."""
        await self._lifetime.open()
        return self._intake.inbox, HttpOutbox(self._send)

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        """End the session, even if this task is being cancelled."""
        self._lifetime.end(None)
        try:
            await to_the_end(self._goodbye())
        finally:
            await self._lifetime.close()

    async def _send(self, item: SessionMessage) -> None:
        message = item.message
        if self._lifetime.ended.is_set():
            raise anyio.BrokenResourceError
        method = getattr(message, "method", None)
        headers = self._session.post_headers(method, stamped(item))
        if isinstance(message, JSONRPCRequest):
            await self._request(message, headers)
        elif method == "notifications/initialized":
            # It must be there before the next request.
            await self._deliveries.deliver(encoded(message, self._origin), headers)
            if not self._session.is_modern:
                self._lifetime.spawn(self._listener().run())
        elif not self._session.is_modern or _is_news(message):
            body = encoded(message, self._origin)
            self._lifetime.spawn(self._deliveries.deliver(body, headers))
        # What is left is a cancellation, which closing the request's stream has been already,
        # and answers, which the modern protocol does not let clients send.

    async def _request(self, message: JSONRPCRequest, headers: Mapping[str, str]) -> None:
        exchange = Exchange(
            message,
            modern=self._session.is_modern,
            endpoint=self._endpoint,
            session=self._session,
            intake=self._intake,
            limits=self._origin.limits,
        )
        opened = self._begin if message.method == "initialize" else None
        counted = message.method not in _OPEN_ENDED
        self._at_work += counted
        try:
            async with self._lifetime.interruptible():
                body = encoded(message, self._origin)
                unfinished = await exchange.run(headers, body, opened=opened)
        except UpstreamError as error:
            self._judge(error)
            raise
        else:
            self._doubt = None
        finally:
            self._at_work -= counted
            if self._doubt is not None and not self._at_work:
                self._lifetime.end(self._doubt)
        if unfinished is not None:
            self._lifetime.spawn(settle(unfinished))

    def _begin(self, answer: aiohttp.ClientResponse) -> None:
        self._session.begin(answer.headers)

    def _judge(self, error: UpstreamError) -> None:
        """Note what an error says about the session."""
        if isinstance(error, SessionExpired) and self._session.id:
            self._lifetime.end(error)
        elif isinstance(error, Unreachable):
            self._doubt = error  # unless another request shows that it is there
        else:
            self._doubt = None

    def _listener(self) -> Listener:
        return Listener(
            self._endpoint,
            session=self._session,
            intake=self._intake,
            limits=self._origin.limits,
            monotonic=self._origin.monotonic,
        )

    async def _goodbye(self) -> None:
        """End the session at the server, which may not allow that."""
        if not self._session.id or self._lifetime.fault is not None:
            return
        try:
            async with asyncio.timeout(GOODBYE_TIMEOUT_S):
                answer = await self._endpoint.open("DELETE", self._session.listen_headers())
                answer.close()
        except (UpstreamError, TimeoutError):
            return


def _is_news(message: object) -> bool:
    return isinstance(message, JSONRPCNotification) and message.method != "notifications/cancelled"
