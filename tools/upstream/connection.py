"""A live connection to a server: requests out, results exactly as they came."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND, RequestId

from tools.upstream.client import Client
from tools.upstream.dispatch import Wire
from tools.upstream.envelope import Envelope
from tools.upstream.errors import (
    CallTimedOut,
    NotTaken,
    ProtocolViolation,
    ServerExited,
    ServerStopped,
    SessionExpired,
    UpstreamError,
    UpstreamRefused,
)
from tools.upstream.flights import Flight, Request
from tools.upstream.following import Following, NotFollowed
from tools.upstream.inbound import LEVELS, Inbound
from tools.upstream.kinds import ITEMS, TOOLS, ItemKind, ListKind
from tools.upstream.listing import Listing, ToolListing, gather_items, gather_tools
from tools.upstream.peer import Peer
from tools.upstream.spec import ServerSpec
from tools.upstream.transport import UpstreamTransport

LAST_NEWS_S = 1.0  # for a client to take the last progress reports before the result


class Connection:
    """One life of a server as a client sees it; requests may come from any task.

    Two calls on the same connection reach the same process, or the same session.

    Attributes:
        transport: Under it.
        peer: What the server said of itself.
        ended: Set when no request can be answered any more.
        stopping: Whether the gateway itself is ending it.
        interrupted: Requests that the server's own end left without an answer.
        envelope: Puts requests into the form of its protocol.
        tools_changed: Times its tools are known to have changed.
    """

    def __init__(
        self,
        spec: ServerSpec,
        peer: Peer,
        *,
        wire: Wire,
        inbound: Inbound,
        transport: UpstreamTransport,
        client: Client,
    ) -> None:
        self._spec = spec
        self._wire = wire
        self._inbound = inbound
        self._flights = client.flights
        self._limits = client.limits
        self.envelope = Envelope(peer, over_http=spec.transport != "stdio")
        self._log_level = len(LEVELS)
        self._following: Following | None = None
        self.transport = transport
        self.peer = peer
        self.ended = wire.ended
        self.stopping = False
        self.interrupted = 0
        self.tools_changed = 0

    @property
    def is_over(self) -> bool:
        """Whether no request can be answered any more."""
        return self.ended.is_set() or self.transport.ended.is_set()

    @property
    def is_remote(self) -> bool:
        """Whether it has no process of its own here."""
        return self._spec.transport != "stdio"

    async def request(self, flight: Flight) -> dict[str, Any]:
        """Send a request and return its result; giving up, for whatever reason, cancels it.

        Raises:
            UpstreamError: If there is no result to hand on.
        """
        request = flight.request
        await self._want_logs(request.downstream.log_level)
        if self.envelope.lacks_headers_of(request):
            await self.list_tools()
        request_id = self._wire.new_id()
        self._flights.sent(request_id, flight)
        try:
            result = await self._answer(flight, request_id)
        finally:
            flight.deadline = None
            self._flights.answered(request_id)
            self._inbound.withdraw_all(flight)
        await flight.told(within_s=LAST_NEWS_S)
        return result

    async def list_tools(self) -> ToolListing:
        """Fetch all tools.

        Raises:
            UpstreamError: If there is no listing.
        """
        page = partial(self._page, TOOLS)
        async with self._list_timeout(TOOLS):
            listing = await gather_tools(page, limits=self._limits, over_http=self.is_remote)
        self.envelope.learn(listing)
        return listing

    async def list_items(self, kind: ItemKind) -> Listing:
        """Fetch all resources, templates or prompts; none of a server that has no such things.

        Raises:
            UpstreamError: If there is no listing.
        """
        if not self.peer.can(ITEMS[kind].capability):
            return Listing()
        async with self._list_timeout(ITEMS[kind]):
            return await gather_items(partial(self._page, ITEMS[kind]), kind, limits=self._limits)

    def follow_with(self, following: Following) -> None:
        """Learn what follows changes at this server, and begin."""
        self._following = following
        following.follow_lists()

    async def follow(self, uri: str, *, on: bool, all_of_them: frozenset[str]) -> dict[str, Any]:
        """Begin or stop to hear of changes of a resource.

        Args:
            uri: Its address.
            on: Whether to begin.
            all_of_them: Addresses of all that are followed from now on.

        Raises:
            UpstreamError: If the server does not do that.
        """
        assert self._following is not None  # noqa: S101 - set while connecting
        change = self._following.follow if on else self._following.unfollow
        try:
            return await change(uri, all_of_them=all_of_them)
        except NotFollowed:
            raise UpstreamRefused(
                server=self._spec.name,
                rpc_code=METHOD_NOT_FOUND,
                rpc_message=f"changes of {uri[:200]!r} cannot be subscribed to",
            ) from None
        except TimeoutError:
            raise self._timed_out("a subscription", self._spec.call_timeout_s) from None
        except MCPError as error:
            raise self._explain(error, during="a subscription") from None

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request of the gateway's own."""
        timeout_s = self._spec.call_timeout_s
        return await self.request(
            Flight(request=Request(method=method, params=params, timeout_s=timeout_s))
        )

    async def _answer(self, flight: Flight, request_id: RequestId) -> dict[str, Any]:
        request, has_room = flight.request, False
        try:
            async with asyncio.timeout(request.timeout_s) as deadline:
                flight.deadline = deadline
                await self._room(request)
                has_room = True
                result = await self._wire.request(
                    request.method,
                    self.envelope.params(request, request_id),
                    request_id=request_id,
                    headers=self.envelope.headers(request),
                )
        except TimeoutError:
            if not has_room:
                raise self._not_taken(request) from None
            raise self._timed_out(request.what, request.timeout_s) from None
        except MCPError as error:
            self._inbound.refused(error.error, request.downstream)
            raise self._explain(error, during=request.what) from None
        if self.peer.era == "legacy" and result.get("resultType") == "input_required":
            raise ProtocolViolation(
                f"asks for more input during {request.what} in a way that its version of the "
                "protocol does not know; update it",
                server=self._spec.name,
            )
        return result

    async def _page(self, kind: ListKind, cursor: str | None) -> dict[str, Any]:
        try:
            return await self.ask(kind.method, {} if cursor is None else {"cursor": cursor})
        except UpstreamRefused as error:
            if error.rpc_code == METHOD_NOT_FOUND and self._may_lack(kind):
                return {kind.field: []}
            raise

    def _may_lack(self, kind: ListKind) -> bool:
        """Whether a server need not know how to list something."""
        return kind is ITEMS["templates"] or not self.peer.can(kind.capability)

    @asynccontextmanager
    async def _list_timeout(self, kind: ListKind) -> AsyncIterator[None]:
        """Limit all pages together."""
        limit_s = self._limits.list_timeout_s
        try:
            async with asyncio.timeout(limit_s):
                yield
        except TimeoutError:
            raise self._timed_out(f"the list of {kind.plural}", limit_s) from None

    async def _want_logs(self, level: str | None) -> None:
        """Have a legacy server send log messages of a level from now on, if it does not yet."""
        if self.peer.era == "modern" or level not in LEVELS or not self.peer.can("logging"):
            return
        wanted = LEVELS.index(level)
        if wanted < self._log_level:
            self._log_level = wanted
            await self.ask("logging/setLevel", {"level": level})

    async def _room(self, request: Request) -> None:
        """Wait until the server can be sent a request.

        Raises:
            UpstreamError: If it ends before that; nothing was sent.
        """
        was_over = self.is_over
        await self.transport.room()
        if self.transport.ended.is_set() and not was_over:
            error = self.transport.why_ended(while_doing=f"before it was sent {request.what}")
            error.is_unsent = isinstance(error, ServerExited)  # others are shared by all calls
            raise error

    def _not_taken(self, request: Request) -> NotTaken:
        return NotTaken(
            server=self._spec.name,
            what=request.what,
            timeout_s=request.timeout_s,
            waiting_bytes=self.transport.unsent_bytes,
        )

    def _timed_out(self, what: str, timeout_s: float) -> CallTimedOut:
        return CallTimedOut(server=self._spec.name, what=what, timeout_s=timeout_s)

    def _explain(self, error: MCPError, *, during: str) -> UpstreamError:
        if isinstance(error.data, SessionExpired):
            return error.data  # it was refused, so nothing was interrupted
        if self.transport.ended.is_set():
            self.interrupted += 1
        elif self.stopping and error.code == CONNECTION_CLOSED:
            # The wire ends before the transport, so this call has just learned of it.
            return ServerStopped(self._spec.name)
        return explain(error, self._spec, self.transport, while_doing=f"during {during}")


def explain(
    error: MCPError, spec: ServerSpec, transport: UpstreamTransport, *, while_doing: str
) -> UpstreamError:
    """Say what an error means, knowing how the transport fares."""
    if isinstance(error.data, UpstreamError):
        return error.data  # put there by our own transport
    if transport.ended.is_set() and error.code == CONNECTION_CLOSED:
        return transport.why_ended(while_doing=while_doing)
    return UpstreamRefused(
        server=spec.name, rpc_code=error.code, rpc_message=error.message, data=error.data
    )
