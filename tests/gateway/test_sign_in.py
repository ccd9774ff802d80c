from datetime import UTC, datetime

import pytest
from django.conf import settings as django_settings

from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.models import AuditEntry
from gateway_project.use_cases import sign_in
from gateway_project.use_cases.sign_in import (
    SignInDependencies,
    SignInNotApplicable,
    SignInNotPermitted,
)
from tests.factories import ServerFactory, TeamFactory, UserFactory
from tests.servers import oauth_world
from tools.models import Server, SignInAttempt
from tools.store import sign_ins
from tools.store.sign_ins import NoSuchSignIn
from tools.upstream.errors import UnsetVariable
from tools.upstream.http.client import HttpClient
from tools.upstream.oauth.values import AuthorizationRefused, SignInFailed, SignInKey

pytestmark = pytest.mark.django_db(transaction=True)

REDIRECT = "http://127.0.0.1:8420/sign-in/callback"
PUBLIC = "https://foregate.example"
ROOT = Caller(user="root", team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="console")
ANN = Caller(
    user="ann", team=None, person=None, scopes=frozenset({"search", "call"}), kind="console"
)
BOB = Caller(
    user="bob", team=None, person=None, scopes=frozenset({"search", "call"}), kind="console"
)


def store(world, **values):
    UserFactory(username="root", superuser=True)
    UserFactory(username="ann")
    UserFactory(username="bob")
    entry = {
        "name": "notes",
        "transport": "http",
        "command": "",
        "url": world.mcp_url,
        "private_network": True,
        "authorization": "oauth",
    }
    return ServerFactory(**(entry | values))


@pytest.fixture
async def world():
    async with oauth_world.running() as running:
        yield running


@pytest.fixture
async def means(sealer, clock):
    http = HttpClient()
    yield SignInDependencies(http_client=http, sealer=sealer, clock=clock, environ={"PORT": "1"})
    await http.aclose()


@pytest.fixture
def server(sealer):
    async def find(caller=ROOT, name="notes"):
        return await run_in_database_thread(sign_in.find_server, caller, sealer=sealer, name=name)

    return find


@pytest.fixture
def run(means, server):
    """Sign in from beginning to end: `await run(ANN)`."""

    async def whole(caller=ROOT, *, used=means, redirect_uri=REDIRECT):
        begun = await sign_in.begin_sign_in(
            caller, await server(caller), redirect_uri=redirect_uri, dependencies=used
        )
        _, answer = await oauth_world.consent(begun.browser_url, user=caller.user)
        return await sign_in.finish_sign_in(caller, answer, dependencies=used)

    return whole


def audited():
    return list(AuditEntry.objects.order_by("pk").values_list("action", "subject", "detail"))


async def test_a_shared_sign_in_by_a_superuser_is_audited(world, run, sealer, clock):
    await run_in_database_thread(store, world)
    key, done = await run()
    assert (key, done.server.issuer, done.tokens.scope) == (
        SignInKey("notes", ""),
        world.issuer,
        "notes:read",
    )
    assert done.tokens.refresh
    kept = await run_in_database_thread(sign_ins.load_sign_in, key, sealer=sealer)
    assert kept.sign_in.tokens.access.startswith("access-root-")
    assert kept.sign_in.resource == world.mcp_url
    assert await run_in_database_thread(audited) == [("sign_in.made", "notes", {"for": "all"})]


async def test_users_sign_in_for_themselves(world, run, sealer):
    await run_in_database_thread(store, world, authorization="oauth_per_user")
    for caller in (ANN, BOB):
        key, _ = await run(caller)
        assert key == SignInKey("notes", caller.user)
        kept = await run_in_database_thread(sign_ins.load_sign_in, key, sealer=sealer)
        assert kept.sign_in.tokens.access.startswith(f"access-{caller.user}-")
    assert len(world.clients) == 1  # registered once, for the same way back


async def test_a_shared_sign_in_requires_a_superuser(world, server, means):
    await run_in_database_thread(store, world)
    found = await server(ANN)
    with pytest.raises(SignInNotPermitted, match="only a superuser"):
        await sign_in.begin_sign_in(ANN, found, redirect_uri=REDIRECT, dependencies=means)
    with pytest.raises(SignInNotPermitted):
        await sign_in.forget_sign_in(ANN, found, dependencies=means)
    assert world.seen == []


async def test_a_server_of_another_team_does_not_exist(world, server):
    await run_in_database_thread(lambda: store(world, team=TeamFactory()))
    with pytest.raises(NoSuchSignIn, match="no server 'notes'"):
        await server(ANN)
    assert (await server(ROOT)).name == "notes"


