"""MCP over streamable HTTP, of both eras, with an untrusted server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

import structlog
from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, RequestId
from yarl import URL

from gateway_project.foundation.task_group import TaskGroup, run_uninterrupted
from tools.upstream.errors import (
    ConnectionLost,
    HttpRefused,
    ServerStopped,
    ServerUnreachable,
    SessionExpired,
    UpstreamError,
)
from tools.upstream.http.body import drain_answer
from tools.upstream.http.endpoint import HttpEndpoint
from tools.upstream.http.exchange import HttpExchange, HttpSession
from tools.upstream.http.listener import StreamListener
from tools.upstream.output import ConnectionOrigin
from tools.upstream.transport import UpstreamTransport
from tools.upstream.wire import TransportClosed

REDIRECTION, NOT_FOUND = 300, 404
DELIVERY_TIMEOUT_S = 10.0
MAX_DELIVERIES = 16  # concurrent

log = structlog.get_logger(__name__)

_INITIALIZED = "notifications/initialized"
GOODBYE_TIMEOUT_S = 2.0

# Answered only when they end, so they do not show that the server is responsive.
_OPEN_ENDED = frozenset({"subscriptions/listen"})


class RemoteSession(UpstreamTransport):
    """A session with a remote server, and its background work; base of the HTTP transports.

    Sending a request returns only after its answer. So cancelling the sender closes the request's
    stream, which is how the protocol cancels over HTTP.

    Args:
        endpoint: The server.
        origin: Its name, secrets and limits.
    """

    def __init__(self, endpoint: HttpEndpoint, origin: ConnectionOrigin) -> None:
        super().__init__(origin)
        self._endpoint = endpoint
        self._server = origin.server
        self._deliveries = asyncio.Semaphore(MAX_DELIVERIES)
        self._scopes: set[asyncio.Timeout] = set()
        self._group = TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def has_ended_cleanly(self) -> bool:
        """Whether the server merely ended the session."""
        return isinstance(self.fault, SessionExpired)

    def make_end_error(self, *, while_doing: str) -> UpstreamError:  # noqa: ARG002 - the base's
        """Return the error for work interrupted by the end of the session."""
        if isinstance(self.fault, SessionExpired):
            return ConnectionLost(
                "ended the session before it had answered; the request may still have been "
                "carried out",
                server=self._server,
            )
        return self.fault or ServerStopped(self._server)

    async def __aenter__(self) -> None:
        """Start accepting background work; makes no connection yet."""
        await self._group.__aenter__()

    async def __aexit__(self, *_: object) -> None:
        """End the session if necessary, and wait for its background work to end."""
        self.end(None)
        for task in self._tasks:
            task.cancel()
        # The tasks raise nothing; given an exception, the group would only wrap it.
        await self._group.__aexit__(None, None, None)

    def end(self, fault: UpstreamError | None) -> None:
        """End the session; later calls have no effect.

        Args:
            fault: The reason; None if the gateway itself ends it.
        """
        if self.ended.is_set():
            return
        self.fault = fault
        self.ended.set()
        self.wire.end()
        now = asyncio.get_running_loop().time()
        for scope in self._scopes:
            scope.reschedule(now)

    @asynccontextmanager
    async def interrupt_at_end(self) -> AsyncIterator[None]:
        """Interrupt the block when the session ends.

        Raises:
            TransportClosed: If the session has ended, or ends meanwhile.
        """
        if self.ended.is_set():
            raise TransportClosed
        try:
            async with asyncio.timeout(None) as scope:
                self._scopes.add(scope)
                try:
                    yield
                finally:
                    self._scopes.discard(scope)
        except TimeoutError:
            raise TransportClosed from None

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run background work until it is done or the session ends."""
        if self.ended.is_set():
            work.close()
            return
        task = self._group.create_task(self._run_guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def post(
        self, body: bytes, headers: Mapping[str, str], *, url: URL | None = None
    ) -> None:
        """Send a message that the server only acknowledges.

        Raises:
            SessionExpired: If the server no longer knows the session.
            UpstreamError: If it does not accept the message.
        """
        answer = await self._endpoint.open("POST", headers, body, url=url)
        await drain_answer(answer)
        if answer.status == NOT_FOUND:
            raise SessionExpired(self._server)
        if answer.status >= REDIRECTION:
            raise HttpRefused(
                server=self._server, status=answer.status, advice="check its address and headers"
            )

    async def deliver(
        self, body: bytes, headers: Mapping[str, str], *, url: URL | None = None
    ) -> None:
        """Send a message that expects no answer; a failure is only logged.

        Not even status 404 tells that the session is gone: some servers know the requests alone.
        """
        try:
            async with self._deliveries, asyncio.timeout(DELIVERY_TIMEOUT_S):
                await self.post(body, headers, url=url)
        except (UpstreamError, TimeoutError) as error:
            reason = str(error) or "no answer in time"
            log.info("server.message_not_delivered", server=self._server, error=reason)

    async def _run_guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:
            # Top of a task: its failure must not end the session's other tasks.
            log.exception("server.background_task_failed", server=self._server)


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
        counted = message.method not in _OPEN_ENDED
        self._requests_in_flight += counted
        try:
            async with self.interrupt_at_end():
                body = await self.encode(message)
                unfinished = await exchange.run(headers, body)
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
