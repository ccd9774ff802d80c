"""A cheap client: bare HTTP/1.1 over persistent connections, in a separate process.

    python load.py '{"port": …, "headers": {…}, "body": {…}, "requests": …, "at_once": …}'

Prints JSON: the seconds of each request, and requests per second.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from typing import Any

import uvloop


class Connection:
    """A persistent connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def post(self, request: bytes) -> bytes:
        """Send a request; return the body of the response.

        Raises:
            RuntimeError: If the response is an error.
        """
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        if b"content-length: " in head:
            length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
            body = await self._reader.readexactly(length)
        else:
            body = await self._chunks()
        if b" 200 " not in head[:20] or b'"error"' in body[:200]:
            raise RuntimeError((head + body[:1_000]).decode(errors="replace"))
        return body

    async def _chunks(self) -> bytes:
        body = bytearray()
        while True:
            size = int(await self._reader.readuntil(b"\r\n"), 16)
            body += (await self._reader.readexactly(size + 2))[:-2]
            if not size:
                return bytes(body)


def encode(port: int, headers: Mapping[str, str], body: Mapping[str, Any]) -> bytes:
    """Encode a request as HTTP/1.1."""
    content = json.dumps(body).encode()
    lines = ["POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Content-Length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


async def run(task: Mapping[str, Any]) -> dict[str, Any]:
    """Send all requests, `at_once` of them concurrently."""
    request = encode(task["port"], task["headers"], task["body"])
    remaining = [task["requests"]]
    taken: list[float] = []

    async def worker() -> None:
        streams = await asyncio.open_connection("127.0.0.1", task["port"], limit=2**26)
        connection = Connection(*streams)
        while remaining[0] > 0:
            remaining[0] -= 1
            started = time.perf_counter()
            await connection.post(request)
            taken.append(time.perf_counter() - started)

    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(task["at_once"]):
            group.create_task(worker())
    return {"seconds": taken, "per_s": len(taken) / (time.perf_counter() - started)}


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(json.loads(sys.argv[1])))))
