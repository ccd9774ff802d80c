import json

import pytest

from tools.upstream.http.address import resolve
from tools.upstream.http.client import Fetched
from tools.upstream.oauth import discovery, probe
from tools.upstream.oauth.challenge import Challenge
from tools.upstream.oauth.failures import SignInFailed, Unreachable
from tools.upstream.spec import ServerSpec

NOTHING_SAID = Challenge()


@pytest.fixture
def discover(world, fetch):
    async def run(challenge=NOTHING_SAID):
        return await discovery.discover(world.mcp_url, challenge=challenge, fetch=fetch)

    return run


async def test_the_place_that_the_challenge_names_is_asked_first(world, discover):
    place = f"{world.base}/.well-known/oauth-protected-resource/elsewhere/mcp"
    found = await discover(Challenge(resource_metadata=place))
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
    assert found.described


async def test_one_that_publishes_nothing_has_default_endpoints(world, discover):
    world.habits.describes_resource, world.habits.metadata_at = False, "nowhere"
    found = await discover()
    assert found.server.registration_endpoint == f"{world.base}/register"
    assert (found.server.authorization_endpoint, found.server.token_endpoint) == (
        f"{world.base}/authorize",
        f"{world.base}/token",
    )
    assert not found.described


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
    assert not found.described  # the redirect was not followed, so nothing was found


async def test_an_authorization_server_inside_the_network_is_not_asked(world, fetch):
    async def named(method, url, **options):
        if "oauth-protected-resource" in url:
            body = (
                f'{{"resource": "{world.mcp_url}", "authorization_servers": ["https://10.0.0.1"]}}'
            )
            return Fetched(status=200, body=body.encode())
        return await fetch(method, url, **options)

    with pytest.raises(SignInFailed, match=r"10\.0\.0\.1, which is private"):
        await discovery.discover(world.mcp_url, challenge=NOTHING_SAID, fetch=named)


def answers(documents):
    """Serve JSON from a table of addresses; an exception is raised; all else is not there."""

    async def fetch(_method, url, **_):
        found = documents.get(url, Fetched(status=404))
        if isinstance(found, Exception):
            raise found
        return found

    return fetch


URL = "https://mcp.example/mcp"
RESOURCE_AT = "https://mcp.example/.well-known/oauth-protected-resource"
AS = "https://as.example"
AS_AT = f"{AS}/.well-known/oauth-authorization-server"


def described(*servers, resource="https://mcp.example"):
    return Fetched(
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
    return Fetched(status=200, body=json.dumps(body).encode())


async def find(documents):
    return await discovery.discover(URL, challenge=NOTHING_SAID, fetch=answers(documents))


async def test_the_root_of_the_server_is_asked_last():
    found = await find({RESOURCE_AT: described(AS), AS_AT: metadata()})
    assert found.resource == "https://mcp.example"
    assert found.server.issuer == AS


async def test_the_next_authorization_server_is_taken_where_one_cannot_be_used():
    found = await find({RESOURCE_AT: described("https://gone.example", AS), AS_AT: metadata()})
    assert found.server.issuer == AS


async def test_an_identifier_is_compared_character_by_character():
    with pytest.raises(SignInFailed, match="must not be used"):
        await find({RESOURCE_AT: described(f"{AS}/"), AS_AT: metadata()})


async def test_endpoints_that_are_not_encrypted_are_refused():
    documents = {RESOURCE_AT: described(AS), AS_AT: metadata(token_endpoint="http://as.example/t")}
    with pytest.raises(SignInFailed, match="token_endpoint is not encrypted"):
        await find(documents)


async def test_a_server_that_names_no_authorization_server_is_no_use():
    with pytest.raises(SignInFailed, match="names no authorization server"):
        await find({RESOURCE_AT: described()})


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_server_in_trouble_is_not_taken_for_one_of_an_older_protocol(status):
    with pytest.raises(Unreachable, match=f"status {status}"):
        await find({RESOURCE_AT: Fetched(status=status)})


async def test_trouble_at_one_place_does_not_hide_the_next():
    documents = {
        RESOURCE_AT: described(AS),
        AS_AT: Unreachable("hangs"),
        f"{AS}/.well-known/openid-configuration": metadata(),
    }
    assert (await find(documents)).server.issuer == AS


async def test_trouble_at_every_place_is_told():
    with pytest.raises(SignInFailed, match="hangs"):
        await find({RESOURCE_AT: described(AS), AS_AT: Unreachable("hangs")})


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"issuer": 1}', b"[" * 100_000])
async def test_a_page_that_is_no_metadata_is_passed_over(body):
    documents = {
        RESOURCE_AT: described(AS),
        AS_AT: Fetched(status=200, body=body),
        f"{AS}/.well-known/openid-configuration": metadata(),
    }
    assert (await find(documents)).server.issuer == AS


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_server_is_asked_what_it_wants(world, fetch, transport):
    spec = ServerSpec(name="notes", transport=transport, url=world.mcp_url)
    status, said = await probe.ask(resolve(spec, {}), transport=transport, fetch=fetch)
    assert (status, said.scope) == (401, "notes:read")
    assert said.resource_metadata.endswith("/.well-known/oauth-protected-resource/mcp")
