"""Whether calls can be served: written by the wiring, awaited by calls."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from gateway_project.effects import Effects
    from gateway_project.foundation.caller import Caller

Changed = Literal["tools", "prompts", "resources"]
"""A list that clients are told of when it has changed."""

READY_WAIT_S = 20.0
"""A call waits so long for a gateway that is still starting."""
RETRY_WAIT_S = 1.5
"""A call waits so long for the new attempt it sets off where it is known what is missing."""


class NotReady(Exception):
    """The gateway cannot serve calls yet, or no more; one line that says what to do.

    Attributes:
        code: Stable word for programs.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """What calls are served with.

    Attributes:
        effects: All that the flow reaches for.
        caller: Who asks.
        variables: Names of the environment's variables that servers' entries refer to.
    """

    effects: Effects[Any]
    caller: Caller
    variables: frozenset[str] = frozenset()


class Publisher(Protocol):
    """Tells clients what has changed; called in the event loop, and never waits."""

    def changed(self, kind: Changed) -> None:
        """Tell clients that a list has changed."""

    def updated(self, server: str, uri: str, sessions: Collection[str]) -> None:
        """Tell those of some sessions who subscribed to a resource that it has changed."""


class Readiness:
    """The state of a gateway that sets itself up beside the protocol; for one event loop."""

    def __init__(self) -> None:
        self._gateway: Gateway | None = None
        self._trouble: NotReady | None = None
        self._changed = asyncio.Event()
        self._publishers: list[Publisher] = []
        self.wanted = asyncio.Event()
        """Set by a call that has to wait, so that what failed is tried again at once."""
        self.listed = asyncio.Event()
        """Set once a client has listed or called tools: what is heavy may load from then on."""

    @property
    def current(self) -> Gateway | None:
        """What calls are served with right now, if they are."""
        return self._gateway

    @property
    def trouble(self) -> NotReady | None:
        """Why calls are refused; None while they are served or nothing is known yet."""
        return self._trouble

    def serve(self, gateway: Gateway) -> None:
        """Serve calls with this from now on."""
        self._gateway, self._trouble = gateway, None
        self._tell()

    def refuse(self, trouble: NotReady) -> None:
        """Refuse calls from now on, for this reason."""
        self._gateway, self._trouble = None, trouble
        self._tell()

    def publish_to(self, publisher: Publisher) -> None:
        """Have a publisher told what clients should hear of."""
        self._publishers.append(publisher)

    def changed(self, kind: Changed) -> None:
        """Say that a list has changed."""
        for publisher in self._publishers:
            publisher.changed(kind)

    def updated(self, server: str, uri: str, sessions: Collection[str]) -> None:
        """Say that the content of a server's resource has changed, as some sessions see it."""
        for publisher in self._publishers:
            publisher.updated(server, uri, sessions)

    async def gateway(self) -> Gateway:
        """Return what to serve a call with, waiting a bounded time for it.

        Raises:
            NotReady: If there is nothing to serve it with.
        """
        if self._gateway is not None:
            return self._gateway
        wait_s = READY_WAIT_S if self._trouble is None else RETRY_WAIT_S
        self.wanted.set()
        try:
            async with asyncio.timeout(wait_s):
                return await self._served()
        except TimeoutError:
            raise self._trouble or NotReady(
                "starting",
                f"the gateway is still starting after {wait_s:g} s; try again in a moment",
            ) from None

    async def _served(self) -> Gateway:
        """Wait until calls are served, or for the next reason why they are not."""
        while self._gateway is None:
            await self._changed.wait()
            if self._trouble is not None:
                raise self._trouble
        return self._gateway

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
