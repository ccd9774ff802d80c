"""Serves other gateways of the same home, so that they need no servers of their own."""

from __future__ import annotations

import asyncio
import codecs
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import structlog

from gateway_project.foundation.computing import run_in_message_thread
from gateway_project.mcp.attach import hello, sockets
from gateway_project.mcp.refused_lines import MAX_LINE_BYTES, Line, LineTooLong

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
            path = sockets.prepare_socket(self._home)
            path.unlink(missing_ok=True)
            server = await asyncio.start_unix_server(self._accept, path, limit=CHUNK_BYTES)
        except (OSError, sockets.UntrustedFolder) as error:
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
