"""Whether calls can be served: set by the wiring, awaited by calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from gateway_project.foundation.user_error import UserError

if TYPE_CHECKING:
    from gateway_project.effects import Effects
    from gateway_project.foundation.caller import Caller, SessionKey

ChangedList = Literal["tools", "prompts", "resources"]
"""A list whose changes clients are notified of."""

START_TIMEOUT_S = 20.0
"""Longest wait of a call for a gateway that is still starting."""
RETRY_TIMEOUT_S = 1.5
"""Longest wait of a call for the new attempt that it triggers after a known failure."""
MAX_PROBE_AGE_S = 15.0
"""Age of the last probe of the database from which on it says nothing any more."""


class NotReady(UserError):
    """The gateway cannot serve calls, yet or any more; the message says what to do.

    Attributes:
        code: Stable word for programs.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """The dependencies of calls, and their default caller.

    Attributes:
        effects: Dependencies of the flow.
        caller: Default caller of requests that name none.
        variables: Names of environment variables that server entries refer to.
    """

    effects: Effects
    caller: Caller
    variables: frozenset[str] = frozenset()


class Publisher(Protocol):
    """Notifies clients of changes; called in the event loop, never blocks."""

    def notify_list_changed(self, kind: ChangedList) -> None:
        """Notify clients that a list has changed."""

    def notify_resource_updated(
        self, server: str, uri: str, clients: Collection[SessionKey]
    ) -> None:
        """Notify the subscribers of a resource, of these `client_key`s, that it has changed."""


class Readiness:
    """The state of a gateway that starts while the protocol already runs; for one event loop.

    Args:
        monotonic: Clock for the age of probes, in seconds.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._probed_at: float | None = None
        self._write_obstacle = ""
        self._gateway: Gateway | None = None
        self._trouble: NotReady | None = None
        self._changed = asyncio.Event()
        self._publishers: list[Publisher] = []
        self.wanted = asyncio.Event()
        """Set by a call that has to wait, so that a failed start is retried at once."""
        self.in_use = asyncio.Event()
        """Set by the first message of a client: heavy modules and models load from then on."""
        self.owed_lists: set[ChangedList] = set()
        """Lists that a client asked for while nothing could be served: they change then."""

    @property
    def current(self) -> Gateway | None:
        """What calls are served with; None while they are not."""
        return self._gateway

    @property
    def trouble(self) -> NotReady | None:
        """Why calls are refused; None while they are served, or before the first failure."""
        return self._trouble

    def record_probe(self, write_obstacle: str) -> None:
        """Record why the database takes no writes at present; empty if it does."""
        self._probed_at, self._write_obstacle = self._monotonic(), write_obstacle

    def find_obstacle(self) -> NotReady | None:
        """Return why not every request can be served; None if each can.

        Calls may still be served from memory while the database is away, but nothing that is
        recorded: no run, and no call of a client that is not known yet.
        """
        if self._gateway is None:
            return self._trouble or NotReady("starting", "the gateway is still starting")
        if self._probed_at is None:
            return NotReady("starting", "the gateway has not connected to its database yet")
        age_s = self._monotonic() - self._probed_at
        if age_s > MAX_PROBE_AGE_S:
            reason = f"the database has not answered for {age_s:.0f} s"
            return NotReady("database_unavailable", reason)
        obstacle = self._write_obstacle
        return NotReady("database_unavailable", obstacle) if obstacle else None

    def serve(self, gateway: Gateway) -> None:
        """Serve calls with this gateway from now on."""
        self._gateway, self._trouble = gateway, None
        self._wake_waiters()
        owed, self.owed_lists = self.owed_lists, set()
        for kind in sorted(owed):
            self.notify_list_changed(kind)

    def refuse(self, trouble: NotReady) -> None:
        """Refuse calls from now on, for this reason."""
        self._gateway, self._trouble = None, trouble
        self._wake_waiters()

    def add_publisher(self, publisher: Publisher) -> None:
        """Register a publisher for all notifications."""
        self._publishers.append(publisher)

    def notify_list_changed(self, kind: ChangedList) -> None:
        """Notify all publishers that a list has changed."""
        for publisher in self._publishers:
            publisher.notify_list_changed(kind)

    def notify_resource_updated(
        self, server: str, uri: str, clients: Collection[SessionKey]
    ) -> None:
        """Notify all publishers that a server's resource has changed for some clients."""
        for publisher in self._publishers:
            publisher.notify_resource_updated(server, uri, clients)

    async def wait_for_gateway(self) -> Gateway:
        """Return the gateway, waiting a bounded time for it.

        Raises:
            NotReady: If there is nothing to serve it with.
        """
        if self._gateway is not None:
            return self._gateway
        wait_s = START_TIMEOUT_S if self._trouble is None else RETRY_TIMEOUT_S
        self.wanted.set()
        try:
            async with asyncio.timeout(wait_s):
                return await self._wait_until_served()
        except TimeoutError:
            raise self._trouble or NotReady(
                "starting",
                f"the gateway is still starting after {wait_s:g} s; try again in a moment",
            ) from None

    @property
    def next_change(self) -> asyncio.Event:
        """Set once calls are served by another gateway than now, or are refused."""
        return self._changed

    async def _wait_until_served(self) -> Gateway:
        """Wait until calls are served; raise the next reason why they are not."""
        while self._gateway is None:
            await self._changed.wait()
            if self._trouble is not None:
                raise self._trouble
        return self._gateway

    def _wake_waiters(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
