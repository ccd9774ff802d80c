"""One request of a client and its answer: a JSON body, or a stream if events precede the result.

The SDK's own entry points start tasks and queues for each request, to send events ahead of a
result and to notice a client that disconnects. Most requests are answered before either matters.
Here a request is served in the task that received it and is watched only if it takes a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import anyio
from mcp.server.runner import ServerRunner, modern_error_data
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import RequestId

from gateway_project.mcp import encoding
from gateway_project.mcp.http.answers import HeaderPairs
from gateway_project.mcp.http.messages import HTTP_OK
from gateway_project.mcp.http.request import AcceptedForms, HttpRequest

PING_INTERVAL_S: Final = 15.0
"""Longest silence of a stream, before its client or a proxy gives up on it."""
WATCH_AFTER_S: Final = 0.05
"""Delay before a request is watched for a disconnecting client."""
PING: Final = b": ping\r\n\r\n"
JSON_HEADER: Final = (b"content-type", b"application/json")
STREAM_HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
_ONE_WAY: Final = TransportContext(kind="streamable-http", can_send_request=False)


class Exchange:
    """Serves one request, and is its dispatch context of the SDK.

    The messages of the answer are sent in order, in a form that the client takes.

    Args:
        request: The HTTP request.
        request_id: Of the JSON-RPC request.
        params: Its parameters.
        headers: More headers of the response.

    Attributes:
        accepted: Forms that the client takes. Without events, it gets the result alone.
    """

    transport = _ONE_WAY
    can_send_request = False

    def __init__(
        self,
        request: HttpRequest,
        request_id: RequestId,
        params: Mapping[str, Any] | None,
        *,
        headers: HeaderPairs = (),
    ) -> None:
        self.request_id = request_id
        self.message_metadata = ServerMessageMetadata(request_context=request)
        self.accepted: AcceptedForms = request.accepted
        self._params = params
        self._request = request
        self._headers = headers
        self._send_lock = asyncio.Lock()
        self._streams = False
        self._ended = False
        self._loop = asyncio.get_running_loop()
        self._ping_at = self._loop.time() + PING_INTERVAL_S
        self._deadline: asyncio.Timeout | None = None
        self._watch: asyncio.Task[None] | None = None
        self._cancel_requested: anyio.Event | None = None

    @property
    def cancel_requested(self) -> anyio.Event:
        """Never set: a request that is cancelled ends at once."""
        if self._cancel_requested is None:
            self._cancel_requested = anyio.Event()
        return self._cancel_requested

    async def serve(self, runner: ServerRunner[Any], method: str) -> bool:
        """Serve the request for as long as its client waits; return whether it succeeded."""
        answer: tuple[Mapping[str, Any], int] | None
        try:
            async with asyncio.timeout(None) as self._deadline:
                timer = self._loop.call_later(self._watch_after_s(), self._start_watch)
                try:
                    result = await runner.on_request(self, method, self._params)
                    answer = {"result": result}, HTTP_OK
                finally:
                    timer.cancel()
        except Exception as error:  # noqa: BLE001 - the SDK's boundary, which logs defects
            if isinstance(error, TimeoutError) and self._has_been_ended:
                answer = self._explain_end()
            else:
                data = modern_error_data(error)
                dumped = data.model_dump(mode="json", by_alias=True, exclude_none=True)
                answer = {"error": dumped}, self._choose_status(data.code)
        finally:
            if self._watch is not None:
                self._watch.cancel()
        if answer is None:
            return False
        await self.send_result(*answer)
        return "result" in answer[0]

    def end(self) -> None:
        """End the request before it is answered; does nothing if it is ending already."""
        if self._deadline is not None and self._deadline.when() is None:
            self._deadline.reschedule(self._loop.time())

    @property
    def _has_been_ended(self) -> bool:
        return self._deadline is not None and self._deadline.expired()

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,  # noqa: ARG002 - the protocol's
        opts: CallOptions | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Refuse: a server of the stateless era sends no requests."""
        raise NoBackChannelError(method)

    async def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,  # noqa: ARG002
    ) -> None:
        """Send a notification ahead of the result; drops it if the result has been sent."""
        message = {"jsonrpc": "2.0", "method": method}
        text = encoding.notification_to_json(
            message if params is None else {**message, "params": params}
        )
        if text is not None:
            await self._send_event(text)

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Report progress, if the request has a progress token."""
        token = progress_token_from_params(self._params)
        if token is None:
            return
        fields = {"progress": progress, "total": total, "message": message}
        present = {key: value for key, value in fields.items() if value is not None}
        await self.notify("notifications/progress", {"progressToken": token, **present})

    def _explain_end(self) -> tuple[Mapping[str, Any], int] | None:
        """Return the error that answers a request that was ended, and its HTTP status.

        None: nobody waits for it.
        """
        return None

    def _watch_after_s(self) -> float:
        return WATCH_AFTER_S

    def _choose_status(self, code: int) -> int:
        """Return the status of HTTP that an error of JSON-RPC has."""
        return ERROR_CODE_HTTP_STATUS.get(code, HTTP_OK)

    def _format_event(self, text: bytes, *, is_last: bool) -> bytes:  # noqa: ARG002
        """Return a message as an event of the stream."""
        return format_event(text)

    def _start_watch(self) -> None:
        self._watch = self._loop.create_task(self._watch_client())

    async def _watch_client(self) -> None:
        """End a request whose client disconnects; send pings while it waits."""
        while True:
            try:
                async with asyncio.timeout_at(self._ping_at):
                    message = await self._request.receive()
            except TimeoutError:
                await self.send_ping()
                continue
            if message["type"] == "http.disconnect":
                self.end()
                return

    async def send_result(self, outcome: Mapping[str, Any], status: int) -> None:
        """Send the result or the error, which ends the response.

        Args:
            outcome: The JSON-RPC member `result` or `error`.
            status: Of HTTP; ignored if a stream has started.
        """
        content = await encoding.write_answer(self.request_id, outcome)
        if not self._streams and not self._send_lock.locked():  # nobody else sends
            await self._finish(content, status)
            return
        async with self._send_lock:
            await self._finish(content, status)

    async def _finish(self, content: bytes, status: int) -> None:
        self._ended = True
        if not self._streams and not self.accepted.json:
            await self._open_stream(status)
        if self._streams:
            content = self._format_event(content, is_last=True)
        else:
            length = (b"content-length", b"%d" % len(content))
            await self._start_response(status, (JSON_HEADER, length))
        await self._request.send({"type": "http.response.body", "body": content})

    async def _send_event(self, text: bytes) -> None:
        async with self._send_lock:
            if self.accepted.events and not self._ended:
                if not self._streams:
                    await self._open_stream(HTTP_OK)
                await self._send_part(self._format_event(text, is_last=False))

    async def send_ping(self) -> None:
        """Send a sign of life, if the client takes any."""
        async with self._send_lock:
            self._ping_at = self._loop.time() + PING_INTERVAL_S
            if self.accepted.events and not self._ended:
                await self._send_part(await self._make_ping())

    async def _make_ping(self) -> bytes:
        """Return a sign of life, for a stream that is opened if it is not yet."""
        if not self._streams:
            await self._open_stream(HTTP_OK)
        return PING

    async def _send_part(self, chunk: bytes) -> None:
        self._ping_at = self._loop.time() + PING_INTERVAL_S
        await self._request.send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def _open_stream(self, status: int) -> None:
        self._streams = True
        await self._start_response(status, STREAM_HEADERS)

    async def _start_response(self, status: int, headers: HeaderPairs) -> None:
        await self._request.send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [*headers, *self._headers],
            }
        )


def format_event(text: bytes) -> bytes:
    """Return a message as an event that is not kept."""
    return b"event: message\r\ndata: " + text + b"\r\n\r\n"
