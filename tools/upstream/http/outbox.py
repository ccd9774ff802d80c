"""The end the SDK writes to, where each message is a request over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Self

import anyio
import structlog
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCMessage
from yarl import URL

from tools.upstream import outgoing
from tools.upstream.errors import HttpRefused, SessionExpired, UpstreamError
from tools.upstream.http.endpoint import Endpoint
from tools.upstream.http.exchange import NOT_FOUND, REDIRECTION, settle
from tools.upstream.origin import Origin

DELIVERY_TIMEOUT_S = 10.0
DELIVERIES = 16  # at the same time

log = structlog.get_logger(__name__)


class HttpOutbox:
    """Messages to a server, each carried by the task that sends it.

    A request is answered before its sending returns. So cancelling the sender closes the
    request's own stream, which is how the protocol cancels over HTTP, and no task is needed.

    Args:
        send: Carries one message.
    """

    def __init__(self, send: Callable[[SessionMessage], Awaitable[None]]) -> None:
        self._send = send
        self._closed = False

    async def send(self, item: SessionMessage, /) -> None:
        """Carry a message.

        Raises:
            anyio.ClosedResourceError: If the stream was closed.
            UpstreamError: If it is a request that has no answer.
        """
        if self._closed:
            raise anyio.ClosedResourceError
        await self._send(item)

    async def aclose(self) -> None:
        """Send no more."""
        self._closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


class Deliveries:
    """Carries messages that have no answer of their own.

    Args:
        endpoint: The server.
        failed: Called with what went wrong.
    """

    def __init__(self, endpoint: Endpoint, failed: Callable[[UpstreamError], None]) -> None:
        self._endpoint = endpoint
        self._failed = failed
        self._turns = asyncio.Semaphore(DELIVERIES)

    async def deliver(
        self, body: bytes, headers: Mapping[str, str], *, url: URL | None = None
    ) -> None:
        """Send a message whose loss nobody waits for; it is logged."""
        try:
            async with self._turns, asyncio.timeout(DELIVERY_TIMEOUT_S):
                await post(self._endpoint, body, headers, url=url)
        except (UpstreamError, TimeoutError) as error:
            why = str(error) or "no answer in time"
            log.info("message not delivered", server=self._endpoint.server, error=why)
            if isinstance(error, SessionExpired):
                self._failed(error)


async def post(
    endpoint: Endpoint, body: bytes, headers: Mapping[str, str], *, url: URL | None = None
) -> None:
    """Send a message that the server merely takes.

    Raises:
        SessionExpired: If it does not know the session.
        UpstreamError: If it does not take it.
    """
    answer = await endpoint.open("POST", headers, body, url=url)
    await settle(answer)
    if answer.status == NOT_FOUND:
        raise SessionExpired(endpoint.server)
    if answer.status >= REDIRECTION:
        raise HttpRefused(
            server=endpoint.server, status=answer.status, advice="check its address and headers"
        )


def stamped(item: SessionMessage) -> Mapping[str, str]:
    """Return the headers that the SDK's session wants a message to carry."""
    metadata = item.metadata
    headers = metadata.headers if isinstance(metadata, ClientMessageMetadata) else None
    return headers or {}


def encoded(message: JSONRPCMessage, origin: Origin) -> bytes:
    """Return a message as JSON; see `outgoing.encoded`."""
    return outgoing.encoded(message, server=origin.server, max_bytes=origin.limits.max_line_bytes)
