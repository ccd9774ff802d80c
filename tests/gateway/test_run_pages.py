"""People who tell runs what to do, on the pages of runs."""

from dataclasses import replace

import pytest
from django.urls import reverse

from execution.models import WorkflowExecution
from execution.status import RunStatus
from execution.store import runs
from gateway_project.console import run_decisions
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from tests.execution.asking import waiting
from tests.execution.stored import change, changes, ended, held, new, row, told, unknown, write
from tests.factories import MembershipFactory, TeamFactory
from tests.gateway.admin_pages import act, entries, page, sign_in_root, sign_in_staff

pytestmark = pytest.mark.django_db
BOB = Caller(user="bob", team=None, person=None, scopes=frozenset({"call"}), kind="http")


@pytest.fixture
def sealer(home):
    return sealing.load_or_create_sealer(home, name=sealing.PAYLOADS)


def test_commands_can_be_sent_from_the_list_of_runs(client, sealer):
    sign_in_root(client)
    one, other, over = held(sealer, caller=BOB).run, held(sealer).run, ended(sealer)
    page = act(client, WorkflowExecution, "pause", row(one), row(other), row(over))
    assert "2 runs were told to pause" in page
    assert f"Run {over}: the run is succeeded, but pause requires one that is running" in page
    assert told() == [("pause", "root", "console", {})] * 2
    assert [action for action, _, _ in entries()] == ["run.told_to_pause"] * 2


@pytest.mark.parametrize(("action", "does"), [("abort", "abort"), ("resume", "resume")])
def test_other_actions_are_sent_too(client, sealer, action, does):
    sign_in_root(client)
    made = held(sealer).run
    write(sealer, changes(made, seqs=[2], status=RunStatus.PAUSED))
    assert f"1 run was told to {does}" in act(client, WorkflowExecution, action, row(made))
    assert [one[0] for one in told()] == [does]


def test_unknown_calls_are_shown_before_being_repeated(client, sealer):
    sign_in_root(client)
    lost, known = unknown(sealer, caller=BOB), held(sealer).run
    page = act(client, WorkflowExecution, "rerun_unknown", row(lost), row(known))
    assert "their outcome is unknown" in page
    assert (str(lost) in page, str(known) in page, "s:a" in page) == (True, False, True)
    assert told() == []
    page = act(client, WorkflowExecution, "rerun_unknown", row(lost), sure="yes")
    assert "1 run was told to resume" in page
    assert told() == [("resume", "root", "console", {"rerun_unknown": True})]


def test_unknown_calls_are_shown_with_their_arguments(client, sealer):
    sign_in_root(client)
    lost = lost_with_arguments(sealer)
    shown = act(client, WorkflowExecution, "rerun_unknown", row(lost))
    assert "&quot;path&quot;: &quot;/etc\\u202e&quot;" in shown


def lost_with_arguments(sealer):
    task = {"id": "a", "tool": "s:a", "arguments": {"path": "/etc\u202e"}}
    made = runs.create_run(replace(new(["a"]), workflow={"tasks": [task]}), sealer=sealer).run
    write(sealer, changes(made, change("a", "unknown"), seqs=[2], status=RunStatus.UNKNOWN))
    return made


def test_the_admin_leads_to_the_room_of_a_run_and_back_to_its_record(client, sealer):
    sign_in_root(client)
    made = held(sealer, caller=BOB).run
    url = page(WorkflowExecution, "change", made)
    assert client.get(url)["Location"] == reverse("run", args=[made])
    room = client.get(reverse("run", args=[made])).content.decode()
    assert f"{url}?record=1" in room
    record = client.get(f"{url}?record=1").content.decode()
    assert "Lease until" in record
    assert reverse("admin:execution_taskrun_changelist") in record
    assert 'name="action"' not in record


def test_members_without_a_room_see_the_record_without_arguments(client, sealer):
    team = TeamFactory()
    who = Caller(user="bob", team=team.pk, person=None, scopes=frozenset(), kind="http")
    asked = waiting(sealer, arguments={"path": "/only/here"}, caller=who)
    MembershipFactory(user=sign_in_staff(client), team=team)
    shown = client.get(page(WorkflowExecution, "change", asked.run_id)).content.decode()
    assert str(asked.run_id) in shown
    assert ("/only/here" in shown, 'name="action"' in shown) == (False, False)


def test_runs_without_unknown_calls_repeat_none(client, sealer):
    sign_in_root(client)
    page = act(client, WorkflowExecution, "rerun_unknown", row(held(sealer).run))
    assert "have no unknown call" in page


def test_members_see_runs_of_their_team_and_its_admins_steer_them(client, sealer):
    team = TeamFactory()
    who = Caller(user="bob", team=team.pk, person=None, scopes=frozenset(), kind="http")
    made, staff = unknown(sealer, caller=who), sign_in_staff(client)
    membership = MembershipFactory(user=staff, team=team)
    assert "superusers may" in act(client, WorkflowExecution, "abort", row(made))
    refused = act(client, WorkflowExecution, "rerun_unknown", row(made))
    assert "have no unknown call that you may" in refused
    assert told() == []
    membership.role = "admin"
    membership.save()
    assert "told to abort" in act(client, WorkflowExecution, "abort", row(made))


def test_too_many_at_once_are_refused_whole(client, sealer, monkeypatch):
    monkeypatch.setattr("gateway_project.console.run_pages.MAX_SELECTED", 1)
    sign_in_root(client)
    rows = [row(held(sealer).run) for _ in range(2)]
    assert "nothing was changed" in act(client, WorkflowExecution, "abort", *rows)
    assert told() == []


@pytest.mark.parametrize("action", ["pause", "rerun_unknown"])
def test_invalid_ids_are_ignored(client, sealer, action):
    sign_in_root(client)
    made = held(sealer).run
    data = {"action": "pause", "_selected_action": ["<b>", str(made), "-"]}
    url = page(WorkflowExecution, "changelist")
    assert client.post(url, data).status_code == 302
    assert [one[0] for one in told()] == ["pause"]
    data = {"action": action, "_selected_action": ["no id"]}
    assert client.post(url, data, follow=True).status_code == 200
    assert len(told()) == 1


def test_of_many_long_calls_a_page_shows_the_first_ones_whole(monkeypatch):
    monkeypatch.setattr(run_decisions, "MAX_PAGE_CHARS", 1_000)
    room = run_decisions.DisplayBudget()
    shown = [room.format_arguments({"x": "y" * 300, "n": n}) for n in range(5)]
    assert ["(shortened)" in one for one in shown] == [False] * 3 + [True] * 2
    assert '"n": 4' in shown[4]
