"""People, teams, webhooks and tool groups in the console: what each page does, and for whom."""

import hashlib
import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from gateway_project.access import roles
from gateway_project.models import ApiToken, AuditEntry, Webhook, WebhookDelivery
from tests.factories import (
    CategoryFactory,
    MembershipFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
    UserFactory,
)
from tests.gateway.rooms.conftest import browser
from tools.models import Team, ToolGroup

pytestmark = pytest.mark.django_db

users = get_user_model().objects
MARKUP = "<script>alert(1)</script>"
PAGES = ("/access/", "/access/webhooks/", "/tools/groups/")


@pytest.fixture
def alpha(db):
    return TeamFactory(name="alpha")


@pytest.fixture
def team_admin(alpha):
    """Return a browser of somebody who administers the team alpha."""
    user = UserFactory(username="ann")
    roles.set_roles(user, ["admin"])
    MembershipFactory(user=user, team=alpha, role="admin")
    return browser(user)


@pytest.fixture
def tools(gateway):
    server = ServerFactory(name="git")
    code = CategoryFactory(name="code")
    ToolFactory(server=server, name="log", category=code)
    ToolFactory(server=server, name="add")
    ToolFactory(server__name="time", name="now")


def registered(client, **values):
    values = {
        "name": "ops",
        "url": "https://hooks.example.com/",
        "events": ["run.failed"],
    } | values
    return client.post("/access/webhooks/", values)


@pytest.mark.parametrize("role", ["viewer", "operator", "curator"])
def test_only_admins_enter(gateway, sign_in, role):
    client = sign_in(role)
    for path in (*PAGES, "/access/people/ann/", "/access/teams/1/", "/access/webhooks/1/"):
        assert client.get(path).status_code == 403


def test_a_person_is_created_with_a_password_that_is_shown_once(root, alpha):
    made = root.post("/access/", {"name": "zoe", "roles": ["curator"], "team": "alpha"})
    assert made.headers["Cache-Control"] == "no-store"
    password = made.context["made"].password
    assert password in made.content.decode()
    assert [one.team for one in users.get(username="zoe").memberships.all()] == [alpha]
    assert password not in root.get("/access/people/zoe/").content.decode()
    refused = root.post("/access/", {"name": "zoe"})
    assert refused.status_code == 400
    assert b"field__error" in refused.content


def test_a_person_is_renamed_deactivated_and_deleted(root):
    UserFactory(username="zoe")
    address = "/access/people/zoe/"
    moved = root.post(address, {"action": "rename", "name": "zara"})
    assert moved.url == "/access/people/zara/"
    root.post(moved.url, {"action": "deactivate"})
    assert b"deactivated" in root.get(moved.url).content
    root.post(moved.url, {"action": "reactivate"})
    root.post(moved.url, {"action": "promote"})
    assert users.get(username="zara").is_superuser
    root.post(moved.url, {"action": "demote"})
    assert "0 tokens" in root.get(moved.url).content.decode()
    assert root.post(moved.url, {"action": "delete"}).url == "/access/"
    assert not users.filter(username="zara").exists()
    refused = root.post("/access/people/root/", {"action": "delete"})
    assert refused.status_code == 400
    assert b"cannot delete yourself" in refused.content


def test_an_admin_of_a_team_works_within_it(team_admin, alpha):
    bravo = MembershipFactory(user__username="bob", team__name="bravo").team
    page = team_admin.get("/access/")
    assert [one.name for one in page.context["people"]] == ["ann"]
    assert [one.name for one in page.context["teams"]] == ["alpha"]
    assert "bravo" not in page.content.decode()
    assert team_admin.get("/access/people/bob/").status_code == 404
    assert team_admin.get(f"/access/teams/{bravo.pk}/").status_code == 404
    assert team_admin.post("/access/teams/", {"name": "x"}).status_code == 403
    assert team_admin.post("/access/", {"name": "zoe"}).status_code == 200
    assert team_admin.post("/access/people/zoe/", {"action": "promote"}).status_code == 403
    team_admin.post(f"/access/teams/{alpha.pk}/", {"action": "admin", "person": "zoe"})
    assert users.get(username="zoe").memberships.get().role == "admin"


def test_a_team_is_created_filled_renamed_and_deleted(root):
    UserFactory(username="zoe")
    address = root.post("/access/teams/", {"name": "x"}).url
    root.post(address, {"action": "member", "person": "zoe"})
    assert b"zoe" in root.get(address).content
    refused = root.post(address, {"action": "delete"})
    assert b"still has memberships" in refused.content
    root.post(address, {"action": "remove", "person": "zoe"})
    form = {"action": "change", "name": "y", "approve_from": "write"}
    root.post(address, form)
    assert Team.objects.values_list("name", "approve_from").get() == ("y", "write")
    root.post(address, form | {"requires_second_person": "yes"})
    assert Team.objects.get().requires_second_person
    assert "checked" in root.get(address).content.decode()
    root.post(address, {"action": "delete"})
    assert not Team.objects.exists()
    assert root.post(address, {"action": "delete"}).status_code == 404


