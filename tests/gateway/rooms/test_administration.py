import json
import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone
from pydantic import SecretStr
from pydantic_settings import BaseSettings

from gateway_project.access import grant, tokens
from gateway_project.api import installation
from gateway_project.foundation.config import Config
from gateway_project.models import ApiToken, AuditEntry
from tests.factories import MembershipFactory, TeamFactory, UserFactory

pytestmark = pytest.mark.django_db
OF_FILES = "shown to superusers only"

users = get_user_model().objects


def entry(action="server.changed", **values):
    values = {"actor": "bob", "kind": "console", "subject": "git", "at": timezone.now()} | values
    return AuditEntry.objects.create(action=action, **values)


def shown(response):
    return [row.action for row, _ in response.context["entries"]]


def test_the_audit_trail_is_listed_newest_first_and_in_pages(root):
    for place in range(60):
        entry(f"a{place:02}")
    first = root.get("/audit/")
    assert shown(first)[:2] == ["a59", "a58"]
    second = root.get("/audit/", {"cursor": first.context["next_cursor"]})
    assert shown(second)[-1] == "a00"
    assert len(shown(first)) + len(shown(second)) == 60
    assert second.context["next_cursor"] == ""


def test_the_audit_trail_is_filtered(root):
    entry("a", actor="ann", at=datetime(2026, 11, 1, 23, 59, tzinfo=UTC))
    entry("b", actor="bob", at=datetime(2026, 11, 2, tzinfo=UTC))
    assert shown(root.get("/audit/", {"actor": "ann", "action": "", "kind": ""})) == ["a"]
    assert shown(root.get("/audit/", {"since": "2026-11-02"})) == ["b"]
    assert shown(root.get("/audit/", {"until": "2026-11-01"})) == ["a"]
    assert shown(root.get("/audit/", {"subject": "nothing"})) == []
    assert shown(root.get("/audit/", {"subject": "GI"})) == ["b", "a"]
    assert [action for action, _ in root.get("/audit/").context["actions"]] == ["a", "b"]


def test_an_entry_of_the_audit_trail_reads_as_a_sentence(root):
    detail = {"definition": "0" * 64, "closed_world": True, "team": None}
    entry("speculation.granted", actor="ann", subject="git:git_log", detail=detail)
    page = root.get("/audit/").content.decode()
    words = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "ann granted speculation for git_log of git in the console, just now" in words
    assert 'href="/tools/git:git_log/"' in page
    assert "granted speculation for …" in page
    assert "closed_world" not in page


@pytest.mark.parametrize("day", ["yesterday", "9999-12-31", "0001-01-01", "2026-02-30"])
def test_a_day_that_is_none_is_refused(root, day):
    assert root.get("/audit/", {"since": day}).status_code == 400


def test_an_admin_sees_the_entries_of_their_team_only(sign_in):
    client = sign_in("admin")
    ours = MembershipFactory(user=users.get(username="ann")).team
    entry("theirs", team=TeamFactory())
    entry("shared")
    entry("ours", team=ours)
    assert shown(client.get("/audit/")) == ["ours"]
    assert b"theirs" not in client.get("/audit/export.csv").getvalue()


def test_without_a_chosen_team_an_admin_sees_no_entries_and_their_own_tokens_only(sign_in):
    client = sign_in("admin")
    teams = [MembershipFactory(user=users.get(username="ann")).team for _ in range(2)]
    UserFactory(username="root", superuser=True)
    entry("about everybody")
    entry("ours", team=teams[0])
    made = grant.create_user_token("root", name="private", scopes=("search",))
    grant.create_user_token("ann", name="mine", scopes=("search",))
    assert shown(client.get("/audit/")) == []
    listed = client.get("/access/tokens/").context["tokens"]
    assert [one["row"].name for one in listed] == ["mine"]
    assert client.post(f"/access/tokens/{made.pk}/revoke").status_code == 404
    assert ApiToken.objects.get(name="private").revoked_at is None


