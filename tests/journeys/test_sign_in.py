"""Remote servers that are called on behalf of people who signed in to them."""

import asyncio
from contextlib import asynccontextmanager
from itertools import count

import pytest

from gateway_project.access import callers
from gateway_project.foundation import notify
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.use_cases import sign_in
from gateway_project.use_cases.sign_in import SignInDependencies
from tests.factories import ServerFactory, UserFactory
from tests.patience import PATIENCE_S
from tests.servers import oauth_world
from tests.upstream_calls import call_tool, make_caller
from tools.models import ServerSignIn
from tools.sign_in_store import make_remote_with_sign_ins
from tools.store import servers
from tools.upstream.errors import SignInRequired
from tools.upstream.http.client import HttpClient
from tools.upstream.network import NetworkRules
from tools.upstream.pool import UpstreamPool

pytestmark = pytest.mark.django_db(transaction=True)

REDIRECT = "http://127.0.0.1:8420/sign-in/callback"


@pytest.fixture
async def world():
    async with oauth_world.running() as running:
        yield running


@pytest.fixture
def people(world):
    """Store people and a server that they sign in to."""

    async def store(authorization):
        def write():
            UserFactory(username="root", superuser=True)
            UserFactory(username="ann")
            UserFactory(username="bob")
            ServerFactory(
                name="notes",
                transport="http",
                command="",
                url=world.mcp_url,
                private_network=True,
                authorization=authorization,
            )

        await run_in_database_thread(write)

    return store


@pytest.fixture
def signs_in(sealer, clock):
    """Have a person sign in, as the console or the command does: `await signs_in("ann")`."""

    async def run(user):
        http = HttpClient()
        means = SignInDependencies(http_client=http, sealer=sealer, clock=clock)
        caller = await run_in_database_thread(callers.caller_for_user, user, kind="console")
        server = await run_in_database_thread(
            sign_in.find_server, caller, sealer=sealer, name="notes"
        )
        begun = await sign_in.begin_sign_in(
            caller, server, redirect_uri=REDIRECT, dependencies=means
        )
        _, answer = await oauth_world.consent(begun.browser_url, user=user)
        await sign_in.finish_sign_in(caller, answer, dependencies=means)
        await http.aclose()

    return run


class Gateway:
    """A process that calls servers and follows what others change."""

    def __init__(self, pool, heard):
        self.pool = pool
        self._heard = heard
        self._marks = count()

    async def call(self, user=""):
        result = await call_tool(self.pool, "notes", "whoami", {}, caller=make_caller(user))
        return result.raw["content"][0]["text"]

    async def notices(self):
        """Wait until what was changed last has been heard of."""
        mark = f"mark {next(self._marks)}"
        await run_in_database_thread(notify.send_notification, notify.CATALOGUE, mark)
        while await self._heard.get() != mark:  # what was said before may be older
            continue


@pytest.fixture
def gateway(sealer, clock):
    @asynccontextmanager
    async def run():
        specs = await run_in_database_thread(
            servers.load_specs,
            sealer=sealer,
            connect_timeout_s=PATIENCE_S,
            call_timeout_s=PATIENCE_S,
        )
        heard = asyncio.Queue()
        async with (
            asyncio.timeout(PATIENCE_S),
            make_remote_with_sign_ins(
                sealer=sealer, rules=NetworkRules(), listing_user="", clock=clock
            ) as (
                remote,
                sign_ins,
            ),
            UpstreamPool(specs, remote=remote) as pool,
            asyncio.TaskGroup() as group,
        ):

            async def reload(event=None):
                await sign_ins.reload()
                heard.put_nowait(event and event.payload)

            listener = notify.NotificationListener(
                (notify.CATALOGUE,), on_event=reload, on_resync=reload
            )
            listening = group.create_task(listener.run())
            await heard.get()
            yield Gateway(pool, heard)
            listening.cancel()

    return run


async def test_a_sign_in_is_used_renewed_ended_and_made_again(
    world, people, signs_in, gateway, clock
):
    await people("oauth")
    async with gateway() as running:
        with pytest.raises(SignInRequired, match=r"there is none.*manage\.py sign_in notes"):
            await running.call()

        await signs_in("root")
        await running.notices()
        assert await running.call() == "root"
        clock.move(minutes=30)
        world.end_access_tokens()  # found out by a 401, and mended without anybody noticing
        assert await running.call() == "root"
        clock.move(minutes=59, seconds=30)  # renewed ahead of its end
        assert await running.call() == "root"
        assert [form["grant_type"] for form in world.token_forms] == [
            "authorization_code", "refresh_token", "refresh_token"
        ]  # fmt: skip

        clock.move(hours=2)
        world.habits.refuses_refresh = True
        for _ in range(2):
            with pytest.raises(SignInRequired, match=r"sign-in has ended.*invalid_grant"):
                await running.call()
        assert len(world.token_forms) == 4

        world.habits.refuses_refresh = False
        await signs_in("root")
        await running.notices()
        assert await running.call() == "root"


async def test_two_gateways_renew_once_and_both_go_on(world, people, signs_in, gateway, clock):
    await people("oauth")
    await signs_in("root")
    async with gateway() as one, gateway() as other:
        for _ in range(3):
            clock.move(hours=2)
            async with asyncio.TaskGroup() as group:
                calls = [group.create_task(each.call()) for each in (one, other) * 4]
            assert {each.result() for each in calls} == {"root"}
    assert len(world.token_forms) == 4
    assert not world.grants[0].revoked


async def test_nobody_is_served_with_anothers_rights(world, people, signs_in, gateway, clock):
    await people("oauth_per_user")
    await signs_in("ann")
    async with gateway() as running:
        assert await running.call("ann") == "ann"
        with pytest.raises(SignInRequired, match=r"bob has none yet.*--user bob"):
            await running.call("bob")
        await signs_in("bob")
        await running.notices()
        for hours in (0, 2):
            clock.move(hours=hours)
            async with asyncio.TaskGroup() as group:
                calls = {
                    group.create_task(running.call(user)): user for user in ("ann", "bob") * 4
                }
            assert {user: task.result() for task, user in calls.items()} == {
                "ann": "ann",
                "bob": "bob",
            }


async def test_what_a_person_forgot_is_used_no_more(world, people, signs_in, gateway, sealer):
    await people("oauth_per_user")
    await signs_in("ann")
    async with gateway() as running:
        assert await running.call("ann") == "ann"
        await run_in_database_thread(ServerSignIn.objects.all().delete)
        await running.notices()
        with pytest.raises(SignInRequired, match="ann has none yet"):
            await running.call("ann")
