import re
from datetime import timedelta

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

import gateway_project.urls  # noqa: F401 - finds the pages
from gateway_project.access import audit, one_time_password, tokens
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from gateway_project.models import ApiToken, AuditEntry, MetricTotal, OneTimePassword
from tests.factories import (
    SEEN_AT,
    CategoryFactory,
    DangerousOperationFactory,
    MembershipFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
    UserFactory,
)
from tools.definition import Definition
from tools.models import (
    DangerousOperation,
    Membership,
    Server,
    ServerItems,
    ServerSignIn,
    SignInAttempt,
    Team,
    Tool,
    ToolDefinition,
    ToolEmbedding,
    ToolPosting,
    ToolText,
)
from tools.store import catalogue

pytestmark = pytest.mark.django_db

OWN = {"gateway_project", "tools", "graph", "execution", "learning"}
REGISTERED = sorted(admin.site._registry, key=lambda model: model._meta.label)
BY_THE_PRODUCT = (
    ToolDefinition, ToolEmbedding, ToolText, ToolPosting, OneTimePassword, AuditEntry, MetricTotal,
    ServerItems, ServerSignIn, SignInAttempt,
)  # fmt: skip
SECRET = "hunter2-is-nobodys-business"


@pytest.fixture
def root(client, home):
    user = UserFactory(username="root", superuser=True)
    client.force_login(user)
    return user


@pytest.fixture
def rows(root):
    """Store at least one row of every model."""
    sealed = sealing.Sealer([b"A" * 43 + b"="]).seal({"TOKEN": SECRET})
    tool = ToolFactory(
        server__env_sealed=sealed,
        server__team=TeamFactory(),
        category=CategoryFactory(),
        annotations={"readOnlyHint": True},
    )
    ToolFactory(pinned=False)
    MembershipFactory()
    DangerousOperation.objects.exclude(pattern="delete").delete()  # few rows, quick pages
    DangerousOperationFactory()
    ToolEmbedding.objects.create(
        tool=tool, model="m", content_hash="0" * 64, dimensions=2, vector=[0.6, 0.8]
    )
    ToolText.objects.create(tool=tool, content_hash="0" * 32, length=1.0)
    ToolPosting.objects.create(tool=tool, lexeme="read", frequency=1.0, in_name=True)
    ServerItems.objects.create(
        server=tool.server, kind="prompts", items=[], launch_hash="0" * 64, listed_at=SEEN_AT
    )
    ServerSignIn.objects.create(
        server=tool.server, issuer="https://as.example", resource="https://m.ex", sealed=sealed
    )
    SignInAttempt.objects.create(
        server=tool.server, user=root, state_digest="0" * 64, sealed=sealed, expires_at=SEEN_AT
    )
    tokens.create(root, name="monitor", scopes=["metrics"])
    one_time_password.issue(root)
    caller = Caller(user="root", team=None, scopes=frozenset("*"), kind="console")
    audit.record(caller, "server.changed", "git", detail={"changed": ["args"]})
    MetricTotal.objects.create(name="foregate_calls_total", labels={"server": "git"}, value=3)
    Group.objects.create(name="operators")


def page(model, name, *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}", args=args)


def label(model):
    return model._meta.label


def test_every_model_of_the_product_has_its_pages():
    models = {model for model in apps.get_models() if model._meta.app_label in OWN}
    assert models - set(REGISTERED) == set()


@pytest.mark.parametrize("model", REGISTERED, ids=label)
def test_list_and_change_pages_of_every_model_open_for_a_superuser(client, rows, model):
    row = model._default_manager.first()
    assert row is not None, "store a row of the model in `rows`"
    assert client.get(page(model, "changelist")).status_code == 200
    assert client.get(page(model, "change", row.pk)).status_code == 200


@pytest.mark.parametrize("model", REGISTERED, ids=label)
def test_the_add_page_opens_where_adding_is_allowed_and_is_forbidden_elsewhere(
    client, rows, rf, root, model
):
    request = rf.get("/")
    request.user = root
    allowed = admin.site._registry[model].has_add_permission(request)
    assert allowed is (model not in {Tool, *BY_THE_PRODUCT})
    assert client.get(page(model, "add")).status_code == (200 if allowed else 403)


@pytest.mark.parametrize("model", REGISTERED, ids=label)
def test_lists_can_be_searched_and_filtered(client, rows, model):
    options = admin.site._registry[model]
    if options.search_fields:
        assert client.get(page(model, "changelist"), {"q": "read"}).status_code == 200
    response = client.get(page(model, "changelist"))
    for link in set(re.findall(r'href="(\?[^"]*=[^"]*)"', response.content.decode())):
        url = page(model, "changelist") + link.replace("&amp;", "&")
        assert client.get(url).status_code == 200, link


