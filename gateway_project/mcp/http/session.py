"""One session of the handshake era."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

import anyio
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner
from mcp.shared.dispatcher import CallOptions, coerce_request_id
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    CONNECTION_CLOSED,
    DEFAULT_NEGOTIATED_VERSION,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    REQUEST_TIMEOUT,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from starlette.types import Receive, Send

from gateway_project.foundation.task_group import TaskGroup
from gateway_project.mcp import client_state, encoding
from gateway_project.mcp import server as mcp_server
from gateway_project.mcp.http import exchange, messages
from gateway_project.mcp.http.answers import HttpAnswer, refuse
from gateway_project.mcp.http.exchange import JSON_HEADER, PING, STREAM_HEADERS, Exchange
from gateway_project.mcp.http.kept_events import Follower, KeptEvents
from gateway_project.mcp.http.messages import HTTP_OK
from gateway_project.mcp.http.request import HttpRequest, header_text
from gateway_project.mcp.server import ServerLifespan

SESSION_HEADER: Final = b"mcp-session-id"
FIRST_VERSION_WITH_EMPTY_EVENTS: Final = "2025-11-25"
"""Older clients may try to parse the event by which a client learns an id before any message."""
MAX_KEPT: Final = 64
"""Messages outside any request that wait for a client to open its stream; the newest."""
_BOTH_WAYS: Final = TransportContext(kind="streamable-http", can_send_request=True)
_REQUEST_CANCELLED: Final = -32800
"""The SDK's code for a request that its client cancelled."""
_CANCELLED: Final = "notifications/cancelled"
_TOO_LARGE_TO_KEEP: Final = (
    "the call was carried out, but its result was too large to keep for a new connection"
)
_HTTP_ACCEPTED, _HTTP_NOT_ACCEPTABLE, _HTTP_FAILED = 202, 406, 500

SendText = Callable[[bytes], Coroutine[Any, Any, None]]


