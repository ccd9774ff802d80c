"""Sessions of the handshake era, answered with one JSON body where nothing comes before it.

The SDK's own transport opens an event stream for every request, through three tasks and two
queues, which costs as much as all the rest of a call. Here a stream is opened only once there is
something to send ahead of the result, or the client would take the silence for a dead line.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

import anyio
import pydantic_core
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.streamable_http import (
    GET_STREAM_KEY,
    REQUEST_STREAM_BUFFER_SIZE,
    EventMessage,
    StreamableHTTPServerTransport,
    check_accept_headers,
)
from mcp.shared.message import SessionMessage
from mcp_types import (
    DEFAULT_NEGOTIATED_VERSION,
    INTERNAL_ERROR,
    INVALID_PARAMS,
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

from gateway_project.mcp import encoding, refused_lines
from gateway_project.mcp.http import body

KEEP_ALIVE_S: Final = 15.0
PING: Final = b": ping\r\n\r\n"
INITIALIZE: Final = "initialize"
_SSE_HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
_CLOSED: Final = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError)

Events = MemoryObjectReceiveStream[EventMessage]


class Transport(StreamableHTTPServerTransport):
    """One session."""

    async def _handle_post_request(
        self, scope: Scope, request: Request, receive: Receive, send: Send
    ) -> None:
        if not await self._validate_accept_header(request, scope, send):
            return
        whole = await request.body()
        try:
            raw = pydantic_core.from_json(whole)
            message = jsonrpc_message_adapter.validate_python(raw, by_name=False)
        except ValidationError:
            await self._refuse("not one JSON-RPC message", INVALID_PARAMS, request, send)
            return
        except ValueError as error:
            refusal = body.unreadable(whole, error)
            await self._json(refusal, request, send, status=HTTPStatus.BAD_REQUEST)
            return
        if (wrong := refused_lines.wrong_id(message, raw)) is not None:
            await self._json(wrong, request, send, status=HTTPStatus.BAD_REQUEST)
            return
        opening = isinstance(message, JSONRPCRequest) and message.method == INITIALIZE
        if not opening and not await self._validate_request_headers(request, send):
            return
        if isinstance(message, JSONRPCRequest):
            await self._answer(message, request, send)
        else:
            await self._create_json_response(None, HTTPStatus.ACCEPTED)(scope, receive, send)
            await self._hand_on(SessionMessage(message, self._message_metadata(request)))

    async def _answer(self, message: JSONRPCRequest, request: Request, send: Send) -> None:
        """Hand a request to the server and send what it answers."""
        key = str(message.id)
        if key in self._request_streams:
            await self._refuse(f"the id {key[:50]!r} is in use", INVALID_PARAMS, request, send)
            return
        version = request.headers.get("mcp-protocol-version", DEFAULT_NEGOTIATED_VERSION)
        streams = anyio.create_memory_object_stream[EventMessage](REQUEST_STREAM_BUFFER_SIZE)
        self._request_streams[key] = streams
        try:
            await self._hand_on(self._create_session_message(message, request, key, version))
            first = await _next(streams[1])
            if first is not None and _is_last(first):
                await self._json(first, request, send)
            else:
                await self._stream(streams[1], first, send)
        except _CLOSED:
            await self._lost(request, send)
        finally:
            await self._clean_up_memory_streams(key)

    async def _hand_on(self, message: SessionMessage) -> None:
        writer = self._read_stream_writer
        if writer is None:
            raise anyio.ClosedResourceError
        await writer.send(message)

    async def _stream(self, events: Events, first: JSONRPCMessage | None, send: Send) -> None:
        """Send events up to the response, with a sign of life where there is a pause."""
        await self._start_stream(send)
        message = first
        while True:
            await self._send_event(message, send)
            if message is not None and _is_last(message):
                break
            try:
                message = await _next(events)
            except _CLOSED:
                break
        await send({"type": "http.response.body", "body": b""})

    async def _send_event(self, message: JSONRPCMessage | None, send: Send) -> None:
        """Send a message or a sign of life; who asks what cannot be written is told so."""
        if message is None:
            await send(_chunk(PING))
            return
        text = encoding.message_text(message)
        if text is not None:
            await send(_chunk(b"event: message\r\ndata: " + text + b"\r\n\r\n"))
        elif isinstance(message, JSONRPCRequest):
            await self._hand_on(SessionMessage(encoding.not_asked(message)))

    async def _json(
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
        answer = Response(encoding.message_text(message), status_code=status, headers=headers)
        await answer(request.scope, request.receive, send)

    async def _start_stream(self, send: Send) -> None:
        session = (b"mcp-session-id", (self.mcp_session_id or "").encode())
        headers = [*_SSE_HEADERS, session]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _handle_get_request(self, request: Request, send: Send) -> None:
        """Open the stream of what belongs to no request; a newer one replaces an older."""
        _, has_sse = check_accept_headers(request)
        if not has_sse:
            message = "Not Acceptable: Client must accept text/event-stream"
            answer = self._create_error_response(message, HTTPStatus.NOT_ACCEPTABLE)
            await answer(request.scope, request.receive, send)
            return
        if not await self._validate_request_headers(request, send):
            return
        older = self._request_streams.pop(GET_STREAM_KEY, None)
        if older is not None:
            older[0].close()
        streams = anyio.create_memory_object_stream[EventMessage](REQUEST_STREAM_BUFFER_SIZE)
        self._request_streams[GET_STREAM_KEY] = streams
        try:
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(_close_when_left(request.receive, streams[0]))
                await self._stream(streams[1], None, send)
                watch.cancel()
        finally:
            if self._request_streams.get(GET_STREAM_KEY) is streams:
                del self._request_streams[GET_STREAM_KEY]
            streams[0].close()
            streams[1].close()

    async def _refuse(self, message: str, code: int, request: Request, send: Send) -> None:
        answer = self._create_error_response(message, HTTPStatus.BAD_REQUEST, code)
        await answer(request.scope, request.receive, send)

    async def _lost(self, request: Request, send: Send) -> None:
        answer = self._create_error_response(
            "the session ended before the request was answered",
            HTTPStatus.INTERNAL_SERVER_ERROR,
            INTERNAL_ERROR,
        )
        await answer(request.scope, request.receive, send)


async def _next(events: Events) -> JSONRPCMessage | None:
    """Return the next message; None if there is none for a while."""
    with anyio.move_on_after(KEEP_ALIVE_S):
        return (await events.receive()).message
    return None


def _is_last(message: JSONRPCMessage) -> bool:
    return isinstance(message, JSONRPCResponse | JSONRPCError)


def _chunk(text: bytes) -> dict[str, object]:
    return {"type": "http.response.body", "body": text, "more_body": True}


async def _close_when_left(receive: Receive, events: MemoryObjectSendStream[EventMessage]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    events.close()
