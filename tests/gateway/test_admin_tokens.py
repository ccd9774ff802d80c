"""Tokens in the console: who may make which, shown once, revoked."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

import gateway_project.urls  # noqa: F401 - finds the pages
from gateway_project.access import audit, roles, tokens
from gateway_project.models import ApiToken, AuditEntry
from tests.factories import MembershipFactory, TeamFactory, UserFactory
from tests.gateway.admin_pages import act, entries, page
from tools.models import ToolGroup

pytestmark = pytest.mark.django_db


def test_staff_without_token_scopes_cannot_create_tokens(client, staff, monkeypatch):
    monkeypatch.setattr(roles, "MEMBER_SCOPES", ())
    assert client.get(page(ApiToken, "add")).status_code == 403
    values = {"name": "x", "user": staff.pk, "scopes": ["metrics"]}
    assert client.post(page(ApiToken, "add"), values).status_code == 403
    assert not ApiToken.objects.exists()


@pytest.fixture
def holder(staff, monkeypatch):
    """Let staff hold one of the scopes that tokens can have."""
    monkeypatch.setattr(roles, "MEMBER_SCOPES", ("search",))
    return staff


def test_staff_can_create_tokens_for_themselves_and_their_teams(client, holder):
    team = MembershipFactory(user=holder).team
    make_token(client, holder, scopes=["search"], team=team.pk)
    row = ApiToken.objects.get()
    assert (row.user, row.team, row.scopes) == (holder, team, ["search"])


def test_staff_are_offered_only_their_own_rights(client, holder):
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


def test_deleting_a_token_is_written_down(client, root):
    row, _ = tokens.create_token(root, name="monitor", scopes=["metrics"])
    client.post(page(ApiToken, "delete", row.pk), {"post": "yes"})
    assert not ApiToken.objects.exists()
    assert [action for action, _, _ in entries()] == ["token.deleted"]


def refuse(*_, **__):
    raise RuntimeError("the trail cannot be written")


@pytest.mark.parametrize("action", ["delete_selected", "revoke"])
def test_an_action_that_cannot_be_audited_is_not_done(client, root, monkeypatch, action):
    row, token = tokens.create_token(root, name="monitor", scopes=["metrics"])
    monkeypatch.setattr(audit, "record_audit", refuse)
    with pytest.raises(RuntimeError, match="trail"):
        client.post(
            page(ApiToken, "changelist"),
            {"action": action, "_selected_action": [row.pk], "post": "yes"},
        )
    assert tokens.authenticate_token(token) is not None


def make_token(client, user, **values):
    data = {"name": "monitor", "user": user.pk, "scopes": ["metrics"]} | values
    return client.post(page(ApiToken, "add"), data, follow=True).content.decode()


def test_a_new_token_is_shown_once_and_works(client, root):
    shown = make_token(client, root)
    (token,) = set(re.findall(r"fgt_[A-Za-z0-9_-]{40,}", shown))
    assert tokens.authenticate_token(token).user == "root"
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


def test_only_a_superusers_token_may_have_all_scopes(client, root):
    shown = make_token(client, UserFactory(username="ann"), scopes=["*"])
    assert "ann is not a superuser" in shown
    assert not ApiToken.objects.exists()
    make_token(client, root, scopes=["*"])
    assert ApiToken.objects.get().scopes == ["*"]


def test_the_scopes_of_a_new_token_are_audited(client, root):
    make_token(client, root, team=TeamFactory(name="blue").pk)
    detail = {"user": "root", "scopes": ["metrics"], "team": "blue", "group": None}
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


def test_the_token_form_offers_scopes_and_the_current_user(client, root):
    form = client.get(page(ApiToken, "add")).context["adminform"].form
    assert form.initial["user"] == root.pk
    assert form.initial["scopes"] == ["search", "call", "read"]


def test_a_token_is_never_edited(client, root):
    row, _ = tokens.create_token(root, name="monitor", scopes=["metrics"])
    response = client.post(page(ApiToken, "change", row.pk), {"name": "x", "scopes": ["*"]})
    assert response.status_code == 403
    assert ApiToken.objects.get().name == "monitor"


def test_a_revoked_token_is_useless_at_once_and_its_row_stays(client, root):
    row, token = tokens.create_token(root, name="monitor", scopes=["metrics"])
    act(client, ApiToken, "revoke", row)
    first = ApiToken.objects.get().revoked_at
    assert tokens.authenticate_token(token) is None
    act(client, ApiToken, "revoke", row)
    assert ApiToken.objects.get().revoked_at == first
    assert [action for action, _, _ in entries()] == ["token.revoked"]


def test_a_token_can_be_limited_to_a_tool_group(client, root):
    group = ToolGroup.objects.create(name="desk")
    make_token(client, root, scopes=["search", "call"], tool_group=group.pk)
    row = ApiToken.objects.get()
    assert (row.tool_group, row.scopes) == (group, ["search", "call"])
    assert AuditEntry.objects.get().detail["group"] == "desk"


def test_a_group_s_token_is_of_its_team_and_reaches_nothing_beyond(client, root):
    group = ToolGroup.objects.create(name="desk", team=TeamFactory(name="red"))
    values = {"name": "x", "user": root.pk, "scopes": ["search", "*"], "tool_group": group.pk}
    form = client.post(page(ApiToken, "add"), values).context["adminform"].form
    assert form.errors["tool_group"] == ["desk is for the team red."]
    assert form.errors["scopes"] == ["A token limited to a group has only search, call, read."]
    assert not ApiToken.objects.exists()


def test_staff_are_offered_the_groups_of_their_team_and_of_everybody(client, holder):
    team = MembershipFactory(user=holder).team
    own = ToolGroup.objects.create(name="a", team=team)
    shared = ToolGroup.objects.create(name="b")
    ToolGroup.objects.create(name="c", team=TeamFactory())
    form = client.get(page(ApiToken, "add")).context["adminform"].form
    assert list(form.fields["tool_group"].queryset) == [own, shared]
