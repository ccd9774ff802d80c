"""Serving other gateways of the same home, so that they need no servers of their own."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, Protocol

import structlog

from gateway_project.mcp.attach import hello, place
from gateway_project.mcp.refused_lines import MAX_LINE_BYTES, Line, TooLong

HELLO_S: Final = 5.0

log = structlog.get_logger(__name__)


class Refused(Exception):
    """A user cannot be served; the message says why."""


class Serve(Protocol):
    """Serves one attached client until it has gone."""

    async def __call__(self, lines: SocketLines, writer: SocketWriter) -> None:
        """Return when the client has gone."""


Admit = Callable[[str], Awaitable[Serve]]
"""Returns what serves a user of that name; raises `Refused`."""


class Host:
    """Listens on a socket that only the user who runs this process can reach.

    Args:
        home: Folder of the installation.
        exposure: What clients are shown.
        variables: Names that the entries of servers refer to, as of now; raises `Refused` where
            nobody can be served yet.
        admit: Says who serves a user.
        environ: This process's environment.
    """

    def __init__(
        self,
        home: Path,
        *,
        exposure: str,
        variables: Callable[[], Iterable[str]],
        admit: Admit,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._home = home
        self._exposure = exposure
        self._variables = variables
        self._admit = admit
        self._environ = environ
        self._attached: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Take attachments while inside; leaving ends those there are."""
        try:
            path = place.prepare(self._home)
            path.unlink(missing_ok=True)
            server = await asyncio.start_unix_server(self._accept, path, limit=MAX_LINE_BYTES)
        except (OSError, place.Untrusted) as error:
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
            await self._attend(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            log.debug("attach.ended")
        except Exception:
            log.exception("attach.failed")
        finally:
            writer.close()
            self._attached.discard(task)

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            offered = hello.offer(
                exposure=self._exposure, variables=self._variables(), environ=self._environ
            )
            writer.write(hello.encode(offered))
            async with asyncio.timeout(HELLO_S):
                greeting = await reader.readline()
                serve = await self._admit(_user(greeting))
        except (TimeoutError, ValueError):
            return  # it has compared and left, or is none of ours
        except Refused as refusal:
            writer.write(f"{' '.join(str(refusal).split())}\n".encode())
            return
        writer.write(f"{hello.WELCOME}\n".encode())
        await serve(SocketLines(reader), SocketWriter(writer))


class SocketLines:
    """Lines from a socket; one that is too long is dropped, and that is told."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> SocketLines:
        return self

    async def __anext__(self) -> Line:
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError:
                raise StopAsyncIteration from None
            except asyncio.LimitOverrunError:
                await self._drop_line()
                return TooLong(MAX_LINE_BYTES)
            if line.strip():
                return line.decode("utf-8", "replace")

    async def _drop_line(self) -> None:
        log.warning("attach.message_too_long", limit_bytes=MAX_LINE_BYTES)
        while True:
            try:
                await self._reader.readuntil(b"\n")
            except asyncio.LimitOverrunError as overrun:
                await self._reader.readexactly(overrun.consumed)
            except asyncio.IncompleteReadError:
                return
            else:
                return


class SocketWriter:
    """Lines to a socket; whoever writes waits while the other side does not read."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        """Write a text whole.

        Raises:
            ConnectionError: If nobody reads any more.
        """
        self._writer.write(text.encode("utf-8", "replace"))
        await self._writer.drain()

    async def idle(self) -> None:
        """Return when all is handed on."""
        with suppress(ConnectionError):
            await self._writer.drain()


def _user(greeting: bytes) -> str:
    """Read who attaches.

    Raises:
        ValueError: If that is no greeting.
    """
    message = json.loads(greeting)
    if not isinstance(message, dict) or not isinstance(message.get("user"), str):
        raise ValueError("no greeting")  # noqa: TRY004 - one kind for the caller
    return str(message["user"])