def test_a_webhook_is_registered_tested_paused_and_deleted(root):
    made = registered(root)
    secret = re.search(r"whs_[\w-]+", made.content.decode()).group()
    assert made.headers["Cache-Control"] == "no-store"
    address = f"/access/webhooks/{Webhook.objects.get().pk}/"
    root.post(address, {"action": "test"})
    assert b"on its way" in root.get(address).content
    assert secret not in root.get(address).content.decode()
    WebhookDelivery.objects.update(status="given_up", error="refused")
    listed = root.get("/access/webhooks/").content
    assert b"given up" in listed
    assert b"a run failed</td>" in listed
    assert b"a test</th>" in root.get(address).content
    assert b"Send again" in root.get(address).content
    root.post(address, {"action": f"retry-{WebhookDelivery.objects.get().pk}"})
    assert WebhookDelivery.objects.get().status == "pending"
    renewed = root.post(address, {"action": "renew"}).content.decode()
    assert secret not in renewed
    assert "whs_" in renewed
    root.post(address, {"action": "pause"})
    refused = root.post(address, {"action": "test"})
    assert refused.status_code == 400
    assert b"disabled" in refused.content
    values = {"name": "o2", "url": "mailto:a@b.example", "events": ["run.failed"]}
    root.post(address, {"action": "save"} | values)
    assert Webhook.objects.get().url == "mailto:a@b.example"
    root.post(address, {"action": "delete"})
    assert not Webhook.objects.exists()
    assert not AuditEntry.objects.exclude(action__startswith="webhook.").exists()
    assert secret not in str(list(AuditEntry.objects.values()))


def test_only_superusers_choose_the_team_of_a_webhook(root, team_admin, alpha):
    registered(root, team="alpha")
    row = Webhook.objects.get()
    address = f"/access/webhooks/{row.pk}/"
    assert row.team == alpha
    assert root.get(address).context["form"]["team"].value() == alpha.name
    values = {"name": "ops", "url": row.url, "events": row.events, "team": ""}
    root.post(address, {"action": "save"} | values)
    assert Webhook.objects.get().team is None
    assert b"there is no team" in registered(root, name="x", team="nowhere").content.lower()
    registered(team_admin, name="own", team="")
    assert Webhook.objects.get(name="own").team == alpha


def test_a_webhook_of_another_team_is_unknown(root, team_admin):
    registered(root)
    pk = Webhook.objects.get().pk
    assert b"ops" not in team_admin.get("/access/webhooks/").content
    assert team_admin.post(f"/access/webhooks/{pk}/", {"action": "delete"}).status_code == 404


def test_a_group_is_created_and_its_tools_are_chosen(root, tools):
    address = root.post("/tools/groups/", {"name": "desk"}).url
    assert address == "/tools/groups/desk/"
    seen = root.post(f"{address}preview/", {"categories": ["code"], "q": "now"})
    assert seen.context["held"] == 1
    assert [one[0] for one in seen.context["found"]] == ["time:now"]
    assert ToolGroup.objects.get().categories == []
    root.post(address, {"action": "save", "servers": ["git"], "tools": ["time:now"]})
    row = ToolGroup.objects.get()
    assert (row.servers, row.tools) == (["git"], ["time:now"])
    assert root.get(address).context["held"] == 3
    (listed,) = root.get("/tools/groups/").context["groups"]
    assert (listed["tools"], listed["tokens"]) == (3, 0)
    assert listed["path"] == "http://testserver/mcp/groups/desk"


def test_a_token_of_a_group_is_made_and_goes_with_it(root, tools):
    root.post("/tools/groups/", {"name": "desk"})
    made = root.post("/tools/groups/desk/", {"action": "token", "token_name": "phone"})
    assert "http://testserver/mcp/groups/desk" in made.content.decode()
    assert ApiToken.objects.get().tool_group.name == "desk"
    assert AuditEntry.objects.get(action="token.created").detail["group"] == "desk"
    assert "1 token stops working" in " ".join(
        root.get("/tools/groups/desk/").content.decode().split()
    )
    root.post("/tools/groups/desk/", {"action": "delete"})
    assert not ApiToken.objects.exists()
    assert root.get("/tools/groups/desk/").status_code == 404


@pytest.mark.parametrize(("days", "lasts"), [("7", timedelta(days=7)), ("", None)])
def test_a_token_of_a_group_lasts_as_long_as_was_chosen(root, tools, days, lasts):
    root.post("/tools/groups/", {"name": "desk"})
    assert root.get("/tools/groups/desk/").context["token_form"]["days"].value() == 90
    before = timezone.now()
    root.post("/tools/groups/desk/", {"action": "token", "days": days})
    row = ApiToken.objects.get()
    assert row.name == "desk"
    if lasts is None:
        assert row.expires_at is None
    else:
        assert before + lasts <= row.expires_at <= timezone.now() + lasts


