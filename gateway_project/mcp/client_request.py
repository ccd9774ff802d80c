"""A client's request with everything needed to serve it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcp.server import ServerRequestContext

from gateway_project.effects import Effects
from gateway_project.foundation.caller import Caller
from gateway_project.mcp import client_state, interaction
from gateway_project.mcp.exposure_choice import ClientView, find_view
from gateway_project.mcp.interaction import UpstreamOperation, UpstreamTurn
from gateway_project.mcp.request_state import FindTarget, StateSubject
from gateway_project.mcp.results import ServerReply
from tools.upstream.downstream import Downstream
from tools.upstream.request import UpstreamRequest

_RESERVED_PREFIXES = ("io.modelcontextprotocol/", "progressToken", "progress_token")
"""Prefixes of metadata that concerns only the hop from client to gateway."""
_HOP_PARAMETERS = frozenset({"_meta", "inputResponses", "requestState"})


@dataclass(frozen=True, kw_only=True)
class ClientRequest:
    """A client's request.

    Attributes:
        ctx: The SDK's context.
        effects: Effects that serve the request.
        caller: Whom the request acts for.
    """

    ctx: ServerRequestContext[Any]
    effects: Effects
    caller: Caller

    @cached_property
    def view(self) -> ClientView:
        """What the client is shown of servers' tools, as far as no choice is needed."""
        name, version = client_state.read_client(self.ctx)
        return find_view(self.effects.exposure, self.caller, name=name, version=version)

    @property
    def forwardable_params(self) -> dict[str, Any]:
        """The parameters without those of the hop from client to gateway."""
        params = self.ctx.params or {}
        return {key: value for key, value in params.items() if key not in _HOP_PARAMETERS}

    @property
    def meta(self) -> dict[str, Any] | None:
        """The metadata meant for the server, such as a trace context; None if there is none."""
        meta = (self.ctx.params or {}).get("_meta")
        if not isinstance(meta, Mapping):
            return None
        forwardable = {
            key: value for key, value in meta.items() if not key.startswith(_RESERVED_PREFIXES)
        }
        return forwardable or None

    def build_downstream(self) -> Downstream:
        """Return how servers reach the client, without a way to ask it."""
        return interaction.build_downstream(self.ctx)

    def build_upstream_request(
        self, turn: UpstreamTurn, params: Mapping[str, Any], *, timeout_s: float | None = None
    ) -> UpstreamRequest:
        """Return the request to a server in one turn, with these parameters."""
        answered = {"inputResponses": turn.responses, "requestState": turn.state}
        return UpstreamRequest(
            method=self.ctx.method,
            params={**params, **{key: part for key, part in answered.items() if part is not None}},
            timeout_s=timeout_s,
            meta=self.meta,
            progress=turn.progress,
            downstream=turn.downstream,
        )

    async def conclude_request(
        self, target: FindTarget, operation: UpstreamOperation
    ) -> ServerReply:
        """Send a request to a server and forward the server's questions to the client.

        Args:
            target: Returns the id of the requested item, as in `StateSubject.find_target`.
            operation: Sends the request.
        """
        if not client_state.is_modern(self.ctx):
            return await interaction.conclude_handshake(self.ctx, target, operation)
        subject = StateSubject(
            caller=self.caller,
            method=self.ctx.method,
            params=self.ctx.params or {},
            find_target=target,
        )
        sealer = self.effects.sealer
        return await interaction.conclude_stateless(self.ctx, subject, sealer, operation)
