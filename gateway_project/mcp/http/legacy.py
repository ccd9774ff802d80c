"""Sessions of the handshake era, answered with a plain JSON body if nothing precedes the result.

The SDK's own transport opens an event stream for every request, through three tasks and two
queues, which costs as much as the rest of a call. Here a stream is opened only when there is
something to send ahead of the result, or when a keep-alive is due.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.streamable_http import (
    GET_STREAM_KEY,
    REQUEST_STREAM_BUFFER_SIZE,
    EventMessage,
    StreamableHTTPServerTransport,
)
from mcp.shared.message import SessionMessage
from mcp_types import (
    DEFAULT_NEGOTIATED_VERSION,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway_project.foundation.json_pieces import TooManyValues
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.mcp import encoding, refused_lines
from gateway_project.mcp.http import body
from gateway_project.mcp.http.event_reply import read_accepted
from gateway_project.mcp.http.kept_events import KeptEvents

KEEP_ALIVE_S: Final = 15.0
PING: Final = b": ping\r\n\r\n"
INITIALIZE: Final = "initialize"
_SSE_HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
_STREAM_CLOSED: Final = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError)

FIRST_VERSION_WITH_EMPTY_EVENTS: Final = "2025-11-25"
"""Older clients may try to parse the event by which a client learns an id before any message."""
_TOO_LARGE_TO_KEEP: Final = (
    "the call was carried out, but its result was too large to keep for a new connection"
)

MAX_KEPT: Final = 64
"""Messages outside any request that wait for a client to open its stream; the newest."""

EventStream = MemoryObjectReceiveStream[EventMessage]


class KeptMessages:
    """Takes the place of the stream for messages outside any request while it is not open.

    A client opens that stream after its first requests, and again a second after it was cut off.
    What the SDK would drop in between, such as that a list has changed, is not told again.
    """

    def __init__(self) -> None:
        self.kept: deque[EventMessage] = deque(maxlen=MAX_KEPT)

    async def send(self, message: EventMessage) -> None:
        """Keep a message; never waits."""
        self.kept.append(message)

    def close(self) -> None:
        """Do nothing, as there is nobody to tell."""

    async def aclose(self) -> None:
        """Do nothing likewise."""


class LegacyTransport(StreamableHTTPServerTransport):
    """One session.

    Args:
        holder: Whose it is.
        options: Of the SDK's transport.
    """

    def __init__(self, *, holder: str, **options: Any) -> None:
        super().__init__(**options)
        self._events = KeptEvents(holder)
        self._keep_messages()

    def _keep_messages(self) -> None:
        kept = KeptMessages()
        self._request_streams[GET_STREAM_KEY] = (kept, kept)  # type: ignore[assignment]

    async def _handle_post_request(
        self, scope: Scope, request: Request, receive: Receive, send: Send
    ) -> None:
        if not any(read_accepted(request)):
            need = "Not Acceptable: take application/json or text/event-stream"
            refused = self._create_error_response(need, HTTPStatus.NOT_ACCEPTABLE)
            await refused(scope, receive, send)
            return
        content = await request.body()
        try:
            raw = await body.parse_body(content)
            message = jsonrpc_message_adapter.validate_python(raw, by_name=False)
        except ValidationError:
            await self._send_refusal(
                "not a single JSON-RPC message", INVALID_PARAMS, request, send
            )
            return
        except TooManyValues as error:
            answer, status = body.answer_too_many_values(content, error)
            await self._send_json(answer, request, send, status=HTTPStatus(status))
            return
        except ValueError as error:
            refusal = body.answer_unreadable(content, error)
            await self._send_json(refusal, request, send, status=HTTPStatus.BAD_REQUEST)
            return
        if (invalid_id := refused_lines.answer_wrong_id(message, raw)) is not None:
            await self._send_json(invalid_id, request, send, status=HTTPStatus.BAD_REQUEST)
            return
        is_initialize = isinstance(message, JSONRPCRequest) and message.method == INITIALIZE
        if not is_initialize and not await self._validate_request_headers(request, send):
            return
        if isinstance(message, JSONRPCRequest):
            await self._answer_request(message, request, send)
        else:
            await self._create_json_response(None, HTTPStatus.ACCEPTED)(scope, receive, send)
            await self._forward_message(SessionMessage(message, self._message_metadata(request)))

    async def _answer_request(self, message: JSONRPCRequest, request: Request, send: Send) -> None:
        """Pass a request to the server and send its answer."""
        key = str(message.id)
        if key in self._request_streams:
            await self._send_refusal(
                f"the id {key[:50]!r} is in use", INVALID_PARAMS, request, send
            )
            return
        version = request.headers.get("mcp-protocol-version", DEFAULT_NEGOTIATED_VERSION)
        streams = anyio.create_memory_object_stream[EventMessage](REQUEST_STREAM_BUFFER_SIZE)
        self._request_streams[key] = streams
        try:
            await self._forward_message(
                self._create_session_message(message, request, key, version)
            )
            first = await _receive_next(streams[1])
            accepted = read_accepted(request)
            if not accepted.events:
                first = await self._receive_response(streams[1], first)
            if first is not None and accepted.json and _is_response(first):
                await self._send_json(first, request, send)
            else:
                await self._stream_answer(streams[1], first, version, send)
        except _STREAM_CLOSED:
            await self._answer_lost(request, send)
        finally:
            await self._clean_up_memory_streams(key)

    async def _stream_answer(
        self, events: EventStream, first: JSONRPCMessage | None, version: str, send: Send
    ) -> None:
        """Send the events of a request, which its client may ask for again."""
        stream = self._events.open_stream()
        try:
            await self._start_stream(send)
            if first is None and version >= FIRST_VERSION_WITH_EMPTY_EVENTS:
                await send(_build_chunk(self._events.add(stream, b"")))
                first = await _receive_next(events)
            await self._send_events(events, first, send, stream)
        finally:
            self._events.end_stream(stream)

    async def _receive_response(
        self, events: EventStream, message: JSONRPCMessage | None
    ) -> JSONRPCMessage:
        """Return the response to a client that takes nothing ahead of it; refuse questions."""
        while message is None or not _is_response(message):
            if isinstance(message, JSONRPCRequest):
                refusal = encoding.build_unsent_error(message, "is for a client without events")
                await self._forward_message(SessionMessage(refusal))
            message = await _receive_next(events)
        return message

    async def _forward_message(self, message: SessionMessage) -> None:
        writer = self._read_stream_writer
        if writer is None:
            raise anyio.ClosedResourceError
        await writer.send(message)

    async def _stream_events(
        self,
        events: EventStream,
        first: JSONRPCMessage | None,
        send: Send,
        waiting: Iterable[EventMessage] = (),
    ) -> None:
        """Send what waits, then events up to the response, with pings during pauses."""
        await self._start_stream(send)
        for event in waiting:
            await self._send_event(event.message, send)
        await self._send_events(events, first, send)

    async def _send_events(
        self,
        events: EventStream,
        message: JSONRPCMessage | None,
        send: Send,
        stream: int | None = None,
    ) -> None:
        while True:
            await self._send_event(message, send, stream)
            if message is not None and _is_response(message):
                break
            try:
                message = await _receive_next(events)
            except _STREAM_CLOSED:
                break
        await send({"type": "http.response.body", "body": b""})

    async def _send_event(
        self, message: JSONRPCMessage | None, send: Send, stream: int | None = None
    ) -> None:
        """Send a message, or a ping for None; answers a request that cannot be encoded.

        Args:
            message: The message.
            send: Of the HTTP response.
            stream: Number of the stream that keeps it; None: it is not kept.
        """
        if message is None:
            await send(_build_chunk(PING))
            return
        text = await encoding.write_message(message)
        if text is not None and stream is not None:
            short = b""
            if isinstance(message, JSONRPCResponse | JSONRPCError):
                error = ErrorData(code=INTERNAL_ERROR, message=_TOO_LARGE_TO_KEEP)
                lost = JSONRPCError(jsonrpc="2.0", id=message.id, error=error)
                short = lost.model_dump_json(by_alias=True, exclude_none=True).encode()
            await send(_build_chunk(self._events.add(stream, text, short=short)))
        elif text is not None:
            await send(_build_chunk(b"event: message\r\ndata: " + text + b"\r\n\r\n"))
        elif isinstance(message, JSONRPCRequest):
            await self._forward_message(SessionMessage(encoding.build_unsent_error(message)))

    async def _send_json(
        self,
        message: JSONRPCMessage,
        request: Request,
        send: Send,
        *,
        status: HTTPStatus = HTTPStatus.OK,
    ) -> None:
        """Send one message as the whole body."""
        headers = {"content-type": "application/json"}
        if self.mcp_session_id:
            headers["mcp-session-id"] = self.mcp_session_id
        text = await encoding.write_message(message)
        answer = Response(text, status_code=status, headers=headers)
        await answer(request.scope, request.receive, send)

    async def _start_stream(self, send: Send) -> None:
        session = (b"mcp-session-id", (self.mcp_session_id or "").encode())
        headers = [*_SSE_HEADERS, session]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _handle_get_request(self, request: Request, send: Send) -> None:
        """Open the stream for messages outside any request; a newer one replaces an older."""
        if not read_accepted(request).events:
            message = "Not Acceptable: Client must accept text/event-stream"
            answer = self._create_error_response(message, HTTPStatus.NOT_ACCEPTABLE)
            await answer(request.scope, request.receive, send)
            return
        if not await self._validate_request_headers(request, send):
            return
        if (last_id := request.headers.get("last-event-id")) is not None:
            await self._resume_stream(last_id, request, send)
            return
        replaced = self._request_streams.pop(GET_STREAM_KEY, None)
        waiting: Iterable[EventMessage] = ()
        if replaced is not None:
            replaced[0].close()
            waiting = replaced[0].kept if isinstance(replaced[0], KeptMessages) else ()
        streams = anyio.create_memory_object_stream[EventMessage](REQUEST_STREAM_BUFFER_SIZE)
        self._request_streams[GET_STREAM_KEY] = streams
        try:
            async with TaskGroup() as group:
                watch = group.create_task(_close_on_disconnect(request.receive, streams[0]))
                await self._stream_events(streams[1], None, send, waiting)
                watch.cancel()
        finally:
            if self._request_streams.get(GET_STREAM_KEY) is streams:
                self._keep_messages()
            streams[0].close()
            streams[1].close()

    async def _resume_stream(self, last_id: str, request: Request, send: Send) -> None:
        """Send the events of a request that follow the last one its client has received."""
        follower = self._events.follow(last_id)
        if follower is None:
            await self._send_refusal(
                "the events after that one are not kept: they were of another session, or are "
                "too old",
                INVALID_PARAMS,
                request,
                send,
            )
            return
        await self._start_stream(send)
        with follower.events, suppress(*_STREAM_CLOSED):
            async with TaskGroup() as group:
                watch = group.create_task(_close_on_disconnect(request.receive, follower.source))
                try:
                    while True:
                        chunk = PING
                        with anyio.move_on_after(KEEP_ALIVE_S):
                            chunk = await follower.events.receive()
                        await send(_build_chunk(chunk))
                finally:
                    watch.cancel()
        await send({"type": "http.response.body", "body": b""})

    async def _send_refusal(self, message: str, code: int, request: Request, send: Send) -> None:
        answer = self._create_error_response(message, HTTPStatus.BAD_REQUEST, code)
        await answer(request.scope, request.receive, send)

    async def _answer_lost(self, request: Request, send: Send) -> None:
        answer = self._create_error_response(
            "the session ended before the request was answered",
            HTTPStatus.INTERNAL_SERVER_ERROR,
            INTERNAL_ERROR,
        )
        await answer(request.scope, request.receive, send)


async def _receive_next(events: EventStream) -> JSONRPCMessage | None:
    """Return the next message; None if there is none within `KEEP_ALIVE_S`."""
    with anyio.move_on_after(KEEP_ALIVE_S):
        return (await events.receive()).message
    return None


def _is_response(message: JSONRPCMessage) -> bool:
    return isinstance(message, JSONRPCResponse | JSONRPCError)


def _build_chunk(text: bytes) -> dict[str, object]:
    return {"type": "http.response.body", "body": text, "more_body": True}


async def _close_on_disconnect(receive: Receive, events: MemoryObjectSendStream[Any]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    events.close()
