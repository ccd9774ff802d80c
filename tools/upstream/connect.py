"""A connection to one upstream server, from its start to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from mcp.client import ClientSession, IncomingMessage
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    Implementation,
    ListToolsRequest,
    PaginatedRequestParams,
    Request,
    Result,
    ToolListChangedNotification,
)
from pydantic import ValidationError

from tools.upstream.dispatch import RawDispatcher, raw_answer
from tools.upstream.errors import (
    CallTimedOut,
    ConnectTimedOut,
    ProtocolViolation,
    ServerStopped,
    UpstreamError,
    UpstreamRefused,
)
from tools.upstream.negotiate import Era, negotiate
from tools.upstream.result import UpstreamResult
from tools.upstream.spec import ServerSpec
from tools.upstream.status import ServerInfo
from tools.upstream.transport import UpstreamTransport


def _version() -> str:
    try:
        return metadata.version("foregate")
    except metadata.PackageNotFoundError:  # run from its folder
        return "0"


CLIENT = Implementation(name="foregate", version=_version())
RELISTEN_S, RELISTEN_CAP_S = 5.0, 300.0  # between subscriptions that the server keeps ending


@dataclass(frozen=True, kw_only=True)
class Peer:
    """What is known of a server once it is connected.

    Attributes:
        era: Which of the two protocols it speaks.
        protocol_version: The version settled on.
        info: How it names itself, if it does.
        instructions: What it says about how to use it.
    """

    era: Era
    protocol_version: str
    info: ServerInfo | None
    instructions: str


class Connection:
    """A live session with a server; requests may come from any task.

    Args:
        spec: The server's entry.
        session: Initialized.
        transport: Under it.
        peer: What the server said of itself.
        ended: Set when no request can be answered any more.

    Attributes:
        stopping: Whether the gateway itself is ending it.
        interrupted: Requests that the server's own end left without an answer.
    """

    def __init__(
        self,
        spec: ServerSpec,
        *,
        session: ClientSession,
        transport: UpstreamTransport,
        peer: Peer,
        ended: asyncio.Event,
    ) -> None:
        self._spec = spec
        self._session = session
        self.transport = transport
        self.peer = peer
        self.ended = ended
        self.stopping = False
        self.interrupted = 0

    @property
    def is_over(self) -> bool:
        """Whether no request can be answered any more."""
        return self.ended.is_set() or self.transport.ended.is_set()

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_s: float,
        progress: ProgressFnT | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> UpstreamResult:
        """Call a tool; giving up, for whatever reason, cancels the call upstream.

        Raises:
            UpstreamError: If there is no result to hand on.
        """
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        raw = await self._ask(
            CallToolRequest(params=CallToolRequestParams.model_validate(params, by_name=False)),
            what=f"the call of {tool!r}",
            timeout_s=timeout_s,
            progress=progress,
        )
        if raw.get("resultType") == "input_required":
            raise ProtocolViolation(
                f"asks for more input during a call of {tool!r}, which this gateway does not "
                "relay; pass all the tool needs as arguments",
                server=self._spec.name,
            )
        return UpstreamResult.from_wire(raw)

    async def list_page(self, cursor: str | None, *, timeout_s: float) -> dict[str, Any]:
        """Fetch a page of the list of tools, as it came.

        Raises:
            UpstreamError: If there is none.
        """
        return await self._ask(
            ListToolsRequest(params=PaginatedRequestParams(cursor=cursor)),
            what="the list of tools",
            timeout_s=timeout_s,
        )

    async def _ask(
        self,
        request: Request[Any, Any],
        *,
        what: str,
        timeout_s: float,
        progress: ProgressFnT | None = None,
    ) -> dict[str, Any]:
        try:
            with raw_answer() as answer:
                async with asyncio.timeout(timeout_s):
                    await self._session.send_request(request, Result, progress_callback=progress)
        except TimeoutError:
            raise CallTimedOut(server=self._spec.name, what=what, timeout_s=timeout_s) from None
        except MCPError as error:
            raise self._explain(error, during=what) from None
        return answer.raw

    def _explain(self, error: MCPError, *, during: str) -> UpstreamError:
        if self.transport.ended.is_set():
            self.interrupted += 1
        elif self.stopping and error.code == CONNECTION_CLOSED:
            # The session ends before its transport, so this call has just learned of it.
            return ServerStopped(self._spec.name)
        return explain(error, self._spec, self.transport, while_doing=f"during {during}")


def explain(
    error: MCPError, spec: ServerSpec, transport: UpstreamTransport, *, while_doing: str
) -> UpstreamError:
    """Say what an error of the SDK means, knowing how the transport fares."""
    if isinstance(error.data, UpstreamError):
        return error.data  # put there by our own transport
    if transport.ended.is_set() and error.code == CONNECTION_CLOSED:
        return transport.why_ended(while_doing=while_doing)
    return UpstreamRefused(
        server=spec.name, rpc_code=error.code, rpc_message=error.message, data=error.data
    )


@asynccontextmanager
async def connect(
    spec: ServerSpec,
    transport: UpstreamTransport,
    *,
    era: Era | None,
    tools_changed: Callable[[], None],
) -> AsyncIterator[Connection]:
    """Start a server, settle the protocol, follow its list of tools; end it on leaving.

    Enter and leave in one task: the SDK's session is bound to it.

    Args:
        spec: The server's entry.
        transport: Not yet entered.
        era: What the server spoke last time, if it was ever connected.
        tools_changed: Called when the server says that its tools have changed.

    Raises:
        UpstreamError: If the server cannot be started or does not become ready in time.
    """

    async def receive(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            tools_changed()

    ended = asyncio.Event()
    async with transport as streams:
        dispatcher = RawDispatcher(streams, stopped=ended.set)
        # Nothing may be raised inside the session: its task group would wrap it in a group.
        async with ClientSession(
            dispatcher=dispatcher, message_handler=receive, client_info=CLIENT
        ) as session:
            settled = await _settle(spec, session, transport, era)
            if isinstance(settled, Peer):
                connection = Connection(
                    spec, session=session, transport=transport, peer=settled, ended=ended
                )
                async with _following(session, settled, tools_changed):
                    try:
                        yield connection
                    finally:
                        connection.stopping = True
    if isinstance(settled, UpstreamError):
        raise settled


async def _settle(
    spec: ServerSpec, session: ClientSession, transport: UpstreamTransport, era: Era | None
) -> Peer | UpstreamError:
    """Negotiate within the connect timeout; failures are returned, not raised."""
    try:
        async with asyncio.timeout(spec.connect_timeout_s):
            settled = await negotiate(session, era=era)
    except TimeoutError:
        return ConnectTimedOut(
            server=spec.name, timeout_s=spec.connect_timeout_s, last_stderr=transport.last_words
        )
    except MCPError as error:
        return explain(error, spec, transport, while_doing="while starting")
    except (ValidationError, RuntimeError) as error:
        return ProtocolViolation(
            f"answered the handshake with something that is not MCP ({_first_line(error)}); "
            "check that its command starts an MCP server",
            server=spec.name,
        )
    return _peer(session, settled)


def _peer(session: ClientSession, era: Era) -> Peer:
    info = session.server_info
    return Peer(
        era=era,
        protocol_version=session.protocol_version or "",
        info=ServerInfo(name=info.name, version=info.version, title=info.title or "")
        if info
        else None,
        instructions=session.instructions or "",
    )


@asynccontextmanager
async def _following(
    session: ClientSession, peer: Peer, tools_changed: Callable[[], None]
) -> AsyncIterator[None]:
    """Keep a modern server telling of changes of its tools; a legacy one does so unasked."""
    capabilities = session.server_capabilities
    tools = capabilities.tools if capabilities else None
    if peer.era == "legacy" or tools is None or not tools.list_changed:
        yield
        return
    async with asyncio.TaskGroup() as group:
        follower = group.create_task(_listen(session, tools_changed))
        try:
            yield
        finally:
            follower.cancel()


async def _listen(session: ClientSession, tools_changed: Callable[[], None]) -> None:
    """Hold a subscription open. Its events reach the session's message handler anyway."""
    delay_s, again = RELISTEN_S, False
    while True:
        try:
            async with listen(session, tools_list_changed=True) as subscription:
                if again:
                    tools_changed()  # nothing is replayed of what changed in between
                async for _ in subscription:
                    pass
        except MCPError:
            return  # it offers changes but no subscription, or the connection has ended
        except SubscriptionLost:
            pass
        await asyncio.sleep(delay_s)
        delay_s, again = min(2 * delay_s, RELISTEN_CAP_S), True


def _first_line(error: Exception) -> str:
    with suppress(IndexError):
        return str(error).splitlines()[0]
    return type(error).__name__
