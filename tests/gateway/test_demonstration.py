"""What the demonstration takes for a failure, and what it leaves alone."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from rich.console import Console

from gateway_project.demo import demonstration, servers
from gateway_project.demo.demonstration import DemoStep
from gateway_project.foundation.config import load_config
from gateway_project.management.commands import demo
from tests.factories import ServerFactory
from tools.models import Server

FINE = {"intents": 4, "found": 4, "called": 4, "suggested": 3, "ran": True}
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
    ("found", "is_found"), [("time:get_current_time", True), ("time:convert_time", False)]
)
async def test_a_search_that_misses_the_tool_is_reported(found, is_found):
    outcome = await demonstration._try_step(Console(quiet=True), Client(found), STEP)
    assert (outcome.found, outcome.called) == (is_found, True)


@pytest.mark.parametrize(
    ("changed", "failed"),
    [
        ({}, False),
        ({"found": 2}, True),
        ({"called": 3}, True),
        ({"suggested": 0}, True),
        ({"ran": False}, True),
    ],
)
def test_only_failed_steps_count_as_failures(changed, failed):
    assert demo._has_failed({**FINE, **changed}) is failed


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


def test_a_failure_there_is_a_failure_here(started):
    ServerFactory(name="git")
    started.returncode = 1
    with pytest.raises(CommandError, match="failed"):
        call_command("demo")


def test_without_own_servers_its_servers_become_the_first_ones(started):
    ServerFactory(name="git", source=servers.DEMO_SOURCE)
    call_command("demo")
    assert (started.here, started.processes) == (1, [])


def test_its_gateway_remembers_nothing(monkeypatch):
    monkeypatch.setenv("FOREGATE_MEMORY", "true")
    for name, value in demonstration._gateway_environment().items():
        monkeypatch.setenv(name, value)
    assert not load_config().memory
