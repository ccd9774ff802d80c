"""Serves other gateways of the same home, so that they need no servers of their own."""

from __future__ import annotations

import asyncio
import codecs
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog
from mcp.server import Server

from gateway_project.foundation.computing import run_in_message_thread
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.mcp import callers, stdio
from gateway_project.mcp import server as mcp_server
from gateway_project.mcp.attach import hello
from gateway_project.mcp.refused_lines import MAX_LINE_BYTES, Line, LineTooLong
from gateway_project.mcp.runtime import Runtime
from gateway_project.mcp.server import InFlightCounter
from gateway_project.readiness import NotReady, Readiness

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller

HELLO_TIMEOUT_S: Final = 5.0
CHUNK_BYTES: Final = 256 * 1024

log = structlog.get_logger(__name__)


class AttachRefused(Exception):
    """A user cannot be served; the message gives the reason."""


ServeClient = Callable[["SocketLines", "SocketWriter"], Awaitable[None]]
"""Serves one attached client until it has gone."""
AdmitUser = Callable[[str, str | None, str], Awaitable[ServeClient]]
"""Returns the function that serves a user, by name, within a tool group; raises `AttachRefused`.

The group None limits them to none. The last argument is the folder in which the client works.
"""


class AttachHost:
    """Listens on a socket that only the user who runs this process can reach.

    Args:
        home: Folder of the installation.
        exposure: Which tools clients are shown.
        variables: Returns the variables that server entries refer to now; raises `AttachRefused`
            while nobody can be served.
        admit: Admits a user by name.
        environ: This process's environment.
    """

    def __init__(
        self,
        home: Path,
        *,
        exposure: str,
        variables: Callable[[], Iterable[str]],
        admit: AdmitUser,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._home = home
        self._exposure = exposure
        self._variables = variables
        self._admit = admit
        self._environ = environ
        self._attached: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[None]:
        """Accept attachments while the context is open; leaving it ends them."""
        try:
            path = hello.prepare_socket(self._home)
            path.unlink(missing_ok=True)
            server = await asyncio.start_unix_server(self._accept, path, limit=CHUNK_BYTES)
        except (OSError, hello.UntrustedFolder) as error:
            log.warning("attach.not_listening", reason=str(error))
            yield
            return
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            server.close()
            for task in self._attached:
                task.cancel()
            if self._attached:
                await asyncio.wait(self._attached)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in a task
        self._attached.add(task)
        try:
            await self._serve_client(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            log.debug("attach.ended")
        except Exception:
            log.exception("attach.failed")
        finally:
            writer.close()
            self._attached.discard(task)

    async def _serve_client(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            offer = hello.make_offer(
                exposure=self._exposure, variables=self._variables(), environ=self._environ
            )
            writer.write(hello.encode_line(offer))
            async with asyncio.timeout(HELLO_TIMEOUT_S):
                greeting = await reader.readline()
                serve = await self._admit(*_read_greeting(greeting))
        except (TimeoutError, ValueError):
            return  # it compared and left, or is not a gateway
        except AttachRefused as refusal:
            writer.write(f"{' '.join(str(refusal).split())}\n".encode())
            return
        writer.write(f"{hello.WELCOME}\n".encode())
        await serve(SocketLines(reader), SocketWriter(writer))


class SocketLines:
    """Reads lines from a socket; yields `LineTooLong` for one that is dropped.

    A line is decoded as its chunks arrive: decoding 64 MiB at once would block the loop.

    Args:
        reader: Of the socket.
        max_line_bytes: Longest line that is accepted.
    """

    def __init__(
        self, reader: asyncio.StreamReader, *, max_line_bytes: int = MAX_LINE_BYTES
    ) -> None:
        self._reader = reader
        self._max_line_bytes = max_line_bytes
        self._rest = b""

    def __aiter__(self) -> SocketLines:
        return self

    async def __anext__(self) -> Line:
        while True:
            line = await self._read_next_line()
            if isinstance(line, LineTooLong):
                log.warning("attach.message_too_long", limit_bytes=self._max_line_bytes)
                return line
            if not line.isspace():
                return line

    async def _read_next_line(self) -> Line:
        """Return the next line with its terminator.

        Raises:
            StopAsyncIteration: If the socket ends before the line does.
        """
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        pieces: list[str] = []
        size = 0
        while True:
            chunk = self._rest or await self._reader.read(CHUNK_BYTES)
            if not chunk:
                raise StopAsyncIteration
            end = chunk.find(b"\n") + 1
            self._rest = chunk[end:] if end else b""
            piece = chunk[:end] if end else chunk
            size += len(piece)
            if size > self._max_line_bytes:
                pieces.clear()
            else:
                pieces.append(decoder.decode(piece, final=bool(end)))
            if end:
                break
        if size > self._max_line_bytes:
            return LineTooLong(self._max_line_bytes)
        if size > CHUNK_BYTES:
            return await run_in_message_thread("".join, pieces)
        return "".join(pieces)


class SocketWriter:
    """Writes lines to a socket; waits while the other side does not read."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, line: bytes) -> None:
        """Write a line whole.

        Raises:
            ConnectionError: If nobody reads any more.
        """
        self._writer.write(line)
        await self._writer.drain()

    async def wait_until_idle(self) -> None:
        """Return when the buffer is drained."""
        with suppress(ConnectionError):
            await self._writer.drain()


def _read_greeting(greeting: bytes) -> tuple[str, str | None, str]:
    """Return the names of the user and of the tool group in a greeting, and the client's folder.

    Raises:
        ValueError: If the line is not a greeting.
    """
    message = json.loads(greeting)
    if not isinstance(message, dict) or not isinstance(message.get("user"), str):
        raise ValueError("no greeting")  # noqa: TRY004 - one error type for the caller
    if not isinstance(message.get("group"), str | None):
        raise ValueError("no greeting")  # noqa: TRY004
    return message["user"], message.get("group"), str(message.get("folder") or "")


@dataclass(frozen=True, kw_only=True)
class AttachOffer:
    """Offer to other gateways to attach.

    Attributes:
        home: Folder of the installation.
        exposure: Which tools clients are shown.
    """

    home: Path
    exposure: str


@asynccontextmanager
async def host_attachments(
    runtime: Runtime,
    server: Server[Any],
    *,
    in_flight: InFlightCounter,
    offered: AttachOffer | None,
) -> AsyncIterator[None]:
    """Accept other gateways of the same home while the context is open.

    Args:
        runtime: Serves the requests; nobody can attach before it is loaded.
        server: Serves all connections.
        in_flight: Counts the requests being handled.
        offered: What others may attach to; None: they may not.
    """
    if offered is None:
        yield
        return

    def list_variables() -> frozenset[str]:
        gateway = runtime.readiness.current
        if gateway is None:
            raise AttachRefused("it does not serve yet")
        return gateway.variables

    async def admit_user(user: str, group: str | None, folder: str) -> ServeClient:
        prepared = await runtime.get_prepared()
        if prepared.find_caller is None:
            raise AttachRefused("it serves no other")
        find_caller = partial(prepared.find_caller, user, group)
        try:
            caller = await find_caller()
        except (LookupError, NotReady) as error:
            raise AttachRefused(str(error)) from None
        rights = AttachedRights(caller, find_caller, runtime.readiness)
        return partial(_serve_client, server, rights, folder, in_flight.wait_until_idle)

    host = AttachHost(
        offered.home, exposure=offered.exposure, variables=list_variables, admit=admit_user
    )

    async def run_host() -> None:
        with suppress(NotReady):
            await runtime.get_prepared()
            async with host.listen():
                await asyncio.Event().wait()

    async with TaskGroup() as group:
        listening = group.create_task(run_host(), name="attachments")
        try:
            yield
        finally:
            listening.cancel()


class AttachedRights:
    """The rights of an attached client's user, as they are now.

    Args:
        caller: As admitted.
        find_caller: Finds the caller again.
        readiness: Of the host, which changes with the database.
    """

    def __init__(
        self, caller: Caller, find_caller: Callable[[], Awaitable[Caller]], readiness: Readiness
    ) -> None:
        self._caller: Caller | NotReady = caller
        self._find_caller = find_caller
        self.readiness = readiness

    def get_caller(self) -> Caller:
        """Return the caller.

        Raises:
            NotReady: If there is no such user any more.
        """
        if isinstance(self._caller, NotReady):
            raise self._caller
        return self._caller

    async def follow(self) -> None:
        """Follow changes until cancelled; while the database is away, rights stay as they were."""
        change = self.readiness.next_change
        while True:
            await change.wait()
            change = self.readiness.next_change  # before the rights are read
            try:
                self._caller = await self._find_caller()
            except LookupError as error:
                self._caller = NotReady("unknown_user", str(error))
            except NotReady as unavailable:
                log.warning("attach.rights_not_refreshed", reason=str(unavailable))


async def _serve_client(
    server: Server[Any],
    rights: AttachedRights,
    folder: str,
    idle: Callable[[], Awaitable[None]],
    lines: SocketLines,
    writer: SocketWriter,
) -> None:
    """Serve one attached client until it has gone."""
    async with TaskGroup() as group:
        following = group.create_task(rights.follow())
        with callers.bind_connection_caller(rights.get_caller, folder=folder) as find_caller:
            async with stdio.open_streams(lines, writer, idle=idle) as (received, sent):
                options = mcp_server.make_initialization_options(server)
                await server.run(received, sent, options)
            # A client without a handshake has no session but the attachment.
            with suppress(NotReady):
                if (gateway := rights.readiness.current) is not None:
                    gateway.effects.memory.record_session_end(find_caller())
        following.cancel()
