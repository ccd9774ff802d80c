"""Requests in flight to one server, the caller of each, and the gateway as its client."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import structlog
from mcp_types import RequestId

from gateway_project.foundation.caller import Caller, SessionKey
from gateway_project.foundation.task_group import TaskGroup
from tools import ui_pages
from tools.upstream.request import Deadline, Downstream, UpstreamRequest
from tools.upstream.status import ListName

# The gateway's own listings have no client that a server could ask.
NO_CALL: Final = "no call to it is in progress"
"""Why a question of a server belongs to no request."""
_QUESTIONLESS_METHODS = frozenset(
    {"tools/list", "resources/list", "resources/templates/list", "prompts/list"}
)

log = structlog.get_logger(__name__)


ClientNotice = Callable[[], Awaitable[None]]

SHARED_CAPABILITIES: Mapping[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "roots": {},
    "sampling": {},
}
"""Declared on a shared connection; a client without one of them answers with an error."""
LISTING_EXTENSIONS: Mapping[str, Any] = {ui_pages.EXTENSION: ui_pages.CLIENT_SETTINGS}
"""Declared wherever tools are listed, whatever the client: a server may list others, or other
definitions, to one that shows no pages, and each connection must list the pinned ones."""


@dataclass(eq=False, kw_only=True)
class InFlightRequest:
    """One request from its acceptance to its end.

    Attributes:
        request: The request itself.
        caller: Whose rights it carries.
        timeout_s: Seconds from sending to the response.
        max_s: The same if the server reports progress, each report of which starts `timeout_s`
            anew; 0: progress changes nothing.
        deadline: Its timeout, or its caller's, while it is at the server; paused while its client
            is asked.
        question_count: Questions to the client so far.
        open_questions: Questions to the client that are still open.
    """

    request: UpstreamRequest
    caller: Caller
    timeout_s: float
    max_s: float = 0.0
    deadline: Deadline | None = None
    question_count: int = 0
    open_questions: int = 0
    _remaining_s: float = 0.0
    _sent_at: float = 0.0
    _allowed_s: float = 0.0
    _notices: deque[ClientNotice] = field(default_factory=deque)
    _delivery: asyncio.Task[None] | None = None

    @property
    def party(self) -> SessionKey:
        """Identity of the client; requests of one party may receive each other's questions."""
        return self.caller.client_key

    @property
    def allowed_s(self) -> float:
        """Seconds from sending until it times out, as far as known by now."""
        return max(self.timeout_s, float(round(self._allowed_s)))

    @asynccontextmanager
    async def limit_time(self) -> AsyncIterator[None]:
        """Limit its time at the server.

        Raises:
            TimeoutError: If the time is up, unless the caller's deadline ends it.
        """
        callers = self.request.deadline
        async with asyncio.timeout(None if callers else self.timeout_s) as own:
            self.deadline = callers or own
            self._sent_at = asyncio.get_running_loop().time()
            try:
                yield
            finally:
                if self.open_questions:
                    self._unpause()  # the caller's deadline outlasts this attempt
                self.deadline = None

    def extend(self) -> None:
        """Start `timeout_s` anew, within `max_s`; a paused or expired deadline stays."""
        deadline = self.deadline
        if deadline is None or deadline.expired() or (ends_at := deadline.when()) is None:
            return
        spent_s = asyncio.get_running_loop().time() - self._sent_at
        allowed_s = min(spent_s + self.timeout_s, self.max_s)
        if self._sent_at + allowed_s > ends_at:
            self._allowed_s = allowed_s
            deadline.reschedule(self._sent_at + allowed_s)

    def pause(self) -> None:
        """Pause the deadline for a question."""
        self.open_questions += 1
        if self.open_questions == 1 and self.deadline is not None:
            at = self.deadline.when()
            now = asyncio.get_running_loop().time()
            self._remaining_s = max(0.0, at - now) if at is not None else 0.0
            self.deadline.reschedule(None)

    def resume(self) -> None:
        """End one pause; the deadline resumes after the last one."""
        self.open_questions -= 1
        if not self.open_questions:
            self._unpause()

    def _unpause(self) -> None:
        if self.deadline is not None and not self.deadline.expired():
            self.deadline.reschedule(asyncio.get_running_loop().time() + self._remaining_s)

    def queue_notice(self, notice: ClientNotice, *, group: TaskGroup, at_most: int) -> None:
        """Queue a notification to the client; beyond `at_most`, the oldest is dropped."""
        if len(self._notices) >= at_most:
            self._notices.popleft()
        self._notices.append(notice)
        if self._delivery is None or self._delivery.done():
            self._delivery = group.create_task(self._deliver_notices())

    async def drain_notices(self, *, within_s: float) -> None:
        """Wait up to `within_s` for the client to receive the queued notices; drop the rest."""
        if self._delivery is None or self._delivery.done():
            return
        await asyncio.wait({self._delivery}, timeout=within_s)
        self._delivery.cancel()

    async def _deliver_notices(self) -> None:
        while self._notices:
            notice = self._notices.popleft()
            try:
                await notice()
            except Exception:
                # Top of a task: an unreachable client must not end the connection.
                log.exception("client.notification_failed")


