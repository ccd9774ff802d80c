"""The pages on which people grant tools for speculation, and revoke that."""

import html

import pytest
from django.utils import timezone

from execution.models import (
    SpeculationAgreement,
    SpeculationBudget,
    SpeculationControl,
    SpeculationGrant,
)
from gateway_project.access.callers import TEAM_KEY
from gateway_project.models import AuditEntry
from gateway_project.use_cases.grant_speculation import load_rules
from learning.models import AdaptiveThreshold, PredictionTotal
from tests.factories import (
    MembershipFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
    UserFactory,
)
from tests.gateway.admin_pages import act, entries, page, sign_in_root, sign_in_staff
from tools.models import Server, Tool

pytestmark = pytest.mark.django_db

ADD = page(SpeculationGrant, "add")


@pytest.fixture
def trusted():
    return ServerFactory(name="notes", trusted=True)


def shown(client, **query):
    return html.unescape(client.get(ADD, query).content.decode())


def chosen(tool):
    return f"{tool.pk}:{tool.definition.hash}"


def grant(client, *tools, **values):
    data = {"chosen": [chosen(tool) for tool in tools]} | values
    return html.unescape(client.post(ADD, data, follow=True).content.decode())


def test_each_tool_is_listed_with_what_speaks_for_and_against_it(client, trusted):
    sign_in_root(client)
    reads = ToolFactory(server=trusted, name="read_note")
    removes = ToolFactory(server=trusted, name="delete_note")
    declared = ToolFactory(server=trusted, name="look", annotations={"readOnlyHint": True})
    elsewhere = ToolFactory(server__name="wild", name="get_it")
    text = shown(client)
    assert "its name says 'read'" in text
    assert "notes:delete_note may do harm: its name says 'delete'" in text
    assert "Server wild is not trusted; an admin can mark it as trusted." in text
    assert chosen(reads) in text
    assert chosen(declared) in text
    assert chosen(removes) not in text
    assert chosen(elsewhere) not in text
    assert "notes:read_note" not in shown(client, server="wild")


def test_a_long_list_is_cut(client, trusted, monkeypatch):
    monkeypatch.setattr("gateway_project.console.grant_pages.MAX_SHOWN", 1)
    sign_in_root(client)
    ToolFactory.create_batch(3, server=trusted)
    assert "2 more tools" in shown(client)


def test_several_tools_are_granted_at_once_and_that_is_written_down(client, trusted):
    sign_in_root(client)
    tools = [ToolFactory(server=trusted, name=name) for name in ("read_note", "list_notes")]
    text = grant(client, *tools, note="they only read", is_closed_world="on")
    assert "2 of 2 tools granted." in text
    assert entries() == [
        ("speculation.granted", "notes:list_notes", "root"),
        ("speculation.granted", "notes:read_note", "root"),
    ]
    detail = AuditEntry.objects.first().detail
    assert detail == {
        "definition": tools[1].definition.hash, "closed_world": True, "team": None,
    }  # fmt: skip
    row = SpeculationGrant.objects.get(tool=tools[0])
    assert (row.granted_by, row.note, row.is_closed_world) == ("root", "they only read", True)
    page_of_row = client.get(page(SpeculationGrant, "change", row.pk)).content.decode()
    assert "in force" in page_of_row


def test_a_grant_may_be_for_one_team(client, trusted):
    sign_in_root(client)
    team = TeamFactory()
    tool = ToolFactory(server=trusted, name="read_note")
    grant(client, tool, team=team.pk)
    assert SpeculationGrant.objects.get().team == team
    grant(client, tool)
    assert len(load_rules().grants.by_tool[tool.pk]) == 2


def test_granting_again_replaces_the_grant(client, trusted):
    sign_in_root(client)
    tool = ToolFactory(server=trusted, name="read_note")
    grant(client, tool)
    grant(client, tool, is_closed_world="on")
    (only,) = load_rules().grants.by_tool[tool.pk]
    assert only.is_closed_world
    assert SpeculationGrant.objects.count() == 2


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"name": "delete_note"}, "may do harm"),
        ({"name": "read_note", "state": "quarantined"}, "changed since it was approved"),
        ({"name": "x", "annotations": {"destructiveHint": True}}, "declares notes:x destructive"),
    ],
)
def test_a_tool_that_no_grant_covers_is_refused_with_the_reason(client, trusted, values, why):
    sign_in_root(client)
    text = grant(client, ToolFactory(server=trusted, **values))
    assert "0 of 1 tools granted." in text
    assert why in text
    assert not SpeculationGrant.objects.exists()
    assert entries() == []


def test_only_tools_of_trusted_servers_can_be_granted(client):
    sign_in_root(client)
    text = grant(client, ToolFactory(server__name="wild", name="read_note"))
    assert "Server wild is not trusted" in text
    assert not SpeculationGrant.objects.exists()


