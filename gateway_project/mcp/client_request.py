"""A client's request with everything needed to serve it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from mcp.server import ServerRequestContext

from execution.availability import require_for_models
from gateway_project.client_config.clients import ENDLESS_WAIT, KnownClient, find_introduced
from gateway_project.client_config.read_config import find_own_call_limit_s
from gateway_project.effects import Effects
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.mcp import client_state, interaction
from gateway_project.mcp.exposure import ClientView, find_view
from gateway_project.mcp.interaction import UpstreamOperation, UpstreamTurn
from gateway_project.mcp.request_state import FindTarget, StateSubject
from gateway_project.mcp.results import ServerReply
from gateway_project.runs.direct_call import Patience
from tools.catalogue import UnknownTool
from tools.upstream.request import Downstream, UpstreamRequest

MARGIN_S: Final = 8.0
"""How much sooner than it would give up a client has its answer: on a busy machine a gateway reads
its first request, and writes a run, only after seconds."""
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
        arrived_at: When it came, by the monotonic clock: it may have waited for the gateway.
    """

    ctx: ServerRequestContext[Any]
    effects: Effects
    caller: Caller
    arrived_at: float = field(default_factory=time.monotonic)

    @cached_property
    def view(self) -> ClientView:
        """What the client is shown of servers' tools, as far as no choice is needed."""
        name, version = client_state.read_client(self.ctx)
        return find_view(self.effects.exposure, self.caller, name=name, version=version)

    async def find_patience(self, *, asked_s: float = 0.0) -> Patience | None:
        """Return how long the client waits for a call; None: for any, or that is not known.

        Args:
            asked_s: Seconds that the client itself has taken to answer questions meanwhile.
        """
        if setting_s := self.effects.call_patience_s:
            return self._build_patience(setting_s, asked_s)
        client = find_introduced(client_state.read_client_name(self.ctx))
        if client is None or client.call_wait is ENDLESS_WAIT:
            return None
        wait_s, extends = client.call_wait.http_s, client.call_wait.extends
        if self.ctx.request is None:
            own_s = await self._find_own_limit_s(client)
            wait_s, extends = own_s or client.call_wait.stdio_s, extends and not own_s
        patience_s = wait_s - min(MARGIN_S, wait_s / 4)
        return self._build_patience(patience_s, asked_s, extends=extends)

    async def limit_wait_s(self, wait_s: float) -> float:
        """Return how long to wait for a run, no longer than the client waits for a call."""
        patience = await self.find_patience() if wait_s else None
        return wait_s if patience is None else min(wait_s, patience.left_s)

    def _build_patience(self, call_s: float, asked_s: float, *, extends: bool = False) -> Patience:
        spent_s = max(0.0, time.monotonic() - self.arrived_at - asked_s)
        return Patience(call_s=call_s, extends=extends, spent_s=spent_s)

    async def _find_own_limit_s(self, client: KnownClient) -> float:
        """Return the seconds that the client's files give a call, read once; 0: none."""
        state = client_state.state_of(self.ctx)
        if state.call_limit_s is None:
            state.call_limit_s = 0.0
            with suppress(OSError):  # such as a working folder that is gone
                found_s = await run_in_worker_thread(find_own_call_limit_s, client.name)
                state.call_limit_s = found_s or 0.0
        return state.call_limit_s

    def find_listed_name(self, tool: str) -> str:
        """Return the name under which the client would list a tool; empty if it is just gone."""
        try:
            return self.effects.catalogue().exposed_name(tool, limit=self.view.form.name_limit)
        except KeyError:
            return ""

    async def await_listing(self, tool: str) -> None:
        """Wait for a tool that is not known, but may be one that its server has just announced."""
        try:
            self.effects.catalogue().find_tool(tool, self.caller)
        except UnknownTool:
            await self.effects.await_listing(tool)

    async def require_for_model(self, tool: str) -> None:
        """Require a tool that a model may know of.

        Raises:
            UnknownTool: If no such tool is visible to the caller.
            ToolUnavailable: If its server keeps it for its own pages.
        """
        await self.await_listing(tool)
        require_for_models(self.effects.catalogue().find_tool(tool, self.caller))

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