@pytest.mark.parametrize("model", [Server, Tool, ToolDefinition], ids=label)
def test_the_queries_of_a_list_do_not_grow_with_its_rows(client, rows, model):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            client.get(page(model, "changelist"))
        return len(captured)

    before = queries()
    ToolFactory.create_batch(5)
    assert queries() <= before


@pytest.mark.parametrize("model", REGISTERED, ids=label)
def test_no_page_shows_a_secret(client, rows, model):
    for row in model._default_manager.all()[:3]:
        for url in (page(model, "changelist"), page(model, "change", row.pk)):
            shown = client.get(url).content.decode()
            assert SECRET not in shown
            for server in Server.objects.exclude(env_sealed=""):
                assert server.env_sealed not in shown
            for token in ApiToken.objects.all():
                assert token.digest not in shown
            for password in OneTimePassword.objects.all():
                assert password.digest not in shown


def test_the_front_page_leads_to_the_console_and_the_console_to_signing_in(client):
    assert client.get("/").url == reverse("admin:index")
    assert client.get(reverse("admin:index")).url.startswith(reverse("admin:login"))


SERVER = {
    "name": "git",
    "transport": "stdio",
    "session": "shared",
    "authorization": "none",
    "command": "mcp-server-git",
    "args": '["-v"]',
    "initial-args": '["-v"]',
    "environment": "",
    "enabled": "on",
}


@pytest.fixture
def staff(client):
    """Sign in a staff user who has every permission there is but is no superuser."""
    user = UserFactory(username="staff", staff=True)
    user.user_permissions.set(Permission.objects.all())
    client.force_login(user)
    return user


