"""Requests of 2026-07-28, answered with one JSON body where nothing comes before the result.

The SDK's own entry starts two tasks and a queue for each request, so that it can send events ahead
of a result and notice a client that leaves. Most requests are answered before either matters. Here
a request is served in the task it came in on, and is watched only if it takes a while. All that is
not a sound request is left to the SDK, which says what is wrong with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import anyio
from mcp.server import Server
from mcp.server._streamable_http_modern import _mcp_param_rejection
from mcp.server.connection import Connection
from mcp.server.runner import modern_error_data, serve_one
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
)
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import JSONRPCRequest, ProgressToken, RequestId
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from gateway_project.mcp.http import body
from gateway_project.mcp.http.answers import Rejected, json_answer
from gateway_project.mcp.http.event_reply import EventReply

WATCH_AFTER_S: Final = 0.05
"""A request that is answered sooner is not watched for a client that leaves."""
OK: Final = 200
BAD_REQUEST: Final = 400
_LISTEN: Final = "subscriptions/listen"
_VERSION: Final = b"mcp-protocol-version"

Otherwise = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class _Sound:
    """A request that can be served.

    Attributes:
        http: As it came.
        message: Its body.
        route: What its envelope says.
    """

    http: Request
    message: JSONRPCRequest
    route: InboundModernRoute


class Modern:
    """Serves requests that stand for themselves.

    Args:
        server: Of the SDK.
        lifespan: Returns what lasts as long as the server.
        otherwise: Answers requests that are not sound, and subscriptions.
    """

    def __init__(
        self, server: Server[Any], *, lifespan: Callable[[], Any], otherwise: Otherwise
    ) -> None:
        self._server = server
        self._lifespan = lifespan
        self._otherwise = otherwise

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request whose body is complete.

        Raises:
            Rejected: If it is no JSON that can be read.
        """
        whole: bytes = (await receive())["body"]
        http = Request(scope, receive)
        sound = await self._read(http, whole)
        if sound is None:
            await self._otherwise(scope, body.replay(whole, receive), send)
        else:
            await self._answer(sound, send)

    async def _read(self, http: Request, whole: bytes) -> _Sound | None:
        try:
            value = from_json(whole)
        except ValueError as error:  # the SDK's own parser would take what cannot be sent on
            refusal = body.unreadable(whole, error).model_dump(exclude_unset=True)
            raise Rejected(json_answer(refusal, status=BAD_REQUEST)) from None
        try:
            message = JSONRPCRequest.model_validate(value)
        except ValidationError:
            return None
        pairs = http.headers.items()
        if (
            message.method == _LISTEN
            or check_accept_headers(http) != (True, True)
            or find_duplicated_routing_header(pairs) is not None
        ):
            return None
        route = classify_inbound_request(value, headers=dict(pairs))
        if not isinstance(route, InboundModernRoute):
            return None
        if await _mcp_param_rejection(self._server, http, message, route, self._lifespan()):
            return None
        return _Sound(http=http, message=message, route=route)

    async def _answer(self, sound: _Sound, send: Send) -> None:
        """Serve a request for as long as its client waits."""
        message, loop = sound.message, asyncio.get_running_loop()
        reply = EventReply(message.id, send)
        try:
            async with asyncio.timeout(None) as left, asyncio.TaskGroup() as group:
                watches: list[asyncio.Task[None]] = []

                def watch() -> None:
                    watches.append(group.create_task(_watch(sound.http.receive, reply, left)))

                due = loop.call_later(WATCH_AFTER_S, watch)
                try:
                    await self._serve(sound, reply)
                finally:
                    due.cancel()
                    for task in watches:
                        task.cancel()
        except TimeoutError:
            if not left.expired():
                raise

    async def _serve(self, sound: _Sound, reply: EventReply) -> None:
        message, route = sound.message, sound.route
        connection = Connection.from_envelope(
            route.protocol_version, route.client_info, route.client_capabilities
        )
        try:
            result = await serve_one(
                self._server,
                _Dispatch(sound, reply),
                message.method,
                message.params,
                connection=connection,
                lifespan_state=self._lifespan(),
            )
        except Exception as error:  # noqa: BLE001 - the SDK's boundary: it logs what is a defect
            data = modern_error_data(error)
            status = ERROR_CODE_HTTP_STATUS.get(data.code, OK)
            dumped = data.model_dump(mode="json", by_alias=True, exclude_none=True)
            await reply.end({"error": dumped}, status=status)
        else:
            await reply.end({"result": result}, status=OK)


class _Dispatch:
    """What the SDK wants to know of a request, and how it sends something ahead of the result."""

    can_send_request = False

    def __init__(self, sound: _Sound, reply: EventReply) -> None:
        self.transport = TransportContext(
            kind="streamable-http", can_send_request=False, headers=sound.http.headers
        )
        self.request_id: RequestId | None = sound.message.id
        self.message_metadata = ServerMessageMetadata(request_context=sound.http)
        self._progress_token: ProgressToken | None = progress_token_from_params(
            sound.message.params
        )
        self._reply = reply
        self._cancel_requested: anyio.Event | None = None

    @property
    def cancel_requested(self) -> anyio.Event:
        """Never set: a client cancels by leaving."""
        if self._cancel_requested is None:
            self._cancel_requested = anyio.Event()
        return self._cancel_requested

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,  # noqa: ARG002 - the protocol's
        opts: CallOptions | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Refuse: a server of this era sends no requests."""
        raise NoBackChannelError(method)

    async def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,  # noqa: ARG002
    ) -> None:
        """Send a notification ahead of the result."""
        note: dict[str, Any] = {"method": method}
        if params is not None:
            note["params"] = params
        await self._reply.event(note)

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Report progress, if it was asked for."""
        if self._progress_token is None:
            return
        said = {"progress": progress, "total": total, "message": message}
        given = {key: value for key, value in said.items() if value is not None}
        await self.notify(
            "notifications/progress", {"progressToken": self._progress_token, **given}
        )


def is_modern(scope: Scope) -> bool:
    """Whether a request says that it is of this era."""
    return scope["method"] == "POST" and any(
        name == _VERSION and value.decode("latin-1") in MODERN_PROTOCOL_VERSIONS
        for name, value in scope["headers"]
    )


async def _watch(receive: Receive, reply: EventReply, left: asyncio.Timeout) -> None:
    """End a request whose client has left; give signs of life to one that waits."""
    while True:
        try:
            async with asyncio.timeout_at(reply.ping_at):
                message = await receive()
        except TimeoutError:
            await reply.ping()
            continue
        if message["type"] == "http.disconnect":
            left.reschedule(asyncio.get_running_loop().time())
            return
