"""A request to a server: made at the edge, passed down unchanged to the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, Self

from tools.upstream.downstream import NO_CLIENT, Downstream

CALL_METHOD: Final = "tools/call"


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