class InFlightRequests:
    """All requests in flight to one server, sent or waiting for its start.

    Args:
        caller: Whose rights the connection carries.
        owner: The client that owns the connection; None: several share it.

    Attributes:
        caller: As above.
        owner: As above.
    """

    def __init__(self, caller: Caller, *, owner: Downstream | None) -> None:
        self.caller = caller
        self.owner = owner
        self._all: dict[InFlightRequest, None] = {}
        self._sent: dict[RequestId, InFlightRequest] = {}

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[InFlightRequest]:
        return iter(self._all)

    def add(self, flight: InFlightRequest) -> None:
        """Add a request."""
        self._all[flight] = None

    def remove(self, flight: InFlightRequest) -> None:
        """Remove a request."""
        del self._all[flight]

    def mark_sent(self, request_id: RequestId, flight: InFlightRequest) -> None:
        """Record the id under which a request is sent."""
        self._sent[request_id] = flight

    def mark_answered(self, request_id: RequestId) -> None:
        """Forget the id of a request."""
        self._sent.pop(request_id, None)

    def find_by_id(self, request_id: RequestId) -> InFlightRequest | None:
        """Return the request sent under an id."""
        return self._sent.get(request_id)

    def list_same_party(self, flight: InFlightRequest) -> list[InFlightRequest]:
        """Return all requests of the same party, including this one."""
        party = flight.party
        return [each for each in self._all if each.party == party]

    def find_only_party(self) -> InFlightRequest | str:
        """Return the newest request of the only active party, or the reason there is none.

        On a connection with an owner and no calls in flight, the owner is that party.
        """
        candidates = [
            flight for flight in self._all if flight.request.method not in _QUESTIONLESS_METHODS
        ]
        parties = {flight.party for flight in candidates}
        if not parties and self.owner is not None and self.owner.ask is not None:
            request = UpstreamRequest(method="", params={}, downstream=self.owner)
            return InFlightRequest(request=request, caller=self.caller, timeout_s=0.0)
        if not parties:
            return NO_CALL
        if len(parties) > 1:
            return (
                "calls of several clients are in progress and it does not say which one it "
                "means; register it with `session: per_caller`"
            )
        askable = [flight for flight in candidates if flight.request.downstream.ask is not None]
        return (askable or candidates)[-1]


@dataclass(frozen=True, kw_only=True)
class ClientProfile:
    """The client side of the connections to one server.

    Attributes:
        capabilities: Client capabilities declared in the legacy handshake.
        flights: Requests in flight, including those waiting for the start.
        on_list_changed: Called with the kind of list that changed.
        on_resource_updated: Called with the URI of a resource whose content changed.
        on_roots_asked: Called if a server asks for roots on a shared connection: with the request
            of the only client, if that can tell its roots. Returns whether the connection has
            become that client's own.
        fatal_requests: Methods of optional requests that crashed the server's process.
    """

    capabilities: Mapping[str, Any]
    flights: InFlightRequests
    on_list_changed: Callable[[ListName], None]
    on_resource_updated: Callable[[str], None]
    on_roots_asked: Callable[[InFlightRequest | None], bool]
    fatal_requests: set[str] = field(default_factory=set)
