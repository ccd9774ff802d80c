"""Serves requests of 2026-07-28, with a plain JSON body if nothing precedes the result.

The SDK's own entry point starts two tasks and a queue for each request, to send events ahead of a
result and to notice a client that disconnects. Most requests are answered before either matters.
Here a request is served in the task that received it and is watched only if it takes a while.
Invalid requests are left to the SDK, which reports their errors.
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
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from gateway_project.foundation.json_pieces import TooManyValues
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.mcp.http import body
from gateway_project.mcp.http.answers import RequestRejected, make_json_answer
from gateway_project.mcp.http.body import HTTP_BAD_REQUEST, HTTP_OK
from gateway_project.mcp.http.event_reply import AcceptedForms, EventReply, read_accepted

WATCH_AFTER_S: Final = 0.05
"""Delay before a request is watched for a disconnecting client."""
_LISTEN_METHOD: Final = "subscriptions/listen"
_VERSION: Final = b"mcp-protocol-version"

FallbackHandler = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class _ValidRequest:
    """A request that can be served.

    Attributes:
        http: The HTTP request.
        message: Its body.
        route: Protocol version, client and capabilities from its envelope.
        accepted: Forms in which its client takes the answer.
    """

    http: Request
    message: JSONRPCRequest
    route: InboundModernRoute
    accepted: AcceptedForms


class ModernHandler:
    """Serves requests of the stateless era.

    Args:
        server: Of the SDK.
        lifespan: Returns the server's lifespan state.
        otherwise: Answers invalid requests, and subscriptions.
    """

    def __init__(
        self, server: Server[Any], *, lifespan: Callable[[], Any], otherwise: FallbackHandler
    ) -> None:
        self._server = server
        self._lifespan = lifespan
        self._otherwise = otherwise

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request whose body is complete.

        Raises:
            RequestRejected: If the body cannot be parsed as JSON.
        """
        content: bytes = (await receive())["body"]
        http = Request(scope, receive)
        request = await self._read_request(http, content)
        if request is None:
            await self._otherwise(scope, body.replay_body(content, receive), send)
        else:
            await self._answer_request(request, send)

    async def _read_request(self, http: Request, content: bytes) -> _ValidRequest | None:
        try:
            value = await body.parse_body(content)
        except TooManyValues as error:
            answer, status = body.answer_too_many_values(content, error)
            dumped = answer.model_dump(by_alias=True, exclude_unset=True)
            raise RequestRejected(make_json_answer(dumped, status=status)) from None
        except (
            ValueError
        ) as error:  # the SDK's own parser would accept values that cannot be forwarded
            refusal = body.answer_unreadable(content, error).model_dump(exclude_unset=True)
            raise RequestRejected(make_json_answer(refusal, status=HTTP_BAD_REQUEST)) from None
        try:
            message = JSONRPCRequest.model_validate(value)
        except ValidationError:
            return None
        pairs = http.headers.items()
        if (
            message.method == _LISTEN_METHOD
            or not any(accepted := read_accepted(http))
            or find_duplicated_routing_header(pairs) is not None
        ):
            return None
        route = classify_inbound_request(value, headers=dict(pairs))
        if not isinstance(route, InboundModernRoute):
            return None
        if await _mcp_param_rejection(self._server, http, message, route, self._lifespan()):
            return None
        return _ValidRequest(http=http, message=message, route=route, accepted=accepted)

    async def _answer_request(self, request: _ValidRequest, send: Send) -> None:
        """Serve a request for as long as its client waits."""
        message, loop = request.message, asyncio.get_running_loop()
        reply = EventReply(message.id, send, request.accepted)
        try:
            async with asyncio.timeout(None) as deadline, TaskGroup() as group:
                watches: list[asyncio.Task[None]] = []

                def watch() -> None:
                    watches.append(
                        group.create_task(_watch_client(request.http.receive, reply, deadline))
                    )

                watch_timer = loop.call_later(WATCH_AFTER_S, watch)
                try:
                    await self._serve_request(request, reply)
                finally:
                    watch_timer.cancel()
                    for task in watches:
                        task.cancel()
        except TimeoutError:
            if not deadline.expired():
                raise

    async def _serve_request(self, request: _ValidRequest, reply: EventReply) -> None:
        message, route = request.message, request.route
        connection = Connection.from_envelope(
            route.protocol_version, route.client_info, route.client_capabilities
        )
        try:
            result = await serve_one(
                self._server,
                _Dispatch(request, reply),
                message.method,
                message.params,
                connection=connection,
                lifespan_state=self._lifespan(),
            )
        except Exception as error:  # noqa: BLE001 - the SDK's boundary, which logs defects
            data = modern_error_data(error)
            status = ERROR_CODE_HTTP_STATUS.get(data.code, HTTP_OK)
            dumped = data.model_dump(mode="json", by_alias=True, exclude_none=True)
            await reply.send_result({"error": dumped}, status=status)
        else:
            await reply.send_result({"result": result}, status=HTTP_OK)


class _Dispatch:
    """Dispatch context of a request; sends notifications ahead of the result."""

    can_send_request = False

    def __init__(self, request: _ValidRequest, reply: EventReply) -> None:
        self.transport = TransportContext(
            kind="streamable-http", can_send_request=False, headers=request.http.headers
        )
        self.request_id: RequestId | None = request.message.id
        self.message_metadata = ServerMessageMetadata(request_context=request.http)
        self._progress_token: ProgressToken | None = progress_token_from_params(
            request.message.params
        )
        self._reply = reply
        self._cancel_requested: anyio.Event | None = None

    @property
    def cancel_requested(self) -> anyio.Event:
        """Never set: a client cancels by disconnecting."""
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
        notification: dict[str, Any] = {"method": method}
        if params is not None:
            notification["params"] = params
        await self._reply.send_event(notification)

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Report progress, if the request has a progress token."""
        if self._progress_token is None:
            return
        fields = {"progress": progress, "total": total, "message": message}
        present = {key: value for key, value in fields.items() if value is not None}
        await self.notify(
            "notifications/progress", {"progressToken": self._progress_token, **present}
        )


def is_modern(scope: Scope) -> bool:
    """Whether a request declares a version of the stateless era."""
    return scope["method"] == "POST" and any(
        name == _VERSION and value.decode("latin-1") in MODERN_PROTOCOL_VERSIONS
        for name, value in scope["headers"]
    )


async def _watch_client(receive: Receive, reply: EventReply, deadline: asyncio.Timeout) -> None:
    """End a request whose client disconnects; send pings while it waits."""
    while True:
        try:
            async with asyncio.timeout_at(reply.ping_at):
                message = await receive()
        except TimeoutError:
            await reply.send_ping()
            continue
        if message["type"] == "http.disconnect":
            deadline.reschedule(asyncio.get_running_loop().time())
            return
