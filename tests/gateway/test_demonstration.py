"""What the demonstration takes for a failure, and what it leaves alone."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from rich.console import Console

from gateway_project.demo import demonstration, servers, speculation
from gateway_project.demo.demonstration import DemoStep
from gateway_project.management.commands import demo
from tests.factories import ServerFactory
from tools.models import Membership, Server

AHEAD = {"ran_ahead": True, "served": True}
FINE = {
    "intents": 4, "found": 4, "called": 4, "suggested": 3, "ran": True, "speculation": AHEAD,
}  # fmt: skip
STEP = DemoStep(intent="what time is it?", tool="time:get_current_time")


class Client:
    """A client whose searches find one tool, and whose calls succeed."""

    def __init__(self, found):
        self.found = found

    async def call_tool(self, name, arguments):
        del name, arguments
        hit = {"tool": self.found, "role": "match", "score": 1.0, "reasons": [], "warnings": []}
        content = {"tools": [hit], "tokens": {"used": 7}}
        return SimpleNamespace(structured_content=content, is_error=False, content=[])


@pytest.mark.parametrize(
    ("changed", "failures"),
    [
        ({}, []),
        ({"found": 2}, ["2 of 4 tools were not found"]),
        ({"called": 3}, ["1 of 4 calls failed"]),
        ({"suggested": 0}, ["no workflow was suggested"]),
        ({"ran": False}, ["the workflow did not succeed"]),
        ({"speculation": AHEAD | {"ran_ahead": False}}, ["the intent was not run ahead"]),
        ({"speculation": AHEAD | {"served": False}}, ["the next call was never answered ahead"]),
    ],
)
def test_each_failed_part_is_named(changed, failures):
    assert servers.list_failures({**FINE, **changed}) == failures


@pytest.fixture
def started(home, db, monkeypatch):
    """Processes that the demonstration starts, and whether it goes on in this one."""
    seen = SimpleNamespace(processes=[], returncode=0, here=0)

    def run(command, *, env, check):
        seen.processes.append((command, env))
        return SimpleNamespace(returncode=seen.returncode)

    def demonstrate(*_):
        seen.here += 1
        return FINE

    monkeypatch.setattr(demo.subprocess, "run", run)
    monkeypatch.setattr(demo.Command, "_demonstrate", demonstrate)
    monkeypatch.setenv("DATABASE_URL", "postgresql:///theirs")
    return seen


@pytest.mark.parametrize("name", ["git", "calendar"])
def test_beside_own_servers_it_uses_a_folder_and_a_database_of_its_own(home, started, name):
    ServerFactory(name=name, command="mine")
    call_command("demo", "--json")
    ((command, env),) = started.processes
    assert command[-2:] == ["demo", "--json"]
    assert Path(env["FOREGATE_HOME"]) == home / "demo" / "home"
    assert "DATABASE_URL" not in env
    assert started.here == 0
    assert list(Server.objects.values_list("name", "command")) == [(name, "mine")]


def test_a_failure_is_told_before_the_console_is_served_and_by_the_exit_status(
    started, monkeypatch, capsys
):
    monkeypatch.setattr(demo.Command, "_demonstrate", lambda *_: FINE | {"ran": False})
    monkeypatch.setattr(demo, "_open_console_socket", object)
    monkeypatch.setattr(demo.serve, "serve_console", lambda _: sys.stdout.write("served"))
    with pytest.raises(CommandError, match="the workflow did not succeed"):
        call_command("demo", "--serve")
    printed = capsys.readouterr().out
    assert printed.index("the workflow did not succeed") < printed.index("served")


def test_its_outcome_is_kept_for_the_doctor(home, started, monkeypatch):
    monkeypatch.setattr(demo.Command, "_demonstrate", lambda *_: FINE | {"ran": False})
    with pytest.raises(CommandError):
        call_command("demo")
    assert servers.load_failure(home) == "the workflow did not succeed"
    monkeypatch.setattr(demo.Command, "_demonstrate", lambda *_: FINE)
    call_command("demo")
    assert servers.load_failure(home) == ""


@pytest.mark.django_db
def test_what_its_calls_teach_stays_in_a_team_of_its_own(monkeypatch, tmp_path):
    clients = []

    def connect(base, errlog, *, user=""):
        del base, errlog
        clients.append(user)
        raise ConnectionError

    monkeypatch.setattr(demonstration, "connect", connect)
    user = speculation.prepare_user()
    nothing = demonstration.DemoPlan(steps=(), task_text="", workflow={})
    with pytest.raises(ConnectionError):
        demonstration.run_demonstration(Console(quiet=True), tmp_path, nothing, user=user)
    assert clients == [user]
    assert Membership.objects.get(user__username=user).team.name == speculation.DEMO_NAME


class RoutineClient:
    """A gateway whose confidence grows with each run, and that waits for trust."""

    def __init__(self):
        self.runs, self.rounds, self.is_trusted = 0, 0, False
        self.options = []

    async def call_tool(self, name, arguments):
        if name == "run_workflow":
            self.runs += 1
            self.options.append(arguments["options"])
        if name == "call_tool":
            return self.answer_call(arguments)
        is_sure = self.runs >= 11
        is_run = is_sure and self.is_trusted
        answer = {
            "mode": "speculative_execution" if is_run else "suggestion",
            "confidence": (self.runs + 1) / (self.runs + 2),
            "evidence": {"above_threshold": is_sure, "threshold": 0.92, "successes": self.runs},
            "fallback_reason": "Server git is not trusted." if is_sure and not is_run else "",
            "speculation_id": f"{self.runs}",
            "results": {"status": "clean"} if is_run else {},
        }
        return SimpleNamespace(structured_content=answer)

    def answer_call(self, arguments):
        meta = None
        if arguments["tool"].endswith("log"):
            self.rounds += 1
            if self.rounds > 3:
                meta = {speculation.SERVED_META: {"age_ms": 500, "saved_ms": 20}}
        return SimpleNamespace(meta=meta)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None


async def test_trust_is_taken_back_and_the_counts_are_those_seen(monkeypatch):
    client, trust = RoutineClient(), []

    def set_trust(is_trusted):
        client.is_trusted = is_trusted
        trust.append(is_trusted)

    async def learn(_base):
        return None

    async def run(function, *args):
        return function(*args)

    monkeypatch.setattr(speculation, "_learn", learn)
    monkeypatch.setattr(speculation, "run_in_database_thread", run)
    monkeypatch.setattr(speculation, "THINKING_S", 0.0)
    plan = speculation.build_plan(
        repository=Path("/repository"), files=Path("/files"), set_trust=set_trust
    )
    shown = await speculation._show(Console(quiet=True), lambda **_: client, Path(), plan)
    assert (shown.runs, shown.refusal) == (11, "Server git is not trusted.")
    assert (shown.ran_ahead, shown.compared, shown.served) == (True, 3, True)
    assert trust == [True, False]
    assert client.options[-1] == {"from_speculation": "10"}


def test_nothing_is_installed_into_an_environment_of_the_user(tmp_path):
    with servers.install_beside(tmp_path):
        pass
