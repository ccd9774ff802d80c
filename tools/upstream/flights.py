"""Requests under way to one server, and whose each of them is."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import RequestId

from tools.upstream.downstream import NOBODY, Downstream

# Listings are the gateway's own, and what changes nothing raises no questions.
_SILENT = frozenset({"tools/list", "resources/list", "resources/templates/list", "prompts/list"})

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request to a server.

    Attributes:
        method: As in the protocol.
        params: As they go out, `_meta` apart.
        timeout_s: Seconds from sending to the answer.
        meta: What the caller wants in `_meta`.
        progress: Awaited with what the server reports.
        downstream: Who it is made for.
    """

    method: str
    params: Mapping[str, Any]
    timeout_s: float
    meta: Mapping[str, Any] | None = None
    progress: ProgressFnT | None = None
    downstream: Downstream = NOBODY

    @property
    def what(self) -> str:
        """What it is, for messages."""
        name = self.params.get("name") or self.params.get("uri")
        if self.method == "tools/call":
            return f"the call of {name!r}"
        return f"{self.method} of {name!r}" if isinstance(name, str) else self.method


News = Callable[[], Awaitable[None]]


@dataclass(eq=False, kw_only=True)
class Flight:
    """One request from its acceptance to its end.

    Attributes:
        request: What was asked for.
        deadline: While it is at the server; stands still while its client is asked.
        questions: Requests to the client so far.
        being_asked: Questions to the client that are open.
    """

    request: Request
    deadline: asyncio.Timeout | None = None
    questions: int = 0
    being_asked: int = 0
    _left_s: float = 0.0
    _news: deque[News] = field(default_factory=deque)
    _told: asyncio.Task[None] | None = None

    @property
    def party(self) -> Hashable:
        """Who it is for, such that two of the same party may get each other's questions."""
        downstream = self.request.downstream
        return (downstream.session, downstream.user) if downstream.session else id(downstream)

    def pause(self) -> None:
        """Stop the clock for a question."""
        self.being_asked += 1
        if self.being_asked == 1 and self.deadline is not None:
            at = self.deadline.when()
            now = asyncio.get_running_loop().time()
            self._left_s = max(0.0, at - now) if at is not None else 0.0
            self.deadline.reschedule(None)

    def resume(self) -> None:
        """Let the clock go on."""
        self.being_asked -= 1
        if not self.being_asked and self.deadline is not None and not self.deadline.expired():
            self.deadline.reschedule(asyncio.get_running_loop().time() + self._left_s)

    def tell(self, news: News, *, group: asyncio.TaskGroup, at_most: int) -> None:
        """Have something told to the client, in order; of too much, the oldest is dropped."""
        if len(self._news) >= at_most:
            self._news.popleft()
        self._news.append(news)
        if self._told is None or self._told.done():
            self._told = group.create_task(self._tell_all())

    async def told(self, *, within_s: float) -> None:
        """Wait until the client has taken what is there, but not for long."""
        if self._told is None or self._told.done():
            return
        await asyncio.wait({self._told}, timeout=within_s)
        self._told.cancel()

    async def _tell_all(self) -> None:
        while self._news:
            news = self._news.popleft()
            try:
                await news()
            except Exception:
                # The top of a task: a client that cannot be told must not end the connection.
                log.exception("a client could not be told of its call")


class Flights:
    """All requests under way to one server, sent or waiting for its start.

    Args:
        owner: Whose own connection it is; nobody's is shared by all.
    """

    def __init__(self, owner: Downstream = NOBODY) -> None:
        self._owner = owner
        self._all: dict[Flight, None] = {}
        self._sent: dict[RequestId, Flight] = {}

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Flight]:
        return iter(self._all)

    def begin(self, flight: Flight) -> None:
        """Take a request up."""
        self._all[flight] = None

    def end(self, flight: Flight) -> None:
        """Be done with a request."""
        del self._all[flight]

    def sent(self, request_id: RequestId, flight: Flight) -> None:
        """Note under which id it goes out."""
        self._sent[request_id] = flight

    def answered(self, request_id: RequestId) -> None:
        """Forget an id."""
        self._sent.pop(request_id, None)

    def by_id(self, request_id: RequestId) -> Flight | None:
        """Return the request that went out under an id."""
        return self._sent.get(request_id)

    def partners(self, flight: Flight) -> list[Flight]:
        """Return all requests of the same party, the given one too."""
        party = flight.party
        return [one for one in self._all if one.party == party]

    def only_party(self) -> Flight | str:
        """Return the newest request of the only party there is, or say why there is none.

        Between the calls of a connection of one's own, its owner is the only party.
        """
        parties = {one.party for one in self._all if one.request.method not in _SILENT}
        if not parties and self._owner.ask is not None:
            request = Request(method="", params={}, timeout_s=0.0, downstream=self._owner)
            return Flight(request=request)
        if not parties:
            return "no call of it is under way"
        if len(parties) > 1:
            return (
                "calls of several clients are under way and it does not say whose it means; "
                "register it with `session: per_caller`"
            )
        mine = [one for one in self._all if one.request.method not in _SILENT]
        able = [one for one in mine if one.request.downstream.ask is not None]
        return (able or mine)[-1]
