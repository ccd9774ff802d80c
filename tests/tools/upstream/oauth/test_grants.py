import json
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.servers import oauth_world
from tests.tools.upstream.oauth.conftest import ALL, REDIRECT
from tools.upstream.http.client import FetchedResponse
from tools.upstream.oauth import authorization, clients, discovery, grants
from tools.upstream.oauth.challenge import BearerChallenge
from tools.upstream.oauth.failures import (
    AuthorizationRefused,
    AuthorizationServerUnreachable,
    SignInFailed,
)
from tools.upstream.oauth.values import AuthorizationServer, OAuthClient, OAuthTokens, SignIn

SERVER = AuthorizationServer(
    issuer="https://as.example",
    authorization_endpoint="https://as.example/authorize",
    token_endpoint="https://as.example/token",
)
SECRETS = ("hunter2-access", "hunter2-refresh", "hunter2-client")
SIGN_IN = SignIn(
    server=SERVER,
    client=OAuthClient(client_id="c", secret=SECRETS[2], method="client_secret_post"),
    resource="https://mcp.example/mcp",
    tokens=OAuthTokens(access=SECRETS[0], refresh=SECRETS[1]),
)


async def test_a_code_becomes_tokens_meant_for_the_resource(world, sign_in, clock):
    made = await sign_in(user="ann", scope="notes:read")
    assert made.tokens.access.startswith("access-ann-")
    assert made.tokens.expires_at == clock() + timedelta(hours=1)
    assert (made.tokens.scope, made.asked) == ("notes:read", "notes:read")
    assert world.token_forms[0]["resource"] == world.mcp_url
    assert made.resource == world.mcp_url


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
async def test_every_client_authentication_method_works(world, sign_in, fetch, clock, method):
    world.habits.methods = [method]
    made = await sign_in()
    assert made.client.method == method
    again = await grants.refresh_tokens(made, fetch=fetch, now=clock())
    assert again.tokens.access != made.tokens.access
    if method == "client_secret_basic":
        assert "client_secret" not in world.token_forms[0]


async def test_a_code_works_once_and_with_its_proof_only(world, fetch, clock):
    found = await discovery.discover_protection(
        world.mcp_url, challenge=BearerChallenge(), fetch=fetch
    )
    client = await clients.choose_client(
        clients.ClientIdentity(), found.server, redirect_uri=REDIRECT, scope="", fetch=fetch
    )
    attempt, _, address = authorization.begin_sign_in(
        ALL, found, client=client, redirect_uri=REDIRECT, scope=""
    )
    for proof, works in ((attempt, True), (replace(attempt, verifier="x" * 43), False)):
        _, answer = await oauth_world.consent(address)
        if works:
            await grants.exchange_code(proof, answer["code"], fetch=fetch, now=clock())
        with pytest.raises(
            AuthorizationRefused, match="invalid_grant"
        ):  # a replay, and a false proof
            await grants.exchange_code(proof, answer["code"], fetch=fetch, now=clock())


async def test_the_next_refresh_token_replaces_the_last(world, sign_in, fetch, clock):
    first = await sign_in()
    second = await grants.refresh_tokens(first, fetch=fetch, now=clock())
    assert second.tokens.refresh not in (None, first.tokens.refresh)
    third = await grants.refresh_tokens(second, fetch=fetch, now=clock())
    assert third.tokens.access != second.tokens.access
    assert world.token_forms[-1]["resource"] == world.mcp_url


async def test_a_refresh_token_that_is_not_replaced_stays(world, sign_in, fetch, clock):
    world.habits.rotates = False
    first = await sign_in(scope="notes:read")
    world.habits.token_answer = {"scope": ""}
    second = await grants.refresh_tokens(first, fetch=fetch, now=clock())
    assert second.tokens.refresh == first.tokens.refresh
    assert second.tokens.scope == "notes:read"


async def test_a_token_without_an_expiry_is_used_until_it_is_refused(world, sign_in, clock):
    world.habits.lifetime_s = None
    made = await sign_in()
    assert made.tokens.expires_at is None
    assert not made.tokens.is_due(clock.move(days=1_000))


