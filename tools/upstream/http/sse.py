"""MCP over HTTP with SSE, the transport of the protocol's first version (2024-11-05)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import aiohttp
from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, RequestId
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
from tools.upstream.http.body import EventStream, is_stream
from tools.upstream.http.endpoint import HttpEndpoint
from tools.upstream.http.events import ServerSentEvent
from tools.upstream.http.exchange import LISTEN_HEADERS, OK, POST_HEADERS
from tools.upstream.http.problems import translate_errors
from tools.upstream.http.transport import RemoteSession
from tools.upstream.lines import OversizeLine
from tools.upstream.output import ConnectionOrigin
from tools.upstream.reader import MessageReader

TARGET_TIMEOUT_S = 10.0  # servers of this transport name the address at once


class SseTransport(RemoteSession):
    """One session with a remote server.

    One stream carries all messages from the server; answers are matched by id, as on stdio.

    Args:
        endpoint: The server.
        origin: Its name, secrets and limits.
    """

    def __init__(self, endpoint: HttpEndpoint, origin: ConnectionOrigin) -> None:
        super().__init__(endpoint, origin)
        self._reader = MessageReader(self.wire, on_fatal=self.end)
        self._target: URL | None = None
        self._target_known = asyncio.Event()

    async def __aenter__(self) -> None:
        """Open the transport and start listening."""
        await super().__aenter__()
        self.spawn(self._receive())

    async def send(
        self,
        message: JSONRPCMessage,
        *,
        headers: Mapping[str, str],
        related: RequestId | None = None,  # noqa: ARG002 - the base's
    ) -> None:
        """Post a message to the address that the server has named."""
        merged = {**POST_HEADERS, **headers}
        async with self.interrupt_at_end():
            if self._target is None:
                await self._wait_for_target()
            body = await self.encode(message)
            try:
                if isinstance(message, JSONRPCRequest):
                    await self.post(body, merged, url=self._target)
                elif _is_delivery_awaited(message):
                    await self.deliver(body, merged, url=self._target)
                else:
                    self.spawn(self.deliver(body, merged, url=self._target))
            except SessionExpired as error:
                self.end(error)
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
            origin=self.origin,
            max_event_bytes=self.origin.limits.max_line_bytes,
        )
        while (events := await stream.next()) is not None:
            for event in events:
                dropped = self.wire.dropped
                self._handle_event(event)
                await self._reader.wait_until_drained()
                if self.wire.dropped > dropped:
                    stream.count_waste(len(event.data))

    def _check_answer(self, answer: aiohttp.ClientResponse) -> None:
        if answer.status != OK:
            raise HttpRefused(
                server=self._server,
                status=answer.status,
                advice="check that its address is that of an MCP endpoint",
            )
        if not is_stream(answer):
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


def _is_delivery_awaited(message: JSONRPCMessage) -> bool:
    """Whether the next message must wait for the delivery of this one."""
    return (
        isinstance(message, JSONRPCNotification) and message.method == "notifications/initialized"
    )