def test_the_filtered_trail_is_exported(root):
    entry("a", subject="=cmd()")
    entry("b")
    lines = root.get("/audit/export.csv", {"action": "a"}).getvalue().decode().splitlines()
    assert len(lines) == 2
    assert "'=cmd()" in lines[1]
    exported = root.get("/audit/export.jsonl").getvalue().decode().splitlines()
    assert [json.loads(line)["action"] for line in exported] == ["a", "b"]
    assert root.get("/audit/export.xml").status_code == 400


def test_markup_in_the_audit_trail_is_inert(root):
    entry(subject="<script>alert(1)</script>", detail={"<b>": "<script>alert(2)</script>"})
    assert "<script>alert" not in root.get("/audit/").content.decode()


def test_a_token_is_made_with_the_configuration_of_each_client_and_shown_once(root):
    made = root.post("/access/tokens/", {"name": "laptop", "scopes": ["search"], "days": "30"})
    page = made.content.decode()
    token = re.search(r"fgt_[\w-]+", page)
    assert token is not None
    assert made.headers["Cache-Control"] == "no-store"
    assert f"FOREGATE_TOKEN={token.group()}" in page
    assert "mcpServers" in page
    assert "http://testserver/mcp" in page
    row = ApiToken.objects.get()
    assert (row.name, row.scopes) == ("laptop", ["search"])
    assert tokens.authenticate_token(token.group()).user == "root"
    assert token.group() not in str(list(AuditEntry.objects.values()))
    detail = {"user": "root", "scopes": ["search"], "team": None, "group": None}
    assert AuditEntry.objects.get().detail == detail
    assert timedelta(days=29) < row.expires_at - timezone.now() <= timedelta(days=30)
    assert token.group() not in root.get("/access/tokens/").content.decode()


@pytest.mark.parametrize(
    "values",
    [
        {"name": "", "scopes": ["search"]},
        {"name": "x", "scopes": ["everything"]},
        {"name": "x", "scopes": []},
        {"name": "x", "scopes": ["search"], "days": "0"},
        {"name": "x", "scopes": ["*"]},
    ],
)
def test_a_token_that_cannot_be_made_is_explained(sign_in, values):
    response = sign_in("admin").post("/access/tokens/", values)
    assert response.status_code == 400
    assert b"field__error" in response.content
    assert not ApiToken.objects.exists()


def test_a_token_acts_for_the_chosen_team(sign_in):
    client = sign_in("admin", "ann")
    user = ApiToken._meta.get_field("user").related_model.objects.get(username="ann")
    teams = [MembershipFactory(user=user).team for _ in range(2)]
    client.post("/team/", {"team": teams[1].pk})
    client.post("/access/tokens/", {"name": "x", "scopes": ["search"]})
    assert ApiToken.objects.get().team == teams[1]


def test_a_superuser_creates_a_token_of_somebody_else(root):
    member = MembershipFactory(user__username="zoe")
    MembershipFactory(user=member.user)
    assert b"/access/tokens/?user=zoe" in root.get("/access/people/zoe/").content
    page = root.get("/access/tokens/?user=zoe")
    unknown = root.post("/access/tokens/", {"name": "x", "scopes": ["search"], "user": "eve"})
    said = unescape(unknown.content.decode())
    assert "There is no active user 'eve'." in said
    assert "createsuperuser" not in said
    assert page.context["form"]["user"].value() == "zoe"
    assert b"/admin/gateway_project/apitoken" not in page.content
    given = {"name": "x", "scopes": ["search"], "user": "zoe"}
    made = root.post("/access/tokens/", given | {"team": member.team.name})
    assert f"It acts for zoe, team {member.team.name}." in made.content.decode()
    without = root.post("/access/tokens/", given | {"name": "y"})
    assert "It acts for zoe, without a team." in without.content.decode()
    ApiToken.objects.get(name="y").delete()
    row = ApiToken.objects.get()
    assert (row.user, row.team) == (member.user, member.team)
    for wrong in ({"user": "nobody"}, {"team": "elsewhere"}, {"scopes": ["administer"]}):
        refused = root.post("/access/tokens/", given | wrong)
        assert refused.status_code == 400
        assert b"field__error" in refused.content
    assert ApiToken.objects.count() == 1


