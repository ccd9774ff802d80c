import json
from dataclasses import replace

import pytest

from tests.tools.upstream.oauth.conftest import REDIRECT
from tools.upstream.http.client import FetchedResponse
from tools.upstream.oauth import clients, discovery
from tools.upstream.oauth.clients import ClientIdentity
from tools.upstream.oauth.values import (
    AuthorizationServer,
    BearerChallenge,
    OAuthClient,
    SignInFailed,
)

DOCUMENT = "https://foregate.example/sign-in/client.json"
SERVER = AuthorizationServer(
    issuer="https://as.example",
    authorization_endpoint="https://as.example/authorize",
    token_endpoint="https://as.example/token",
)


async def nothing(*_, **__):
    raise AssertionError("nobody is to be asked")


async def choose(identity, server=SERVER, redirect_uri=REDIRECT, fetch=nothing):
    return await clients.choose_client(
        identity, server, redirect_uri=redirect_uri, scope="", fetch=fetch
    )


@pytest.fixture
def register(world, fetch):
    async def run(redirect_uri=REDIRECT, **identity):
        found = await discovery.discover_protection(
            world.mcp_url, challenge=BearerChallenge(), fetch=fetch
        )
        return await choose(ClientIdentity(**identity), found.server, redirect_uri, fetch)

    return run


async def test_an_entered_client_comes_first():
    able = replace(SERVER, reads_documents=True, registration_endpoint="https://as.example/r")
    chosen = await choose(ClientIdentity(client_id="mine", document=DOCUMENT), able)
    assert chosen == OAuthClient(client_id="mine", source="entered")


@pytest.mark.parametrize(
    ("methods", "method"),
    [
        ((), "client_secret_basic"),  # the default of RFC 8414
        (("client_secret_post",), "client_secret_post"),
        (("client_secret_post", "client_secret_basic"), "client_secret_basic"),
        (("private_key_jwt",), "client_secret_basic"),
    ],
)
async def test_the_client_authenticates_with_a_supported_method(methods, method):
    identity = ClientIdentity(client_id="mine", secret="hush")
    chosen = await choose(identity, replace(SERVER, methods=methods))
    assert (chosen.method, chosen.secret) == (method, "hush")


async def test_a_client_id_is_not_carried_to_another_authorization_server():
    with pytest.raises(SignInFailed, match=r"is https://as\.example now, but"):
        await choose(ClientIdentity(client_id="mine", entered_for="https://former.example"))
    same = ClientIdentity(client_id="mine", entered_for=SERVER.issuer)
    assert (await choose(same)).client_id == "mine"


async def test_our_metadata_document_is_used_where_supported():
    able = replace(SERVER, reads_documents=True, registration_endpoint="https://as.example/r")
    chosen = await choose(ClientIdentity(document=DOCUMENT), able)
    assert chosen == OAuthClient(client_id=DOCUMENT, source="document")


async def test_a_document_that_others_cannot_read_is_not_used(world, register):
    world.habits.reads_documents = True
    assert (await register()).source == "dynamic"


async def test_we_register_as_a_last_resort(world, register):
    chosen = await register()
    assert chosen == OAuthClient(
        client_id="client-1", source="dynamic", redirect_uris=(REDIRECT,), method="none"
    )
    asked = world.clients["client-1"]
    assert asked["application_type"] == "native"
    assert asked["grant_types"] == ["authorization_code", "refresh_token"]


async def test_a_console_that_is_not_on_this_machine_registers_as_a_web_application(
    world, register
):
    await register("https://foregate.example/sign-in/callback")
    assert world.clients["client-1"]["application_type"] == "web"


async def test_a_client_registered_for_the_same_redirect_address_is_reused(world, register):
    former = await register()
    assert await register(known={world.issuer: former}) == former
    other = await register("http://127.0.0.1:1/callback", known={world.issuer: former})
    assert other.client_id == "client-2"
    assert (await register(known={"https://other.example": former})).client_id == "client-3"


async def test_a_client_secret_is_accepted_where_public_clients_are_not_supported(world, register):
    world.habits.methods = ["client_secret_post"]
    chosen = await register()
    assert (chosen.method, chosen.secret) == ("client_secret_post", "secret of client-1: 100%")
    assert "secret of" not in repr(chosen)


async def test_without_any_client_identity_the_error_says_what_to_enter(world, register):
    world.habits.registers = False
    with pytest.raises(SignInFailed, match=f"redirect address {REDIRECT}"):
        await register()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((400, {"error": "invalid_redirect_uri"}), r"status 400: invalid_redirect_uri\)"),
        ((404, {}), "status 404"),
        ((201, {"client_id": ""}), "status 201"),
        ((201, {"client_id": "x" * 200_000}), "unusable client id"),
        ((201, {"client_id": "x\n"}), "unusable client id"),
        ((201, {"client_id": "x", "client_secret": "é"}), "unusable client id or secret"),
        ((201, {"client_id": "\ud83d"}), "status 201"),
        (
            (201, {"client_id": "c", "token_endpoint_auth_method": "private_key_jwt"}),
            "private_key",
        ),
        (
            (201, {"client_id": "c", "token_endpoint_auth_method": "client_secret_post"}),
            ("manually"),
        ),
    ],
)
async def test_an_unusable_registration_is_reported(answer, said):
    async def fetch(*_, **__):
        return FetchedResponse(status=answer[0], body=json.dumps(answer[1]).encode())

    able = replace(SERVER, registration_endpoint="https://as.example/register")
    with pytest.raises(SignInFailed, match=said):
        await choose(ClientIdentity(), able, fetch=fetch)


def test_our_metadata_document_names_itself_and_all_redirect_addresses():
    said = clients.client_metadata_document(
        DOCUMENT, redirect_uris=(REDIRECT,), home="https://foregate.example"
    )
    assert said["client_id"] == DOCUMENT
    assert said["redirect_uris"] == [REDIRECT]
    assert said["token_endpoint_auth_method"] == "none"
    assert {"client_name", "client_uri", "grant_types", "response_types"} <= said.keys()
