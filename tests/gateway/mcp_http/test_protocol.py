import asyncio
import functools
import logging
import socket

import aiohttp
import pytest
import uvicorn

from gateway_project.foundation.shares import Bound
from gateway_project.mcp.http import serve
from tests.gateway.mcp_http.conftest import listening, until
from tests.patience import PATIENCE_S
from tools.upstream.network import parse_networks


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
        writer.write(b"x" * serve.MAX_HEADER_BYTES)
        assert (await reader.readline()).startswith(b"HTTP/1.1 431 ")
        writer.close()


@pytest.mark.parametrize("sent", [b"", b"POST /mcp HTTP/1.1\r\nhost: localhost\r\n"])
async def test_slow_headers_time_out(monkeypatch, sent):
    monkeypatch.setattr(serve, "HEADERS_TIMEOUT_S", 0.05)
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


class Visitors:
    """Connections that stay open until the block is left."""

    def __init__(self, gateway):
        self._gateway = gateway
        self._writers = []

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        for writer in self._writers:
            writer.close()

    async def come(self):
        reader, writer = await connect(self._gateway)
        self._writers.append(writer)
        return reader, writer

    async def ask(self, path=b"/health"):
        """Return the status of a request on a new connection."""
        reader, writer = await self.come()
        writer.write(b"GET " + path + b" HTTP/1.1\r\nhost: localhost\r\n\r\n")
        return int((await reader.readline()).split(b" ")[1])


async def test_idle_connections_give_way_to_new_ones():
    connections = serve.Connections(Bound(total=100, each=3, fraction=1.0))
    async with listening(connections=connections) as gateway, Visitors(gateway) as visitors:
        idle = [await visitors.come() for _ in range(3)]
        await until(lambda: len(connections) == 3)
        assert await visitors.ask() == 200
        assert await is_closed(idle[0][0])
        assert len(connections) == 3


async def test_connections_that_were_never_used_give_way_first():
    connections = serve.Connections(Bound(total=100, each=2, fraction=1.0))
    async with listening(connections=connections) as gateway, Visitors(gateway) as visitors:
        reader, writer = await visitors.come()
        for _ in range(2):
            writer.write(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
            await reader.readuntil(b"}")
            idle = [await visitors.come() for _ in range(5)]
            for one, _ in idle[:-1]:
                assert await is_closed(one)


async def test_an_address_whose_connections_are_all_in_use_may_still_probe():
    connections = serve.Connections(Bound(total=100, each=1, fraction=1.0))
    async with listening(connections=connections) as gateway, Visitors(gateway) as visitors:
        hanging = asyncio.create_task((await gateway.call("hang")).__aenter__())
        await gateway.handled.began.wait()
        assert await visitors.ask() == 200
        assert await visitors.ask(b"/metrics") == 503
        gateway.handled.release.set()
        (await hanging).release()


async def test_a_connection_that_ends_leaves_its_place():
    connections = serve.Connections()
    async with listening(connections=connections) as gateway:
        async with Visitors(gateway) as visitors:
            assert [await visitors.ask() for _ in range(3)] == [200] * 3
            assert len(connections) == 3
        await until(lambda: not len(connections))


class FakeTransport:
    """A transport of a connection from some address."""

    def __init__(self, host, port):
        self.remote = (host, port)
        self.is_closed = False

    def get_extra_info(self, name):
        return self.remote if name == "peername" else None

    def close(self):
        self.is_closed = True

    abort = close


@pytest.mark.parametrize("is_busy", [False, True])
def test_one_address_leaves_room_for_others(is_busy):
    connections = serve.Connections(Bound(total=10, each=10, fraction=1.0))
    greedy = [FakeTransport("192.0.2.1", port) for port in range(12)]
    for transport in greedy:
        if connections.admit(transport) and is_busy:
            connections.note_busy(transport)
    assert len(connections) == 5
    assert connections.admit(FakeTransport("192.0.2.2", 1))


def test_if_the_process_is_full_the_address_with_most_idle_connections_makes_room():
    connections = serve.Connections(Bound(total=3, each=3, fraction=9.0))
    first, second, other = (FakeTransport(f"192.0.2.{n}", n) for n in (1, 1, 2))
    assert all(map(connections.admit, (other, first, second)))
    assert connections.admit(FakeTransport("192.0.2.3", 3))
    assert [one.is_closed for one in (first, second, other)] == [True, False, False]


def test_connections_of_a_proxy_are_those_of_many_people():
    connections = serve.Connections(
        Bound(total=10, each=2, fraction=1.0), proxies=parse_networks("192.0.2.0/24")
    )
    transports = [FakeTransport("192.0.2.1", port) for port in range(10)]
    for transport in transports:
        assert connections.admit(transport)
        connections.note_busy(transport)
    assert not connections.admit(FakeTransport("198.51.100.1", 1))


async def test_a_websocket_keeps_the_place_of_its_connection_until_it_ends():
    async def application(scope, receive, send):
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            await receive()

    connections = serve.Connections()
    configuration = uvicorn.Config(
        application,
        http=functools.partial(serve.BoundedProtocol, connections=connections),
        ws=functools.partial(serve.BoundedWebSocket, connections=connections),
        lifespan="off",
        log_config=None,
    )
    server = uvicorn.Server(configuration)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            group.create_task(server._serve([listener]))
            await until(lambda: server.started)
            url = f"ws://127.0.0.1:{listener.getsockname()[1]}/"
            async with aiohttp.ClientSession() as http, http.ws_connect(url):
                assert len(connections) == 1
            await until(lambda: not len(connections))
            server.should_exit = True