def test_an_impossible_time_for_a_token_of_a_group_is_explained(root, tools):
    root.post("/tools/groups/", {"name": "desk"})
    root.post("/tools/groups/desk/", {"action": "save", "servers": ["git"]})
    refused = root.post("/tools/groups/desk/", {"action": "token", "days": "0"})
    assert refused.status_code == 400
    assert b"field__error" in refused.content
    assert refused.context["held"] == 2, "what the group holds is shown as it is stored"
    assert not ApiToken.objects.exists()


def test_markup_is_inert_in_every_field(root, tools):
    team = TeamFactory(name=MARKUP)
    MembershipFactory(user__username="zoe", team=team)
    ServerFactory(name=MARKUP)
    ToolFactory(server__name=f"{MARKUP}2", name=MARKUP)
    registered(root, name=MARKUP, url="https://x.example/<script>alert(1)</script>")
    hook = Webhook.objects.get()
    WebhookDelivery.objects.create(
        webhook=hook, event="test", data={}, status="given_up", error=MARKUP,
        occurred_at=hook.created_at,
    )  # fmt: skip
    ToolGroup.objects.create(name="desk", description=MARKUP, tools=[MARKUP], servers=[MARKUP])
    for path in (
        *PAGES,
        "/access/people/zoe/",
        f"/access/teams/{team.pk}/",
        f"/access/webhooks/{hook.pk}/",
        "/tools/groups/desk/",
    ):
        page = root.get(path)
        assert page.status_code == 200
        assert "<script>alert" not in page.content.decode(), path
    seen = root.post("/tools/groups/desk/preview/", {"q": MARKUP, "tools": [MARKUP]})
    assert "<script>alert" not in seen.content.decode()


def test_the_rooms_ask_as_often_for_many_rows_as_for_few(root, tools, counted):
    team = TeamFactory()
    hook = Webhook.objects.create(name="h", url="https://x.example", events=[], secret_sealed="x")
    ToolGroup.objects.create(name="desk")
    paths = (
        *PAGES,
        f"/access/teams/{team.pk}/",
        f"/access/webhooks/{hook.pk}/",
        "/tools/groups/desk/",
    )

    def count():
        found = {}
        for path in paths:
            counted.clear()
            assert root.get(path).status_code == 200
            found[path] = len(
                [one for one in counted if "gateway_project" in one or "auth" in one]
            )
        return found

    def fill(start):
        for place in range(start, start + 5):
            MembershipFactory(team=team)
            Webhook.objects.create(
                name=f"h{place}", url="https://x.example", events=[], secret_sealed="x"
            )
            ToolGroup.objects.create(name=f"g{place}")
            WebhookDelivery.objects.create(
                webhook=hook, event="test", data={}, occurred_at=hook.created_at
            )

    fill(0)
    count()
    once = count()
    fill(5)
    assert count() == once


def test_a_group_of_everybody_is_changed_by_superusers_only(team_admin, sign_in, root, tools):
    ToolGroup.objects.create(name="desk")
    address = "/tools/groups/desk/"
    teamless = sign_in("admin", "una")
    for client in (team_admin, teamless):
        assert b"Only a superuser changes" in client.get(address).content
        for action in ("save", "delete"):
            assert client.post(address, {"action": action, "description": "x"}).status_code == 404
    assert teamless.post("/tools/groups/", {"name": "mine"}).status_code == 404
    assert [one.name for one in ToolGroup.objects.filter(description="")] == ["desk"]
    assert root.post(address, {"action": "delete"}).url == "/tools/groups/"
    assert root.post("/tools/groups/", {"name": "A"}).status_code == 400


def test_tokens_of_others_are_not_shown_to_the_admin_of_a_team(team_admin, root, alpha, tools):
    desk = ToolGroup.objects.create(name="desk")
    for _ in range(2):
        MembershipFactory(team=alpha)
    owner = UserFactory(username="zoe", superuser=True)
    for name, team in (("theirs", TeamFactory(name="bravo")), ("ours", alpha)):
        digest = hashlib.sha256(name.encode()).hexdigest()
        ApiToken.objects.create(
            name=name, user=owner, team=team, tool_group=desk, digest=digest, scopes=["search"]
        )
    page = team_admin.get("/tools/groups/desk/")
    assert [one.name for one in page.context["tokens"]] == ["ours"]
    assert [one["tokens"] for one in team_admin.get("/tools/groups/").context["groups"]] == [1]
    assert [one["tokens"] for one in root.get("/tools/groups/").context["groups"]] == [2]
