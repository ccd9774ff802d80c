"""What can truthfully be said of an upstream server right now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

State = Literal["idle", "connecting", "ready", "backoff", "open", "failed", "stopped"]

Kind = Literal["tools", "prompts", "resources"]
"""What a server may say has changed; of resources, their templates too."""


@dataclass(frozen=True, kw_only=True)
class ServerInfo:
    """How a server names itself; unverified, for display only.

    Attributes:
        name: Its name.
        version: Its version, empty if it gives none.
        title: Display name, empty if it gives none.
    """

    name: str
    version: str = ""
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class ServerStatus:
    """A server's state at one moment.

    Attributes:
        name: Name in the pool.
        state: `idle`: not running, starts at the next use. `connecting`: being started.
            `ready`: answers. `backoff`: failed lately, tried again at the next use but not
            before `retry_at`. `open`: failed too often; calls fail at once until `retry_at`.
            `failed`: cannot be started as configured; tried again at each use. `stopped`:
            removed, or the pool is closed.
        last_error: The last failure in one line, empty if there was none.
        last_error_at: When it happened.
        retry_at: Earliest time of the next attempt, in `backoff` and `open`.
        connected_at: Since when it is ready; None if it is not.
        protocol_version: Negotiated with the last connection, empty before the first.
        server_info: How it names itself, if it does.
        pid: Its process, while there is one.
        restarts: Times it was started after its first start.
        calls_in_flight: Calls it has not answered yet.
        messages_dropped: Messages it sent that were unusable or too many.
        sessions: Connections that callers have to it of their own.
    """

    name: str
    state: State
    last_error: str = ""
    last_error_at: datetime | None = None
    retry_at: datetime | None = None
    connected_at: datetime | None = None
    protocol_version: str = ""
    server_info: ServerInfo | None = None
    pid: int | None = None
    restarts: int = 0
    calls_in_flight: int = 0
    messages_dropped: int = 0
    sessions: int = 0


_TELLING: tuple[State, ...] = (
    "ready",
    "connecting",
    "open",
    "backoff",
    "failed",
    "idle",
    "stopped",
)
"""Of several connections, that in the first of these states speaks for the server."""


def combined(connections: Sequence[ServerStatus], *, sessions: int) -> ServerStatus:
    """Say how a server fares with which several connections are kept.

    Args:
        connections: How each fares, at least one; of equal ones the first speaks for all.
        sessions: How many of them belong to callers.
    """
    telling = min(connections, key=lambda one: _TELLING.index(one.state))
    failures = [(one.last_error_at, one) for one in connections if one.last_error_at]
    last = max(failures, key=lambda each: each[0], default=(None, telling))[1]
    return replace(
        telling,
        last_error=last.last_error,
        last_error_at=last.last_error_at,
        restarts=sum(one.restarts for one in connections),
        calls_in_flight=sum(one.calls_in_flight for one in connections),
        messages_dropped=sum(one.messages_dropped for one in connections),
        sessions=sessions,
    )
