"""MCP over HTTP with SSE, the transport of the protocol's first version (2024-11-05)."""

from __future__ import annotations

import asyncio

import aiohttp
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest
from yarl import URL

from tools.upstream.errors import (
    ConnectionLost,
    ForbiddenAddress,
    HttpRefused,
    ProtocolViolation,
    SessionExpired,
    UpstreamError,
)
from tools.upstream.http.address import is_same_origin, keep_encryption, redact_address
from tools.upstream.http.endpoint import HttpEndpoint
from tools.upstream.http.events import ServerSentEvent
from tools.upstream.http.exchange import OK
from tools.upstream.http.lifetime import RemoteSession
from tools.upstream.http.outbox import (
    MessageDelivery,
    encode_for_origin,
    post_message,
    read_stamped_headers,
)
from tools.upstream.http.problems import translate_errors
from tools.upstream.http.session import LISTEN_HEADERS, POST_HEADERS
from tools.upstream.http.stream import EventStream
from tools.upstream.lines import OversizeLine
from tools.upstream.origin import ConnectionOrigin
from tools.upstream.outstanding import OutstandingRequests
from tools.upstream.reader import MessageReader
from tools.upstream.streams import MessageInbox, MessageOutbox

TARGET_TIMEOUT_S = 10.0  # servers of this transport name the address at once


class SseTransport(RemoteSession):
    """One session with a remote server; an `UpstreamTransport`.

    One stream carries all messages from the server; answers are matched by id, as on stdio.

    Args:
        endpoint: The server.
        origin: Its name, secrets and limits.
    """

    def __init__(self, endpoint: HttpEndpoint, origin: ConnectionOrigin) -> None:
        super().__init__(origin, on_end=self._stop_waiting)
        self._endpoint = endpoint
        self._outstanding = OutstandingRequests()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._inbox = MessageInbox(pause=self._flowing.clear, resume=self._flowing.set)
        self._deliveries = MessageDelivery(endpoint)
        self._reader = MessageReader(
            origin,
            inbox=self._inbox,
            outstanding=self._outstanding,
            on_fatal=self.end,
        )
        self._target: URL | None = None
        self._target_known = asyncio.Event()

    @property
    def messages_dropped(self) -> int:
        """Messages from the server that were unusable or over the rate limit."""
        return self._reader.dropped

    @property
    def failure_summary(self) -> str:
        """Always empty: a remote server has no output outside the protocol."""
        return ""

    async def __aenter__(self) -> TransportStreams:
        """Open the transport and start listening."""
        await self.open()
        self.spawn(self._receive())
        return self._inbox, MessageOutbox(self._send)

    async def __aexit__(self, *_: object) -> None:
        """Close the stream, which ends the session."""
        await self.close()

    async def _send(self, item: SessionMessage) -> None:
        message = item.message
        headers = {**POST_HEADERS, **read_stamped_headers(item)}
        async with self.interrupt_at_end():
            if self._target is None:
                await self._wait_for_target()
            self._track_message(message)
            try:
                body = await encode_for_origin(message, self.origin)
                if isinstance(message, JSONRPCRequest):
                    await post_message(self._endpoint, body, headers, url=self._target)
                elif _is_delivery_awaited(message):
                    await self._deliveries.deliver(body, headers, url=self._target)
                else:
                    self.spawn(self._deliveries.deliver(body, headers, url=self._target))
            except UpstreamError as error:
                self._handle_send_failure(message, error)
                raise

    async def _wait_for_target(self) -> None:
        try:
            async with asyncio.timeout(TARGET_TIMEOUT_S):
                await self._target_known.wait()
        except TimeoutError:
            raise ProtocolViolation(
                "opened a stream of events, but named no address for messages; check its address",
                server=self._server,
            ) from None

    def _track_message(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._outstanding.mark_sent(message.id, message.method)
        elif isinstance(message, JSONRPCNotification):
            self._outstanding.mark_notified(message.params)

    def _handle_send_failure(self, message: JSONRPCMessage, error: UpstreamError) -> None:
        if isinstance(message, JSONRPCRequest):
            self._outstanding.mark_answered(message.id)
        if isinstance(error, SessionExpired):
            self.end(error)

    async def _receive(self) -> None:
        """Hold the stream open; the session ends with it."""
        try:
            answer = await self._endpoint.open("GET", LISTEN_HEADERS)
            try:
                with translate_errors(self._server, self._endpoint.url):
                    await self._follow(answer)
            finally:
                answer.close()
            self._reader.close()
            await self._reader.wait_until_drained()
        except UpstreamError as error:
            self.end(error)
        else:
            self.end(
                ConnectionLost("ended its stream; call again to reconnect", server=self._server)
            )

    async def _follow(self, answer: aiohttp.ClientResponse) -> None:
        self._check_answer(answer)
        stream = EventStream(
            answer,
            server=self._server,
            max_event_bytes=self.origin.limits.max_line_bytes,
            max_rubbish_bytes=self.origin.limits.max_rubbish_bytes,
            flowing=self._flowing,
        )
        while (events := await stream.next()) is not None:
            for event in events:
                dropped = self._reader.dropped
                self._handle_event(event)
                await self._reader.wait_until_drained()
                if self._reader.dropped > dropped:
                    stream.count_waste(len(event.data))

    def _check_answer(self, answer: aiohttp.ClientResponse) -> None:
        if answer.status != OK:
            raise HttpRefused(
                server=self._server,
                status=answer.status,
                advice="check that its address is that of an MCP endpoint",
            )
        if not answer.headers.get("Content-Type", "").lower().startswith("text/event-stream"):
            raise ProtocolViolation(
                "does not answer with a stream of events; check its address",
                server=self._server,
            )

    def _handle_event(self, event: ServerSentEvent) -> None:
        if event.name == "endpoint":
            self._set_target(event.data)
        elif event.name != "message" or not event.data:
            return
        elif event.is_too_long:
            size = self.origin.limits.max_line_bytes
            self._reader.handle_oversize(
                OversizeLine(head=event.data, tail=b"", size=size, ended=False)
            )
        else:
            # JSON has newlines only between tokens, where a space is equivalent.
            self._reader.feed(event.data.replace(b"\n", b" ") + b"\n")

    def _set_target(self, data: bytes) -> None:
        """Set the address for messages; refuse another origin, which must not receive them."""
        try:
            target = self._endpoint.url.join(URL(data.decode().strip())).with_fragment(None)
        except ValueError:
            target = URL()
        if target.raw_host:
            target = keep_encryption(self._endpoint.url, target)
        if not target.raw_host or not is_same_origin(target, self._endpoint.url):
            elsewhere = (
                redact_address(target) if target.raw_host else "an address that cannot be read"
            )
            raise ForbiddenAddress(
                f"wants messages sent to {elsewhere}, not to itself; repair or update the server",
                server=self._server,
            )
        self._target = target.with_user(None)
        self._target_known.set()

    def _stop_waiting(self) -> None:
        self._inbox.end()
        self._flowing.set()


def _is_delivery_awaited(message: JSONRPCMessage) -> bool:
    """Whether the next message must wait for the delivery of this one."""
    return (
        isinstance(message, JSONRPCNotification) and message.method == "notifications/initialized"
    )
