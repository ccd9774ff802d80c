"""What goes wrong with runs, as a client meets it: with real servers and a real database.

The outcomes in docs/workflows.md, docs/runs.md and docs/run_faults.md that a client can cause.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from mcp import Client

from execution import retry
from execution.models import WorkflowExecution
from gateway_project.foundation.database import run_in_database_thread
from tests.execution.run_setup import until
from tests.gateway.conftest import ERAS
from tests.journeys.served_runs import Served, chained, listed, refused, run, served, spec, task
from tests.patience import PATIENCE_S
from tests.tools.upstream.conftest import let_pass  # noqa: F401 - a fixture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]

MIB = 1024 * 1024
LONG_MS = 600_000
LEGACY = (
    "echo",
    "hang",
    "cancelled",
    "huge",
    "half_json",
    "quit",
    "refuse",
    "rubbish",
    "verbatim",
)
TOOLS = listed(
    [f"legacy:{name}" for name in LEGACY] + [f"counting:{name}" for name in ("count", "die")],
    repeatable=["counting:look", "counting:fail"],
    asks=["counting:count_once"],
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
    "a self-loop": ([echo("a", "a")], "task 'a' depends on itself"),
    "a reference to itself": ([echo("a", text=to("a"))], "task 'a' depends on itself"),
    "an id taken twice": ([echo("a"), echo("a")], "'a'"),
    "an id missing": ([{"tool": "legacy:echo"}], "tasks[0] has no id"),
    "an id of another kind": ([echo(7)], "its id must be text of 1 to 200"),
    "an unknown task": (
        [echo("log"), echo("b", "lgo")],
        "'lgo', which is not a task; did you mean 'l",
    ),
    "a reference to no task": (
        [echo("log"), echo("b", text=to("lgo"))],
        "refers to 'lgo', which is not a task; did you mean 'log'?",
    ),
    "a pointer that is none": ([echo("a"), echo("b", text=to("a", "x"))], "pointer"),
    "$item without for_each": (
        [echo("a", text={"$item": ""})],
        "$item at '/text' is valid only in a task with for_each",
    ),
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
    assert error["code"] == "invalid_workflow"
    assert says in error["text"]
    assert all(problem["path"].startswith("/tasks") for problem in error["problems"])
    assert not await run_in_database_thread(WorkflowExecution.objects.exists)
    assert gateway.pool.list_statuses()["legacy"].state == "idle"


async def test_an_unknown_tool_is_told_with_those_that_may_be_meant(gateway):
    async with gateway.client() as client:
        error = await refused(client, {"tasks": [task("a", "legacy:ecco"), echo("b", "a")]})
    assert error["code"] == "workflow_not_runnable"
    assert [problem["path"] for problem in error["problems"]] == ["/tasks/0/tool"]
    assert "legacy:echo" in error["text"]
    assert gateway.pool.list_statuses()["legacy"].state == "idle"


async def test_a_reference_to_what_a_result_does_not_hold_fails_before_the_call(gateway):
    first = task("a", "counting:look", name="a")
    second = task("b", "counting:count", name="b", after=to("a", "/nothing"))
    async with gateway.client() as client:
        state = await run(client, first, second)
    assert state["errors"]["b"]["code"] == "missing_referent"
    assert gateway.ledger.names("begun") == {"a": 1}


# What servers do: it fails the call, says whether that may have had its effect, and no more.


async def test_a_tool_that_hangs_is_cancelled_at_its_server_when_the_time_of_its_task_is_up(
    gateway,
    let_pass,  # noqa: F811
):
    time_s = PATIENCE_S / 3
    slow = task("bad", "counting:count", name="slow", delay_ms=LONG_MS, timeout_s=time_s)
    async with gateway.client() as client, asyncio.TaskGroup() as group:
        running = group.create_task(run(client, slow, WELL, on_error="continue"))
        await until(lambda: gateway.ledger.names("begun")["slow"])
        let_pass(time_s)
    state = running.result()
    assert (state["status"], state["results"]) == ("partial_success", {"other": "well"})
    said = (
        f"counting:count was not answered within {time_s:g} s and was cancelled; if it needs "
        f"longer, pass a longer timeout_s{MAY}"
    )
    assert state["errors"] == {"bad": {"code": "deadline_exceeded", "message": said}}
    await until(lambda: gateway.ledger.names("cancelled") == {"slow": 1})
    assert gateway.ledger.names("counted") == {}
    assert gateway.pool.list_statuses()["counting"].calls_in_flight == 0


async def test_so_it_is_when_the_time_of_its_server_is_up(gateway):
    gateway.pool.set_servers([spec("counting", str(gateway.ledger.file), call_timeout_s=0.2)])
    slow = task("bad", "counting:count", name="slow", delay_ms=LONG_MS)
    async with gateway.client() as client:
        state = await run(client, slow)
    assert state["errors"]["bad"]["code"] == "call_timed_out"
    assert state["errors"]["bad"]["message"].endswith(MAY)
    await until(lambda: gateway.ledger.names("cancelled") == {"slow": 1})


async def test_a_server_that_dies_amid_a_call_is_told_of_and_used_again(gateway):
    dies = task("bad", "counting:die", name="bad", on_error="safe_to_fail")
    after = task("after", "counting:count", "bad", name="after")
    async with gateway.client() as client:
        state = await run(client, dies, after)
    assert (state["status"], state["tasks"]["after"]) == ("succeeded", "succeeded")
    error = state["errors"]["bad"]
    assert error["code"] == "server_exited"
    assert "exited with code 1 during the call to 'die'" in error["message"]
    assert error["message"].endswith(MAY)
    assert gateway.ledger.names("counted") == {"bad": 1, "after": 1}


async def test_it_is_called_again_where_that_is_safe(gateway, monkeypatch):
    monkeypatch.setattr(retry, "DELAYS_S", (0.01, 0.01, 0.01))
    gateway.world.catalogue = listed([], repeatable=["counting:die"])
    async with gateway.client() as client:
        state = await run(client, task("bad", "counting:die", name="bad"))
    assert state["errors"]["bad"]["code"] == "server_exited"
    assert gateway.ledger.names("begun") == {"bad": 4}


@dataclass(frozen=True, kw_only=True)
class Rubbish:
    """What a server answers, and what its task comes to."""

    tool: str = "verbatim"
    result: Any = None
    code: str = ""
    says: str = ""
    gives: Any = None


TEXTS = {"content": [{"type": "text", "text": "as it should be"}]}
ANSWERS = {
    "50 MB": Rubbish(tool="huge", code="message_too_large", says="larger than 33,554,432 bytes"),
    "lines before the answer": Rubbish(tool="rubbish", gives="after the rubbish"),
    "half a line": Rubbish(tool="half_json", code="protocol_violation", says="not valid JSON-RPC"),
    "a list": Rubbish(result=[1], code="protocol_violation", says="not valid JSON-RPC"),
    "a JSON-RPC error": Rubbish(tool="refuse", code="upstream_refused", says="-32050: no"),
    "an error of the tool": Rubbish(
        result={**TEXTS, "isError": True}, code="tool_error", says="as it should be"
    ),
    "an error without a word": Rubbish(
        result={"isError": True}, code="tool_error", says="without details"
    ),
    "nothing": Rubbish(result={}),
    "content that is none": Rubbish(result={"content": 7}),
    "blocks that are none": Rubbish(result={"content": [7, None, {"text": 3}, {}]}),
    "half an error": Rubbish(result={**TEXTS, "isError": "yes"}, gives="as it should be"),
    "structured content of another kind": Rubbish(
        result={"content": [], "structuredContent": [1]}, gives=[1]
    ),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
async def test_whatever_a_server_answers_its_task_takes_it_and_the_others_go_on(gateway, answer):
    bad = task("bad", f"legacy:{answer.tool}", size=50 * MIB, result=answer.result)
    well = task("well", "counting:count", name="well")
    async with gateway.client() as client:
        state = await run(client, bad, well, on_error="continue")
        again = await run(client, WELL)
    assert state["tasks"]["well"] == again["status"] == "succeeded"
    if answer.code:
        assert state["status"] == "partial_success"
        assert state["errors"]["bad"]["code"] == answer.code
        assert answer.says in state["errors"]["bad"]["message"]
    else:
        assert state["status"] == "succeeded"
        assert state["results"]["bad"] == answer.gives


async def test_an_error_of_a_tool_itself_is_not_tried_again(gateway):
    async with gateway.client() as client:
        state = await run(client, task("bad", "counting:fail", name="bad"))
    assert state["errors"]["bad"]["code"] == "tool_error"
    assert gateway.ledger.names("begun") == {"bad": 1}


# What clients do, and what happens around a run.


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("leaves", [True, False], ids=["leaves", "gives up"])
async def test_a_client_that_waits_no_longer_does_not_stop_its_run(gateway, era, leaves):
    tasks = [
        task("a", "counting:count", name="a", delay_ms=300),
        task("b", "counting:count", "a", name="b"),
    ]

    async def ask(client: Client) -> None:
        await run(client, *tasks, idempotency_key="k")

    async with gateway.client(era) as client:
        asking = asyncio.create_task(ask(client))
        await until(lambda: gateway.ledger.names("begun")["a"])
        if not leaves:
            asking.cancel()
            await asyncio.wait([asking])
    asking.cancel()
    await asyncio.wait([asking])
    async with gateway.client(era) as client:
        state = await run(client, *tasks, idempotency_key="k")
    assert state["status"] == "succeeded"
    assert gateway.ledger.names("begun") == gateway.ledger.names("counted") == {"a": 1, "b": 1}


async def test_fifty_requests_at_once_with_one_key_are_one_run(gateway):
    asked = [task("a", "counting:count", name="a", delay_ms=50)]
    async with gateway.process() as other, gateway.client() as one:
        gateway.world.runs = other
        async with gateway.client() as two, asyncio.TaskGroup() as group:
            states = [
                group.create_task(run(client, *asked, idempotency_key="k"))
                for client in (one, two) * 25
            ]
        assert len({state.result()["run_id"] for state in states}) == 1
        assert {state.result()["status"] for state in states} == {"succeeded"}
        for workflow, more in (([echo("a", text="x")], {}), (asked, {"on_error": "continue"})):
            error = await refused(one, {"tasks": workflow}, idempotency_key="k", **more)
            assert error["code"] == "idempotency_conflict"
    assert gateway.ledger.names("begun") == {"a": 1}
    assert await run_in_database_thread(WorkflowExecution.objects.count) == 1


async def test_of_two_gateways_after_one_run_one_gets_it(gateway):
    async with gateway.process(), gateway.process(is_executor=False) as asking:
        gateway.world.runs = asking
        async with gateway.client() as client, asyncio.TaskGroup() as group:
            states = [
                group.create_task(run(client, *chained(f"run{number}"))) for number in range(10)
            ]
    assert {state.result()["status"] for state in states} == {"succeeded"}
    assert set(gateway.ledger.names("begun").values()) == {1}
    epochs = WorkflowExecution.objects.values_list("epoch", flat=True)
    assert set(await run_in_database_thread(lambda: list(epochs))) == {1}
