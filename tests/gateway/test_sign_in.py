from datetime import UTC, datetime

import pytest
from django.conf import settings as django_settings

from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.database import in_database
from gateway_project.models import AuditEntry
from gateway_project.use_cases import sign_in
from gateway_project.use_cases.sign_in import Means, NotSignedInTo, SignInNotPermitted
from tests.factories import ServerFactory, TeamFactory, UserFactory
from tests.servers import oauth_world
from tools.models import Server, SignInAttempt
from tools.store import sign_ins
from tools.store.sign_ins import NoSuchSignIn
from tools.upstream.errors import UnsetVariable
from tools.upstream.http.client import HttpClient
from tools.upstream.oauth.failures import Refused, SignInFailed
from tools.upstream.oauth.values import Key

pytestmark = pytest.mark.django_db(transaction=True)

REDIRECT = "http://127.0.0.1:8420/sign-in/callback"
PUBLIC = "https://foregate.example"
ROOT = Caller(user="root", team=None, scopes=frozenset({SCOPE_ALL}), kind="console")
ANN = Caller(user="ann", team=None, scopes=frozenset({"search", "call"}), kind="console")
BOB = Caller(user="bob", team=None, scopes=frozenset({"search", "call"}), kind="console")


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
    yield Means(http=http, sealer=sealer, clock=clock, environ={"PORT": "1"})
    await http.aclose()


@pytest.fixture
def server(sealer):
    async def find(caller=ROOT, name="notes"):
        return await in_database(sign_in.find, caller, sealer=sealer, name=name)

    return find


@pytest.fixture
def run(means, server):
    """Sign in from beginning to end: `await run(ANN)`."""

    async def whole(caller=ROOT, *, used=means, redirect_uri=REDIRECT):
        begun = await sign_in.begin(
            caller, await server(caller), redirect_uri=redirect_uri, means=used
        )
        _, answer = await oauth_world.consent(begun.address, user=caller.user)
        return await sign_in.finish(caller, answer, means=used)

    return whole


def audited():
    return list(AuditEntry.objects.order_by("pk").values_list("action", "subject", "detail"))


async def test_a_sign_in_for_all_is_made_by_a_superuser_and_written_down(
    world, run, sealer, clock
):
    await in_database(store, world)
    done = await run()
    assert (done.key, done.issuer, done.scope) == (Key("notes", ""), world.issuer, "notes:read")
    assert done.renews
    kept = await in_database(sign_ins.load, done.key, sealer=sealer)
    assert kept.sign_in.tokens.access.startswith("access-root-")
    assert kept.sign_in.resource == world.mcp_url
    assert await in_database(audited) == [("sign_in.made", "notes", {"for": "all"})]


async def test_users_sign_in_for_themselves(world, run, sealer):
    await in_database(store, world, authorization="oauth_per_user")
    for caller in (ANN, BOB):
        done = await run(caller)
        assert done.key == Key("notes", caller.user)
        kept = await in_database(sign_ins.load, done.key, sealer=sealer)
        assert kept.sign_in.tokens.access.startswith(f"access-{caller.user}-")
    assert len(world.clients) == 1  # registered once, for the same way back


async def test_who_is_no_superuser_may_not_sign_in_for_all(world, server, means):
    await in_database(store, world)
    found = await server(ANN)
    with pytest.raises(SignInNotPermitted, match="only a superuser"):
        await sign_in.begin(ANN, found, redirect_uri=REDIRECT, means=means)
    with pytest.raises(SignInNotPermitted):
        await sign_in.forget(ANN, found, means=means)
    assert world.seen == []


async def test_a_server_of_another_team_is_not_there(world, server):
    await in_database(lambda: store(world, team=TeamFactory()))
    with pytest.raises(NoSuchSignIn, match="no server 'notes'"):
        await server(ANN)
    assert (await server(ROOT)).name == "notes"


