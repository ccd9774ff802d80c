import json

import pytest

from tools.upstream.http.address import resolve_address
from tools.upstream.http.client import FetchedResponse
from tools.upstream.oauth import discovery
from tools.upstream.oauth.values import (
    AuthorizationServerUnreachable,
    BearerChallenge,
    SignInFailed,
)
from tools.upstream.spec import ServerSpec

NOTHING_SAID = BearerChallenge()


@pytest.fixture
def discover(world, fetch):
    async def run(challenge=NOTHING_SAID):
        return await discovery.discover_protection(world.mcp_url, challenge=challenge, fetch=fetch)

    return run


async def test_the_location_in_the_challenge_is_tried_first(world, discover):
    place = f"{world.base}/.well-known/oauth-protected-resource/elsewhere/mcp"
    found = await discover(BearerChallenge(resource_metadata=place))
    assert (found.resource, found.server.issuer) == (world.mcp_url, world.issuer)
    assert found.scopes == ("notes:read",)
    assert world.seen[0] == ("GET", "/.well-known/oauth-protected-resource/elsewhere/mcp")


@pytest.mark.parametrize("place", ["oauth-inserted", "openid-inserted", "openid-appended"])
async def test_metadata_of_the_authorization_server_is_found_at_each_of_its_places(
    world, discover, place
):
    world.habits.metadata_at = place
    found = await discover()
    assert found.server.token_endpoint == f"{world.issuer}/token"
    assert found.server.says_iss


async def test_a_server_of_2025_03_26_is_its_own_authorization_server(world, discover):
    world.habits.describes_resource, world.habits.metadata_at = False, "origin"
    found = await discover()
    assert found.server.issuer == world.base
    assert found.resource == world.mcp_url
    assert found.has_metadata


async def test_a_server_without_metadata_has_default_endpoints(world, discover):
    world.habits.describes_resource, world.habits.metadata_at = False, "nowhere"
    found = await discover()
    assert found.server.registration_endpoint == f"{world.base}/register"
    assert (found.server.authorization_endpoint, found.server.token_endpoint) == (
        f"{world.base}/authorize",
        f"{world.base}/token",
    )
    assert not found.has_metadata


@pytest.mark.parametrize(
    ("habit", "said"),
    [
        ({"resource": "https://other.example/mcp"}, "another resource"),
        ({"issuer": "https://honest.example"}, "is that of https://honest.example"),
        ({"pkce": None}, "does not support PKCE"),
        ({"pkce": ["plain"]}, "does not support PKCE"),
        ({"metadata_at": "nowhere"}, "publishes no metadata"),
        ({"metadata_bytes": 2_000_000}, "larger than"),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_metadata_that_must_not_be_used_is_refused(world, discover, habit, said):
    for name, value in habit.items():
        setattr(world.habits, name, value)
    with pytest.raises(SignInFailed, match=said) as caught:
        await discover()
    assert "\n" not in str(caught.value)


async def test_metadata_does_not_lead_to_an_address_inside_the_network(world, discover):
    world.habits.metadata_redirect = "http://169.254.169.254/latest/meta-data"
    found = await discover()
    assert not found.has_metadata  # the redirect was not followed, so nothing was found


async def test_an_authorization_server_inside_the_network_is_not_asked(world, fetch):
    async def named(method, url, **options):
        if "oauth-protected-resource" in url:
            body = (
                f'{{"resource": "{world.mcp_url}", "authorization_servers": ["https://10.0.0.1"]}}'
            )
            return FetchedResponse(status=200, body=body.encode())
        return await fetch(method, url, **options)

    with pytest.raises(SignInFailed, match=r"10\.0\.0\.1, which is private"):
        await discovery.discover_protection(world.mcp_url, challenge=NOTHING_SAID, fetch=named)


def answers(documents):
    """Serve JSON from a table of addresses; an exception is raised; all else is not there."""

    async def fetch(_method, url, **_):
        found = documents.get(url, FetchedResponse(status=404))
        if isinstance(found, Exception):
            raise found
        return found

    return fetch


URL = "https://mcp.example/mcp"
RESOURCE_AT = "https://mcp.example/.well-known/oauth-protected-resource"
AS = "https://as.example"
AS_AT = f"{AS}/.well-known/oauth-authorization-server"


def described(*servers, resource="https://mcp.example"):
    return FetchedResponse(
        status=200,
        body=json.dumps({"resource": resource, "authorization_servers": servers}).encode(),
    )


def metadata(issuer=AS, **more):
    body = {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "code_challenge_methods_supported": ["S256"],
        **more,
    }
    return FetchedResponse(status=200, body=json.dumps(body).encode())


async def find(documents):
    return await discovery.discover_protection(
        URL, challenge=NOTHING_SAID, fetch=answers(documents)
    )


async def test_the_root_of_the_server_is_tried_last():
    found = await find({RESOURCE_AT: described(AS), AS_AT: metadata()})
    assert found.resource == "https://mcp.example"
    assert found.server.issuer == AS


async def test_the_next_authorization_server_is_taken_where_one_cannot_be_used():
    found = await find({RESOURCE_AT: described("https://gone.example", AS), AS_AT: metadata()})
    assert found.server.issuer == AS


async def test_an_identifier_is_compared_but_for_a_final_slash_and_is_what_the_server_says():
    found = await find({RESOURCE_AT: described(f"{AS}/"), AS_AT: metadata()})
    assert found.server.issuer == AS
    for other in (f"{AS}//", f"{AS}/t", AS.upper()):
        with pytest.raises(SignInFailed, match="must not be used"):
            await find({RESOURCE_AT: described(AS), AS_AT: metadata(issuer=other)})


async def test_endpoints_that_are_not_encrypted_are_refused():
    documents = {RESOURCE_AT: described(AS), AS_AT: metadata(token_endpoint="http://as.example/t")}
    with pytest.raises(SignInFailed, match="token_endpoint is not encrypted"):
        await find(documents)


async def test_metadata_without_an_authorization_server_fails():
    with pytest.raises(SignInFailed, match="names no authorization server"):
        await find({RESOURCE_AT: described()})


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_failing_server_is_not_mistaken_for_one_of_an_older_protocol(status):
    with pytest.raises(AuthorizationServerUnreachable, match=f"status {status}"):
        await find({RESOURCE_AT: FetchedResponse(status=status)})


async def test_a_failing_location_does_not_hide_the_next():
    documents = {
        RESOURCE_AT: described(AS),
        AS_AT: AuthorizationServerUnreachable("hangs"),
        f"{AS}/.well-known/openid-configuration": metadata(),
    }
    assert (await find(documents)).server.issuer == AS


async def test_failures_at_all_locations_are_reported():
    with pytest.raises(SignInFailed, match="hangs"):
        await find({RESOURCE_AT: described(AS), AS_AT: AuthorizationServerUnreachable("hangs")})


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"issuer": 1}', b"[" * 100_000])
async def test_a_page_that_is_not_metadata_is_skipped(body):
    documents = {
        RESOURCE_AT: described(AS),
        AS_AT: FetchedResponse(status=200, body=body),
        f"{AS}/.well-known/openid-configuration": metadata(),
    }
    assert (await find(documents)).server.issuer == AS


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_the_probe_returns_the_servers_challenge(world, fetch, transport):
    spec = ServerSpec(name="notes", transport=transport, url=world.mcp_url)
    status, said = await discovery.probe_server(
        resolve_address(spec, {}), transport=transport, fetch=fetch
    )
    assert (status, said.scope) == (401, "notes:read")
    assert said.resource_metadata.endswith("/.well-known/oauth-protected-resource/mcp")