def test_only_superusers_choose_whose_token_it_is(sign_in):
    client = sign_in("admin")
    MembershipFactory(user__username="zoe")
    assert "user" not in client.get("/access/tokens/").context["form"].fields
    client.post("/access/tokens/", {"name": "x", "scopes": ["search"], "user": "zoe"})
    assert ApiToken.objects.get().user.username == "ann"


def test_a_token_is_revoked(root):
    made = grant.create_user_token("root", name="old", scopes=("search",))
    assert b"Revoke the token" in root.get("/access/tokens/").content
    page = root.post(f"/access/tokens/{made.pk}/revoke", follow=True)
    assert b"is revoked" in page.content
    assert ApiToken.objects.get().revoked_at is not None


def test_a_token_of_another_team_is_neither_shown_nor_revoked(sign_in):
    membership = MembershipFactory()
    made = grant.create_user_token(membership.user.username, name="theirs", scopes=("search",))
    client = sign_in("admin")
    assert b"theirs" not in client.get("/access/tokens/").content
    assert client.post(f"/access/tokens/{made.pk}/revoke").status_code == 404
    assert ApiToken.objects.get().revoked_at is None


def test_expired_tokens_are_shown_as_such(root):
    past = timezone.now() - timedelta(days=1)
    grant.create_user_token("root", name="old", scopes=("search",), expires_at=past)
    (listed,) = root.get("/access/tokens/").context["tokens"]
    assert listed["state"] == ("muted", "expired")


def test_people_are_listed_with_roles_and_teams(root):
    MembershipFactory(
        user=UserFactory(username="zoe"), team=TeamFactory(name="ours"), role="admin"
    )
    page = root.get("/access/").content.decode()
    assert "ours (admin)" in page
    assert "superuser: everything" in page
    assert [one.name for one in root.get("/access/", {"q": "zo"}).context["people"]] == ["zoe"]
    assert "Nobody is called “nobody”" in root.get("/access/", {"q": "nobody"}).content.decode()


def test_roles_are_changed_and_audited(root):
    UserFactory(username="zoe")
    values = {"action": "roles", "roles": ["curator", "nonsense"]}
    assert root.post("/access/people/zoe/", values).status_code == 302
    assert root.get("/access/people/zoe/").context["person"].roles == ("curator",)
    assert AuditEntry.objects.get().action == "user.roles_changed"
    root.post("/access/people/zoe/", {"action": "roles", "roles": ["curator"]})
    assert AuditEntry.objects.count() == 1


def test_admins_of_no_team_see_tokens_only(sign_in):
    client = sign_in("admin")
    assert client.get("/access/").url == "/access/tokens/"
    assert client.get("/access/people/ann/").status_code == 404
    assert client.post("/access/people/ann/", {"roles": ["admin"]}).status_code == 404


def test_clients_are_shown_what_to_copy_and_superusers_the_command(root, member):
    page = member.get("/clients/").content.decode()
    assert "[mcp_servers.foregate]" in page
    assert "connect_client" not in page
    assert "manage.py connect_client cursor" in root.get("/clients/").content.decode()


def test_the_public_address_is_what_clients_are_given(member, settings):
    settings.FOREGATE = settings.FOREGATE.model_copy(
        update={"public_url": "https://tools.example/"}
    )
    assert member.get("/clients/").context["url"] == "https://tools.example/mcp"


