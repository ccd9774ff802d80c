"""Redirects, addresses and bounds of the one HTTP client."""

import asyncio
import socket
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from yarl import URL

from tests.servers.http_raw import RawServer
from tools.upstream.errors import (
    ForbiddenAddress,
    InvalidAddress,
    MessageTooLarge,
    ProtocolViolation,
    ServerUnreachable,
)
from tools.upstream.http.client import HttpClient
from tools.upstream.network import NetworkRules, parse_networks

LOOPBACK = NetworkRules(allowed=parse_networks("127.0.0.0/8"))


@asynccontextmanager
async def client(rules=LOOPBACK):
    made = HttpClient(rules)
    try:
        yield made
    finally:
        await made.aclose()


async def canary(asked, reply):
    await reply.whole(200, b"canary")


def redirecting(status: int, *targets: str):
    left = list(targets)

    async def handle(asked, reply):
        if left:
            await reply.whole(status, location=left.pop(0))
        else:
            await reply.whole(200, asked.path.encode())

    return handle


async def opened(made, server, method="POST", own=None):
    answer = await made.open(
        method, URL(server.url), headers={"x-key": "k"}, body=b"{}", own=own, server="s"
    )
    body = await answer.read()
    return answer.status, body


@pytest.mark.parametrize("status", [307, 308])
async def test_a_message_follows_redirects_within_its_origin(status):
    async with RawServer(redirecting(status, "/a", "b/")) as server, client() as made:
        assert await opened(made, server) == (200, b"/b/")
        assert [asked.method for asked in server.asked] == ["POST"] * 3
        assert {asked.headers["x-key"] for asked in server.asked} == {"k"}
        assert {asked.body for asked in server.asked} == {b"{}"}


@pytest.mark.parametrize(
    ("status", "targets", "error", "words"),
    [
        *((status, ["/a"], ProtocolViolation, "drops the message") for status in (301, 302, 303)),
        (307, ["/mcp"] * 100, ProtocolViolation, "more than 5 times"),
        (307, ["file:///etc/passwd"], ForbiddenAddress, "not http or https"),
        (307, ["gopher://x/"], ForbiddenAddress, "not http or https"),
        (307, ["http://[x"], ForbiddenAddress, "not http or https"),
    ],
)
async def test_a_redirect_that_cannot_be_followed_is_explained(status, targets, error, words):
    async with RawServer(redirecting(status, *targets)) as server, client() as made:
        with pytest.raises(error, match=words):
            await opened(made, server)
        assert len(server.asked) == (6 if len(targets) > 1 else 1)


@pytest.mark.parametrize(
    ("location", "reached"),
    [
        ("http://x.example/mcp/", "https://x.example/mcp/"),
        ("http://x.example:8443/mcp/", None),
        ("http://y.example/mcp/", None),
    ],
)
async def test_a_redirect_to_the_same_host_stays_encrypted(monkeypatch, location, reached):
    asked = []

    async def send(self, method, url, *_, **__):
        asked.append(str(url))
        status, headers = (307, {"Location": location}) if len(asked) == 1 else (200, {})
        return SimpleNamespace(status=status, headers=headers, url=url, close=lambda: None)

    monkeypatch.setattr(HttpClient, "_send", send)
    async with client() as made:
        call = made.open("POST", URL("https://x.example/mcp"), headers={}, server="s")
        if reached is None:
            with pytest.raises(ForbiddenAddress, match="not encrypted"):
                await call
        else:
            await call
    assert asked == ["https://x.example/mcp", *([reached] if reached else [])]


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_no_redirect_leads_to_another_origin(method):
    async with RawServer(canary) as bird, client() as made:
        for target in (bird.url, f"//127.0.0.1:{bird.port}/", "http://169.254.169.254/latest"):
            async with RawServer(redirecting(307, target)) as server:
                with pytest.raises(ForbiddenAddress, match="another origin"):
                    await opened(made, server, method)
        assert bird.connections == 0


