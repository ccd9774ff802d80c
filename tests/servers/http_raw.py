"""A bare HTTP server in the test's own event loop, whose every byte a test decides."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else {}

    @property
    def rpc(self) -> str:
        return self.json.get("method", "")


class Reply:
    """The connection a request came on."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.closed = False

    async def raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def head(self, status: int = 200, **headers: str) -> None:
        lines = [f"HTTP/1.1 {status} X"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join([*lines, "", ""]).encode())

    async def whole(self, status: int, body: bytes = b"", **headers: str) -> None:
        await self.head(status, **headers, content_length=str(len(body)))
        await self.raw(body)

    async def json(self, value: Any, status: int = 200, **headers: str) -> None:
        body = json.dumps(value).encode()
        await self.whole(status, body, content_type="application/json", **headers)

    async def stream(self, **headers: str) -> None:
        """Begin a stream that lasts until the connection is closed."""
        await self.head(200, content_type="text/event-stream", connection="close", **headers)

    async def event(self, value: Any, **fields: str) -> None:
        text = "".join(f"{name}: {content}\n" for name, content in fields.items())
        await self.raw(f"{text}data: {json.dumps(value) if value else ''}\n\n".encode())

    async def gone(self) -> None:
        """Wait until the client has closed the connection."""
        await self._reader.read()

    async def tunnel(self, port: int) -> None:
        """Pass all bytes between the client and a server on this machine."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await self.raw(b"HTTP/1.1 200 Connected\r\n\r\n")
        try:
            await asyncio.gather(_pass(self._reader, writer), _pass(reader, self._writer))
        finally:
            writer.close()

    def close(self) -> None:
        self.closed = True
        self._writer.close()


Handler = Callable[[Asked, Reply], Awaitable[None]]


class RawServer:
    """Answers with what its handler writes, and notes what it was asked."""

    stalls_beyond: int | None = None
    """Bytes of a body from which it stops reading in the middle."""

    def __init__(self, handler: Handler, *, tls: ssl.SSLContext | None = None) -> None:
        self._handler = handler
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self.asked: list[Asked] = []
        self.connections = 0

    @property
    def port(self) -> int:
        return self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def methods(self) -> list[str]:
        """Return what was asked for, by the method of JSON-RPC or of HTTP."""
        return [asked.rpc or asked.method for asked in self.asked]

    async def __aenter__(self) -> "RawServer":
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self._tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while (asked := await _read(reader, self.stalls_beyond)) is not None:
                self.asked.append(asked)
                reply = Reply(reader, writer)
                await self._handler(asked, reply)
                if reply.closed:
                    return
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return
        finally:
            self._tasks.discard(task)
            writer.close()
            if asyncio.current_task().cancelling():  # what is unsent stays so
                writer.transport.abort()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65_536):
        writer.write(piece)
        await writer.drain()
    writer.close()


async def _read(reader: asyncio.StreamReader, max_bytes: int | None) -> Asked | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    length = int(headers.get("content-length", 0))
    if max_bytes is not None and length > max_bytes:
        await asyncio.Event().wait()  # reads no more of it
    body = await reader.readexactly(length)
    return Asked(method, path, headers, body)