async def test_only_remote_servers_with_oauth_accept_a_sign_in(world, server, means):
    await run_in_database_thread(store, world, authorization="none")
    await run_in_database_thread(ServerFactory, name="local")
    for name, said in (("notes", "called without a sign-in"), ("local", "started by a command")):
        with pytest.raises(SignInNotApplicable, match=said):
            await sign_in.begin_sign_in(
                ROOT, await server(name=name), redirect_uri=REDIRECT, dependencies=means
            )


async def test_signing_in_is_switched_on_by_a_superuser_and_written_down(world, server):
    await run_in_database_thread(store, world, authorization="none")
    with pytest.raises(SignInNotPermitted):
        await run_in_database_thread(sign_in.set_sign_in_mode, ANN, await server(ANN), "oauth")
    await run_in_database_thread(sign_in.set_sign_in_mode, ROOT, await server(), "oauth_per_user")
    assert (await server()).mode == "oauth_per_user"
    changed = ("server.changed", "notes", {"changed": ["authorization"]})
    assert await run_in_database_thread(audited) == [changed]
    await run_in_database_thread(ServerFactory, name="local")
    with pytest.raises(SignInNotApplicable):
        await run_in_database_thread(
            sign_in.set_sign_in_mode, ROOT, await server(name="local"), "oauth"
        )


async def test_a_callback_is_accepted_once_from_its_user_in_time(world, server, means, clock):
    await run_in_database_thread(store, world, authorization="oauth_per_user")
    begun = await sign_in.begin_sign_in(
        ANN, await server(ANN), redirect_uri=REDIRECT, dependencies=means
    )
    _, answer = await oauth_world.consent(begun.browser_url)
    for caller, given in ((BOB, answer), (ANN, {}), (ANN, {**answer, "state": "guessed"})):
        with pytest.raises(SignInFailed, match="started by someone else"):
            await sign_in.finish_sign_in(caller, given, dependencies=means)
    await sign_in.finish_sign_in(ANN, answer, dependencies=means)
    with pytest.raises(SignInFailed, match="already finished"):
        await sign_in.finish_sign_in(ANN, answer, dependencies=means)
    begun = await sign_in.begin_sign_in(
        ANN, await server(ANN), redirect_uri=REDIRECT, dependencies=means
    )
    _, answer = await oauth_world.consent(begun.browser_url)
    clock.move(minutes=11)
    with pytest.raises(SignInFailed, match="longer than 10 minutes"):
        await sign_in.finish_sign_in(ANN, answer, dependencies=means)
    assert len(world.token_forms) == 1


async def test_a_response_of_another_authorization_server_never_sees_the_code(world, run):
    await run_in_database_thread(store, world)
    world.habits.sent_iss = "https://evil.example"
    with pytest.raises(SignInFailed, match="dropped"):
        await run()
    assert world.token_forms == []
    assert not await run_in_database_thread(SignInAttempt.objects.exists)


async def test_a_declined_authorization_is_reported(world, run):
    await run_in_database_thread(store, world)
    world.habits.denies = "access_denied"
    with pytest.raises(AuthorizationRefused, match=r"access_denied: the user\[2J said no"):
        await run()


async def test_a_server_that_changed_meanwhile_is_not_signed_in_to(world, server, means):
    await run_in_database_thread(store, world)
    begun = await sign_in.begin_sign_in(
        ROOT, await server(), redirect_uri=REDIRECT, dependencies=means
    )
    _, answer = await oauth_world.consent(begun.browser_url)
    await run_in_database_thread(sign_ins.set_mode, (await server()).pk, "oauth_per_user")
    with pytest.raises(SignInFailed, match="changed meanwhile"):
        await sign_in.finish_sign_in(ROOT, answer, dependencies=means)
    assert world.token_forms == []


async def test_a_server_without_authorization_is_reported(world, server, means):
    await run_in_database_thread(store, world, url=f"{world.base}/nothing/here")
    with pytest.raises(SignInFailed, match="does not ask for a sign-in"):
        await sign_in.begin_sign_in(
            ROOT, await server(), redirect_uri=REDIRECT, dependencies=means
        )


async def test_an_address_that_refers_to_a_variable_is_read(world, server, means):
    await run_in_database_thread(store, world, url="http://127.0.0.1:${MISSING}/mcp")
    with pytest.raises(UnsetVariable, match="MISSING"):
        await sign_in.begin_sign_in(
            ROOT, await server(), redirect_uri=REDIRECT, dependencies=means
        )


