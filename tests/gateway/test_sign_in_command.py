import asyncio
import io
import json
import re

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from gateway_project.access import callers
from gateway_project.foundation import sealing
from gateway_project.foundation.database import run_in_database_thread
from tests.factories import ServerFactory, UserFactory
from tests.patience import PATIENCE_S
from tests.servers import oauth_world
from tools.models import Server
from tools.store import sign_ins
from tools.upstream.oauth.values import SignInKey

pytestmark = pytest.mark.django_db(transaction=True)


class Terminal(io.StringIO):
    """A terminal's output that says when an address has been written to it."""

    def __init__(self):
        super().__init__()
        self.loop = asyncio.get_running_loop()
        self.invited = self.loop.create_future()

    def write(self, text):
        found = re.search(r"^http://\S+/authorize\S+$", text, re.MULTILINE)
        if found:
            self.loop.call_soon_threadsafe(self.invited.set_result, found[0])
        return super().write(text)


@pytest.fixture
async def world():
    async with oauth_world.running() as running:
        yield running


@pytest.fixture
def rows(world, home):
    async def store(**values):
        entry = {
            "name": "notes",
            "transport": "http",
            "command": "",
            "url": world.mcp_url,
            "private_network": True,
            "authorization": "none",
        }

        def write():
            UserFactory(username="ann")
            return ServerFactory(**(entry | values))

        return await run_in_database_thread(write)

    return store


@pytest.fixture
def sign_in():
    """Run the command as a person does who opens the address it prints."""

    async def run(*arguments):
        out, terminal = io.StringIO(), Terminal()
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            command = group.create_task(
                run_in_database_thread(
                    call_command, "sign_in", *arguments, stdout=out, stderr=terminal
                )
            )
            back, answer = await oauth_world.consent(await terminal.invited)
            async with (
                oauth_world.aiohttp.ClientSession() as session,
                session.get(back, params=answer) as page,
            ):
                assert page.status == 200
            await command
        return out.getvalue(), terminal.getvalue()

    return run


async def test_a_person_signs_in_from_a_terminal_without_a_console(world, rows, sign_in, home):
    await rows()
    with pytest.raises(CommandError, match=r"authorization none; set it to oauth with --yes"):
        await run_in_database_thread(call_command, "sign_in", "notes")
    out, said = await sign_in("notes", "--yes")
    assert f"Signed in to notes at {world.issuer} for all users; scopes: notes:read." in out
    assert "manage.py discover notes" in out
    assert "paste it here" in said
    assert (await run_in_database_thread(Server.objects.get)).authorization == "oauth"

    out, _ = await sign_in("notes", "--json")
    report = json.loads(out)
    assert (report["server"], report["user"], report["renews"]) == ("notes", None, True)
    for forgotten, said in ((True, "revoked the tokens"), (False, "There was no sign-in")):
        shown = io.StringIO()
        await run_in_database_thread(call_command, "sign_in", "notes", "--forget", stdout=shown)
        assert said in shown.getvalue(), forgotten


async def test_a_user_signs_in_for_themselves(world, rows, sign_in, home):
    await rows()
    world.habits.refreshes, world.habits.lifetime_s = False, 60
    out, _ = await sign_in("notes", "--user", "ann", "--yes")
    assert "for ann" in out
    assert "no refresh token" in out
    assert (await run_in_database_thread(Server.objects.get)).authorization == "oauth_per_user"
    sealer = sealing.load_or_create_sealer(home)
    assert await run_in_database_thread(
        sign_ins.load_sign_in, SignInKey("notes", "ann"), sealer=sealer
    )
    with pytest.raises(CommandError, match="authorization oauth_per_user; set it to oauth"):
        await run_in_database_thread(call_command, "sign_in", "notes", "--shared")


async def test_a_user_error_is_one_line(world, rows, home):
    await rows(authorization="oauth")
    await run_in_database_thread(callers.ensure_local_admin)
    quiet = {"stdout": io.StringIO(), "stderr": io.StringIO()}

    async def line(*arguments):
        with pytest.raises((CommandError, callers.UnknownUser)) as caught:
            await run_in_database_thread(call_command, "sign_in", *arguments, **quiet)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "no server 'nothing'" in await line("nothing")
    assert "no active user 'eve'" in await line("notes", "--user", "eve")
    assert "only a superuser" in await line("notes", "--user", "ann")
    assert "no browser came back within 0.01 s" in await line("notes", "--wait", "0.01")
    world.habits.pkce = ["plain"]
    assert "does not support PKCE" in await line("notes")
