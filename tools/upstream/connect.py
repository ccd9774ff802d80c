"""Turns a transport into a connection: start, negotiate the protocol, subscribe, close."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import RequestId

from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.task_group import TaskGroup
from tools.upstream.client import ClientProfile
from tools.upstream.connection import Connection, translate_error
from tools.upstream.connection_subscriptions import ConnectionSubscriptions
from tools.upstream.dispatch import RequestDispatcher
from tools.upstream.errors import ConnectTimedOut, ProtocolViolation, UpstreamError
from tools.upstream.handshake import Handshake, VersionRefused
from tools.upstream.inbound import InboundHandler
from tools.upstream.listen import SubscriptionListener
from tools.upstream.negotiate import REMOTE_PROBE_TIMEOUT_S, negotiate
from tools.upstream.peer import Era, ServerPeer
from tools.upstream.redact_definitions import redact_peer
from tools.upstream.request import UpstreamRequest
from tools.upstream.spec import ServerSpec
from tools.upstream.transport import UpstreamTransport


class _ConnectionLeft(Exception):
    """Cancels the tasks of a connection; never leaves this module."""


@asynccontextmanager
async def connect(
    spec: ServerSpec,
    transport: UpstreamTransport,
    *,
    era: Era | None,
    versions: list[str],
    client: ClientProfile,
) -> AsyncIterator[Connection]:
    """Start a server, negotiate the protocol and subscribe to its lists; close it on exit.

    Enter and leave in one task.

    Args:
        spec: The server's entry.
        transport: Not yet entered.
        era: The era negotiated last time, if the server was ever connected.
        versions: As for `Handshake`.
        client: The client side of the connection.

    Raises:
        UpstreamError: If the server cannot be started or does not become ready in time.
    """
    outcome: ServerPeer | UpstreamError | None = None
    async with transport as streams:
        redactor = transport.origin.redactor
        wire = RequestDispatcher(streams, redactor)
        try:
            async with TaskGroup() as group:
                inbound = InboundHandler(
                    wire, client=client, group=group, server=spec.name, redactor=redactor
                )
                group.create_task(wire.run(inbound), name=f"receive from {spec.name}")
                handshake = Handshake(wire, capabilities=client.capabilities, versions=versions)
                outcome = await _negotiate_peer(spec, handshake, transport, era)
                if isinstance(outcome, ServerPeer):
                    peer = redact_peer(outcome, redactor)
                    inbound.era = peer.era
                    connection = Connection(
                        spec,
                        peer,
                        wire=wire,
                        inbound=inbound,
                        transport=transport,
                        client=client,
                    )
                    inbound.subscription = _subscribe_to_changes(
                        connection, wire, spec, client, group
                    )
                    try:
                        yield connection
                    finally:
                        connection.stopping = True
                raise _ConnectionLeft  # noqa: TRY301 - the only way to end the tasks of a group
        except _ConnectionLeft:
            pass
    if (task := asyncio.current_task()) is not None and task.cancelling():
        raise asyncio.CancelledError  # an error swallows it in a task group
    if isinstance(outcome, UpstreamError):
        raise outcome


def _subscribe_to_changes(
    connection: Connection,
    wire: RequestDispatcher,
    spec: ServerSpec,
    client: ClientProfile,
    group: TaskGroup,
) -> Callable[[str, Mapping[str, Any]], bool]:
    """Subscribe a connection to changes; return the handler of subscription notifications."""

    async def send(
        method: str, params: Mapping[str, Any], *, request_id: RequestId
    ) -> dict[str, Any]:
        request = UpstreamRequest(method=method, params=params)
        return await wire.request(
            method,
            connection.envelope.build_params(request, request_id),
            request_id=request_id,
            headers=connection.envelope.build_headers(request),
        )

    listener = SubscriptionListener(send, group=group)
    connection.attach_subscriptions(
        ConnectionSubscriptions(
            connection.peer,
            ask=connection.send_own_request,
            listener=listener,
            listeners=client.listeners,
            timeout_s=spec.call_timeout_s,
        )
    )
    return listener.handle_notification


async def _negotiate_peer(
    spec: ServerSpec, handshake: Handshake, transport: UpstreamTransport, era: Era | None
) -> ServerPeer | UpstreamError:
    """Negotiate within the connect timeout; failures are returned, not raised."""
    options = {} if spec.transport == "stdio" else {"patience_s": REMOTE_PROBE_TIMEOUT_S}
    try:
        async with asyncio.timeout(spec.connect_timeout_s):
            return await negotiate(
                handshake, era="legacy" if spec.transport == "sse" else era, **options
            )
    except TimeoutError:
        return ConnectTimedOut(
            server=spec.name,
            timeout_s=spec.connect_timeout_s,
            last_stderr=transport.failure_summary,
            remote=spec.transport != "stdio",
        )
    except MCPError as error:
        return translate_error(error, spec, transport, while_doing="while starting")
    except UpstreamError as error:
        return error
    except VersionRefused as error:
        return ProtocolViolation(
            f"answered the handshake with something that is not MCP ({summarize_error(error)}); "
            "check that its command starts an MCP server",
            server=spec.name,
        )
