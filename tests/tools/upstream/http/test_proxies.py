"""Requests that go through the machine's proxies."""

import asyncio
import base64
import ssl
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from yarl import URL

from tests.servers.http_raw import RawServer
from tools.upstream.errors import ForbiddenAddress, ServerUnreachable
from tools.upstream.http.client import HttpClient, make_tls_context
from tools.upstream.network import NetworkRules
from tools.upstream.proxies import MachineProxies, read_proxy

REMOTE = "http://mcp.corp.invalid/mcp"
NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@asynccontextmanager
async def proxied(monkeypatch, handle, *, user="", **variables):
    async with RawServer(handle) as proxy:
        address = f"http://{user}127.0.0.1:{proxy.port}"
        for name, value in {"HTTP_PROXY": address, "HTTPS_PROXY": address, **variables}.items():
            monkeypatch.setenv(name, value)
        client = HttpClient()
        try:
            yield client, proxy
        finally:
            await client.aclose()


async def says_where(asked, reply):
    await reply.whole(200, asked.path.encode())


async def test_a_server_is_reached_through_the_proxy_with_the_proxys_credentials(monkeypatch):
    async with proxied(monkeypatch, says_where, user="ann:p%40ss@") as (client, proxy):
        for _ in range(2):  # the second over the pooled connection
            answer = await client.fetch("GET", REMOTE, headers={"x-key": "k"})
            assert answer.body == REMOTE.encode()
    credentials = base64.b64encode(b"ann:p@ss").decode()
    assert [asked.headers["proxy-authorization"] for asked in proxy.asked] == [
        f"Basic {credentials}"
    ] * 2
    assert proxy.connections == 1


@pytest.mark.parametrize(
    ("no_proxy", "address"),
    [
        ("corp.invalid", REMOTE),
        ("other, .corp.invalid", REMOTE),
        ("*.CORP.invalid", REMOTE),
        ("a mcp.corp.invalid:80", REMOTE),
        ("*", REMOTE),
        ("203.0.113.0/24", "http://203.0.113.7/"),
        ("", "http://localhost:1/"),
        ("", "http://[::1]:1/"),
        ("", "http://127.0.0.9:1/"),
    ],
)
def test_exceptions_and_this_machine_are_reached_directly(monkeypatch, no_proxy, address):
    monkeypatch.setenv("ALL_PROXY", "proxy.invalid:3128")
    proxy = URL("http://proxy.invalid:3128")
    assert MachineProxies(NetworkRules()).find(URL("http://notcorp.invalid:81/")) == proxy
    monkeypatch.setenv("NO_PROXY", no_proxy)
    found = MachineProxies(NetworkRules())
    assert found.find(URL(address)) is None
    if no_proxy != "*":
        assert found.find(URL("https://notcorp.invalid:81/")) == proxy


@pytest.mark.parametrize("text", ["", "socks5://127.0.0.1:1080", "http://", "http://p:99999", ":"])
def test_what_is_no_http_proxy_is_not_used(text):
    assert read_proxy(text) is None


@pytest.mark.parametrize(
    "address",
    [
        "http://169.254.169.254/latest",
        "http://10.1.2.3/",
        "http://metadata.invalid/",
        "https://x.invalid/",
    ],
)
async def test_what_is_forbidden_is_not_asked_of_the_proxy_either(monkeypatch, address):
    async def resolves(host, port, **_):
        return [(2, 1, 6, "", ("169.254.169.254", 0))]

    async with proxied(monkeypatch, says_where) as (client, proxy):
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolves)
        with pytest.raises(ForbiddenAddress):
            await client.fetch("GET", address, headers={})
    assert not proxy.asked


async def test_a_private_server_needs_its_consent_through_a_proxy_too(monkeypatch):
    async with proxied(monkeypatch, says_where) as (client, _):
        with pytest.raises(ForbiddenAddress, match="private network"):
            await client.fetch("GET", "http://10.1.2.3/", headers={})
        own = ("10.1.2.3", 80)
        assert (await client.fetch("GET", "http://10.1.2.3/", headers={}, own=own)).status == 200


async def test_the_proxys_refusal_is_told_with_what_to_do(monkeypatch):
    async def refuses(asked, reply):
        await reply.whole(407 if "sign" in asked.path else 403)

    async with proxied(monkeypatch, refuses) as (client, proxy):
        with pytest.raises(ServerUnreachable, match=r"status 407\); put its user and password"):
            await client.fetch("GET", "https://sign.invalid/", headers={"x-key": "k"})
        with pytest.raises(ServerUnreachable, match=r"status 403\); ask whoever runs it"):
            await client.fetch("GET", "https://other.invalid/", headers={})
    assert proxy.asked[0].method == "CONNECT"
    assert "x-key" not in proxy.asked[0].headers


@pytest.mark.parametrize("proxy", ["http://u:pa55@127.0.0.1:1", "http://u:pa55@nowhere.invalid:1"])
async def test_a_proxy_that_is_not_there_is_named_without_its_password(monkeypatch, proxy):
    monkeypatch.setenv("HTTP_PROXY", proxy)
    client = HttpClient()
    with pytest.raises(ServerUnreachable, match=r"the proxy \S+:1, through which") as caught:
        await client.fetch("GET", REMOTE, headers={})
    await client.aclose()
    assert "pa55" not in str(caught.value)
    assert "NO_PROXY" in str(caught.value)


def write_certificate(folder, host):
    """Write a certificate that signs itself, with its key; return the file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "server.pem"
    file.write_bytes(key.private_bytes(pem, *private) + made.public_bytes(pem))
    return file


async def test_a_tunnel_is_encrypted_for_an_authority_that_the_machine_adds(tmp_path, monkeypatch):
    certificate = write_certificate(tmp_path, "mcp.corp.invalid")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    address, headers = "https://mcp.corp.invalid/mcp", {"x-key": "secret"}
    async with RawServer(says_where, tls=context) as server:

        async def leads_there(asked, reply):
            await reply.tunnel(server.port)

        async def fetch(authority):
            monkeypatch.setenv("NODE_EXTRA_CA_CERTS", authority)
            make_tls_context.cache_clear()
            async with proxied(monkeypatch, leads_there) as (client, proxy):
                try:
                    return await client.fetch("GET", address, headers=headers)
                finally:
                    assert proxy.asked[0].path == "mcp.corp.invalid:443"
                    assert "x-key" not in proxy.asked[0].headers

        with pytest.raises(ServerUnreachable, match="could not be trusted"):
            await fetch("")
        assert (await fetch(str(certificate))).body == b"/mcp"
        assert server.asked[0].headers["x-key"] == "secret"
    make_tls_context.cache_clear()