async def test_documents_are_fetched_over_checked_hops_without_the_headers():
    async with RawServer(canary) as bird, client() as made:
        async with RawServer(redirecting(302, bird.url)) as server:
            fetched = await made.fetch("GET", server.url, headers={"x-key": "k"}, redirects=2)
        assert (fetched.status, fetched.body) == (200, b"canary")
        assert "x-key" not in bird.asked[0].headers
        async with RawServer(redirecting(302, bird.url)) as server:
            fetched = await made.fetch("GET", server.url, headers={})
            assert (fetched.status, fetched.headers["location"]) == (302, bird.url)


async def test_a_fetch_is_not_led_to_a_private_address():
    async with RawServer(canary) as bird, client(NetworkRules()) as made:
        async with RawServer(redirecting(302, bird.url)) as server:
            own = ("127.0.0.1", server.port)
            with pytest.raises(ForbiddenAddress, match="this machine"):
                await made.fetch("GET", server.url, headers={}, own=own, redirects=3)
        assert bird.connections == 0


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "localhost"])
async def test_no_spelling_of_an_address_slips_through(host):
    async with RawServer(canary) as bird, client(NetworkRules()) as made:
        with pytest.raises((ForbiddenAddress, InvalidAddress, ServerUnreachable)):
            await made.fetch("GET", f"http://{host}:{bird.port}/", headers={})
        assert bird.connections == 0


async def test_the_check_is_of_the_address_that_is_connected_to(monkeypatch):
    """A name is looked up once; whatever it resolves to later is of no use."""
    async with RawServer(canary) as bird, client(NetworkRules()) as made:
        answers = [["93.184.216.34", "127.0.0.1"], ["127.0.0.1"]]

        async def resolve(*args, **kwargs):
            found = answers.pop(0)
            kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
            return [(*kind, (address, bird.port)) for address in found]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
        with pytest.raises(ServerUnreachable):
            await made.fetch("GET", f"http://rebind.example:{bird.port}/", headers={}, timeout_s=1)
        with pytest.raises(ForbiddenAddress, match=r"rebind2\.example resolves to 127\.0\.0\.1"):
            await made.fetch("GET", f"http://rebind2.example:{bird.port}/", headers={})
        assert bird.connections == 0


async def test_a_connection_that_one_entry_allows_serves_no_other():
    async with RawServer(canary) as bird, client(NetworkRules()) as made:
        own = ("127.0.0.1", bird.port)
        assert (await made.fetch("GET", bird.url, headers={}, own=own)).body == b"canary"
        with pytest.raises(ForbiddenAddress):
            await made.fetch("GET", bird.url, headers={}, own=("127.0.0.1", 1))
        assert len(bird.asked) == 1


async def test_fetches_are_bounded_in_size_and_time():
    async def endless(asked, reply):
        await reply.head(200, transfer_encoding="chunked")
        while asked.path == "/big":
            await reply.raw(b"400\r\n" + b"x" * 1024 + b"\r\n")
        await reply.gone()

    async with RawServer(endless) as server, client() as made:
        origin = f"http://127.0.0.1:{server.port}"
        with pytest.raises(MessageTooLarge, match="4,096"):
            await made.fetch("GET", f"{origin}/big", headers={}, max_bytes=4_096)
        with pytest.raises(ServerUnreachable, match=r"0\.1 s"):
            await made.fetch("GET", f"{origin}/slow", headers={}, timeout_s=0.1)
        assert (await made.fetch("GET", f"{origin}/big", headers={}, head_only=True)).body == b""


async def test_nothing_of_other_answers_is_sent():
    async def sets_cookie(asked, reply):
        await reply.whole(200, set_cookie="a=b")

    async with RawServer(sets_cookie) as server, client() as made:
        for _ in range(2):
            await made.fetch("GET", server.url, headers={})
        assert ["cookie" in asked.headers for asked in server.asked] == [False, False]
        assert server.asked[0].headers["user-agent"].startswith("foregate")


async def test_a_closed_client_takes_no_request():
    async with client() as made:
        pass
    with pytest.raises(ServerUnreachable, match="shutting down"):
        await made.fetch("GET", "http://127.0.0.1:1/", headers={})


async def test_a_name_that_does_not_resolve_is_said_so():
    async with client() as made:
        with pytest.raises(ServerUnreachable, match=r"'nowhere\.invalid' cannot be resolved"):
            await made.fetch("GET", "http://nowhere.invalid/", headers={})
