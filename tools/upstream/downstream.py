"""Who a request to a server is made for, and what can be asked of them while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class Ask(Protocol):
    """Hands a server's request to the client that is being served."""

    async def __call__(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the client's result as it came.

        Args:
            method: `elicitation/create`, `sampling/createMessage` or `roots/list`.
            params: As the server sent them.

        Raises:
            mcp.shared.exceptions.MCPError: With what the client, or the gateway, answers instead.
        """


class Tell(Protocol):
    """Hands a server's notification to the client that is being served."""

    async def __call__(self, method: str, params: Mapping[str, Any]) -> None:
        """Send it on; what cannot be delivered is dropped."""


@dataclass(frozen=True, kw_only=True)
class Downstream:
    """The client behind a request.

    Attributes:
        session: Key by which servers of `session: per_caller` tell callers apart.
        user: Name of the user, by which tokens of a sign-in are chosen; empty: nobody's.
        capabilities: What the client can be asked, as in the protocol's `ClientCapabilities`.
        ask: Asks the client while the request runs; None: it cannot be asked.
        tell: Tells the client of log messages while the request runs; None: nobody listens.
        log_level: Least severe log message wanted of a server; None: none.
    """

    session: str = ""
    user: str = ""
    capabilities: Mapping[str, Any] = field(default_factory=dict, hash=False)
    ask: Ask | None = None
    tell: Tell | None = None
    log_level: str | None = None


NOBODY = Downstream()
"""The gateway itself, which has nobody to ask."""
