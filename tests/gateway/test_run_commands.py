"""The commands that run workflows, list runs and show one."""

import io
import json
from contextlib import nullcontext
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from execution.status import RunStatus
from execution.store import views
from gateway_project import wiring
from gateway_project.foundation import sealing, telemetry
from gateway_project.foundation.postgres import migrate
from gateway_project.management import run_here
from gateway_project.management.commands import run as run_command
from gateway_project.management.commands import run_show
from gateway_project.run_face.plan import NotRunnable
from tests.execution import stored
from tests.factories import ServerFactory, ToolFactory, UserFactory
from tests.fakes import FakeEmbedder
from tests.gateway.catalogues import FakeUpstream
from tests.gateway.run_views import approval, task, text, view
from tools.embed.cache import CachedEmbedder

pytestmark = pytest.mark.django_db(transaction=True)
NOT_THERE = UUID(int=1)
FLOW = {"tasks": [{"id": "a", "tool": "s:a"}]}


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr(telemetry, "configure", lambda *_, **__: None)
    monkeypatch.setattr(migrate, "migrate_once", lambda: None)


def printed(capsys, *arguments):
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue() + capsys.readouterr().out


@pytest.fixture
def sealer(settings, home):
    return sealing.load_or_create(settings.FOREGATE.home, name=sealing.PAYLOADS)


@pytest.fixture
def created(sealer):
    return str(stored.held(sealer, ("a", "b"), intent="make it so").run)


def test_without_runs_it_is_said_how_to_get_some(capsys):
    assert "manage.py run FILE" in printed(capsys, "runs")
    assert json.loads(printed(capsys, "runs", "--json")) == {"runs": []}


def test_runs_are_listed(capsys, created):
    assert created in printed(capsys, "runs")
    (row,) = json.loads(printed(capsys, "runs", "--json"))["runs"]
    assert (row["run_id"], row["tools"], row["tasks"]) == (created, ["s:a", "s:b"], 2)
    other = "queued" if row["status"] == "running" else "failed"
    assert json.loads(printed(capsys, "runs", "--status", other, "--json"))["runs"] == []


@pytest.mark.parametrize("limit", ["0", "x", "1001"])
def test_a_limit_out_of_range_is_refused(limit):
    with pytest.raises(CommandError, match="not a number from 1 to 1,000"):
        call_command("runs", "--limit", limit)


def test_a_run_is_shown_with_what_it_was_for_and_what_happened(capsys, created):
    report = json.loads(printed(capsys, "run_show", created, "--events", "--json"))
    assert (report["intent"], set(report["tasks"])) == ("make it so", {"a", "b"})
    assert [event["seq"] for event in report["events"]] == [1]
    assert created in printed(capsys, "run_show", created)


def test_a_run_is_followed_until_it_rests_and_its_results_read_once(
    capsys, monkeypatch, sealer, created
):
    read, view = [], views.view

    def counted(run, *, results, **said):
        read.append(results)
        return view(run, results=results, **said)

    def goes_on(_seconds):
        end = stored.changes(UUID(created), seqs=[2], status=RunStatus.SUCCEEDED)
        stored.write(sealer, end)

    monkeypatch.setattr(views, "view", counted)
    monkeypatch.setattr(run_show.time, "sleep", goes_on)
    told = io.StringIO()
    call_command("run_show", created, "--follow", stderr=told)
    assert [line.split("s  ")[1].strip() for line in told.getvalue().splitlines()] == [
        "run queued", "a task started"
    ]  # fmt: skip
    assert "succeeded" in capsys.readouterr().out
    assert read == [False, False, True]


@pytest.mark.parametrize("run", ["nonsense", str(NOT_THERE)])
def test_a_run_that_is_not_there_is_said_to_be_missing(run):
    with pytest.raises(CommandError, match=r"manage\.py runs"):
        call_command("run_show", run)


def answering(monkeypatch, outcome):
    """Have runs carried out come to this; return what was asked for."""
    asked = []

    async def carried_out(_config, request, **_):
        asked.append(request)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(run_here, "run_here", carried_out)
    return asked