async def test_a_private_address_needs_to_be_allowed(world, server, means):
    await run_in_database_thread(store, world, private_network=False)
    with pytest.raises(SignInFailed, match="private network"):
        await sign_in.begin_sign_in(
            ROOT, await server(), redirect_uri=REDIRECT, dependencies=means
        )
    assert world.seen == []


async def test_an_entered_client_is_used_and_not_carried_elsewhere(
    world, run, server, means, sealer
):
    world.habits.registers = False
    world.clients["mine"] = {
        "client_id": "mine",
        "client_secret": "s3",
        "redirect_uris": [REDIRECT],
    }
    secret = sealer.seal("s3")
    await run_in_database_thread(
        store, world, oauth_client_id="mine", oauth_client_secret_sealed=secret
    )
    await run()
    world.habits.metadata_at, world.habits.describes_resource = "origin", False  # it moved
    with pytest.raises(SignInFailed, match="the client id was used with"):
        await sign_in.begin_sign_in(
            ROOT, await server(), redirect_uri=REDIRECT, dependencies=means
        )


async def test_a_public_metadata_document_is_the_client_id(world, run, sealer, clock, means):
    config = django_settings.FOREGATE.model_copy(update={"public_url": f"{PUBLIC}/"})

    async def read(_address):
        return sign_in.build_client_document(config)

    world.habits.reads_documents, world.habits.read_document = True, read
    await run_in_database_thread(store, world)
    known = SignInDependencies(
        http_client=means.http_client,
        sealer=sealer,
        clock=clock,
        document_url=sign_in.client_document_url(config),
    )
    for way_back in (f"{PUBLIC}/sign-in/callback", "http://127.0.0.1:49152/callback"):
        await run(used=known, redirect_uri=way_back)
    kept = await run_in_database_thread(
        sign_ins.load_sign_in, SignInKey("notes", ""), sealer=sealer
    )
    assert kept.sign_in.client.client_id == f"{PUBLIC}/sign-in/client.json"
    assert world.clients == {}


@pytest.mark.parametrize("public", [None, "", "http://foregate.example", "http://127.0.0.1:8420"])
def test_without_a_public_url_there_is_no_metadata_document(public):
    config = django_settings.FOREGATE.model_copy(update={"public_url": public})
    assert sign_in.build_client_document(config) is None
    assert sign_in.client_document_url(config) == ""


async def test_signing_in_again_requests_newly_demanded_scopes(world, run, sealer):
    await run_in_database_thread(store, world)
    key = (await run())[0]

    def want():
        kept = sign_ins.load_sign_in(key, sealer=sealer).sign_in
        wanting = type(kept)(**{**vars(kept), "wanted": "notes:write"})
        sign_ins.replace_sign_in(key, wanting, instead_of=kept, sealer=sealer)

    await run_in_database_thread(want)
    assert (await run())[1].tokens.scope == "notes:read notes:write"


async def test_an_unopenable_sign_in_can_be_replaced(world, run, sealer):
    await run_in_database_thread(store, world)
    key = (await run())[0]
    await run_in_database_thread(lambda: Server.objects.get().sign_ins.update(sealed="broken"))
    assert (await run())[0] == key


async def test_forgetting_a_sign_in_revokes_tokens_and_is_audited(world, run, server, means):
    await run_in_database_thread(store, world, authorization="oauth_per_user")
    await run(ANN)
    await run(BOB)
    assert await sign_in.forget_sign_in(ANN, await server(ANN), dependencies=means) is True
    assert await sign_in.forget_sign_in(ANN, await server(ANN), dependencies=means) is None
    assert [grant.revoked for grant in world.grants] == [True, False]
    assert (await run_in_database_thread(audited))[-1] == (
        "sign_in.forgotten",
        "notes",
        {"for": "ann"},
    )


async def test_a_failed_revocation_still_forgets_the_sign_in(world, run, server, means):
    await run_in_database_thread(store, world)
    world.habits.revokes = False
    await run()
    assert await sign_in.forget_sign_in(ROOT, await server(), dependencies=means) is False
    assert await sign_in.forget_sign_in(ROOT, await server(), dependencies=means) is None


async def test_the_configured_means_reach_allowed_networks_only(world, home):
    config = django_settings.FOREGATE.model_copy(update={"allow_private": "127.0.0.0/8"})
    async with sign_in.load_dependencies(config) as used:
        assert used.document_url == ""
        assert abs((used.clock() - datetime.now(UTC)).total_seconds()) < 60
        answer = await used.http_client.fetch("GET", f"{world.base}/mcp", headers={})
    assert answer.status == 401