async def test_only_remote_servers_that_want_it_are_signed_in_to(world, server, means):
    await in_database(store, world, authorization="none")
    await in_database(ServerFactory, name="local")
    for name, said in (("notes", "called without a sign-in"), ("local", "started by a command")):
        with pytest.raises(NotSignedInTo, match=said):
            await sign_in.begin(ROOT, await server(name=name), redirect_uri=REDIRECT, means=means)


async def test_signing_in_is_switched_on_by_a_superuser_and_written_down(world, server):
    await in_database(store, world, authorization="none")
    with pytest.raises(SignInNotPermitted):
        await in_database(sign_in.switch_on, ANN, await server(ANN), "oauth")
    await in_database(sign_in.switch_on, ROOT, await server(), "oauth_per_user")
    assert (await server()).mode == "oauth_per_user"
    changed = ("server.changed", "notes", {"changed": ["authorization"]})
    assert await in_database(audited) == [changed]
    await in_database(ServerFactory, name="local")
    with pytest.raises(NotSignedInTo):
        await in_database(sign_in.switch_on, ROOT, await server(name="local"), "oauth")


async def test_an_answer_is_taken_once_from_who_began_and_in_time(world, server, means, clock):
    await in_database(store, world, authorization="oauth_per_user")
    begun = await sign_in.begin(ANN, await server(ANN), redirect_uri=REDIRECT, means=means)
    _, answer = await oauth_world.consent(begun.address)
    for caller, given in ((BOB, answer), (ANN, {}), (ANN, {**answer, "state": "guessed"})):
        with pytest.raises(SignInFailed, match="not begun by you"):
            await sign_in.finish(caller, given, means=means)
    await sign_in.finish(ANN, answer, means=means)
    with pytest.raises(SignInFailed, match="finished already"):
        await sign_in.finish(ANN, answer, means=means)
    begun = await sign_in.begin(ANN, await server(ANN), redirect_uri=REDIRECT, means=means)
    _, answer = await oauth_world.consent(begun.address)
    clock.move(minutes=11)
    with pytest.raises(SignInFailed, match="longer than 10 minutes"):
        await sign_in.finish(ANN, answer, means=means)
    assert len(world.token_forms) == 1


async def test_a_response_of_another_authorization_server_never_sees_the_code(world, run):
    await in_database(store, world)
    world.habits.sent_iss = "https://evil.example"
    with pytest.raises(SignInFailed, match="dropped"):
        await run()
    assert world.token_forms == []
    assert not await in_database(SignInAttempt.objects.exists)


async def test_a_person_who_says_no_is_told_so(world, run):
    await in_database(store, world)
    world.habits.denies = "access_denied"
    with pytest.raises(Refused, match=r"access_denied: the user\[2J said no"):
        await run()


async def test_a_server_that_changed_meanwhile_is_not_signed_in_to(world, server, means):
    await in_database(store, world)
    begun = await sign_in.begin(ROOT, await server(), redirect_uri=REDIRECT, means=means)
    _, answer = await oauth_world.consent(begun.address)
    await in_database(sign_ins.set_mode, (await server()).pk, "oauth_per_user")
    with pytest.raises(SignInFailed, match="changed meanwhile"):
        await sign_in.finish(ROOT, answer, means=means)
    assert world.token_forms == []


async def test_a_server_that_asks_for_nothing_is_said_to(world, server, means):
    await in_database(store, world, url=f"{world.base}/nothing/here")
    with pytest.raises(SignInFailed, match="asks for no sign-in"):
        await sign_in.begin(ROOT, await server(), redirect_uri=REDIRECT, means=means)


async def test_an_address_that_refers_to_a_variable_is_read(world, server, means):
    await in_database(store, world, url="http://127.0.0.1:${MISSING}/mcp")
    with pytest.raises(UnsetVariable, match="MISSING"):
        await sign_in.begin(ROOT, await server(), redirect_uri=REDIRECT, means=means)