def test_a_tool_that_changed_since_the_page_was_shown_is_not_granted(client, trusted):
    sign_in_root(client)
    tool = ToolFactory(server=trusted, name="read_note")
    data = {"chosen": [f"{tool.pk}:{'0' * 64}", "x:y", f"{'9' * 5_000}:z"]}
    text = client.post(ADD, data, follow=True).content.decode()
    assert "1 changed since the page was shown" in text
    assert not SpeculationGrant.objects.exists()


def test_a_form_that_cannot_be_read_grants_nothing_and_is_shown_again(client, trusted):
    sign_in_root(client)
    text = grant(client, ToolFactory(server=trusted, name="read_note"), note="x" * 1_001)
    assert "at most 1000 characters" in text
    assert not SpeculationGrant.objects.exists()


def test_a_grant_is_revoked_at_once_and_kept(client, trusted):
    sign_in_root(client)
    grant(client, ToolFactory(server=trusted, name="read_note"))
    row = SpeculationGrant.objects.get()
    assert "1 of 1 grants revoked." in act(client, SpeculationGrant, "revoke", row)
    assert "0 of 1 grants revoked." in act(client, SpeculationGrant, "revoke", row)
    row.refresh_from_db()
    assert row.revoked_by == "root"
    assert load_rules().grants.by_tool == {}
    assert entries()[-1] == ("speculation.revoked", "notes:read_note", "root")
    assert "revoked" in client.get(page(SpeculationGrant, "changelist")).content.decode()


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (lambda tool: Server.objects.update(trusted=False), "its server is not trusted"),
        (lambda tool: Server.objects.update(command="other"), "command or address has changed"),
        (lambda tool: Tool.objects.update(state="removed"), "it is removed"),
        (
            lambda tool: SpeculationGrant.objects.update(definition_hash="0" * 64),
            "the definition has changed",
        ),
    ],
)
def test_the_status_says_why_a_grant_has_no_effect(client, trusted, change, status):
    sign_in_root(client)
    tool = ToolFactory(server=trusted, name="read_note")
    grant(client, tool)
    change(tool)
    text = html.unescape(client.get(page(SpeculationGrant, "changelist")).content.decode())
    assert status in text


def test_who_lacks_the_permission_grants_and_revokes_nothing(client, trusted):
    sign_in_root(client)
    tool = ToolFactory(server=trusted, name="read_note")
    grant(client, tool)
    row = SpeculationGrant.objects.get()
    client.force_login(UserFactory(staff=True))
    assert client.get(ADD).status_code == 403
    assert client.post(ADD, {"chosen": [chosen(tool)]}).status_code == 403
    assert client.post(page(SpeculationGrant, "change", row.pk)).status_code == 403
    act(client, SpeculationGrant, "revoke", row)
    row.refresh_from_db()
    assert row.revoked_at is None


def test_staff_with_the_permission_grant_and_revoke_for_their_team_only(client, trusted):
    team = MembershipFactory(user=sign_in_staff(client)).team
    tool = ToolFactory(server=trusted, name="read_note")
    assert "Nothing was granted: 'staff' lacks the scope '*'" in grant(client, tool)
    assert "1 of 1 tools granted." in grant(client, tool, team=team.pk)
    own = SpeculationGrant.objects.get()
    values = {"definition_hash": "0" * 64, "launch_hash": "0" * 64, "granted_at": timezone.now()}
    others = SpeculationGrant.objects.create(tool=tool, granted_by="root", **values)
    assert "Nothing was revoked" in act(client, SpeculationGrant, "revoke", own, others)
    assert "1 of 1 grants revoked." in act(client, SpeculationGrant, "revoke", own)
    others.refresh_from_db()
    assert others.revoked_at is None


def test_staff_of_two_teams_decide_for_the_team_chosen_in_the_console(client, trusted):
    user = sign_in_staff(client)
    team, _ = (MembershipFactory(user=user).team for _ in range(2))
    tool = ToolFactory(server=trusted, name="read_note")
    assert "Nothing was granted" in grant(client, tool, team=team.pk)
    session = client.session
    session[TEAM_KEY] = team.pk
    session.save()
    assert "1 of 1 tools granted." in grant(client, tool, team=team.pk)


@pytest.mark.parametrize(
    ("model", "note"),
    [
        (SpeculationGrant, "lets a tool be called ahead of requests"),
        (SpeculationControl, "in all gateways within a second"),
        (SpeculationBudget, "Servers without a row have the defaults"),
        (SpeculationAgreement, "one that differs ends it"),
        (AdaptiveThreshold, "from which a suggested workflow would be run ahead"),
        (PredictionTotal, "Shadow predictions were not called ahead"),
    ],
)
def test_pages_of_speculation_say_what_they_are_for(client, model, note):
    sign_in_root(client)
    assert note in client.get(page(model, "changelist")).content.decode()
