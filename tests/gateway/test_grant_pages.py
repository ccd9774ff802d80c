"""The pages on which people grant tools for speculation, revoke that, and stop it all."""

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


def test_staff_set_budgets_of_their_teams_servers_only(client, trusted):
    team = MembershipFactory(user=sign_in_staff(client)).team
    own = ServerFactory(name="own", team=team)
    values = {"waste": "0.2", "calls_per_minute": "10", "dollars_per_day": "1.5"}
    add = page(SpeculationBudget, "add")
    text = client.post(add, values | {"server": trusted.pk}).content.decode()
    assert "Select a valid choice" in text
    client.post(add, values | {"server": own.pk})
    assert SpeculationBudget.objects.get().server == own
    shared = SpeculationBudget.objects.create(server=trusted, waste=0.1)
    changed = client.post(page(SpeculationBudget, "change", shared.pk), values)
    deleted = client.post(page(SpeculationBudget, "delete", shared.pk), {"post": "yes"})
    assert (changed.status_code, deleted.status_code) == (403, 403)
    act(client, SpeculationBudget, "delete_selected", shared, post="yes")
    shared.refresh_from_db()
    assert shared.waste == 0.1


def test_all_speculation_is_stopped_and_allowed_again(client):
    sign_in_root(client)
    row = SpeculationControl.objects.get()
    assert row.is_on
    text = act(client, SpeculationControl, "turn_off", row)
    assert "All speculation is off. Within a second no gateway calls anything ahead" in text
    act(client, SpeculationControl, "turn_off", row)
    row.refresh_from_db()
    assert (row.is_on, row.changed_by) == (False, "root")
    assert "Speculation is on:" in act(client, SpeculationControl, "turn_on", row)
    assert entries() == [
        ("speculation.turned_off", "all speculation", "root"),
        ("speculation.turned_on", "all speculation", "root"),
    ]


def test_who_lacks_the_permission_turns_no_switch(client):
    client.force_login(UserFactory(staff=True))
    act(client, SpeculationControl, "turn_off", SpeculationControl.objects.get())
    assert SpeculationControl.objects.get().is_on


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


def test_a_budget_is_set_and_audited(client):
    sign_in_root(client)
    server = ServerFactory(name="paid")
    values = {
        "server": server.pk, "waste": "0.2", "calls_per_minute": "10", "dollars_per_day": "1.5",
    }  # fmt: skip
    client.post(page(SpeculationBudget, "add"), values)
    budget = SpeculationBudget.objects.get()
    assert (budget.waste, budget.calls_per_minute) == (0.2, 10)
    assert [entry[0] for entry in entries()] == ["speculation_budget.registered"]
    text = client.post(page(SpeculationBudget, "add"), values | {"waste": "1.2"}).content.decode()
    assert "less than or equal to 1.0" in text


def test_comparing_begins_anew_and_is_audited(client):
    sign_in_root(client)
    row = SpeculationAgreement.objects.create(
        tool=ToolFactory(), definition_hash="0" * 64, launch_hash="0" * 64, agreed=9,
        disagreed=1, ages_s=[1.0], compared_at=timezone.now(),
    )  # fmt: skip
    assert "never served" in client.get(page(SpeculationAgreement, "changelist")).content.decode()
    assert "1 of 1 tools are compared anew." in act(
        client, SpeculationAgreement, "compare_anew", row
    )
    row.refresh_from_db()
    assert (row.agreed, row.disagreed, row.ages_s, row.reset_by) == (0, 0, [], "root")
    assert entries() == [("speculation.compared_anew", str(row.tool), "root")]


def test_who_lacks_the_permission_lets_nothing_be_compared_anew(client):
    client.force_login(UserFactory(staff=True))
    row = SpeculationAgreement.objects.create(
        tool=ToolFactory(), definition_hash="0" * 64, launch_hash="0" * 64, disagreed=1,
        compared_at=timezone.now(),
    )  # fmt: skip
    act(client, SpeculationAgreement, "compare_anew", row)
    row.refresh_from_db()
    assert row.disagreed == 1