async def test_a_private_address_needs_to_be_allowed(world, server, means):
    await in_database(store, world, private_network=False)
    with pytest.raises(SignInFailed, match="private network"):
        await sign_in.begin(ROOT, await server(), redirect_uri=REDIRECT, means=means)
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
    await in_database(store, world, oauth_client_id="mine", oauth_client_secret_sealed=secret)
    await run()
    world.habits.metadata_at, world.habits.describes_resource = "origin", False  # it moved
    with pytest.raises(SignInFailed, match="the client id was used with"):
        await sign_in.begin(ROOT, await server(), redirect_uri=REDIRECT, means=means)


async def test_our_document_is_our_name_where_others_can_read_it(world, run, sealer, clock, means):
    config = django_settings.FOREGATE.model_copy(update={"public_url": f"{PUBLIC}/"})

    async def read(_address):
        return sign_in.client_document(config)

    world.habits.reads_documents, world.habits.read_document = True, read
    await in_database(store, world)
    known = Means(
        http=means.http, sealer=sealer, clock=clock, document=sign_in.document_address(config)
    )
    for way_back in (f"{PUBLIC}/sign-in/callback", "http://127.0.0.1:49152/callback"):
        await run(used=known, redirect_uri=way_back)
    kept = await in_database(sign_ins.load, Key("notes", ""), sealer=sealer)
    assert kept.sign_in.client.client_id == f"{PUBLIC}/sign-in/client.json"
    assert world.clients == {}


@pytest.mark.parametrize("public", [None, "", "http://foregate.example", "http://127.0.0.1:8420"])
def test_there_is_no_document_where_others_cannot_read_it(public):
    config = django_settings.FOREGATE.model_copy(update={"public_url": public})
    assert sign_in.client_document(config) is None
    assert sign_in.document_address(config) == ""


async def test_signing_in_again_asks_for_what_was_wanted_since(world, run, sealer):
    await in_database(store, world)
    key = (await run()).key

    def want():
        kept = sign_ins.load(key, sealer=sealer).sign_in
        wanting = type(kept)(**{**vars(kept), "wanted": "notes:write"})
        sign_ins.save(key, wanting, instead_of=kept, sealer=sealer)

    await in_database(want)
    assert (await run()).scope == "notes:read notes:write"


async def test_a_sign_in_that_no_key_opens_does_not_keep_one_from_signing_in_again(
    world, run, sealer
):
    await in_database(store, world)
    key = (await run()).key
    await in_database(lambda: Server.objects.get().sign_ins.update(sealed="broken"))
    assert (await run()).key == key


async def test_forgetting_gives_the_tokens_back_and_is_written_down(world, run, server, means):
    await in_database(store, world, authorization="oauth_per_user")
    await run(ANN)
    await run(BOB)
    assert await sign_in.forget(ANN, await server(ANN), means=means) is True
    assert await sign_in.forget(ANN, await server(ANN), means=means) is None
    assert [grant.revoked for grant in world.grants] == [True, False]
    assert (await in_database(audited))[-1] == ("sign_in.forgotten", "notes", {"for": "ann"})


async def test_what_cannot_be_given_back_is_forgotten_all_the_same(world, run, server, means):
    await in_database(store, world)
    world.habits.revokes = False
    await run()
    assert await sign_in.forget(ROOT, await server(), means=means) is False
    assert await sign_in.forget(ROOT, await server(), means=means) is None


async def test_the_configured_means_reach_allowed_networks_only(world, home):
    config = django_settings.FOREGATE.model_copy(update={"allow_private": "127.0.0.0/8"})
    async with sign_in.means(config) as used:
        assert used.document == ""
        assert abs((used.clock() - datetime.now(UTC)).total_seconds()) < 60
        answer = await used.http.fetch("GET", f"{world.base}/mcp", headers={})
    assert answer.status == 401
