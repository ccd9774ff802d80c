"""Lines of another gateway's client, as they come over the socket."""

import asyncio
import threading

from gateway_project.mcp.attach import host
from gateway_project.mcp.attach.host import SocketLines
from gateway_project.mcp.refused_lines import LineTooLong
from tests.patience import PATIENCE_S


async def test_a_line_too_long_is_reported_and_the_next_is_read():
    reader = asyncio.StreamReader()
    lines = SocketLines(reader, max_line_bytes=10)

    async def send():
        for piece in (b"first\n", b"x" * 30, b"y" * 30 + b"\n", b"last\n"):
            reader.feed_data(piece)
            await asyncio.sleep(0)
        reader.feed_eof()

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        group.create_task(send())
        read = [line async for line in lines]
    assert read == ["first\n", LineTooLong(10), "last\n"]


async def test_a_large_line_is_assembled_off_the_loop(monkeypatch):
    monkeypatch.setattr(host, "CHUNK_BYTES", 5)
    threads = []

    async def watch(function, *args):
        def run():
            threads.append(threading.get_ident())
            return function(*args)

        return await asyncio.to_thread(run)

    monkeypatch.setattr(host, "run_in_message_thread", watch)
    reader = asyncio.StreamReader()
    reader.feed_data("grüße an 日本語\n\n \nok\n\xff\n".encode() + b"\xff\xe6\nno end")
    reader.feed_eof()
    async with asyncio.timeout(PATIENCE_S):
        read = [line async for line in SocketLines(reader)]
    assert read == ["grüße an 日本語\n", "ok\n", "ÿ\n", "\ufffd\ufffd\n"]
    assert threads
    assert threading.get_ident() not in threads
