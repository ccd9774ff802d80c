from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import aiohttp
import pytest

from gateway_project.foundation.caller import GATEWAY
from tests.patience import PATIENCE_S
from tests.servers import oauth_world
from tests.tools.upstream.oauth.keeps import MemoryKeep
from tests.upstream_calls import make_caller
from tools.upstream.http.client import HttpClient
from tools.upstream.oauth import clients, discovery, grants
from tools.upstream.oauth.fetching import FetchRequest
from tools.upstream.oauth.sign_ins import SignInCredentials, SignInManager
from tools.upstream.oauth.values import BearerChallenge, SignInKey
from tools.upstream.spec import ServerSpec

REDIRECT = "http://127.0.0.1:8420/sign-in/callback"
ALL = SignInKey("notes", "")
ANN, BOB = SignInKey("notes", "ann"), SignInKey("notes", "bob")


@pytest.fixture
async def world():
    async with oauth_world.running() as running:
        yield running


@pytest.fixture
async def http():
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
def fetch(world, http):
    """Ask over HTTP as the product does, the world's own address allowed."""
    at = urlsplit(world.base)
    return FetchRequest(client=http, own=(at.hostname, at.port))


@pytest.fixture
def sign_in(world, fetch, clock):
    """Sign in from beginning to end, without a database: `await sign_in(user="ann")`."""

    async def run(*, user="somebody", key=ALL, scope=None):
        found = await discovery.discover_protection(
            world.mcp_url, challenge=BearerChallenge(), fetch=fetch
        )
        scope = grants.choose_scope(found, challenge=BearerChallenge(), entered=scope or "")
        client = await clients.choose_client(
            clients.ClientIdentity(), found.server, redirect_uri=REDIRECT, scope=scope, fetch=fetch
        )
        attempt, state, address = grants.begin_sign_in(
            key, found, client=client, redirect_uri=REDIRECT, scope=scope
        )
        _, answer = await oauth_world.consent(address, user=user)
        assert answer["state"] == state
        code = grants.read_code(attempt, answer)
        return await grants.exchange_code(attempt, code, fetch=fetch, now=clock())

    return run


@pytest.fixture
def keep():
    return MemoryKeep()


@pytest.fixture
def process(keep, http, clock):
    """Run what holds a process's sign-ins: `async with process() as authorization`."""

    @asynccontextmanager
    async def run(*, per_user=False, listing_user=""):
        async with (
            asyncio.timeout(PATIENCE_S),
            SignInManager(store=keep, get_http_client=lambda: http, clock=clock) as sign_ins,
        ):
            spec = ServerSpec(
                name="notes",
                transport="http",
                url="https://mcp.example",
                private_network=True,
                authorization="oauth_per_user" if per_user else "oauth",
            )
            yield SignInCredentials(sign_ins, spec, listing_user)

    return run


@pytest.fixture
def call(world):
    """Call the server as a transport does: with headers, and once more if that is worth it."""

    async def run(authorization, user=None):
        caller = GATEWAY if user is None else make_caller(user)
        async with aiohttp.ClientSession() as session:
            for again in (True, False):
                headers = await authorization.build_headers(world.mcp_url, caller)
                message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
                async with session.post(world.mcp_url, json=message, headers=headers) as answer:
                    if answer.status == 200:
                        return (await answer.json())["result"]["content"][0]["text"]
                    said = answer.headers.get("WWW-Authenticate", "")
                    status = answer.status
                retry = await authorization.handle_refusal(
                    status=status, www_authenticate=said, caller=caller
                )
                if not (again and retry):
                    return status
        return None

    return run
