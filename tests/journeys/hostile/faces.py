"""A gateway as a process with many requests under way at once, over stdio or HTTP."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import httpx2

from tests.journeys.gateways import META, Installation
from tests.patience import PATIENCE_S

Face = Literal["stdio", "http"]
LINE_BYTES = 64 * 1024 * 1024
HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
}


class Ask(Protocol):
    """Sends one request and waits for its answer."""

    async def __call__(self, message: dict[str, Any]) -> dict[str, Any]: ...


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a call: its error's code, empty if it has a result, and its text."""

    code: str
    text: str


@dataclass
class Gateway:
    """A gateway to call tools of.

    Attributes:
        log: What it writes to stderr.
        url: Where it listens, empty on stdio.
    """

    process: asyncio.subprocess.Process
    ask: Ask
    url: str
    log: Path
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def pid(self) -> int:
        return self.process.pid

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Outcome:
        """Call a tool of a server."""
        return await self.use("call_tool", {"tool": tool, "arguments": arguments})

    async def use(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Call one of the gateway's own tools, and ask to be told of progress."""
        number = next(self.numbers)
        meta = META | {"progressToken": number}
        params = {"name": name, "arguments": arguments, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        answer = await self.ask(message)
        result = answer["result"]
        error = result.get("_meta", {}).get("foregate/error", {})
        assert bool(error) == result.get("isError", False), result
        return Outcome(code=error.get("code", ""), text=result["content"][0]["text"])

    async def end(self) -> str:
        """End it as its client does, and return what it logged to stderr."""
        if self.process.stdin is None:
            self.process.terminate()
        else:
            self.process.stdin.close()
        await asyncio.wait_for(self.process.wait(), PATIENCE_S)
        return self.log.read_text("utf-8")


@asynccontextmanager
async def gateway(installation: Installation, face: Face, **env: str) -> AsyncIterator[Gateway]:
    """Start a gateway; it is killed unless it has ended."""
    log = installation.home / "stderr.log"
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    more = () if face == "stdio" else ("--http", "127.0.0.1:0", "--no-auth")
    with log.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *installation.command(*more),
            env=installation.env | env,
            stdin=pipe if face == "stdio" else nothing,
            stdout=pipe,
            stderr=stderr,
            limit=LINE_BYTES,
        )
    try:
        async with {"stdio": _on_stdio, "http": _on_http}[face](process) as (ask, url):
            yield Gateway(process, ask, url, log)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@asynccontextmanager
async def _on_stdio(process: asyncio.subprocess.Process) -> AsyncIterator[tuple[Ask, str]]:
    reader, writer = process.stdout, process.stdin
    assert reader is not None
    assert writer is not None
    waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}

    async def ask(message: dict[str, Any]) -> dict[str, Any]:
        waiting[message["id"]] = asyncio.get_running_loop().create_future()
        writer.write(json.dumps(message).encode() + b"\n")
        await writer.drain()
        return await waiting[message["id"]]

    async def read() -> None:
        async for line in reader:
            answer = json.loads(line)
            if "id" in answer:
                waiting.pop(answer["id"]).set_result(answer)
        for asked in waiting.values():
            asked.set_exception(EOFError("the gateway ended"))

    async with asyncio.TaskGroup() as group:
        reading = group.create_task(read())
        yield ask, ""
        reading.cancel()


@asynccontextmanager
async def _on_http(process: asyncio.subprocess.Process) -> AsyncIterator[tuple[Ask, str]]:
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)
    url = line.decode().split()[1]
    async with httpx2.AsyncClient(headers=HEADERS, timeout=PATIENCE_S) as http:

        async def ask(message: dict[str, Any]) -> dict[str, Any]:
            named = {"Mcp-Name": message["params"]["name"]}
            answer = await http.post(url, json=message, headers=named)
            kind = answer.headers["content-type"].partition(";")[0]
            if kind == "application/json":
                return dict(answer.json())
            *_, last = (line for line in answer.text.splitlines() if line.startswith("data: {"))
            return dict(json.loads(last.removeprefix("data: ")))

        yield ask, url
