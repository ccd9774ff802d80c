"""Lines of another gateway's client, as they come over the socket."""

import asyncio

from gateway_project.mcp.attach import host
from gateway_project.mcp.attach.host import SocketLines
from gateway_project.mcp.refused_lines import TooLong
from tests.patience import PATIENCE_S


async def test_a_line_that_is_too_long_is_told_to_be_and_the_next_is_read():
    reader = asyncio.StreamReader(limit=10)
    lines = SocketLines(reader)

    async def send():
        for piece in (b"first\n", b"x" * 30, b"y" * 30 + b"\n", b"last\n"):
            reader.feed_data(piece)
            await asyncio.sleep(0)
        reader.feed_eof()

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        group.create_task(send())
        read = [line async for line in lines]
    assert read == ["first\n", TooLong(host.MAX_LINE_BYTES), "last\n"]
