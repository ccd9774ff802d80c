"""Sends the messages of an HTTP transport, each in an HTTP request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import structlog
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCMessage
from yarl import URL

from tools.upstream import outgoing
from tools.upstream.errors import HttpRefused, SessionExpired, UpstreamError
from tools.upstream.http.endpoint import HttpEndpoint
from tools.upstream.http.exchange import NOT_FOUND, REDIRECTION, drain_answer
from tools.upstream.origin import ConnectionOrigin

DELIVERY_TIMEOUT_S = 10.0
MAX_DELIVERIES = 16  # concurrent

log = structlog.get_logger(__name__)


class MessageDelivery:
    """Delivers messages that expect no answer.

    Args:
        endpoint: The server.
    """

    def __init__(self, endpoint: HttpEndpoint) -> None:
        self._endpoint = endpoint
        self._turns = asyncio.Semaphore(MAX_DELIVERIES)

    async def deliver(
        self, body: bytes, headers: Mapping[str, str], *, url: URL | None = None
    ) -> None:
        """Send a message; a failure is only logged.

        Not even status 404 tells that the session is gone: some servers know the requests alone.
        """
        try:
            async with self._turns, asyncio.timeout(DELIVERY_TIMEOUT_S):
                await post_message(self._endpoint, body, headers, url=url)
        except (UpstreamError, TimeoutError) as error:
            reason = str(error) or "no answer in time"
            log.info("server.message_not_delivered", server=self._endpoint.server, error=reason)


async def post_message(
    endpoint: HttpEndpoint, body: bytes, headers: Mapping[str, str], *, url: URL | None = None
) -> None:
    """Send a message that the server only acknowledges.

    Raises:
        SessionExpired: If the server no longer knows the session.
        UpstreamError: If it does not accept the message.
    """
    answer = await endpoint.open("POST", headers, body, url=url)
    await drain_answer(answer)
    if answer.status == NOT_FOUND:
        raise SessionExpired(endpoint.server)
    if answer.status >= REDIRECTION:
        raise HttpRefused(
            server=endpoint.server, status=answer.status, advice="check its address and headers"
        )


def read_stamped_headers(item: SessionMessage) -> Mapping[str, str]:
    """Return the headers in a message's metadata."""
    metadata = item.metadata
    headers = metadata.headers if isinstance(metadata, ClientMessageMetadata) else None
    return headers or {}


async def encode_for_origin(message: JSONRPCMessage, origin: ConnectionOrigin) -> bytes:
    """Encode a message within its server's limit; see `outgoing.encode_message`."""
    return await outgoing.encode_message(
        message, server=origin.server, max_bytes=origin.limits.max_line_bytes
    )