@pytest.mark.parametrize(
    ("lifetime_s", "due_after_s", "not_yet_s"),
    [(3_600, 3_541, 3_539), (10, 8.1, 7.9), (0, 0, -1)],
)
def test_tokens_are_due_a_minute_or_a_fifth_of_their_life_ahead(
    clock, lifetime_s, due_after_s, not_yet_s
):
    tokens = OAuthTokens(
        access="t", expires_at=clock() + timedelta(seconds=lifetime_s), lifetime_s=lifetime_s
    )
    assert not tokens.is_due(clock() + timedelta(seconds=not_yet_s))
    assert tokens.is_due(clock() + timedelta(seconds=due_after_s))


def answering(status, body):
    async def fetch(*_, **__):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return FetchedResponse(status=status, body=raw)

    return fetch


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_a_refusal_ends_a_sign_in_and_repeats_no_secret(clock, status):
    said = {"error": "invalid_grant", "error_description": f"unknown token {SECRETS[1]}"}
    with pytest.raises(
        AuthorizationRefused, match=r"invalid_grant: unknown token \[redacted\]"
    ) as caught:
        await grants.refresh_tokens(SIGN_IN, fetch=answering(status, said), now=clock())
    assert not any(secret in str(caught.value) for secret in SECRETS)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, {"error": "invalid_grant"}),
        (429, {}),
        (404, {}),
        (307, {}),
        (400, b"<html>a proxy</html>"),
        (401, {"message": "no"}),
        (400, {"error": "temporarily_unavailable"}),
        (200, b"not json"),
        (200, {}),
        (200, {"access_token": 7}),
        (200, {"access_token": "a b"}),
        (200, {"access_token": "a\r\nX-Evil: 1"}),
        (200, {"access_token": "a" * 70_000}),
        (200, {"access_token": "a", "refresh_token": "r" * 70_000}),
        (200, {"access_token": "a", "token_type": "DPoP"}),
        (200, {"access_token": "a", "expires_in": "soon"}),
        (200, {"access_token": "a", "refresh_token": "\x00"}),
        (200, {"access_token": "a", "expires_in": float("nan")}),
        (200, {"access_token": "a", "expires_in": "nan"}),
        (200, {"access_token": "a", "expires_in": float("inf")}),
        (200, {"access_token": "a", "scope": "read \ud83d"}),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_anything_else_leaves_the_sign_in_as_it_was(clock, status, body):
    with pytest.raises(AuthorizationServerUnreachable) as caught:
        await grants.refresh_tokens(SIGN_IN, fetch=answering(status, body), now=clock())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("said", "lasts_s"), [(-5, 0.0), (1e300, grants.MAX_LIFETIME_S)])
async def test_a_token_lasts_neither_less_than_no_time_nor_for_ever(clock, said, lasts_s):
    answer = answering(200, {"access_token": "a", "expires_in": said})
    renewed = await grants.refresh_tokens(SIGN_IN, fetch=answer, now=clock())
    assert renewed.tokens.expires_at == clock() + timedelta(seconds=lasts_s)


async def test_the_token_endpoint_is_not_followed_elsewhere(world, sign_in, fetch, clock):
    made = await sign_in()
    world.habits.token_redirect = f"{world.base}/as/elsewhere"
    with pytest.raises(AuthorizationServerUnreachable, match="status 307"):
        await grants.refresh_tokens(made, fetch=fetch, now=clock())
    assert world.count("/as/elsewhere") == 0


async def test_tokens_are_revoked(world, sign_in, fetch):
    made = await sign_in()
    assert await grants.revoke_tokens(made, fetch=fetch)
    assert world.revoked == [made.tokens.refresh, made.tokens.access]


async def test_a_failed_revocation_is_reported(world, sign_in, fetch):
    world.habits.revokes = False
    assert not await grants.revoke_tokens(await sign_in(), fetch=fetch)
    gone = replace(SIGN_IN, server=replace(SERVER, revocation_endpoint="https://as.example/r"))

    async def unreachable(*_, **__):
        raise SignInFailed("down")

    assert not await grants.revoke_tokens(gone, fetch=unreachable)


def test_no_secret_shows_when_values_are_printed():
    attempt, *_ = authorization.begin_sign_in(
        ALL,
        discovery.DiscoveredProtection(resource="https://mcp.example", server=SERVER),
        client=SIGN_IN.client,
        redirect_uri=REDIRECT,
        scope="",
    )
    printed = repr(SIGN_IN) + repr(attempt)
    assert not any(secret in printed for secret in (*SECRETS, attempt.verifier))