def test_settings_say_where_they_come_from_and_hide_secrets():
    config = Config(
        console_port=9_000,
        secret_key="s" * 40,
        DATABASE_URL="postgresql://u:p4ss@h/db",
        email_url="smtps://u:p4ss@mail.example.com",
    )
    rows = {row["variable"]: row for row in installation.describe_settings(config)}
    assert rows["FOREGATE_CONSOLE_PORT"]["value"] == "9000"
    assert rows["FOREGATE_CONSOLE_PORT"]["is_set"]
    assert not rows["FOREGATE_LOG_LEVEL"]["is_set"]
    assert rows["FOREGATE_TOKEN_PRICE"]["value"] == "not set"
    assert rows["FOREGATE_DEBUG"]["value"] == "off"
    assert "p4ss" not in str(rows)
    assert "sss" not in str(rows)


class SecretConfig(BaseSettings):
    client_secret: str = "s3cr3t-1"
    vault: SecretStr = SecretStr("s3cr3t-2")
    redis_url: str = "redis://:s3cr3t-3@host:6379/0"
    token_price: float = 3.5


def test_secrets_are_told_by_name_by_type_and_by_address():
    rows = {
        row["variable"]: row["value"] for row in installation.describe_settings(SecretConfig())
    }
    assert "s3cr3t" not in str(rows)
    assert rows["FOREGATE_TOKEN_PRICE"] == "3.5"


@pytest.mark.parametrize(
    ("address", "instead"),
    [
        ("redis://host:6379/0?password=s3cr3t", "set, not shown"),
        ("unix:///run/redis.sock?db=1&pass%77ord=s3cr3t", "set, not shown"),
        ("https://tools.example/?api_key=s3cr3t#top", "set, not shown"),
        ("unix:///run/redis.sock?db=1", OF_FILES),
        ("unix:run/redis.sock", OF_FILES),
        ("file:///srv/models", OF_FILES),
        ("redis+socket:///run/redis.sock", OF_FILES),
        ("/run/redis.sock", OF_FILES),
        ("rediss://host:6379/0?ssl_ca_certs=/etc/tls/ca.pem", OF_FILES),
        ("rediss://host:6379/0?db=1&ssl_keyfile=%2Fetc%2Ftls%2Fown.key", OF_FILES),
        ("rediss://host:6379/0?ssl_ca_certs=tls/ca.pem", OF_FILES),
        ("rediss://host:6379/0?ssl_cert_reqs=none", None),
        ("redis://host:6379/0?protocol=3", None),
        ("redis://[host", None),
        ("org/model:latest", None),
    ],
)
def test_addresses_hide_secrets_and_those_of_files_are_for_superusers(address, instead):
    config = Config().model_copy(update={"channel_redis_url": address})
    for shows_paths in (False, True):
        rows = installation.describe_settings(config, shows_paths=shows_paths)
        (value,) = [
            row["value"] for row in rows if row["variable"] == "FOREGATE_CHANNEL_REDIS_URL"
        ]
        is_shown = instead is None or (shows_paths and instead == OF_FILES)
        assert value == (address if is_shown else instead)


def test_only_superusers_see_where_files_are(root, sign_in, settings):
    admin, home = sign_in("admin"), str(settings.FOREGATE.home)
    for path in ("/settings/", "/api/v1/settings/"):
        assert home in root.get(path).content.decode()
        shown = admin.get(path).content.decode()
        assert home not in shown
        assert "shown to superusers only" in shown


def test_the_system_lists_tables_with_estimates_and_links(root):
    page = root.get("/system/")
    assert b"/admin/tools/tool/" in page.content
    tables = [table for section in page.context["sections"] for table in section["tables"]]
    assert len(tables) > 30
    assert all(table["size"].total_bytes >= 0 for table in tables)


def test_the_next_page_of_a_list_keeps_its_filters(root):
    for place in range(120):
        entry(f"a{place:03}", kind=("console", "http")[place % 2])
    first = root.get("/audit/?kind=http")
    older = re.search(r'href="([^"]*)">Older</a>', first.content.decode())
    assert older is not None
    following = root.get(f"/audit/{unescape(older[1])}")
    assert shown(following) == [f"a{place:03}" for place in range(19, 0, -2)]
    assert b"Older</a>" not in following.content