@pytest.mark.parametrize("holder", [FLOW, {"workflow": FLOW}, {"draft_workflow": FLOW}])
def test_a_workflow_is_taken_from_a_file_or_from_a_suggestion(
    capsys, monkeypatch, tmp_path, holder
):
    asked = answering(monkeypatch, view(task("a", span=(0, 9), result=text("done"))))
    file = tmp_path / "workflow.json"
    file.write_text(json.dumps(holder))
    shown = printed(capsys, "run", str(file), "--intent", "do it", "--on-error", "continue")
    (request,) = asked
    assert (request.workflow, request.intent) == (FLOW, "do it")
    assert request.options.on_error == "continue"
    assert "succeeded" in shown
    assert "done" in shown


def test_a_workflow_is_read_from_stdin(capsys, monkeypatch):
    asked = answering(monkeypatch, view(task("a")))
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(FLOW)))
    report = json.loads(printed(capsys, "run", "-", "--wait", "3", "--json"))
    assert (report["status"], asked[0].wait_s) == ("succeeded", 3)


def test_a_run_that_did_not_succeed_ends_the_command_with_an_error(monkeypatch, tmp_path):
    answering(monkeypatch, view(task("a"), status=RunStatus.WAITING, approvals=(approval(),)))
    file = tmp_path / "workflow.json"
    file.write_text(json.dumps(FLOW))
    with pytest.raises(CommandError, match=r"the run is waiting; .*run_show"):
        call_command("run", str(file))


@pytest.mark.parametrize("content", ["{", "[" * 100_000, ""])
def test_what_is_no_json_is_told_in_a_line(tmp_path, content):
    file = tmp_path / "workflow.json"
    file.write_text(content)
    with pytest.raises(CommandError, match="holds no JSON"):
        call_command("run", str(file))


def test_what_stands_against_a_run_is_told_with_its_code(monkeypatch, tmp_path):
    answering(monkeypatch, NotRunnable(()))
    file = tmp_path / "workflow.json"
    file.write_text(json.dumps(FLOW))
    with pytest.raises(CommandError, match=r"^workflow_not_runnable: "):
        call_command("run", str(file))


class Terminal(io.StringIO):
    """A terminal at which somebody has typed."""

    def isatty(self):
        return True


@pytest.fixture
def servers(monkeypatch, home):
    """Have the command's own process call servers in memory, of a tool that a person approves."""
    called = FakeUpstream()
    embedder = CachedEmbedder(FakeEmbedder())
    monkeypatch.setattr(wiring.embedding, "embedder_for", lambda _config: embedder)
    monkeypatch.setattr(wiring, "PinnedUpstream", lambda *_, **__: called)
    UserFactory(username="admin", superuser=True)
    server = ServerFactory(name="fs", command="no-such-command")
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    ToolFactory(server=server, name="delete", approval="always", input_schema=schema)
    return called


@pytest.mark.parametrize(("said", "status"), [("y\n", "succeeded"), ("n\n", "failed")])
def test_a_run_is_carried_out_here_as_the_person_at_the_terminal_decides(
    capsys, monkeypatch, tmp_path, servers, said, status
):
    monkeypatch.setattr("sys.stdin", Terminal(said))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    file = tmp_path / "workflow.json"
    tasks = [{"id": "a", "tool": "fs:delete", "arguments": {"path": "/old"}}]
    file.write_text(json.dumps({"tasks": tasks}))
    told = io.StringIO()
    ends = nullcontext() if status == "succeeded" else pytest.raises(CommandError, match=status)
    with ends:
        call_command("run", str(file), stderr=told)
    shown = capsys.readouterr()
    assert "fs:delete needs a person's approval" in shown.err
    assert '"path": "/old"' in shown.err
    assert "a task waiting approval" in told.getvalue()
    assert status in shown.out
    made = [call.arguments for call in servers.calls]
    assert made == ([{"path": "/old"}] if status == "succeeded" else [])


def test_nobody_is_asked_where_there_is_no_terminal(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert run_command._decide(approval()) is None
