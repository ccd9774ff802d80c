"""Changes made in the console are written down, and what cannot be is not done."""

import pytest
from django.contrib.auth.models import Permission, User
from django.urls import reverse

import gateway_project.urls  # noqa: F401 - finds the pages
from gateway_project.access import one_time_password
from gateway_project.models import AuditEntry
from tests.factories import (
    SEEN_AT,
    ServerFactory,
    TeamFactory,
    ToolFactory,
    UserFactory,
)
from tests.gateway.admin_pages import (
    SECRET,
    SERVER,
    act,
    entries,
    page,
    relation,
    three_tools,
)
from tools.definition import Definition
from tools.models import DangerousOperation, Membership, Server, Team, Tool, ToolGroup
from tools.store import catalogue

pytestmark = pytest.mark.django_db


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


def test_deleting_servers_asks_with_the_number_of_their_relations(client, root):
    one, other, third = three_tools()
    relation(one, other)
    relation(one, other, "alternative_to")
    relation(third, one)
    relation(third, other)
    rows = [one.server.pk, other.server.pk]
    context = client.get(page(Server, "delete", one.server.pk)).context
    assert dict(context["model_count"])["relations"] == 3
    response = client.post(
        page(Server, "changelist"), {"action": "delete_selected", "_selected_action": rows}
    )
    assert dict(response.context["model_count"])["relations"] == 4


def test_deleting_several_rows_audits_each(client, root):
    pks = [ServerFactory(name=name).pk for name in ("a", "b")]
    client.post(
        page(Server, "changelist"),
        {"action": "delete_selected", "_selected_action": pks, "post": "yes"},
    )
    assert not Server.objects.exists()
    assert sorted(entries()) == [("server.deleted", "a", "root"), ("server.deleted", "b", "root")]


def test_a_user_can_be_deleted_with_their_one_time_passwords(client, root):
    ann = UserFactory()
    one_time_password.issue_password(ann)
    client.post(page(type(ann), "delete", ann.pk), {"post": "yes"})
    assert not type(ann).objects.filter(pk=ann.pk).exists()


AUDITED = {
    "a dangerous operation": lambda: (
        page(DangerousOperation, "add"),
        {"pattern": "zap", "danger": "dangerous", "reason": "", "enabled": "on"},
    ),
    "a team": lambda: (
        reverse("admin:tools_team_add"),
        members(),
    ),
    "a membership": lambda: (
        reverse("admin:tools_membership_add"),
        {"user": UserFactory().pk, "team": TeamFactory().pk, "role": "admin"},
    ),
    "a category": lambda: (reverse("admin:tools_category_add"), {"name": "files"}),
}


@pytest.mark.parametrize("prepare", AUDITED.values(), ids=AUDITED.keys())
def test_every_console_change_is_audited_once(client, root, prepare):
    url, values = prepare()
    assert client.post(url, values).status_code == 302
    assert len(entries()) == 1


def members(*rows, **values):
    data = {"memberships-TOTAL_FORMS": len(rows), "memberships-INITIAL_FORMS": 0}
    data |= {"name": "blue", "approve_from": "dangerous"}
    for place, row in enumerate(rows):
        data |= {f"memberships-{place}-{field}": value for field, value in row.items()}
    return data | values


def test_a_team_and_its_members_are_audited_individually(client, root):
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


def test_a_password_change_is_audited_without_the_password(client, root):
    ann = UserFactory(username="ann")
    values = {"password1": SECRET, "password2": SECRET, "usable_password": "true"}
    client.post(reverse("admin:auth_user_password_change", args=[ann.pk]), values)
    ann.refresh_from_db()
    assert ann.check_password(SECRET)
    assert entries() == [("user.changed", "ann", "root")]
    assert AuditEntry.objects.get().detail == {"changed": ["password"]}


def test_deleting_ones_own_account_is_audited(client, root):
    client.post(page(User, "delete", root.pk), {"post": "yes"})
    assert not User.objects.exists()
    assert entries() == [("user.deleted", "root", "root")]


def test_withdrawn_trust_is_shown_and_audited(client, root):
    server = ServerFactory(name="git", command="mcp-server-git", args=["-v"], trusted=True)
    values = SERVER | {"trusted": "on", "command": "other"}
    shown = client.post(page(Server, "change", server.pk), values, follow=True).content.decode()
    assert "no longer trusted" in shown
    assert not Server.objects.get().trusted
    assert AuditEntry.objects.get().detail == {"changed": ["command", "trusted"]}
    values["trusted"] = "on"
    shown = client.post(page(Server, "change", server.pk), values, follow=True).content.decode()
    assert "no longer trusted" not in shown
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


def test_approving_tools_requires_the_change_permission(client, quarantined):
    user = UserFactory(staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_tool"))
    client.force_login(user)
    act(client, Tool, "approve_tools", quarantined)
    assert Tool.objects.get().state == "quarantined"


def test_a_tool_group_is_entered_one_name_a_line(client, root):
    values = {"name": "desk", "servers": " git \r\n\r\ntime\r\n", "tools": "a:x"}
    client.post(page(ToolGroup, "add"), values)
    group = ToolGroup.objects.get()
    assert (group.servers, group.categories, group.tools) == (["git", "time"], [], ["a:x"])
    form = client.get(page(ToolGroup, "change", group.pk)).context["adminform"].form
    assert form["servers"].value() in (["git", "time"], "git\ntime")
    assert "name" not in form.fields
    client.post(
        page(ToolGroup, "change", group.pk), {"servers": "git", "tools": "", "name": "other"}
    )
    group.refresh_from_db()
    assert (group.name, group.servers, group.tools) == ("desk", ["git"], [])
    client.post(page(ToolGroup, "delete", group.pk), {"post": "yes"})
    assert entries() == [
        ("toolgroup.registered", "desk", "root"),
        ("toolgroup.changed", "desk", "root"),
        ("toolgroup.deleted", "desk", "root"),
    ]


def test_staff_who_are_no_superusers_only_look_at_tool_groups(client, staff):
    client.post(page(ToolGroup, "add"), {"name": "desk"})
    assert not ToolGroup.objects.exists()