@pytest.mark.parametrize("model", [Server, DangerousOperation], ids=label)
def test_staff_may_look_at_what_only_superusers_change(client, staff, model):
    ServerFactory()
    row = model.objects.first()
    assert client.get(page(model, "changelist")).status_code == 200
    assert client.get(page(model, "change", row.pk)).status_code == 200
    assert client.get(page(model, "add")).status_code == 403
    assert client.post(page(model, "add"), SERVER | {"pattern": "zap"}).status_code == 403
    assert client.post(page(model, "change", row.pk), SERVER).status_code == 403
    assert client.post(page(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    assert Server.objects.get().command == "mcp-server-nowhere"


def test_one_who_is_no_staff_sees_nothing(client):
    client.force_login(UserFactory())
    assert client.get(page(Server, "changelist")).status_code == 302


def test_staff_who_hold_no_scope_of_tokens_make_none(client, staff, monkeypatch):
    monkeypatch.setattr(tokens, "SCOPES", ("metrics",))
    assert client.get(page(ApiToken, "add")).status_code == 403
    values = {"name": "x", "user": staff.pk, "scopes": ["metrics"]}
    assert client.post(page(ApiToken, "add"), values).status_code == 403
    assert not ApiToken.objects.exists()


@pytest.fixture
def holder(staff, monkeypatch):
    """Let staff hold one of the scopes that tokens can have."""
    monkeypatch.setattr(tokens, "SCOPES", ("metrics", "search"))
    return staff


def test_staff_may_make_a_token_for_themselves_and_a_team_of_theirs(client, holder):
    team = MembershipFactory(user=holder).team
    make_token(client, holder, scopes=["search"], team=team.pk)
    row = ApiToken.objects.get()
    assert (row.user, row.team, row.scopes) == (holder, team, ["search"])


def test_staff_are_offered_no_more_than_is_theirs(client, holder):
    MembershipFactory()
    team = MembershipFactory(user=holder).team
    form = client.get(page(ApiToken, "add")).context["adminform"].form
    assert form.initial["scopes"] == ["search"]
    assert [value for value, _ in form.fields["scopes"].choices] == ["search"]
    assert list(form.fields["user"].queryset) == [holder]
    assert list(form.fields["team"].queryset) == [team]


FORGED = {
    "a token for somebody else": lambda: {"user": UserFactory(superuser=True).pk},
    "a token for everything": lambda: {"scopes": ["*"]},
    "a scope they do not hold": lambda: {"scopes": ["search", "metrics"]},
    "a scope that is none": lambda: {"scopes": ["x"]},
    "no scope at all": lambda: {"scopes": []},
    "a team of others": lambda: {"team": MembershipFactory().team.pk},
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED.keys())
def test_staff_cannot_make(client, holder, forge):
    values = {"name": "x", "user": holder.pk, "scopes": ["search"]} | forge()
    assert client.post(page(ApiToken, "add"), values).status_code == 200
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("model", [User, Group], ids=label)
def test_staff_cannot_change_who_may_do_what(client, staff, model):
    row = model.objects.first() or model.objects.create(name="operators")
    values = {"name": "x", "username": "staff", "is_superuser": "on", "is_staff": "on"}
    assert client.post(page(model, "change", row.pk), values).status_code == 403
    assert client.post(page(model, "add"), values).status_code == 403
    assert not User.objects.get(username="staff").is_superuser


def test_staff_cannot_delete_a_team_with_what_only_superusers_delete(client, staff):
    server = ServerFactory(team=TeamFactory())
    response = client.post(page(Team, "delete", server.team.pk), {"post": "yes"})
    assert response.status_code == 403
    assert Server.objects.exists()


def entries():
    return list(AuditEntry.objects.order_by("pk").values_list("action", "subject", "actor"))


def test_adding_changing_and_deleting_a_server_are_written_down(client, root):
    client.post(page(Server, "add"), SERVER | {"environment": f'{{"TOKEN": "{SECRET}"}}'})
    server = Server.objects.get()
    client.post(page(Server, "change", server.pk), SERVER | {"command": "hg"})
    client.post(page(Server, "delete", server.pk), {"post": "yes"})
    assert not Server.objects.exists()
    assert entries() == [
        ("server.registered", "git", "root"),
        ("server.changed", "git", "root"),
        ("server.deleted", "git", "root"),
    ]
    added, changed, _ = AuditEntry.objects.order_by("pk")
    assert "environment" in added.detail["changed"]
    assert changed.detail == {"changed": ["command"]}
    assert {entry.kind for entry in (added, changed)} == {"console"}
    assert SECRET not in str(list(AuditEntry.objects.values()))


def test_an_entry_carries_the_id_of_its_request(client, root):
    client.post(page(Server, "add"), SERVER, headers={"x-request-id": "abc"})
    assert AuditEntry.objects.get().request_id == "abc"


def test_saving_without_a_change_is_not_written_down(client, root):
    client.post(page(Server, "add"), SERVER)
    AuditEntry.objects.all().delete()
    client.post(page(Server, "change", Server.objects.get().pk), SERVER)
    assert entries() == []


def test_deleting_several_writes_down_each(client, root):
    pks = [ServerFactory(name=name).pk for name in ("a", "b")]
    client.post(
        page(Server, "changelist"),
        {"action": "delete_selected", "_selected_action": pks, "post": "yes"},
    )
    assert not Server.objects.exists()
    assert sorted(entries()) == [("server.deleted", "a", "root"), ("server.deleted", "b", "root")]


@pytest.mark.parametrize("model", BY_THE_PRODUCT, ids=label)
def test_nobody_deletes_by_hand_what_the_product_writes(client, rows, model):
    row = model.objects.first()
    assert client.post(page(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    client.post(
        page(model, "changelist"),
        {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"},
    )
    assert model.objects.filter(pk=row.pk).exists()
    assert 'value="delete_selected"' not in client.get(page(model, "changelist")).content.decode()


def test_a_server_can_be_deleted_with_all_that_hangs_on_it(client, rows):
    row = ToolPosting.objects.get().tool.server
    client.post(page(Server, "delete", row.pk), {"post": "yes"})
    assert not Server.objects.filter(pk=row.pk).exists()
    assert not ToolPosting.objects.exists()


def test_a_user_can_be_deleted_with_their_one_time_passwords(client, root):
    ann = UserFactory()
    one_time_password.issue(ann)
    client.post(page(type(ann), "delete", ann.pk), {"post": "yes"})
    assert not type(ann).objects.filter(pk=ann.pk).exists()


AUDITED = {
    "a dangerous operation": lambda: (
        page(DangerousOperation, "add"),
        {"pattern": "zap", "danger": "dangerous", "reason": "", "enabled": "on"},
    ),
    "a team": lambda: (
        reverse("admin:tools_team_add"),
        {"name": "blue", "memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0},
    ),
    "a membership": lambda: (
        reverse("admin:tools_membership_add"),
        {"user": UserFactory().pk, "team": TeamFactory().pk, "role": "admin"},
    ),
    "a category": lambda: (reverse("admin:tools_category_add"), {"name": "files"}),
    "a token": lambda: (
        page(ApiToken, "add"),
        {"name": "x", "user": UserFactory().pk, "scopes": ["metrics"]},
    ),
}


@pytest.mark.parametrize("prepare", AUDITED.values(), ids=AUDITED.keys())
def test_every_change_made_in_the_console_is_written_down_once(client, root, prepare):
    url, values = prepare()
    assert client.post(url, values).status_code == 302
    assert len(entries()) == 1


def test_deleting_a_token_is_written_down(client, root):
    row, _ = tokens.create(root, name="monitor", scopes=["metrics"])
    client.post(page(ApiToken, "delete", row.pk), {"post": "yes"})
    assert not ApiToken.objects.exists()
    assert [action for action, _, _ in entries()] == ["token.deleted"]


def refuse(*_, **__):
    raise RuntimeError("the trail cannot be written")


@pytest.mark.parametrize("action", ["delete_selected", "revoke"])
def test_what_cannot_be_written_down_is_not_done(client, root, monkeypatch, action):
    row, token = tokens.create(root, name="monitor", scopes=["metrics"])
    monkeypatch.setattr(audit, "record", refuse)
    with pytest.raises(RuntimeError, match="trail"):
        client.post(
            page(ApiToken, "changelist"),
            {"action": action, "_selected_action": [row.pk], "post": "yes"},
        )
    assert tokens.authenticate(token) is not None


def members(*rows, **values):
    data = {"memberships-TOTAL_FORMS": len(rows), "memberships-INITIAL_FORMS": 0, "name": "blue"}
    for place, row in enumerate(rows):
        data |= {f"memberships-{place}-{field}": value for field, value in row.items()}
    return data | values


def test_a_team_with_its_members_is_written_down_one_by_one(client, root):
    team = TeamFactory(name="blue")
    row = {"user": UserFactory(username="ann").pk, "team": team.pk, "role": "member"}
    client.post(page(Team, "change", team.pk), members(row))
    row |= {"id": Membership.objects.get().pk, "role": "admin"}
    kept = {"memberships-INITIAL_FORMS": 1}
    client.post(page(Team, "change", team.pk), members(row, **kept))
    client.post(page(Team, "change", team.pk), members(row, **kept))
    client.post(page(Team, "change", team.pk), members(row | {"DELETE": "on"}, **kept))
    client.post(page(Team, "change", team.pk), members(name="red"))
    assert entries() == [
        ("membership.registered", "ann in blue (member)", "root"),
        ("membership.changed", "ann in blue (admin)", "root"),
        ("membership.deleted", "ann in blue (admin)", "root"),
        ("team.changed", "red", "root"),
    ]
    assert AuditEntry.objects.order_by("pk")[1].detail == {"changed": ["role"]}


def test_a_new_password_is_written_down_but_not_what_it_is(client, root):
    ann = UserFactory(username="ann")
    values = {"password1": SECRET, "password2": SECRET, "usable_password": "true"}
    client.post(reverse("admin:auth_user_password_change", args=[ann.pk]), values)
    ann.refresh_from_db()
    assert ann.check_password(SECRET)
    assert entries() == [("user.changed", "ann", "root")]
    assert AuditEntry.objects.get().detail == {"changed": ["password"]}


def test_one_may_even_delete_oneself_and_it_is_written_down(client, root):
    client.post(page(User, "delete", root.pk), {"post": "yes"})
    assert not User.objects.exists()
    assert entries() == [("user.deleted", "root", "root")]


def test_trust_that_is_withdrawn_is_said_and_written_down(client, root):
    server = ServerFactory(name="git", command="mcp-server-git", args=["-v"], trusted=True)
    values = SERVER | {"trusted": "on", "command": "other"}
    shown = client.post(page(Server, "change", server.pk), values, follow=True).content.decode()
    assert "not trusted any more" in shown
    assert not Server.objects.get().trusted
    assert AuditEntry.objects.get().detail == {"changed": ["command", "trusted"]}
    values["trusted"] = "on"
    shown = client.post(page(Server, "change", server.pk), values, follow=True).content.decode()
    assert "not trusted any more" not in shown
    assert Server.objects.get().trusted


def test_switching_tools_off_in_the_list_is_written_down(client, root):
    tool = ToolFactory(server__name="s", name="read")
    response = client.post(
        page(Tool, "changelist"),
        {
            "form-TOTAL_FORMS": 1,
            "form-INITIAL_FORMS": 1,
            "form-0-id": tool.pk,
            "_save": "Save",
        },
    )
    assert response.status_code == 302
    assert not Tool.objects.get().enabled
    assert entries() == [("tool.changed", "s:read", "root")]


def make_token(client, user, **values):
    data = {"name": "monitor", "user": user.pk, "scopes": ["metrics"]} | values
    return client.post(page(ApiToken, "add"), data, follow=True).content.decode()


def test_a_new_token_is_shown_once_and_works(client, root):
    shown = make_token(client, root)
    (token,) = set(re.findall(r"fgt_[A-Za-z0-9_-]{40,}", shown))
    assert tokens.authenticate(token).user == "root"
    row = ApiToken.objects.get()
    for url in (page(ApiToken, "changelist"), page(ApiToken, "change", row.pk)):
        assert token not in client.get(url).content.decode()
    assert token not in str(list(AuditEntry.objects.values()))
    assert row.prefix in str(entries())


def test_a_new_token_may_expire(client, root):
    make_token(client, root, expires_at_0="2099-01-02", expires_at_1="03:04:05")
    assert ApiToken.objects.get().expires_at > timezone.now() + timedelta(days=365)


def test_a_new_token_cannot_have_expired(client, root):
    assert "has passed" in make_token(client, root, expires_at_0="2020-01-02", expires_at_1="0:0")
    assert not ApiToken.objects.exists()


def test_only_the_token_of_a_superuser_may_be_for_everything(client, root):
    shown = make_token(client, UserFactory(username="ann"), scopes=["*"])
    assert "ann is no superuser" in shown
    assert not ApiToken.objects.exists()
    make_token(client, root, scopes=["*"])
    assert ApiToken.objects.get().scopes == ["*"]


def test_what_a_new_token_may_do_is_written_down(client, root):
    make_token(client, root, team=TeamFactory(name="blue").pk)
    detail = {"user": "root", "scopes": ["metrics"], "team": "blue"}
    assert AuditEntry.objects.get().detail == detail


def test_a_new_token_may_act_for_a_team(client, root):
    team = TeamFactory()
    make_token(client, root, team=team.pk)
    assert ApiToken.objects.get().team == team


def test_a_token_acts_for_a_team_only_if_its_user_does(client, root):
    other = {"user": UserFactory().pk, "team": TeamFactory().pk}
    values = {"name": "x", "scopes": ["search"]} | other
    response = client.post(page(ApiToken, "add"), values)
    assert "is not in this team" in response.content.decode()
    assert not ApiToken.objects.exists()


def test_the_form_for_a_token_offers_its_scopes_and_the_one_who_asks(client, root):
    form = client.get(page(ApiToken, "add")).context["adminform"].form
    assert form.initial["user"] == root.pk
    assert form.initial["scopes"] == ["search", "call", "read", "metrics"]


def test_a_token_is_never_edited(client, root):
    row, _ = tokens.create(root, name="monitor", scopes=["metrics"])
    response = client.post(page(ApiToken, "change", row.pk), {"name": "x", "scopes": ["*"]})
    assert response.status_code == 403
    assert ApiToken.objects.get().name == "monitor"


def act(client, model, action, *rows):
    pks = [row.pk for row in rows]
    data = {"action": action, "_selected_action": pks}
    return client.post(page(model, "changelist"), data, follow=True).content.decode()


def test_a_revoked_token_is_useless_at_once_and_its_row_stays(client, root):
    row, token = tokens.create(root, name="monitor", scopes=["metrics"])
    act(client, ApiToken, "revoke", row)
    first = ApiToken.objects.get().revoked_at
    assert tokens.authenticate(token) is None
    act(client, ApiToken, "revoke", row)
    assert ApiToken.objects.get().revoked_at == first
    assert [action for action, _, _ in entries()] == ["token.revoked"]


@pytest.fixture
def quarantined():
    ServerFactory(name="s")
    for description in ("old", "new"):
        listed = [Definition(name="read", description=description)]
        catalogue.record_listing("s", listed, at=SEEN_AT, approve_new=True)
    return Tool.objects.get()


def test_tools_are_approved_from_the_list(client, root, quarantined):
    other = ToolFactory(pinned=False)
    shown = act(client, Tool, "approve_tools", quarantined, other)
    assert "1 of 2 tools approved." in shown
    tool = Tool.objects.get(pk=quarantined.pk)
    assert (tool.state, tool.definition.description) == ("active", "new")
    assert tool.definition.approved_by == root
    assert entries() == [("tool.approved", "s:read", "root")]


def test_one_who_may_not_change_tools_may_not_approve_them(client, quarantined):
    user = UserFactory(staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_tool"))
    client.force_login(user)
    act(client, Tool, "approve_tools", quarantined)
    assert Tool.objects.get().state == "quarantined"
