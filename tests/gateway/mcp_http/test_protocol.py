import asyncio
import logging

import pytest

from gateway_project.mcp.http import protocol
from tests.gateway.mcp_http.conftest import listening, until


async def connect(gateway):
    host, port = gateway.url.removeprefix("http://").removesuffix("/mcp").split(":")
    return await asyncio.open_connection(host, int(port))


async def is_closed(reader):
    """Wait until the other side closes; it resets what it has not read."""
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True


async def test_headers_without_end_are_refused():
    async with listening() as gateway:
        reader, writer = await connect(gateway)
        writer.write(b"POST /mcp HTTP/1.1\r\nx: ")
        writer.write(b"x" * protocol.MAX_HEADER_BYTES)
        assert (await reader.readline()).startswith(b"HTTP/1.1 431 ")
        writer.close()


@pytest.mark.parametrize("sent", [b"", b"POST /mcp HTTP/1.1\r\nhost: localhost\r\n"])
async def test_slow_headers_time_out(monkeypatch, sent):
    monkeypatch.setattr(protocol, "HEADERS_TIMEOUT_S", 0.05)
    async with listening() as gateway:
        reader, writer = await connect(gateway)
        writer.write(sent)
        assert await is_closed(reader)
        writer.close()


async def test_a_request_in_pieces_is_served():
    async with listening() as gateway:
        reader, writer = await connect(gateway)
        for piece in (b"GET /hea", b"lth HTTP/1.1\r\nhost: loc", b"alhost\r\n\r\n"):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        connections = gateway.server.server_state.connections
        assert all(connection._headers_due is None for connection in connections)
        writer.close()
        await until(lambda: not connections)


@pytest.mark.parametrize("upgrade", ["websocket", "h2c"])
async def test_a_request_to_upgrade_is_answered_without_it_and_without_a_warning(caplog, upgrade):
    async with listening() as gateway:
        reader, writer = await connect(gateway)
        headers = f"host: localhost\r\nconnection: upgrade\r\nupgrade: {upgrade}"
        writer.write(f"GET /health HTTP/1.1\r\n{headers}\r\n\r\n".encode())
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        writer.close()
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []
