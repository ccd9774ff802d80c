"""What is known of a server: its description of itself, and its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

ServerState = Literal["idle", "connecting", "ready", "backoff", "open", "failed", "stopped"]

ListName = Literal["tools", "prompts", "resources"]
"""A list whose changes a server may report; `resources` includes resource templates."""

Era = Literal["modern", "legacy"]

_KINDS: tuple[ListName, ...] = ("tools", "prompts", "resources")


@dataclass(frozen=True, kw_only=True)
class ServerInfo:
    """A server's own name and version; unverified, for display only.

    Attributes:
        name: Its name.
        version: Its version, or empty.
        title: Display name, or empty.
    """

    name: str
    version: str = ""
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class ServerStatus:
    """A server's state at one moment.

    Attributes:
        name: Name in the pool.
        state: `idle`: not running, starts on next use. `connecting`: starting. `ready`: connected.
            `backoff`: failed recently, retried on next use but not before `retry_at`. `open`:
            failed too often, calls fail immediately until `retry_at`. `failed`: cannot be started
            as configured, retried on each use. `stopped`: removed, or the pool is closed.
        last_error: The last failure in one line, or empty.
        last_error_at: When it happened.
        last_output: Output outside the protocol before that failure, oldest line first.
        retry_at: Earliest time of the next attempt, in `backoff` and `open`.
        connected_at: When it became ready; None unless it is ready.
        protocol_version: Negotiated for the last connection, empty before the first.
        pid: Its process id, while there is a process.
        restarts: Starts after the first.
        calls_in_flight: Calls not answered yet.
        messages_dropped: Messages from it that were unusable or over the rate limit.
        sessions: Connections that belong to single callers.
    """

    name: str
    state: ServerState
    last_error: str = ""
    last_error_at: datetime | None = None
    last_output: tuple[str, ...] = ()
    retry_at: datetime | None = None
    connected_at: datetime | None = None
    protocol_version: str = ""
    pid: int | None = None
    restarts: int = 0
    calls_in_flight: int = 0
    messages_dropped: int = 0
    sessions: int = 0


_STATE_PRECEDENCE: tuple[ServerState, ...] = (
    "ready",
    "connecting",
    "open",
    "backoff",
    "failed",
    "idle",
    "stopped",
)
"""Of several connections, the one in the earliest of these states represents the server."""


def combine_statuses(connections: Sequence[ServerStatus], *, sessions: int) -> ServerStatus:
    """Combine the statuses of several connections to one server.

    Args:
        connections: At least one; among equals the first represents the server.
        sessions: How many of them belong to single callers.
    """
    leading = min(connections, key=lambda status: _STATE_PRECEDENCE.index(status.state))
    failures = [(status.last_error_at, status) for status in connections if status.last_error_at]
    last_failed = max(failures, key=lambda failure: failure[0], default=(None, leading))[1]
    return replace(
        leading,
        last_error=last_failed.last_error,
        last_error_at=last_failed.last_error_at,
        last_output=last_failed.last_output,
        restarts=sum(status.restarts for status in connections),
        calls_in_flight=sum(status.calls_in_flight for status in connections),
        messages_dropped=sum(status.messages_dropped for status in connections),
        sessions=sessions,
    )


@dataclass(frozen=True, kw_only=True)
class ServerPeer:
    """A connected server's description of itself.

    Attributes:
        era: The generation of the protocol it speaks.
        protocol_version: The negotiated version.
        info: Its own name and version, if declared.
        instructions: Its instructions for use.
        capabilities: Its declared capabilities, as received.
    """

    era: Era = "legacy"
    protocol_version: str = ""
    info: ServerInfo | None = None
    instructions: str = ""
    capabilities: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def has_capability(self, capability: str) -> bool:
        """Whether it declares a capability, such as `prompts`, or an extension by its name."""
        extensions = self.capabilities.get("extensions")
        if isinstance(extensions, Mapping) and capability in extensions:
            return True
        return self.capabilities.get(capability) not in (None, False)

    def offered_kinds(self) -> tuple[ListName, ...]:
        """Return the lists it declares; always includes tools, which some servers omit."""
        return tuple(kind for kind in _KINDS if kind == "tools" or self.has_capability(kind))

    def notified_kinds(self) -> tuple[ListName, ...]:
        """Return the lists whose changes it declares to report."""
        return tuple(kind for kind in _KINDS if self._has_feature(kind, "listChanged"))

    def _has_feature(self, capability: str, feature: str) -> bool:
        features = self.capabilities.get(capability)
        return isinstance(features, dict) and features.get(feature) is True
