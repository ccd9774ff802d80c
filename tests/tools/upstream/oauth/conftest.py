from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from tests.servers import oauth_world
from tools.upstream.http.client import HttpClient
from tools.upstream.oauth import authorization, clients, discovery, grants
from tools.upstream.oauth.challenge import Challenge
from tools.upstream.oauth.fetching import over_http
from tools.upstream.oauth.values import Key

REDIRECT = "http://127.0.0.1:8420/sign-in/callback"
ALL = Key("notes", "")


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
    return over_http(http, own=(at.hostname, at.port))


@pytest.fixture
def sign_in(world, fetch, clock):
    """Sign in from beginning to end, without a database: `await sign_in(user="ann")`."""

    async def run(*, user="somebody", key=ALL, scope=None):
        found = await discovery.discover(world.mcp_url, challenge=Challenge(), fetch=fetch)
        scope = authorization.scope_for(found, challenge=Challenge(), entered=scope or "")
        client = await clients.choose(
            clients.Identity(), found.server, redirect_uri=REDIRECT, scope=scope, fetch=fetch
        )
        attempt, state, address = authorization.begin(
            key, found, client=client, redirect_uri=REDIRECT, scope=scope
        )
        _, answer = await oauth_world.consent(address, user=user)
        assert answer["state"] == state
        code = authorization.code_of(attempt, answer)
        return await grants.exchange(attempt, code, fetch=fetch, now=clock())

    return run
