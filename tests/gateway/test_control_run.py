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
BOB = Caller(user="bob", team=None, person=None, scopes=frozenset({"call"}), kind="http")


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


def test_commands_are_audited_with_their_user(sealer):
    made = held(sealer, caller=BOB).run
    assert "the next running gateway or worker carries it out" in run(made, "pause")
    assert told() == [("pause", "admin", "command", {})]
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.subject) == ("admin", "run.told_to_pause", str(made))
    assert entry.detail == {"action": "pause", "for": "bob", "status": "queued"}


def test_an_applied_command_is_reported_as_done(sealer, monkeypatch):
    made = held(sealer).run
    monkeypatch.setattr(command.control_run.commands, "load_outcome", lambda _command: "done")
    report = json.loads(run(made, "abort", "--json"))
    assert report == {
        "run_id": str(made), "action": "abort", "outcome": "done", "status": "queued"
    }  # fmt: skip


@pytest.mark.parametrize("outcome", ["run_over", "invalid_workflow"])
def test_a_command_refused_when_applied_is_an_error(sealer, monkeypatch, outcome):
    made = held(sealer).run

    def refused(_command):
        write(sealer, changes(made, seqs=[2], status=RunStatus.FAILED))
        return outcome

    monkeypatch.setattr(command.control_run.commands, "load_outcome", refused)
    with pytest.raises(CommandError, match=r"run_not_running|invalid_workflow"):
        run(made, "pause")


def test_a_redundant_command_changes_nothing(sealer):
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


def test_an_ended_run_accepts_no_commands(sealer):
    with pytest.raises(CommandError, match="run_not_open: the run is succeeded") as refused:
        run(ended(sealer), "abort")
    assert "get_run" not in str(refused.value)
    assert "manage.py run_show" in str(refused.value)
    assert entries() == []


def test_the_run_does_not_exist_for_others(sealer):
    team = TeamFactory()
    made = held(
        sealer,
        caller=Caller(user="bob", team=team.pk, person=None, scopes=frozenset(), kind="http"),
    )
    for name, role in (("boss", "admin"), ("member", "member"), ("stranger", None)):
        user = UserFactory(username=name)
        if role:
            MembershipFactory(user=user, team=team, role=role)
    for name in ("member", "stranger"):
        with pytest.raises(CommandError, match="there is no run"):
            run(made.run, "abort", "--user", name)
    assert "abort:" in run(made.run, "abort", "--user", "boss")


def test_unknown_calls_are_repeated_only_by_explicit_choice(sealer):
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


def test_an_unknown_call_is_repeated_while_others_continue(sealer):
    made = held(sealer).run
    write(sealer, changes(made, change("a"), seqs=[2], status=RunStatus.RUNNING))
    write(sealer, changes(made, change("a", "unknown"), seqs=[3]))
    assert "nothing to do" not in run(made, "resume", "--rerun-unknown", "--yes")
    assert told() == [("resume", "admin", "command", {"rerun_unknown": True})]


def test_without_unknown_calls_none_is_repeated(sealer):
    with pytest.raises(CommandError, match="the outcome of each of its calls is known"):
        run(held(sealer).run, "resume", "--rerun-unknown", "--yes")


@pytest.mark.parametrize(("said", "is_told"), [("y", True), ("n", False), ("", False)])
def test_a_terminal_shows_the_calls_and_asks(sealer, monkeypatch, capsys, said, is_told):
    made = unknown(sealer)
    sit_at_terminal(monkeypatch, said)
    if is_told:
        run(made, "resume", "--rerun-unknown")
    else:
        with pytest.raises(CommandError, match="nothing was changed"):
            run(made, "resume", "--rerun-unknown")
    assert "a  s:a  {}" in capsys.readouterr().err
    assert bool(told()) is is_told


def test_a_replan_is_validated_before_it_is_sent(sealer, tmp_path):
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
