"""A request to a server: made at the edge, passed down unchanged to the wire.

With it goes how to reach the client behind it; whose rights it carries is its `Caller`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, Self

AskClient = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Forwards a server's request to the client and returns the client's result unchanged.

Its method is `elicitation/create`, `sampling/createMessage` or `roots/list`. An `MCPError` is that
of the client or of the gateway.
"""

TellClient = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Forwards a server's notification to the client, or drops it if it cannot be delivered."""

CALL_METHOD: Final = "tools/call"


@dataclass(frozen=True, kw_only=True)
class Downstream:
    """The client behind a request, as far as it can be reached.

    Attributes:
        capabilities: The client's `ClientCapabilities`, as in the protocol.
        ask: Sends the client a request while the call runs; None if it cannot be asked.
        tell: Sends the client a notification while the call runs; None if it does not listen.
        log_level: Least severe log message wanted from a server; None: none.
    """

    capabilities: Mapping[str, Any] = field(default_factory=dict, hash=False)
    ask: AskClient | None = None
    tell: TellClient | None = None
    log_level: str | None = None

    @property
    def has_roots(self) -> bool:
        """Whether the client can be asked for its roots."""
        return "roots" in self.capabilities and self.ask is not None


NO_CLIENT = Downstream()
"""No client can be reached."""


class ProgressListener(Protocol):
    """Receives the progress that a server reports during a request."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Receive one report; `progress` grows, `total` is its final value if known."""


class Deadline(Protocol):
    """An `asyncio.Timeout`."""

    def when(self) -> float | None:
        """Return when it ends, by the clock of the event loop; None: it is paused."""

    def reschedule(self, when: float | None, /) -> None:
        """Change when it ends."""

    def expired(self) -> bool:
        """Return whether it has ended."""


@dataclass(frozen=True, kw_only=True)
class UpstreamRequest:
    """A request to a server.

    Attributes:
        method: Method of the protocol.
        params: Its parameters without `_meta`, passed through.
        timeout_s: Seconds from sending to the response; None: the server's limit. Each report of
            progress starts them anew. Starting the server has its own limit, unless there is a
            deadline.
        is_extensible: Whether reports of progress do that.
        deadline: The caller's timeout, set to `timeout_s`, around the request and all that leads
            to it, and extended likewise; None: the timeout is made when the request is sent.
        meta: The part of `_meta` meant for the server, such as a trace context; the protocol's
            own keys are replaced.
        progress: Awaited with each progress report; None: none are requested.
        downstream: The client it is made for, to which the server may send requests.
    """

    method: str
    params: Mapping[str, Any]
    timeout_s: float | None = None
    is_extensible: bool = True
    deadline: Deadline | None = None
    meta: Mapping[str, Any] | None = None
    progress: ProgressListener | None = None
    downstream: Downstream = NO_CLIENT

    @classmethod
    def to_call(
        cls,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        is_extensible: bool = True,
        progress: ProgressListener | None = None,
    ) -> Self:
        """Make a request that calls a tool."""
        return cls(
            method=CALL_METHOD,
            params={"name": tool, "arguments": arguments},
            timeout_s=timeout_s,
            is_extensible=is_extensible,
            progress=progress,
        )

    @property
    def wants_progress(self) -> bool:
        """Whether the server is asked for progress: for the client, or to extend a call."""
        return self.progress is not None or (self.is_extensible and self.method == CALL_METHOD)

    @property
    def tool(self) -> str:
        """The tool to call: at first as the caller names it, at the pool as its server does."""
        name: str = self.params["name"]
        return name

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments of a tool call."""
        arguments: Mapping[str, Any] = self.params["arguments"]
        return arguments

    @property
    def description(self) -> str:
        """The request in words, for error messages."""
        name = self.params.get("name") or self.params.get("uri")
        if self.method == CALL_METHOD:
            return f"the call to {name!r}"
        return f"{self.method} of {name!r}" if isinstance(name, str) else self.method

    def rename_tool(self, name: str) -> Self:
        """Return the same call with another name of the tool."""
        return replace(self, params={**self.params, "name": name})
