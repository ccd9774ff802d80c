"""Dependencies shared by all supervisors of a pool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gateway_project.foundation.caller import Caller, SessionKey
from tools.upstream.breaker import RetryPolicy
from tools.upstream.environment import UpstreamEnvironment
from tools.upstream.limits import UpstreamLimits
from tools.upstream.spec import ServerSpec
from tools.upstream.status import ListName, ServerStatus
from tools.upstream.transport import UpstreamTransport


class StartSlots:
    """Limits concurrent starts; a hanging server blocks the others only briefly.

    Args:
        count: Maximum concurrent starts.
        hold_s: Seconds after which a start still in progress no longer counts.
    """

    def __init__(self, *, count: int, hold_s: float) -> None:
        self._free = asyncio.Semaphore(count)
        self._hold_s = hold_s

    @asynccontextmanager
    async def hold_slot(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it for the block, at most `hold_s` seconds."""
        await self._free.acquire()
        timer = asyncio.get_running_loop().call_later(self._hold_s, self._free.release)
        try:
            yield
        finally:
            if timer.when() > asyncio.get_running_loop().time():
                timer.cancel()
                self._free.release()


@dataclass(frozen=True, kw_only=True)
class SupervisorContext:
    """Dependencies shared by all supervisors of a pool.

    Attributes:
        limits: Caps on what a server may send and consume.
        policy: When to retry a failing server.
        environment: Clocks, randomness, environment variables.
        slots: Limits concurrent starts.
        transport: Makes the transport of one start, for requests that carry a caller's rights;
            may raise `UpstreamError`.
        on_status: Called with each new status.
        on_changed: Called with the server's name and the list that changed.
        on_updated: Called with the server's name, the URI of a changed resource, and the clients
            that follow it on the reporting connection.
        idle_stop_s: Seconds without a request after which a server that is stateless by protocol
            is stopped; 0: never.
        session_idle_s: The same for a connection that belongs to one caller.
    """

    limits: UpstreamLimits
    policy: RetryPolicy
    environment: UpstreamEnvironment
    slots: StartSlots
    transport: Callable[[ServerSpec, Caller], UpstreamTransport]
    on_status: Callable[[ServerStatus], None]
    on_changed: Callable[[str, ListName], None]
    on_updated: Callable[[str, str, Collection[SessionKey]], None]
    idle_stop_s: float = 0.0
    session_idle_s: float = 0.0
