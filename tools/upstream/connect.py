"""From a transport to a connection: start, settle the protocol, follow what changes, end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import RequestId
from pydantic import ValidationError

from gateway_project.foundation.reasons import first_line
from tools.upstream.client import Client
from tools.upstream.connection import Connection, explain
from tools.upstream.dispatch import Wire
from tools.upstream.errors import ConnectTimedOut, ProtocolViolation, UpstreamError
from tools.upstream.flights import Request
from tools.upstream.following import Following
from tools.upstream.handshake import Handshake, VersionRefused
from tools.upstream.inbound import Inbound
from tools.upstream.listen import Listener
from tools.upstream.negotiate import REMOTE_PATIENCE_S, negotiate
from tools.upstream.peer import Era, Peer
from tools.upstream.spec import ServerSpec
from tools.upstream.transport import UpstreamTransport


class _Left(Exception):
    """Ends the tasks of a connection; never seen outside."""


@asynccontextmanager
async def connect(
    spec: ServerSpec, transport: UpstreamTransport, *, era: Era | None, client: Client
) -> AsyncIterator[Connection]:
    """Start a server, settle the protocol, follow its lists; end it on leaving.

    Enter and leave in one task.

    Args:
        spec: The server's entry.
        transport: Not yet entered.
        era: What the server spoke last time, if it was ever connected.
        client: Who connects.

    Raises:
        UpstreamError: If the server cannot be started or does not become ready in time.
    """
    settled: Peer | UpstreamError | None = None
    async with transport as streams:
        wire = Wire(streams)
        try:
            # Nothing else may be raised inside: the group would wrap it in a group.
            async with asyncio.TaskGroup() as group:
                inbound = Inbound(wire, client=client, group=group, server=spec.name)
                group.create_task(wire.run(inbound), name=f"receive from {spec.name}")
                settled = await _settle(spec, wire, transport, era, client.capabilities)
                if isinstance(settled, Peer):
                    inbound.era = settled.era
                    connection = Connection(
                        spec,
                        settled,
                        wire=wire,
                        inbound=inbound,
                        transport=transport,
                        client=client,
                    )
                    inbound.subscription = _follow(connection, wire, spec, client, group)
                    try:
                        yield connection
                    finally:
                        connection.stopping = True
                raise _Left  # noqa: TRY301 - the only way to end the tasks of a group
        except* _Left:
            pass
    if (task := asyncio.current_task()) is not None and task.cancelling():
        raise asyncio.CancelledError  # a group that ends with an error forgets that it came
    if isinstance(settled, UpstreamError):
        raise settled


def _follow(
    connection: Connection,
    wire: Wire,
    spec: ServerSpec,
    client: Client,
    group: asyncio.TaskGroup,
) -> Callable[[str, Mapping[str, Any]], bool]:
    """Let a connection hear of changes; return what takes news of subscriptions."""

    async def send(
        method: str, params: Mapping[str, Any], *, request_id: RequestId
    ) -> dict[str, Any]:
        request = Request(method=method, params=params, timeout_s=0.0)
        return await wire.request(
            method,
            connection.envelope.params(request, request_id),
            request_id=request_id,
            headers=connection.envelope.headers(request),
        )

    listener = Listener(send, group=group)
    connection.follow_with(
        Following(
            connection.peer,
            ask=connection.ask,
            listener=listener,
            listeners=client.listeners,
            timeout_s=spec.call_timeout_s,
        )
    )
    return listener.heard


async def _settle(
    spec: ServerSpec,
    wire: Wire,
    transport: UpstreamTransport,
    era: Era | None,
    capabilities: Mapping[str, Any],
) -> Peer | UpstreamError:
    """Negotiate within the connect timeout; failures are returned, not raised."""
    handshake = Handshake(wire, capabilities=capabilities)
    patience = {} if spec.transport == "stdio" else {"patience_s": REMOTE_PATIENCE_S}
    try:
        async with asyncio.timeout(spec.connect_timeout_s):
            return await negotiate(
                handshake, era="legacy" if spec.transport == "sse" else era, **patience
            )
    except TimeoutError:
        return ConnectTimedOut(
            server=spec.name,
            timeout_s=spec.connect_timeout_s,
            last_stderr=transport.last_words,
            remote=spec.transport != "stdio",
        )
    except MCPError as error:
        return explain(error, spec, transport, while_doing="while starting")
    except UpstreamError as error:
        return error
    except (ValidationError, VersionRefused) as error:
        return ProtocolViolation(
            f"answered the handshake with something that is not MCP ({first_line(error)}); "
            "check that its command starts an MCP server",
            server=spec.name,
        )
