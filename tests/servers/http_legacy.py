"""A remote server of the handshake era that does, on request, all that a server must not."""

import asyncio
import gzip
import json
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

from tests.servers.http_raw import Asked, RawServer, Reply

VERSION = "2025-11-25"
MIB = 1024 * 1024
Behaviour = Callable[[Asked, Reply], Awaitable[None]]


def text(asked: Asked, said: str) -> dict[str, Any]:
    result = {"content": [{"type": "text", "text": said}]}
    return {"jsonrpc": "2.0", "id": asked.json["id"], "result": result}


def news(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


async def echo(asked: Asked, reply: Reply) -> None:
    await reply.json(text(asked, asked.json["params"]["arguments"].get("text", "")))


async def hang(asked: Asked, reply: Reply) -> None:
    await reply.gone()


async def slow_headers(asked: Asked, reply: Reply) -> None:
    for byte in b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX: " + b"x" * 6000:
        await reply.raw(bytes([byte]))
        await asyncio.sleep(0.02)


async def slow_body(asked: Asked, reply: Reply) -> None:
    await reply.head(200, content_type="application/json", content_length="100000")
    while True:
        await reply.raw(b" ")
        await asyncio.sleep(0.02)


async def many_headers(asked: Asked, reply: Reply) -> None:
    await reply.raw(b"HTTP/1.1 200 OK\r\n")
    for number in range(10_000):
        await reply.raw(b"X-%d: y\r\n" % number)


async def long_header(asked: Asked, reply: Reply) -> None:
    await reply.raw(b"HTTP/1.1 200 OK\r\nX: " + b"y" * MIB)


async def no_http(asked: Asked, reply: Reply) -> None:
    await reply.raw(b"\x00\xffrubbish that is no HTTP at all\r\n\r\n")


async def gzip_bomb(asked: Asked, reply: Reply) -> None:
    """Send a kilobyte for each mebibyte, without end."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    await reply.head(200, content_type="application/json", content_encoding="gzip")
    await reply.raw(packer.compress(b" ") + packer.flush(zlib.Z_FULL_FLUSH))
    again = packer.compress(b" " * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    while True:
        await reply.raw(again * 50)


async def broken_gzip(asked: Asked, reply: Reply) -> None:
    packed = gzip.compress(b"x" * 5000)
    broken = packed[:20] + b"\xff" * 30
    await reply.whole(200, broken, content_type="application/json", content_encoding="gzip")


async def gzipped(asked: Asked, reply: Reply) -> None:
    packed = gzip.compress(json.dumps(text(asked, "packed")).encode())
    await reply.whole(200, packed, content_type="application/json", content_encoding="gzip")


async def huge(asked: Asked, reply: Reply) -> None:
    await reply.head(200, content_type="application/json", content_length=str(50 * MIB))
    while True:
        await reply.raw(b" " * MIB)


async def huge_chunked(asked: Asked, reply: Reply) -> None:
    await reply.head(200, content_type="application/json", transfer_encoding="chunked")
    piece = b"%x\r\n" % MIB + b" " * MIB + b"\r\n"
    while True:
        await reply.raw(piece)


async def huge_event(asked: Asked, reply: Reply) -> None:
    await reply.stream()
    await reply.raw(b'data: {"jsonrpc": "2.0", "id": %d, "result": "' % asked.json["id"])
    while True:
        await reply.raw(b"x" * MIB)


async def comments(asked: Asked, reply: Reply) -> None:
    await reply.stream()
    while True:
        await reply.raw(b": x\n" * 10_000)


async def flood(asked: Asked, reply: Reply) -> None:
    await reply.stream()
    one = news("notifications/tools/list_changed")
    for _ in range(asked.json["params"]["arguments"]["count"]):
        await reply.event(one)
    await reply.event(text(asked, "after the flood"))
    reply.close()


async def not_json(asked: Asked, reply: Reply) -> None:
    body = b'{"jsonrpc":"2.0","id":%d,"result":{"x":caf\xe9}}' % asked.json["id"]
    await reply.whole(200, body, content_type="application/json")


async def not_json_event(asked: Asked, reply: Reply) -> None:
    await reply.stream()
    await reply.raw(
        b'data: {"jsonrpc":"2.0","id":%d,"result":{"x":caf\xe9}}\n\n' % asked.json["id"]
    )
    await reply.gone()


async def deep(asked: Asked, reply: Reply) -> None:
    value = b"[" * 10_000 + b"]" * 10_000
    body = b'{"jsonrpc":"2.0","id":%d,"result":{"x":%s}}' % (asked.json["id"], value)
    await reply.whole(200, body, content_type="application/json")


async def html(asked: Asked, reply: Reply) -> None:
    await reply.whole(200, b"<html>Sign in</html>", content_type="text/html; charset=utf-8")


async def accepted(asked: Asked, reply: Reply) -> None:
    await reply.whole(202)


async def disconnect(asked: Asked, reply: Reply) -> None:
    reply.close()


async def disconnect_in_body(asked: Asked, reply: Reply) -> None:
    await reply.head(200, content_type="application/json", content_length="1000")
    await reply.raw(b'{"jsonrpc"')
    reply.close()


async def disconnect_in_stream(asked: Asked, reply: Reply) -> None:
    await reply.stream()
    await reply.event(news("notifications/message", level="info", data="x"))
    reply.close()


async def wrong_id(asked: Asked, reply: Reply) -> None:
    await reply.json({"jsonrpc": "2.0", "id": 987654, "result": {"content": []}})


async def string_id(asked: Asked, reply: Reply) -> None:
    await reply.json({**text(asked, "ok"), "id": str(asked.json["id"])})


async def fail(asked: Asked, reply: Reply) -> None:
    await reply.whole(500, b"a stack trace with secrets", content_type="text/plain")


async def refuse(asked: Asked, reply: Reply) -> None:
    error = {"code": -32050, "message": "no", "data": {"why": "because"}}
    await reply.json({"jsonrpc": "2.0", "id": None, "error": error}, status=400)


async def stray(asked: Asked, reply: Reply) -> None:
    await reply.stream()
    await reply.raw(b": hello\r\n\r\ndata: a debug print\r\n\r\nevent: other\r\ndata: {}\r\n\r\n")
    await reply.event(text(asked, "after the rubbish"))
    reply.close()


async def resume(asked: Asked, reply: Reply) -> None:
    """Close the stream and send the answer to whoever comes back for it."""
    await reply.stream()
    await reply.event(None, id=f"call-{asked.json['id']}", retry="10")
    reply.close()


async def never_resumed(asked: Asked, reply: Reply) -> None:
    await reply.stream()
    await reply.event(None, id="lost", retry="10")
    reply.close()


async def ask(asked: Asked, reply: Reply) -> None:
    await reply.stream()
    await reply.event({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    await reply.event(text(asked, "asked"))
    reply.close()


BEHAVIOURS: dict[str, Behaviour] = {
    function.__name__: function
    for function in (
        accepted, ask, broken_gzip, comments, deep, disconnect, disconnect_in_body,
        disconnect_in_stream, echo, fail, flood, gzip_bomb, gzipped, hang, html, huge,
        huge_chunked, huge_event, long_header, many_headers, never_resumed, no_http, not_json,
        not_json_event, refuse, resume, slow_body, slow_headers, stray, string_id, wrong_id,
    )
}  # fmt: skip


class LegacyServer(RawServer):
    """Speaks MCP with sessions.

    Args:
        unknown: How it answers requests of a session it does not know: 404, 400 with words, or a
            behaviour.
        listening: What it does with a GET; by default there is no such stream.
        own: Behaviours beside the common ones.
        instead: What it does with requests of some methods, in place of what it should.
        capabilities: What it says it can do beside having tools.
    """

    def __init__(
        self,
        *,
        unknown: int | Behaviour = 404,
        listening: Behaviour | None = None,
        own: dict[str, Behaviour] | None = None,
        instead: dict[str, Behaviour] | None = None,
        capabilities: tuple[str, ...] = (),
    ) -> None:
        super().__init__(self._handle)
        self._unknown = unknown
        self._listening = listening
        self._behaviours = {**BEHAVIOURS, **(own or {})}
        self._instead = instead or {}
        self._capabilities = {"tools": {"listChanged": True}, **{one: {} for one in capabilities}}
        self._began = 0
        self.sessions: set[str] = set()

    async def _handle(self, asked: Asked, reply: Reply) -> None:
        await self._instead.get(asked.rpc, self._answer)(asked, reply)

    async def _answer(self, asked: Asked, reply: Reply) -> None:
        if asked.method == "DELETE":
            self.sessions.discard(asked.headers["mcp-session-id"])
            await reply.whole(204)
        elif asked.rpc == "initialize":
            await self._initialize(asked, reply)
        elif asked.rpc == "server/discover":
            error = {"code": -32000, "message": "Bad Request: Server not initialized"}
            await reply.json({"jsonrpc": "2.0", "id": None, "error": error}, status=400)
        elif asked.headers.get("mcp-session-id") not in self.sessions:
            await self._unknown_session(asked, reply)
        elif asked.method == "GET":
            await self._get(asked, reply)
        elif "id" not in asked.json or asked.rpc == "":
            await reply.whole(202)
        elif asked.rpc == "tools/list":
            tools = [
                {"name": name, "inputSchema": {"type": "object"}} for name in self._behaviours
            ]
            await reply.json({**text(asked, ""), "result": {"tools": tools}})
        else:
            await self._behaviours[asked.json["params"]["name"]](asked, reply)

    async def _initialize(self, asked: Asked, reply: Reply) -> None:
        self._began += 1
        session = f"session-{self._began}"
        self.sessions.add(session)
        result = {
            "protocolVersion": VERSION,
            "capabilities": self._capabilities,
            "serverInfo": {"name": "legacy", "version": "1"},
        }
        answer = {"jsonrpc": "2.0", "id": asked.json["id"], "result": result}
        await reply.json(answer, mcp_session_id=session)

    async def _unknown_session(self, asked: Asked, reply: Reply) -> None:
        if callable(self._unknown):
            await self._unknown(asked, reply)
            return
        if self._unknown == 404:
            await reply.whole(404)
            return
        error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
        await reply.json({"jsonrpc": "2.0", "id": None, "error": error}, status=400)

    async def _get(self, asked: Asked, reply: Reply) -> None:
        last = asked.headers.get("last-event-id", "")
        if last.startswith("call-"):
            await reply.stream()
            result = {"content": [{"type": "text", "text": "resumed"}]}
            await reply.event({"jsonrpc": "2.0", "id": int(last[5:]), "result": result})
            reply.close()
        elif self._listening is None or last == "lost":
            await reply.whole(405)
        else:
            await self._listening(asked, reply)
