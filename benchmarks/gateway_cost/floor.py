"""The minimum a gateway could do: forward bytes without inspecting them.

python floor.py PORT http URL                 POST to a server over HTTP
python floor.py PORT stdio COMMAND [ARG …]    lines to a server over stdio, ids remapped
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from itertools import count
from typing import Any

import aiohttp
import uvicorn

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_PASSED = (b"accept", b"content-type", b"mcp-")


async def _body(receive: Receive) -> bytes:
    parts = bytearray()
    while True:
        message = await receive()
        parts += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(parts)


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class OverHttp:
    """Forwards requests to a server over HTTP."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        self._session = self._session or aiohttp.ClientSession()
        body = await _body(receive)
        passed = {
            key.decode(): value.decode()
            for key, value in scope["headers"]
            if key.startswith(_PASSED)
        }
        async with self._session.post(self._url, data=body, headers=passed) as response:
            await _answer(send, response.status, await response.read())


class OverStdio:
    """Forwards requests to a server's stdin, and its answers from stdout."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._process: asyncio.subprocess.Process | None = None
        self._starting = asyncio.Lock()
        self._ids = count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        async with self._starting:
            if self._process is None:
                await self._start()
        assert self._process
        assert self._process.stdin
        message = json.loads(await _body(receive))
        theirs, ours = message["id"], next(self._ids)
        self._waiting[ours] = asyncio.get_running_loop().create_future()
        self._process.stdin.write(json.dumps({**message, "id": ours}).encode() + b"\n")
        answer = await self._waiting[ours]
        del self._waiting[ours]
        await _answer(send, 200, json.dumps({**answer, "id": theirs}).encode())

    async def _start(self) -> None:
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, limit=2**26
        )
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._process
        assert self._process.stdout
        async for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") in self._waiting:
                self._waiting[message["id"]].set_result(message)


def main() -> None:
    """Serve until killed."""
    port, kind, *rest = sys.argv[1:]
    application = OverHttp(rest[0]) if kind == "http" else OverStdio(rest)
    uvicorn.run(application, port=int(port), log_level="error", access_log=False, lifespan="off")


if __name__ == "__main__":
    main()
