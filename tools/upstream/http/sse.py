"""MCP over HTTP with server-sent events, the transport of the protocol's first version."""

from __future__ import annotations

import asyncio
from types import TracebackType

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
from tools.upstream.http.address import same_origin, shown
from tools.upstream.http.endpoint import Endpoint
from tools.upstream.http.events import Event
from tools.upstream.http.exchange import OK
from tools.upstream.http.lifetime import Lifetime
from tools.upstream.http.outbox import Deliveries, HttpOutbox, encoded, post, stamped
from tools.upstream.http.problems import translated
from tools.upstream.http.session import LISTENED, POSTED
from tools.upstream.http.stream import EventStream
from tools.upstream.lines import Oversize
from tools.upstream.origin import Origin
from tools.upstream.outstanding import Outstanding
from tools.upstream.reader import MessageReader
from tools.upstream.streams import Inbox


class SseTransport:
    """One session with a remote server; an `UpstreamTransport`.

    One stream carries all that the server says; requests name their answers by id, as on stdio.

    Args:
        endpoint: The server.
        origin: Its name, secrets and limits.
    """

    def __init__(self, endpoint: Endpoint, origin: Origin) -> None:
        self._endpoint = endpoint
        self._origin = origin
        self._server = origin.server
        self._outstanding = Outstanding()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._inbox = Inbox(pause=self._flowing.clear, resume=self._flowing.set)
        self._lifetime = Lifetime(origin.server, on_end=self._stop_waiting)
        self._deliveries = Deliveries(endpoint, self._lifetime.end)
        self._reader = MessageReader(
            origin,
            inbox=self._inbox,
            outstanding=self._outstanding,
            condemn=self._lifetime.end,
        )
        self._target: URL | None = None
        self._told_target = asyncio.Event()

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
        return self._reader.dropped

    @property
    def last_words(self) -> str:
        """Empty: a remote server says nothing beside the protocol."""
        return ""

    @property
    def ended_well(self) -> bool:
        """Whether the server merely ended the session."""
        return self._lifetime.ended_well

    def why_ended(self, *, while_doing: str) -> UpstreamError:  # noqa: ARG002 - the protocol's
        """Return the error for what was under way when the session ended."""
        return self._lifetime.why_ended()

    async def __aenter__(self) -> TransportStreams:
        """Begin to listen."""
        await self._lifetime.open()
        self._lifetime.spawn(self._receive())
        return self._inbox, HttpOutbox(self._send)

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        """Close the stream, which ends the session."""
        await self._lifetime.close()

    async def _send(self, item: SessionMessage) -> None:
        message = item.message
        headers = {**POSTED, **stamped(item)}
        async with self._lifetime.interruptible():
            if self._target is None:
                await self._told_target.wait()
            self._note(message)
            try:
                body = encoded(message, self._origin)
                if isinstance(message, JSONRPCRequest) or _must_arrive(message):
                    await post(self._endpoint, body, headers, url=self._target)
                else:
                    self._lifetime.spawn(self._deliveries.deliver(body, headers, url=self._target))
            except UpstreamError as error:
                self._failed(message, error)
                raise

    def _note(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._outstanding.sent(message.id, message.method)
        elif getattr(message, "method", None) == "notifications/cancelled":
            self._outstanding.cancelled(getattr(message, "params", None))

    def _failed(self, message: JSONRPCMessage, error: UpstreamError) -> None:
        if isinstance(message, JSONRPCRequest):
            self._outstanding.answered(message.id)
        if isinstance(error, SessionExpired):
            self._lifetime.end(error)

    async def _receive(self) -> None:
        """Hold the stream; the session lasts as long as it does."""
        try:
            answer = await self._endpoint.open("GET", LISTENED)
            try:
                with translated(self._server, self._endpoint.url):
                    await self._follow(answer)
            finally:
                answer.close()
            self._reader.close()
        except UpstreamError as error:
            self._lifetime.end(error)
        else:
            self._lifetime.end(
                ConnectionLost("ended its stream; call again to connect anew", server=self._server)
            )

    async def _follow(self, answer: aiohttp.ClientResponse) -> None:
        self._check(answer)
        stream = EventStream(
            answer,
            server=self._server,
            max_event_bytes=self._origin.limits.max_line_bytes,
            max_rubbish_bytes=self._origin.limits.max_rubbish_bytes,
            flowing=self._flowing,
        )
        while (events := await stream.next()) is not None:
            for event in events:
                dropped = self._reader.dropped
                self._take(event)
                if self._reader.dropped > dropped:
                    stream.wasted(len(event.data))

    def _check(self, answer: aiohttp.ClientResponse) -> None:
        if answer.status != OK:
            raise HttpRefused(
                server=self._server,
                status=answer.status,
                advice="check its address; a newer server may need the transport http",
            )
        if not answer.headers.get("Content-Type", "").lower().startswith("text/event-stream"):
            raise ProtocolViolation(
                "does not answer with a stream of events; check its address, or register it with "
                "the transport http",
                server=self._server,
            )

    def _take(self, event: Event) -> None:
        if event.name == "endpoint":
            self._take_target(event.data)
        elif event.name != "message" or not event.data:
            return
        elif event.too_long:
            size = self._origin.limits.max_line_bytes
            self._reader.oversize(Oversize(head=event.data, tail=b"", size=size, ended=False))
        else:
            # Newlines can only stand between the tokens of JSON, where a space does as well.
            self._reader.feed(event.data.replace(b"\n", b" ") + b"\n")

    def _take_target(self, data: bytes) -> None:
        """Learn where messages go; not to another server, which would get what is not its."""
        try:
            target = self._endpoint.url.join(URL(data.decode().strip())).with_fragment(None)
        except ValueError:
            target = URL()
        if not target.raw_host or not same_origin(target, self._endpoint.url):
            elsewhere = shown(target) if target.raw_host else "an address that cannot be read"
            raise ForbiddenAddress(
                f"wants messages sent to {elsewhere}, not to itself; repair or update the server",
                server=self._server,
            )
        self._target = target.with_user(None)
        self._told_target.set()

    def _stop_waiting(self) -> None:
        self._inbox.end()
        self._flowing.set()


def _must_arrive(message: JSONRPCMessage) -> bool:
    """Whether the next message has to wait for this one, and for nothing else."""
    return (
        isinstance(message, JSONRPCNotification) and message.method == "notifications/initialized"
    )
