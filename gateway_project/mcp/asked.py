"""A request of a client, with all that it is served with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcp.server import ServerRequestContext

from gateway_project.effects import Effects
from gateway_project.foundation.caller import Caller
from gateway_project.mcp import interaction
from gateway_project.mcp.interaction import Operation, Reply, Turn
from gateway_project.mcp.request_state import Subject
from gateway_project.pass_through import Who
from gateway_project.readiness import Readiness

_RESERVED = ("io.modelcontextprotocol/", "progressToken", "progress_token")
"""Of a request's metadata, what concerns the hop from client to gateway only."""
_HOP = frozenset({"_meta", "inputResponses", "requestState"})


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request of a client.

    Attributes:
        ctx: Of the SDK.
        effects: What it is served with.
        caller: Who asks.
        readiness: Of the gateway.
    """

    ctx: ServerRequestContext[Any]
    effects: Effects[Any]
    caller: Caller
    readiness: Readiness

    @property
    def given(self) -> dict[str, Any]:
        """The parameters as they came, without those that concern the hop."""
        params = self.ctx.params or {}
        return {key: value for key, value in params.items() if key not in _HOP}

    @property
    def meta(self) -> dict[str, Any] | None:
        """The metadata that is meant for the server, such as a trace context."""
        meta = (self.ctx.params or {}).get("_meta")
        if not isinstance(meta, Mapping):
            return None
        kept = {key: value for key, value in meta.items() if not key.startswith(_RESERVED)}
        return kept or None

    def who(self) -> Who:
        """Return who asks, as the flow wants to know it."""
        return Who(
            caller=self.caller,
            downstream=interaction.downstream_of(self.ctx, self.caller),
            progress=interaction.progress_of(self.ctx),
        )

    def forwarded(self, turn: Turn, **changed: Any) -> dict[str, Any]:
        """Return the parameters of a request to a server."""
        params = {**self.given, **changed}
        if meta := self.meta:
            params["_meta"] = meta
        if turn.responses is not None:
            params["inputResponses"] = turn.responses
        if turn.state is not None:
            params["requestState"] = turn.state
        return params

    async def conclude(self, target: Callable[[], str], operation: Operation) -> Reply:
        """Send a request to a server and have the client asked whatever the server asks.

        Args:
            target: Tells what is called, read or asked for.
            operation: Sends the request.
        """
        subject = Subject(
            caller=self.caller,
            method=self.ctx.method,
            params=self.ctx.params or {},
            target=target,
        )
        return await interaction.conclude(self.ctx, subject, self.effects.sealer, operation)


def taking(who: Who, turn: Turn) -> Who:
    """Return who asks in one turn."""
    return replace(who, downstream=turn.downstream, progress=turn.progress)
