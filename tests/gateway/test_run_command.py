"""The command that runs a workflow."""

import asyncio
import io
import json
import os
import threading
from contextlib import nullcontext

import pytest
from django.core.management import CommandError, call_command

from execution.status import RunStatus, TaskStatus
from execution.store import worker_rows
from gateway_project import wiring
from gateway_project.management import question, run_here
from gateway_project.management.commands import run as run_command
from gateway_project.runs.plan import WorkflowNotRunnable
from tests.factories import ServerFactory, ToolFactory, UserFactory
from tests.fakes import FakeEmbedder
from tests.gateway.catalogues import FakeUpstream
from tests.gateway.quiet_commands import hush, printed
from tests.gateway.run_views import RUN, approval, task, text, view
from tests.patience import PATIENCE_S
from tools.embed.cache import CachedEmbedder

pytestmark = pytest.mark.django_db(transaction=True)
FLOW = {"tasks": [{"id": "a", "tool": "s:a"}]}


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    hush(monkeypatch)


def answering(monkeypatch, outcome):
    """Have runs carried out come to this; return what was asked for."""
    asked = []

    async def carried_out(_config, request, **_):
        asked.append(request)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(run_here, "run_locally", carried_out)
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


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "is not valid JSON: .* at line 1, column 2; fix it"),
        (b"", "is not valid JSON: .* at line 1, column 1; fix it"),
        (b"[" * 100_000, "cannot be read: it is nested too deeply; arguments may have 100 levels"),
        (b"9" * 6_000, "cannot be read: it has a number of more than 4,300 digits"),
        (b"\xff", "is not UTF-8 text; save it as UTF-8"),
    ],
    ids=["open", "empty", "deep", "digits", "bytes"],
)
def test_invalid_json_is_one_line_with_instructions(tmp_path, content, said):
    file = tmp_path / "workflow.json"
    file.write_bytes(content)
    with pytest.raises(CommandError, match=said):
        call_command("run", str(file))


def test_a_refused_run_is_reported_with_its_code(monkeypatch, tmp_path):
    answering(monkeypatch, WorkflowNotRunnable(()))
    file = tmp_path / "workflow.json"
    file.write_text(json.dumps(FLOW))
    with pytest.raises(CommandError, match=r"^workflow_not_runnable: "):
        call_command("run", str(file))


@pytest.mark.parametrize(
    ("backend", "says"),
    [("local", "a gateway continues it"), ("queue", "a worker continues it")],
)
def test_ctrl_c_reports_the_run_and_how_to_continue(
    monkeypatch, settings, tmp_path, backend, says
):
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"execution_backend": backend})

    async def interrupted(_config, _request, *, started, **_):
        await started(RUN)
        raise KeyboardInterrupt

    monkeypatch.setattr(run_here, "run_locally", interrupted)
    monkeypatch.setattr(worker_rows, "is_any_worker_alive", lambda **_: True)
    file = tmp_path / "workflow.json"
    file.write_text(json.dumps(FLOW))
    told = io.StringIO()
    with pytest.raises(CommandError) as left:
        call_command("run", str(file), stderr=told)
    assert told.getvalue() == f"run {RUN}\n"
    assert left.value.returncode == 130
    for part in (says, f"run_show {RUN}", f"control_run {RUN} abort"):
        assert part in str(left.value)


def test_ctrl_c_before_creation_reports_that_nothing_started(monkeypatch, tmp_path):
    answering(monkeypatch, KeyboardInterrupt())
    file = tmp_path / "workflow.json"
    file.write_text(json.dumps(FLOW))
    with pytest.raises(CommandError, match="before the run was started"):
        call_command("run", str(file))


@pytest.mark.parametrize(("alive", "is_told"), [(False, True), (True, False)])
def test_without_a_live_worker_the_command_says_how_to_start_one(
    capsys, monkeypatch, settings, tmp_path, alive, is_told
):
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"execution_backend": "queue"})
    monkeypatch.setattr(worker_rows, "is_any_worker_alive", lambda **_: alive)

    async def carried_out(_config, _request, *, started, **_):
        await started(RUN)
        return view(task("a", TaskStatus.PENDING), status=RunStatus.QUEUED)

    monkeypatch.setattr(run_here, "run_locally", carried_out)
    file = tmp_path / "workflow.json"
    file.write_text(json.dumps(FLOW))
    told = io.StringIO()
    with pytest.raises(CommandError, match="the run is queued"):
        call_command("run", str(file), "--wait", "0", stderr=told)
    assert ("No worker is running" in told.getvalue()) is is_told
    assert ("manage.py worker" in told.getvalue()) is is_told


@pytest.fixture
def terminal(monkeypatch):
    """A terminal at which somebody sits, who answers what they are asked."""
    hands, program = os.openpty()
    with open(program, encoding="utf-8") as typed:

        def sit_down(said=""):
            ask = question.show_question

            def answered(text):
                ask(text)
                os.write(hands, said.encode())

            monkeypatch.setattr("sys.stdin", typed)
            monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
            monkeypatch.setattr(question, "show_question", answered)

        yield sit_down
    os.close(hands)


@pytest.fixture
def servers(monkeypatch, home):
    """Have the command's own process call servers in memory, of a tool that a person approves."""
    called = FakeUpstream()
    embedder = CachedEmbedder(FakeEmbedder())
    monkeypatch.setattr(run_here, "FLUSH_TIMEOUT_S", PATIENCE_S)
    monkeypatch.setattr(wiring.embedding, "make_embedder", lambda _config: embedder)
    monkeypatch.setattr(wiring, "PinnedUpstream", lambda *_, **__: called)
    UserFactory(username="admin", superuser=True)
    server = ServerFactory(name="fs", command="no-such-command")
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    ToolFactory(server=server, name="delete", approval="always", input_schema=schema)
    return called


@pytest.mark.parametrize(("said", "status"), [("y\n", "succeeded"), ("n\n", "failed")])
def test_a_run_is_carried_out_here_as_the_person_at_the_terminal_decides(
    capsys, tmp_path, servers, terminal, said, status
):
    terminal(said)
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


def test_without_a_terminal_nothing_is_prompted(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert asyncio.run(run_command._ask_decision(approval())) is None


def test_a_prompt_can_be_left_unanswered(terminal):
    async def left():
        terminal()
        asked = asyncio.create_task(run_command._ask_decision(approval()))
        await asyncio.sleep(0)  # it has asked
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    before = set(threading.enumerate())
    asyncio.run(left())
    assert set(threading.enumerate()) <= before