class Session:
    """Serves the requests of one client; also its outbound channel for the SDK.

    Args:
        key: Its id.
        owner: User, team and tool group that it belongs to.
        server: Of the SDK.
        lifespan: With the state of this client.
        group: Its tasks run there.
        idle_s: Seconds without a request after which it ends.
        forget: Called once it ends.

    Attributes:
        owner: As given.
        idle_since: Loop time since which no request is served; None: one is.
    """

    transport = _BOTH_WAYS
    can_send_request = True
    request_id = None
    message_metadata = None

    def __init__(  # noqa: PLR0913 - what it is, whose, and its collaborators
        self,
        key: str,
        owner: tuple[str, int | None, str | None],
        server: Server[Any],
        lifespan: ServerLifespan,
        *,
        group: TaskGroup,
        idle_s: float,
        forget: Callable[[], object],
    ) -> None:
        self.owner = owner
        self.idle_since: float | None = None
        self.header = (SESSION_HEADER, key.encode())
        self.events = KeptEvents(owner[0])
        self.cancel_requested = anyio.Event()
        self._state = lifespan.client
        self._runner = ServerRunner(
            server,
            Connection.for_loop(self, session_id=key),
            lifespan,
            init_options=mcp_server.make_initialization_options(server),
        )
        self._group = group
        self._idle_s = idle_s
        self._forget = forget
        self._has_ended = False
        self._open = 0
        self._exchanges: dict[str, SessionExchange] = {}
        self._questions: dict[int | str, asyncio.Future[dict[str, Any]]] = {}
        self._asked = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._stream: _Stream | None = None
        self._untold: deque[bytes] = deque(maxlen=MAX_KEPT)
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(idle_s, self._end_if_idle)

    async def serve(self, request: HttpRequest) -> None:
        """Serve a request without a body: open the stream of messages, or end the session."""
        if request.verb == "DELETE":
            self.end()
            await HttpAnswer(status=HTTP_OK, headers=(JSON_HEADER, self.header)).send(request.send)
            return
        if not request.accepted.events:
            text = "Not Acceptable: Client must accept text/event-stream"
            raise self._refuse(_HTTP_NOT_ACCEPTABLE, text, INVALID_REQUEST)
        self._enter()
        try:
            if b"last-event-id" in request.headers:
                await self._resume_stream(request)
            else:
                await self._open_stream(request)
        finally:
            self._leave()

    async def receive(self, request: HttpRequest, value: Any) -> None:
        """Serve a request whose body is this JSON value.

        Raises:
            RequestRejected: If it is no message.
        """
        messages.check_accepted(request)
        if messages.is_plain_request(value):  # as nearly all are; a model would cost more
            await self.answer(request, value)
            return
        message = messages.read_message(value)
        if isinstance(message, JSONRPCRequest):
            await self.answer(request, message.model_dump(exclude_unset=True))
        else:
            await self._take(request, message)

    async def answer(self, request: HttpRequest, message: Mapping[str, Any]) -> bool:
        """Answer a JSON-RPC request; return whether it succeeded.

        Raises:
            RequestRejected: If another request with its id is being answered.
        """
        key = str(message["id"])
        if key in self._exchanges:
            raise self._refuse(400, f"the id {key[:50]!r} is in use", INVALID_PARAMS)
        served = self._exchanges[key] = SessionExchange(self, request, message)
        self._enter()
        try:
            return await served.serve(self._runner, message["method"])
        finally:
            served.close()
            del self._exchanges[key]
            self._leave()

    async def _take(
        self, request: HttpRequest, message: JSONRPCNotification | JSONRPCResponse | JSONRPCError
    ) -> None:
        """Take a message that has no answer."""
        headers = (JSON_HEADER, self.header)
        await HttpAnswer(status=_HTTP_ACCEPTED, headers=headers).send(request.send)
        if isinstance(message, JSONRPCNotification):
            if message.method == _CANCELLED:
                cancelled = cancelled_request_id_from_params(message.params)
                served = self._exchanges.get(str(cancelled))
                if served is not None:
                    served.end()
            self._start(self._handle_notification(message))
            return
        key = None if message.id is None else coerce_request_id(message.id)
        question = None if key is None else self._questions.get(key)
        if question is None or question.done():
            return
        if isinstance(message, JSONRPCResponse):
            question.set_result(message.result)
        else:
            question.set_exception(MCPError.from_error_data(message.error))

    def end(self) -> None:
        """End the session, and the requests that are being served."""
        if self._has_ended:
            return
        self._has_ended = True
        self._forget()
        self._timer.cancel()
        for served in self._exchanges.values():
            served.end(is_session_over=True)
        for question in self._questions.values():
            if not question.done():
                question.set_exception(MCPError(CONNECTION_CLOSED, "Connection closed"))
        if self._stream is not None:
            self._stream.closed.set()
        for task in self._tasks:
            task.cancel()
        self._group.create_task(client_state.close(self._state), name="end of a session")

    async def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,  # noqa: ARG002 - the protocol's
    ) -> None:
        """Send a notification outside any request; it waits for the client's stream."""
        text = encoding.notification_to_json(_make_message(method, params))
        if text is not None:
            await self._send_outside(text)

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Do nothing: a notification has no progress."""

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Send a request outside any request of the client."""
        return await self.ask(method, params, opts, self._send_outside)

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None,
        send: SendText,
    ) -> dict[str, Any]:
        """Send a request to the client and return its result.

        Args:
            method: Of the request.
            params: Its parameters.
            opts: Of these only `timeout`, in seconds, is used.
            send: Sends a message.

        Raises:
            MCPError: If there is none.
        """
        if self._has_ended:
            raise MCPError(CONNECTION_CLOSED, "Connection closed")
        self._asked += 1
        key = self._asked
        try:
            text = encoding.encode_message({"id": key, **_make_message(method, params)})
        except encoding.UnencodableMessage:
            raise MCPError.from_error_data(encoding.describe_unsent()) from None
        question = self._questions[key] = self._loop.create_future()
        abandoned = "caller cancelled"
        try:
            await send(text)
            async with asyncio.timeout((opts or {}).get("timeout")) as limit:
                result: dict[str, Any] = await question
                return result
        except TimeoutError:
            if not limit.expired():
                raise
            abandoned = "timed out"
            raise MCPError(REQUEST_TIMEOUT, f"Request {method!r} timed out") from None
        finally:
            del self._questions[key]
            if not question.done() or question.cancelled():
                note = _make_message(_CANCELLED, {"requestId": key, "reason": abandoned})
                self._start(send(encoding.encode_message(note)))

    async def _handle_notification(self, message: JSONRPCNotification) -> None:
        await self._runner.on_notify(self, message.method, message.params)

    def _refuse(self, status: int, message: str, code: int) -> Exception:
        return refuse(status, code, message, headers=(self.header,))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run in a task until the session ends."""
        if self._has_ended:
            work.close()
            return
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _enter(self) -> None:
        self._open += 1
        self.idle_since = None

    def _leave(self) -> None:
        self._open -= 1
        if not self._open:
            self.idle_since = self._loop.time()

    def _end_if_idle(self) -> None:
        """End the session if it has been idle for long enough, or look again later."""
        now = self._loop.time()
        since = now if self.idle_since is None else self.idle_since
        if now - since >= self._idle_s:
            self.end()
        else:
            self._timer = self._loop.call_at(since + self._idle_s, self._end_if_idle)

    async def _send_outside(self, text: bytes) -> None:
        if self._stream is None or self._stream.closed.is_set():
            self._untold.append(text)
        else:
            await self._stream.send_chunk(exchange.format_event(text))

    async def _open_stream(self, request: HttpRequest) -> None:
        """Send messages outside any request; a newer stream replaces an older one."""
        if self._stream is not None:
            self._stream.closed.set()
        stream = self._stream = _Stream(request.send)
        await stream.start(self.header)
        while self._untold:
            await stream.send_chunk(exchange.format_event(self._untold.popleft()))
        try:
            async with TaskGroup() as group:
                watch = group.create_task(_tell_disconnect(request.receive, stream.closed.set))
                while not stream.closed.is_set():
                    await stream.send_chunk(PING)
                    with suppress(TimeoutError):
                        async with asyncio.timeout(exchange.PING_INTERVAL_S):
                            await stream.closed.wait()
                watch.cancel()
        finally:
            stream.closed.set()
            if self._stream is stream:
                self._stream = None
        await stream.end()

    async def _resume_stream(self, request: HttpRequest) -> None:
        """Send the events of a request that follow the last one its client has received."""
        follower = self.events.follow(header_text(request.headers, b"last-event-id"))
        if follower is None:
            raise self._refuse(
                400,
                "the events after that one are not kept: they were of another session, or are "
                "too old",
                INVALID_PARAMS,
            )
        stream = _Stream(request.send)
        await stream.start(self.header)
        async with TaskGroup() as group:
            leave = partial(follower.put_nowait, None)
            watch = group.create_task(_tell_disconnect(request.receive, leave))
            while (chunk := await _get_or_ping(follower)) is not None:
                await stream.send_chunk(chunk)
            watch.cancel()
        await stream.end()


class SessionExchange(Exchange):
    """A request of a session, which goes on if its client disconnects, and may ask the client.

    Args:
        session: Its session.
        request: The HTTP request.
        message: The JSON-RPC request, as it came.
    """

    transport = _BOTH_WAYS

    def __init__(self, session: Session, request: HttpRequest, message: Mapping[str, Any]) -> None:
        headers = (session.header,)
        super().__init__(request, message["id"], message.get("params"), headers=headers)
        self._session = session
        self._version = (
            header_text(request.headers, b"mcp-protocol-version") or DEFAULT_NEGOTIATED_VERSION
        )
        self._event_stream: int | None = None
        self._is_session_over = False

    @property
    def can_send_request(self) -> bool:  # type: ignore[override]
        """Whether it is not answered yet."""
        return not self._ended

    def end(self, *, is_session_over: bool = False) -> None:
        """End the request because the client cancels it, or because its session is over."""
        self._is_session_over = is_session_over
        super().end()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Ask the client, ahead of the result."""
        if not self.accepted.events:
            raise MCPError.from_error_data(
                encoding.describe_unsent("is for a client without events")
            )
        if self._ended:
            return await super().send_raw_request(method, params, opts)
        return await self._session.ask(method, params, opts, self._send_event)

    def close(self) -> None:
        """Note that nothing follows, answered or not."""
        if self._event_stream is not None:
            self._session.events.end_stream(self._event_stream)

    def _explain_end(self) -> tuple[Mapping[str, Any], int]:
        if self._is_session_over:
            text = "the session ended before the request was answered"
            return _make_error(INTERNAL_ERROR, text), _HTTP_FAILED
        return _make_error(_REQUEST_CANCELLED, "Request cancelled"), HTTP_OK

    def _choose_status(self, code: int) -> int:  # noqa: ARG002
        return HTTP_OK

    def _watch_after_s(self) -> float:
        return exchange.PING_INTERVAL_S

    async def _watch_client(self) -> None:
        """Send pings while the client waits."""
        while True:
            await asyncio.sleep(max(0.0, self._ping_at - self._loop.time()))
            if self._loop.time() >= self._ping_at:
                await self.send_ping()

    async def _make_ping(self) -> bytes:
        if self._event_stream is None:
            await self._open_stream(HTTP_OK)
            if self._version >= FIRST_VERSION_WITH_EMPTY_EVENTS:
                return self._format_event(b"", is_last=False)
        return PING

    async def _open_stream(self, status: int) -> None:
        self._event_stream = self._session.events.open_stream()
        await super()._open_stream(status)

    def _format_event(self, text: bytes, *, is_last: bool) -> bytes:
        assert self._event_stream is not None  # noqa: S101 - it has been opened
        short = b""
        if is_last:
            lost = _make_error(INTERNAL_ERROR, _TOO_LARGE_TO_KEEP)
            short = encoding.answer_to_json(self.request_id, lost)
        return self._session.events.add(self._event_stream, text, short=short)


class _Stream:
    """A stream of messages that belong to no request of its own.

    Attributes:
        closed: Set once it is to end.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self.closed = asyncio.Event()

    async def start(self, header: tuple[bytes, bytes]) -> None:
        headers = [*STREAM_HEADERS, header]
        await self._send({"type": "http.response.start", "status": HTTP_OK, "headers": headers})

    async def send_chunk(self, chunk: bytes) -> None:
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b""})


def _make_message(method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}


def _make_error(code: int, message: str) -> dict[str, Any]:
    return {"error": ErrorData(code=code, message=message).model_dump(exclude_none=True)}


async def _get_or_ping(follower: Follower) -> bytes | None:
    try:
        async with asyncio.timeout(exchange.PING_INTERVAL_S):
            return await follower.get()
    except TimeoutError:
        return PING


async def _tell_disconnect(receive: Receive, tell: Callable[[], None]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    tell()
