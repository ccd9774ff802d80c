"""How to reach the client behind a request while the request runs.

Whose rights the request carries is its `Caller`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

AskClient = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Forwards a server's request to the client and returns the client's result unchanged.

Its method is `elicitation/create`, `sampling/createMessage` or `roots/list`. An `MCPError` is that
of the client or of the gateway.
"""

TellClient = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Forwards a server's notification to the client, or drops it if it cannot be delivered."""


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
