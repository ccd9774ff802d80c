import re

import pytest
from django.test import AsyncClient, Client
from django.urls import reverse

from gateway_project.foundation import sealing
from gateway_project.foundation.database import run_in_database_thread
from tests.factories import ServerFactory, TeamFactory, UserFactory
from tests.servers import oauth_world
from tests.tools.store.test_sign_ins import SIGN_IN
from tools.models import ServerSignIn
from tools.store import sign_ins
from tools.upstream.oauth.values import SignInKey

PUBLIC = "https://foregate.example"
LOCAL = {"HTTP_HOST": "127.0.0.1:8420"}


def remote(**values):
    entry = {"name": "notes", "transport": "http", "command": "", "url": "https://m.example/mcp"}
    return ServerFactory(**(entry | {"authorization": "oauth"} | values))


def text(response):
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def public_address(settings, address):
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"public_url": address})


@pytest.mark.django_db(transaction=True)
async def test_a_user_can_connect_view_and_forget_a_sign_in(home, settings):
    public_address(settings, "http://127.0.0.1:8420")
    async with oauth_world.running() as world:

        def rows():
            server = remote(url=world.mcp_url, private_network=True)
            return server.pk, UserFactory(superuser=True)

        pk, person = await run_in_database_thread(rows)
        browser = AsyncClient()
        await browser.aforce_login(person)
        page = await browser.get(reverse("sign-in", args=[pk]))
        assert "There is no sign-in yet" in text(page)

        sent = await browser.post(reverse("sign-in-begin", args=[pk]))
        assert sent["Location"].startswith(f"{world.issuer}/authorize?")
        back, answer = await oauth_world.consent(sent["Location"])
        assert back == "http://127.0.0.1:8420/sign-in/callback"
        for said in (
            "Signed in to notes",
            ("Not signed in: this sign-in was started by someone else"),
        ):
            landed = await browser.get("/sign-in/callback", answer, follow=True)
            assert said in text(landed)
            assert answer["code"] not in landed.request["path"]

        page = text(await browser.get(reverse("sign-in", args=[pk])))
        assert world.issuer in page
        assert "notes:read" in page
        token = world.grants[0].refresh
        assert token not in page

        gone = await browser.post(reverse("sign-in-forget", args=[pk]), follow=True)
        assert "revoked the tokens" in text(gone)
        assert world.revoked[0] == token
        world.habits.pkce = None
        failed = await browser.post(reverse("sign-in-begin", args=[pk]), follow=True)
        assert "Could not connect" in text(failed)
        assert "PKCE" in text(failed)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["sign-ins", "sign-in-callback"])
def test_anonymous_users_are_sent_to_the_console_sign_in(client, home, name):
    answer = client.get(reverse(name), {"state": "s"})
    assert answer["Location"].startswith("/admin/login/?next=")


@pytest.mark.django_db
def test_a_form_of_another_site_does_nothing(root):
    server = remote()
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(root)
    for name in ("sign-in-begin", "sign-in-forget"):
        assert strict.post(reverse(name, args=[server.pk])).status_code == 403
        assert strict.get(reverse(name, args=[server.pk])).status_code == 405


@pytest.mark.django_db
def test_a_list_shows_the_servers_that_are_signed_in_to(client, root):
    remote(name="<notes>")
    remote(name="plain", authorization="none")
    page = client.get(reverse("sign-ins")).content.decode()
    assert "&lt;notes&gt;" in page
    assert "plain" not in page


@pytest.mark.django_db
def test_a_member_sees_their_own_sign_in_and_no_server_of_others(client, home):
    own, other = remote(authorization="oauth_per_user"), remote(name="x", team=TeamFactory())
    sealer = sealing.load_or_create_sealer(home)
    for name in ("ann", "bob"):
        UserFactory(username=name, staff=True)
        sign_ins.store_sign_in(SignInKey("notes", name), SIGN_IN, sealer=sealer)
    client.force_login(UserFactory._meta.model.objects.get(username="ann"))
    page = text(client.get(reverse("sign-in", args=[own.pk])))
    assert "ann" in page
    assert "bob" not in page
    assert "Each user signs in" in page
    assert client.get(reverse("sign-in", args=[other.pk])).status_code == 404
    assert ">x<" not in client.get(reverse("sign-ins")).content.decode()


@pytest.mark.django_db
def test_a_user_without_permission_gets_an_error(client, home):
    server = remote()
    client.force_login(UserFactory(staff=True))
    assert "only a superuser" in text(client.get(reverse("sign-in", args=[server.pk])))
    for name in ("sign-in-begin", "sign-in-forget"):
        answer = client.post(reverse(name, args=[server.pk]), follow=True, **LOCAL)
        assert "only a superuser" in text(answer)


@pytest.mark.django_db
def test_a_sign_in_that_ended_or_lacks_rights_says_so(client, root, home):
    server = remote()
    sealer = sealing.load_or_create_sealer(home)
    for change, said in (
        ({"ended": "<b>refused</b>"}, "ended: &lt;b&gt;refused"),
        ({"wanted": "notes:write"}, "the server wants more: notes:write"),
    ):
        sign_ins.store_sign_in(
            SignInKey("notes", ""), type(SIGN_IN)(**{**vars(SIGN_IN), **change}), sealer=sealer
        )
        assert said in client.get(reverse("sign-in", args=[server.pk])).content.decode()
    assert ServerSignIn.objects.count() == 1


@pytest.mark.django_db
def test_authorization_codes_are_not_accepted_unencrypted(client, root, settings):
    server = remote()
    settings.ALLOWED_HOSTS = ["foregate.example"]
    answer = client.post(
        reverse("sign-in-begin", args=[server.pk]), follow=True, HTTP_HOST="foregate.example"
    )
    assert "set FOREGATE_PUBLIC_URL" in text(answer)


@pytest.mark.django_db
def test_our_document_is_served_to_everybody_under_its_own_name(client, settings, home):
    address = reverse("sign-in-document")
    assert client.get(address).status_code == 404
    public_address(settings, PUBLIC)
    answer = client.get(address)
    assert answer.json()["client_id"] == PUBLIC + address
    assert PUBLIC + reverse("sign-in-callback") in answer.json()["redirect_uris"]
    assert "max-age" in answer["Cache-Control"]
