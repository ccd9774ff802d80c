import json
from dataclasses import replace

import pytest

from tests.tools.upstream.oauth.conftest import REDIRECT
from tools.upstream.http.client import Fetched
from tools.upstream.oauth import clients, discovery
from tools.upstream.oauth.challenge import Challenge
from tools.upstream.oauth.clients import Identity
from tools.upstream.oauth.failures import SignInFailed
from tools.upstream.oauth.values import AuthorizationServer, Client

DOCUMENT = "https://foregate.example/sign-in/client.json"
SERVER = AuthorizationServer(
    issuer="https://as.example",
    authorization_endpoint="https://as.example/authorize",
    token_endpoint="https://as.example/token",
)


async def nothing(*_, **__):
    raise AssertionError("nobody is to be asked")


async def choose(identity, server=SERVER, redirect_uri=REDIRECT, fetch=nothing):
    return await clients.choose(identity, server, redirect_uri=redirect_uri, scope="", fetch=fetch)


@pytest.fixture
def register(world, fetch):
    async def run(redirect_uri=REDIRECT, **identity):
        found = await discovery.discover(world.mcp_url, challenge=Challenge(), fetch=fetch)
        return await choose(Identity(**identity), found.server, redirect_uri, fetch)

    return run


async def test_what_a_person_entered_comes_before_all_else():
    able = replace(SERVER, reads_documents=True, registration_endpoint="https://as.example/r")
    chosen = await choose(Identity(client_id="mine", document=DOCUMENT), able)
    assert chosen == Client(client_id="mine", source="entered")


@pytest.mark.parametrize(
    ("methods", "method"),
    [
        ((), "client_secret_basic"),  # the default of RFC 8414
        (("client_secret_post",), "client_secret_post"),
        (("client_secret_post", "client_secret_basic"), "client_secret_basic"),
        (("private_key_jwt",), "client_secret_basic"),
    ],
)
async def test_a_secret_is_given_in_the_way_the_authorization_server_understands(methods, method):
    identity = Identity(client_id="mine", secret="hush")
    chosen = await choose(identity, replace(SERVER, methods=methods))
    assert (chosen.method, chosen.secret) == (method, "hush")


async def test_a_client_id_is_not_carried_to_another_authorization_server():
    with pytest.raises(SignInFailed, match=r"is https://as\.example now, but"):
        await choose(Identity(client_id="mine", entered_for="https://former.example"))
    same = Identity(client_id="mine", entered_for=SERVER.issuer)
    assert (await choose(same)).client_id == "mine"


async def test_our_document_is_used_where_it_is_read():
    able = replace(SERVER, reads_documents=True, registration_endpoint="https://as.example/r")
    chosen = await choose(Identity(document=DOCUMENT), able)
    assert chosen == Client(client_id=DOCUMENT, source="document")


async def test_a_document_that_others_cannot_read_is_not_used(world, register):
    world.habits.reads_documents = True
    assert (await register()).source == "dynamic"


async def test_we_register_as_a_last_resort(world, register):
    chosen = await register()
    assert chosen == Client(
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


async def test_a_client_that_was_registered_for_the_same_way_back_is_used_again(world, register):
    former = await register()
    assert await register(known={world.issuer: former}) == former
    other = await register("http://127.0.0.1:1/callback", known={world.issuer: former})
    assert other.client_id == "client-2"
    assert (await register(known={"https://other.example": former})).client_id == "client-3"


async def test_a_secret_is_taken_where_public_clients_are_not(world, register):
    world.habits.methods = ["client_secret_post"]
    chosen = await register()
    assert (chosen.method, chosen.secret) == ("client_secret_post", "secret of client-1: 100%")
    assert "secret of" not in repr(chosen)


async def test_one_that_knows_us_in_no_way_is_told_with_what_to_enter(world, register):
    world.habits.registers = False
    with pytest.raises(SignInFailed, match=f"redirect address {REDIRECT}"):
        await register()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((400, {"error": "invalid_redirect_uri"}), r"status 400: invalid_redirect_uri\)"),
        ((404, {}), "status 404"),
        ((201, {"client_id": ""}), "status 201"),
        (
            (201, {"client_id": "c", "token_endpoint_auth_method": "private_key_jwt"}),
            "private_key",
        ),
        ((201, {"client_id": "c", "token_endpoint_auth_method": "client_secret_post"}), "by hand"),
    ],
)
async def test_a_registration_that_cannot_be_used_is_told(answer, said):
    async def fetch(*_, **__):
        return Fetched(status=answer[0], body=json.dumps(answer[1]).encode())

    able = replace(SERVER, registration_endpoint="https://as.example/register")
    with pytest.raises(SignInFailed, match=said):
        await choose(Identity(), able, fetch=fetch)


def test_our_document_names_itself_and_every_way_back():
    said = clients.document(DOCUMENT, redirect_uris=(REDIRECT,), home="https://foregate.example")
    assert said["client_id"] == DOCUMENT
    assert said["redirect_uris"] == [REDIRECT]
    assert said["token_endpoint_auth_method"] == "none"
    assert {"client_name", "client_uri", "grant_types", "response_types"} <= said.keys()
