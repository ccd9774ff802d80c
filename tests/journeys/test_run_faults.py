"""What goes wrong with runs, as a client meets it: with real servers and a real database.

Each row of "What goes wrong and what then" in docs/execution.md that a client can bring about.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from execution.models import TaskRun, WorkflowExecution
from gateway_project.foundation.database import in_database
from tests.execution.conftest import runs_db  # noqa: F401 - a fixture
from tests.execution.run_setup import until
from tests.gateway.conftest import ERAS
from tests.journeys.served_runs import Served, listed, refused, run, served, task

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]

MIB = 1024 * 1024
LEGACY = ("echo", "hang", "cancelled", "huge", "half_json", "quit", "refuse", "rubbish", "verbatim")
TOOLS = listed(
    [f"legacy:{name}" for name in LEGACY] + [f"counting:{name}" for name in ("count", "die")],
    repeatable=["counting:look", "counting:fail"],
)
WELL = task("other", "legacy:echo", text="well")
MAY = "; the call may have taken effect"


@pytest.fixture
async def gateway(home, sealer) -> AsyncIterator[Served]:
    async with served(home, sealer, TOOLS) as made:
        yield made


# What a client gets wrong: told at once, and nothing is called.


def echo(own: Any, *depends_on: str, **more: Any) -> dict[str, Any]:
    return task(own, "legacy:echo", *depends_on, **more)


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def to(own: str, pointer: str = "") -> dict[str, str]:
    return {"$ref": own, "pointer": pointer}


WRONG = {
    "a cycle": ([echo("a", "b"), echo("b", "c"), echo("c", "a")], "a -> b -> c -> a"),
    "a self-loop": ([echo("a", "a")], "task 'a' waits for itself"),
    "a reference to itself": ([echo("a", text=to("a"))], "task 'a' waits for itself"),
    "an id taken twice": ([echo("a"), echo("a")], "the id 'a' is taken"),
    "an id missing": ([{"tool": "legacy:echo"}], "tasks[0] has no id"),
    "an id of another kind": ([echo(7)], "its id must be text of 1 to 200"),
    "an unknown task": ([echo("log"), echo("b", "lgo")], "'lgo', which is no task; did you mean 'l"),
    "a reference to no task": (
        [echo("log"), echo("b", text=to("lgo"))],
        "refers to 'lgo', which is no task; did you mean 'log'?",
    ),
    "a pointer that is none": ([echo("a"), echo("b", text=to("a", "x"))], "pointer"),
    "$item without for_each": ([echo("a", text={"$item": ""})], "$item at '/text' means nothing"),
    "for_each of no list": ([echo("a") | {"for_each": [1]}], "for_each takes a reference"),
    "20 MB of arguments": ([echo("a", text="x" * 20_000_000)], "at most 4,194,304 bytes"),
    "millions of values": ([echo("a", text=[0] * 2_000_000)], "250,000 values"),
    "200 levels": ([echo("a", text=nested(200))], "nested deeper than 100 levels"),
    "10,000 tasks": ([echo(f"t{place}") for place in range(10_000)], "at most 1,000"),
}


@pytest.mark.parametrize(("tasks", "says"), WRONG.values(), ids=WRONG)
async def test_what_is_no_workflow_is_told_with_its_place_and_nothing_is_called(
    gateway, tasks, says
):
    async with gateway.client() as client:
        error = await refused(client, {"tasks": tasks})
    print(error["text"], [p["path"] for p in error["problems"]])
    assert error["code"] == "invalid_workflow"
    assert says in error["text"]
    assert all(problem["path"].startswith("/tasks") for problem in error["problems"])
    assert not await in_database(WorkflowExecution.objects.exists)
    assert gateway.pool.status()["legacy"].state == "idle"

