"""People who tell runs what to do, by a command."""

import json
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from execution.status import RunStatus
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from gateway_project.management.commands import control_run as command
from gateway_project.models import AuditEntry
from tests.execution.stored import change, changes, ended, held, told, unknown, write
from tests.factories import MembershipFactory, TeamFactory, ToolFactory, UserFactory
from tests.gateway.admin_pages import entries
from tests.gateway.terminals import sit_at_terminal

pytestmark = pytest.mark.django_db
BOB = Caller(user="bob", team=None, scopes=frozenset({"call"}), kind="http")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(command, "OUTCOME_TIMEOUT_S", 0.0)


@pytest.fixture
def sealer(home):
    return sealing.load_or_create_sealer(home, name=sealing.PAYLOADS)


def run(*options):
    out = StringIO()
    call_command("control_run", *map(str, options), stdout=out, stderr=StringIO())
    return out.getvalue()


def test_what_a_run_is_told_is_written_down_with_who_told_it(sealer):
    made = held(sealer, caller=BOB).run
    assert "the next running gateway or worker carries it out" in run(made, "pause")
    assert told() == [("pause", "admin", "command", {})]
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.subject) == ("admin", "run.told_to_pause", str(made))
    assert entry.detail == {"action": "pause", "for": "bob", "status": "queued"}


def test_what_was_carried_out_is_said_to_be_done(sealer, monkeypatch):
    made = held(sealer).run
    monkeypatch.setattr(command.control_run.commands, "load_outcome", lambda _command: "done")
    report = json.loads(run(made, "abort", "--json"))
    assert report == {
        "run_id": str(made), "action": "abort", "outcome": "done", "status": "queued"
    }  # fmt: skip


@pytest.mark.parametrize("outcome", ["run_over", "invalid_workflow"])
def test_what_the_run_refused_when_its_turn_came_is_an_error(sealer, monkeypatch, outcome):
    made = held(sealer).run

    def refused(_command):
        write(sealer, changes(made, seqs=[2], status=RunStatus.FAILED))
        return outcome

    monkeypatch.setattr(command.control_run.commands, "load_outcome", refused)
    with pytest.raises(CommandError, match=r"run_not_running|invalid_workflow"):
        run(made, "pause")


def test_telling_a_run_what_it_does_already_changes_nothing(sealer):
    made = held(sealer).run
    assert "nothing to do; the run is queued" in run(made, "resume")
    assert (told(), entries()) == ([], [])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["nonsense", "pause"], r"no run 'nonsense', .* `manage\.py runs` lists them"),
        ([uuid4(), "pause"], r"there is no run '.*`manage\.py runs` lists them"),
        ([uuid4(), "pause", "--rerun-unknown"], "goes with resume only"),
        ([uuid4(), "replan"], "replan, and only replan, takes --workflow"),
        ([uuid4(), "pause", "--workflow", "x"], "replan, and only replan, takes --workflow"),
        ([uuid4(), "pause", "--user", "nobody"], "no active user 'nobody'"),
        ([uuid4(), "approve"], "`manage.py approvals approve ID` decides on a call"),
        ([uuid4(), "reject"], "`manage.py approvals reject ID` decides on a call"),
        ([uuid4(), "go"], "go: not one of continue, pause, resume, abort, replan"),
    ],
)
def test_a_mistake_is_one_line(home, options, says):
    with pytest.raises(CommandError, match=says):
        run(*options)


def test_a_run_that_has_ended_is_told_nothing(sealer):
    with pytest.raises(CommandError, match="run_not_open: the run is succeeded") as refused:
        run(ended(sealer), "abort")
    assert "get_run" not in str(refused.value)
    assert "manage.py run_show" in str(refused.value)
    assert entries() == []


def test_to_others_the_run_does_not_exist(sealer):
    team = TeamFactory()
    made = held(sealer, caller=Caller(user="bob", team=team.pk, scopes=frozenset(), kind="http"))
    for name, role in (("boss", "admin"), ("member", "member"), ("stranger", None)):
        user = UserFactory(username=name)
        if role:
            MembershipFactory(user=user, team=team, role=role)
    for name in ("member", "stranger"):
        with pytest.raises(CommandError, match="there is no run"):
            run(made.run, "abort", "--user", name)
    assert "abort:" in run(made.run, "abort", "--user", "boss")


def test_unknown_calls_are_made_again_only_by_an_explicit_choice(sealer):
    made = unknown(sealer)
    with pytest.raises(CommandError, match="run_not_paused"):
        run(made, "resume")
    with pytest.raises(CommandError, match="add --yes"):
        run(made, "resume", "--rerun-unknown")
    assert told() == []
    run(made, "resume", "--rerun-unknown", "--yes")
    assert told() == [("resume", "admin", "command", {"rerun_unknown": True})]
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.detail["rerun_unknown"]) == ("run.told_to_rerun_unknown", True)


def test_an_unknown_call_is_made_again_while_others_go_on_beside_it(sealer):
    made = held(sealer).run
    write(sealer, changes(made, change("a"), seqs=[2], status=RunStatus.RUNNING))
    write(sealer, changes(made, change("a", "unknown"), seqs=[3]))
    assert "nothing to do" not in run(made, "resume", "--rerun-unknown", "--yes")
    assert told() == [("resume", "admin", "command", {"rerun_unknown": True})]


def test_where_no_call_is_unknown_none_is_made_again(sealer):
    with pytest.raises(CommandError, match="the outcome of each of its calls is known"):
        run(held(sealer).run, "resume", "--rerun-unknown", "--yes")


@pytest.mark.parametrize(("said", "is_told"), [("y", True), ("n", False), ("", False)])
def test_at_a_terminal_the_person_is_shown_the_calls_and_asked(
    sealer, monkeypatch, capsys, said, is_told
):
    made = unknown(sealer)
    sit_at_terminal(monkeypatch, said)
    if is_told:
        run(made, "resume", "--rerun-unknown")
    else:
        with pytest.raises(CommandError, match="nothing was changed"):
            run(made, "resume", "--rerun-unknown")
    assert "a  s:a  {}" in capsys.readouterr().err
    assert bool(told()) is is_told


def test_a_replan_is_judged_before_it_is_told(sealer, tmp_path):
    UserFactory(username="admin", superuser=True)
    ToolFactory(server__name="s", name="c", input_schema={"type": "object"})
    made = held(sealer).run
    write(sealer, changes(made, seqs=[2], status=RunStatus.PAUSED))
    file = tmp_path / "new.json"
    for workflow, says in (
        ({"tasks": [{"id": "x", "tool": "s:none"}]}, "workflow_not_runnable"),
        ({"tasks": [{"id": "x"}]}, "invalid_workflow"),
    ):
        file.write_text(json.dumps(workflow))
        with pytest.raises(CommandError, match=says):
            run(made, "replan", "--workflow", file)
    assert told() == []
    file.write_text(json.dumps({"tasks": [{"id": "x", "tool": "s:c"}]}))
    run(made, "replan", "--workflow", file)
    assert told() == [("replan", "admin", "command", {})]
