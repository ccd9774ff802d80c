"""A connection to a server, from its start to its end; results are returned as received."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import structlog
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND, RequestId

from gateway_project.foundation.caller import GATEWAY
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.task_group import TaskGroup
from tools.mcp_tasks import TASK_METHODS, is_task
from tools.upstream.errors import (
    CallTimedOut,
    ConnectTimedOut,
    ProtocolViolation,
    SendTimedOut,
    ServerExited,
    ServerStopped,
    UnsendableRequest,
    UpstreamError,
    UpstreamRefused,
)
from tools.upstream.handshake import (
    REMOTE_PROBE_TIMEOUT_S,
    Handshake,
    RequestEnvelope,
    VersionRefused,
    negotiate,
)
from tools.upstream.held_task import conclude_task
from tools.upstream.in_flight import ClientProfile, InFlightRequest
from tools.upstream.inbound import LEVELS, InboundHandler
from tools.upstream.kinds import ITEMS, TOOLS, ItemKind, ListKind
from tools.upstream.listen import SubscriptionListener
from tools.upstream.listing import ItemListing, ToolListing, gather_items, gather_tools
from tools.upstream.redact_definitions import redact_peer
from tools.upstream.request import CALL_METHOD, UpstreamRequest
from tools.upstream.spec import ServerSpec
from tools.upstream.status import Era, ServerPeer
from tools.upstream.transport import UpstreamTransport

PING = "ping"
SET_LEVEL = "logging/setLevel"
LAST_NOTICES_S = 1.0  # for a client to receive the last progress reports before the result
OPTIONAL_REQUEST_S = 5.0  # a call waits this long for a preceding request it could do without

log = structlog.get_logger(__name__)


class Connection:
    """One connection to a running server; requests may come from any task.

    All calls on one connection reach the same process, or the same session.

    Attributes:
        transport: The underlying transport.
        peer: The server's description of itself.
        ended: Set once no request can be answered any more.
        stopping: Whether the gateway itself is closing it.
        interrupted: Requests left unanswered when the server ended.
        envelope: Builds requests in the form of the server's protocol.
        tools_changed: Reported changes of its list of tools.
    """

    def __init__(
        self,
        spec: ServerSpec,
        peer: ServerPeer,
        *,
        transport: UpstreamTransport,
        client: ClientProfile,
        inbound: InboundHandler,
        group: TaskGroup,
    ) -> None:
        self._spec = spec
        self._wire = transport.wire
        self._inbound = inbound
        self._flights = client.flights
        self._limits = transport.origin.limits
        self.envelope = RequestEnvelope(peer, over_http=spec.transport != "stdio")
        self._log_level = len(LEVELS)
        self._fatal_requests = client.fatal_requests
        self._group = group
        self._listener = SubscriptionListener(self._open_stream, client=client, group=group)
        self._is_settled = False
        self._settling = asyncio.Lock()
        self.transport = transport
        self.peer = peer
        self.ended = self._wire.ended
        self.stopping = False
        self.interrupted = 0
        self.tools_changed = 0
        inbound.era = peer.era
        inbound.subscription = self._listener.handle_notification
        if peer.era == "modern":  # legacy servers report changes of lists unasked
            self._listener.follow_lists(peer.notified_kinds())

    @property
    def is_over(self) -> bool:
        """Whether the connection has ended."""
        return self.ended.is_set() or self.transport.ended.is_set()

    @property
    def is_remote(self) -> bool:
        """Whether the server is reached over HTTP, not as a child process."""
        return self._spec.transport != "stdio"

    async def request(self, flight: InFlightRequest) -> dict[str, Any]:
        """Send a request and return its result; a timeout or cancellation cancels it upstream.

        Raises:
            UpstreamError: If there is no result.
        """
        request = flight.request
        await self._request_logs(request)
        if self.envelope.is_missing_headers(request):
            await self._learn_headers()
        request_id = self._wire.new_id()
        self._flights.mark_sent(request_id, flight)
        try:
            result = await self._await_answer(flight, request_id)
        finally:
            self._flights.mark_answered(request_id)
            self._inbound.withdraw_for(flight)
        await flight.drain_notices(within_s=LAST_NOTICES_S)
        return result

    async def settle_roots(self) -> None:
        """Wait until it is known whether the server asks for roots, and until it has them.

        It asks once it has read that the handshake is over, which an answer to a ping shows; a
        second ping lets it look at the folders before it is called. Servers of the stateless era
        ask during each call.

        Raises:
            UpstreamError: If the connection has ended.
        """
        if self.peer.era == "modern":
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(self._spec.connect_timeout_s), self._settling:
                if not self._is_settled:
                    await self._try_request(PING, {})
                    self._is_settled = True
                if await self._inbound.wait_for_roots():
                    await self._try_request(PING, {})

    async def list_tools(self) -> ToolListing:
        """Fetch all tools together with the server's description of itself.

        Raises:
            UpstreamError: If the listing cannot be fetched.
        """
        page = partial(self._fetch_page, TOOLS)
        async with self._limit_listing(TOOLS):
            listing = await gather_tools(
                page,
                limits=self._limits,
                over_http=self.is_remote,
                redactor=self.transport.origin.redactor,
            )
        self.envelope.learn_headers(listing.tools)
        return replace(listing, peer=self.peer)

    async def list_items(self, kind: ItemKind) -> ItemListing:
        """Fetch all resources, templates or prompts; empty if the server lacks the capability.

        Raises:
            UpstreamError: If the listing cannot be fetched.
        """
        if not self.peer.has_capability(ITEMS[kind].capability):
            return ItemListing()
        async with self._limit_listing(ITEMS[kind]):
            return await gather_items(
                partial(self._fetch_page, ITEMS[kind]),
                kind,
                limits=self._limits,
                redactor=self.transport.origin.redactor,
            )

    async def change_subscription(
        self, uri: str, *, on: bool, all_uris: frozenset[str]
    ) -> dict[str, Any]:
        """Subscribe to changes of a resource, or unsubscribe.

        Args:
            uri: URI of the resource.
            on: Whether to subscribe.
            all_uris: All URIs subscribed to after the change.

        Raises:
            UpstreamError: If the server refuses or does not answer.
        """
        if self.peer.era == "legacy":
            method = "resources/subscribe" if on else "resources/unsubscribe"
            return await self.send_own_request(method, {"uri": uri})
        timeout_s = self._spec.call_timeout_s
        try:
            honored = await self._listener.follow_resources(all_uris, timeout_s=timeout_s)
        except TimeoutError:
            raise self._call_timeout_error("a subscription", timeout_s) from None
        except MCPError as error:
            raise self._translate_error(error, during="a subscription") from None
        if on and uri not in honored:
            raise UpstreamRefused(
                server=self._spec.name,
                rpc_code=METHOD_NOT_FOUND,
                rpc_message=f"changes of {uri[:200]!r} cannot be subscribed to",
            )
        return {}

    async def send_own_request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request of the gateway's own."""
        request = UpstreamRequest(method=method, params=params)
        return await self.request(
            InFlightRequest(request=request, caller=GATEWAY, timeout_s=self._spec.call_timeout_s)
        )

    async def _open_stream(self, params: Mapping[str, Any], request_id: RequestId) -> None:
        """Hold a stream of changes open at a modern server."""
        request = UpstreamRequest(method="subscriptions/listen", params=params)
        await self._transmit(request, request_id)

    async def _transmit(
        self, request: UpstreamRequest, request_id: RequestId | None = None
    ) -> dict[str, Any]:
        request_id = self._wire.new_id() if request_id is None else request_id
        return await self._wire.request(
            request.method,
            self.envelope.build_params(request, request_id),
            request_id=request_id,
            headers=self._build_headers(request),
        )

    async def _await_answer(
        self, flight: InFlightRequest, request_id: RequestId
    ) -> dict[str, Any]:
        request, has_room = flight.request, False
        try:
            async with flight.limit_time():
                await self._wait_for_room(request)
                has_room = True
                result = await self._transmit(request, request_id)
                if is_task(result) and self.envelope.may_be_task(request):
                    origin = self._wire.origin
                    return await conclude_task(flight, result, origin, self._group, self._transmit)
        except TimeoutError:
            if not has_room:
                raise self._send_timeout_error(flight) from None
            raise CallTimedOut(
                server=self._spec.name,
                what=request.description,
                timeout_s=flight.allowed_s,
                is_call=request.method == CALL_METHOD,
            ) from None
        except MCPError as error:
            self._inbound.note_elicitations(error.error, request.downstream)
            raise self._translate_error(error, during=request.description) from None
        if self.peer.era == "legacy" and result.get("resultType") == "input_required":
            raise ProtocolViolation(
                f"asks for more input during {request.description} in a way that its protocol "
                "version does not define; update it",
                server=self._spec.name,
            )
        if is_task(result) and request.method not in TASK_METHODS:
            raise ProtocolViolation(
                f"answers {request.description} with a task, which it was not asked for and which "
                "is not followed; turn its tasks off, or update it",
                server=self._spec.name,
            )
        return result

    def _build_headers(self, request: UpstreamRequest) -> dict[str, str] | None:
        try:
            return self.envelope.build_headers(request)
        except UnicodeEncodeError as error:
            raise UnsendableRequest(self._spec.name, why=str(error)) from None

    async def _fetch_page(self, kind: ListKind, cursor: str | None) -> dict[str, Any]:
        try:
            return await self.send_own_request(
                kind.method, {} if cursor is None else {"cursor": cursor}
            )
        except UpstreamRefused as error:
            if error.rpc_code == METHOD_NOT_FOUND and self._can_lack(kind):
                return {kind.field: []}
            raise

    def _can_lack(self, kind: ListKind) -> bool:
        """Whether a server may lack this list method."""
        return kind is ITEMS["templates"] or not self.peer.has_capability(kind.capability)

    @asynccontextmanager
    async def _limit_listing(self, kind: ListKind) -> AsyncIterator[None]:
        """Apply one timeout to all pages of a listing."""
        limit_s = self._limits.list_timeout_s
        try:
            async with asyncio.timeout(limit_s):
                yield
        except TimeoutError:
            raise self._call_timeout_error(f"the list of {kind.plural}", limit_s) from None

    async def _request_logs(self, request: UpstreamRequest) -> None:
        """Lower a legacy server's log level to what the client wants, if necessary.

        It is never raised: others may share the connection, and each sees its own level anyway.
        """
        if self.peer.era == "modern" or not self.peer.has_capability("logging"):
            return
        level = request.downstream.log_level
        if _severity_rank(level) < self._log_level:
            self._log_level = _severity_rank(level)
            await self._try_request(SET_LEVEL, {"level": level})

    async def _learn_headers(self) -> None:
        """List the tools to learn a call's headers; the server may accept it without them."""
        try:
            await self.list_tools()
        except UpstreamError as error:
            self._continue_after(error, TOOLS.method)

    async def _try_request(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a request of the gateway's own whose failure must not fail the call it precedes.

        If the server's process does not survive the request, it is never sent again.

        Raises:
            UpstreamError: If the connection has ended.
        """
        if method in self._fatal_requests:
            return
        timeout_s = min(OPTIONAL_REQUEST_S, self._spec.call_timeout_s)
        request = UpstreamRequest(method=method, params=params)
        try:
            await self.request(
                InFlightRequest(request=request, caller=GATEWAY, timeout_s=timeout_s)
            )
        except UpstreamError as error:
            if isinstance(error, ServerExited):
                self._fatal_requests.add(method)
            self._continue_after(error, method)

    def _continue_after(self, error: UpstreamError, method: str) -> None:
        if self.is_over:
            # Other errors are objects shared by all calls.
            error.is_unsent = isinstance(error, ServerExited)
            raise error
        log.info(
            "server.optional_request_failed",
            server=self._spec.name,
            method=method,
            reason=str(error),
        )

    async def _wait_for_room(self, request: UpstreamRequest) -> None:
        """Wait until the transport has room for a request.

        Raises:
            UpstreamError: If the server ends before that; nothing was sent.
        """
        was_over = self.is_over
        await self.transport.wait_for_room()
        if self.transport.ended.is_set() and not was_over:
            error = self.transport.make_end_error(
                while_doing=f"before it was sent {request.description}"
            )
            # Other errors are objects shared by all calls.
            error.is_unsent = isinstance(error, ServerExited)
            raise error

    def _send_timeout_error(self, flight: InFlightRequest) -> SendTimedOut:
        return SendTimedOut(
            server=self._spec.name,
            what=flight.request.description,
            timeout_s=flight.timeout_s,
            waiting_bytes=self.transport.unsent_bytes,
        )

    def _call_timeout_error(self, what: str, timeout_s: float) -> CallTimedOut:
        return CallTimedOut(server=self._spec.name, what=what, timeout_s=timeout_s)

    def _translate_error(self, error: MCPError, *, during: str) -> UpstreamError:
        if self.transport.ended.is_set():
            self.interrupted += 1
        elif self.stopping and error.code == CONNECTION_CLOSED:
            # The wire ends before the transport.
            return ServerStopped(self._spec.name)
        return _translate_error(error, self._spec, self.transport, while_doing=f"during {during}")


def _severity_rank(level: Any) -> int:
    """Return the rank of a log level; an unknown one ranks above all others."""
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)


def _translate_error(
    error: MCPError, spec: ServerSpec, transport: UpstreamTransport, *, while_doing: str
) -> UpstreamError:
    """Turn a JSON-RPC error into an `UpstreamError`, given the state of the transport."""
    if transport.ended.is_set() and error.code == CONNECTION_CLOSED:
        return transport.make_end_error(while_doing=while_doing)
    return UpstreamRefused(
        server=spec.name, rpc_code=error.code, rpc_message=error.message, data=error.data
    )


class _ConnectionLeft(Exception):
    """Cancels the tasks of a connection; never leaves this module."""


@asynccontextmanager
async def connect(
    spec: ServerSpec,
    transport: UpstreamTransport,
    *,
    era: Era | None,
    versions: list[str],
    client: ClientProfile,
) -> AsyncIterator[Connection]:
    """Start a server, negotiate the protocol and subscribe to its lists; close it on exit.

    Enter and leave in one task.

    Args:
        spec: The server's entry.
        transport: Not yet entered.
        era: The era negotiated last time, if the server was ever connected.
        versions: As for `Handshake`.
        client: The client side of the connection.

    Raises:
        UpstreamError: If the server cannot be started or does not become ready in time.
    """
    outcome: ServerPeer | UpstreamError | None = None
    async with transport:
        wire = transport.wire
        try:
            async with TaskGroup() as group:
                inbound = InboundHandler(wire, client=client, group=group)
                wire.attach(inbound)
                handshake = Handshake(wire, capabilities=client.capabilities, versions=versions)
                outcome = await _negotiate_peer(spec, handshake, transport, era)
                if isinstance(outcome, ServerPeer):
                    connection = Connection(
                        spec,
                        redact_peer(outcome, transport.origin.redactor),
                        transport=transport,
                        client=client,
                        inbound=inbound,
                        group=group,
                    )
                    try:
                        yield connection
                    finally:
                        connection.stopping = True
                        wire.end()
                raise _ConnectionLeft  # noqa: TRY301 - the only way to end the tasks of a group
        except _ConnectionLeft:
            pass
    if (task := asyncio.current_task()) is not None and task.cancelling():
        raise asyncio.CancelledError  # an error swallows it in a task group
    if isinstance(outcome, UpstreamError):
        raise outcome


async def _negotiate_peer(
    spec: ServerSpec, handshake: Handshake, transport: UpstreamTransport, era: Era | None
) -> ServerPeer | UpstreamError:
    """Negotiate within the connect timeout; failures are returned, not raised."""
    options = {} if spec.transport == "stdio" else {"patience_s": REMOTE_PROBE_TIMEOUT_S}
    try:
        async with asyncio.timeout(spec.connect_timeout_s):
            return await negotiate(
                handshake, era="legacy" if spec.transport == "sse" else era, **options
            )
    except TimeoutError:
        return ConnectTimedOut(
            server=spec.name,
            timeout_s=spec.connect_timeout_s,
            last_stderr=transport.failure_summary,
            remote=spec.transport != "stdio",
        )
    except MCPError as error:
        return _translate_error(error, spec, transport, while_doing="while starting")
    except UpstreamError as error:
        return error
    except VersionRefused as error:
        return ProtocolViolation(
            f"answered the handshake with something that is not MCP ({summarize_error(error)}); "
            "check that its command starts an MCP server",
            server=spec.name,
        )
