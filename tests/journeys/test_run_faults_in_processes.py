"""Faults of runs that only show between processes: what comes over a wire, and who leaves when."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.journeys.gateways import JOURNEY_S, META, RawGateway, eventually
from tests.journeys.runs import QUIET, World, asked, chain, counting_world, held, run, send_run
from tests.journeys.test_http import process
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

TASKS = 4
LEASE_S = 9
ALONE = ("--attach", "never")
ONE = {"tasks": [{"id": "a", "tool": "ledger:count", "arguments": {"name": "@", "after": "@@"}}]}
RAW = {
    "20 MB": ('"' + "x" * 20_000_000 + '"', "at most 4,194,304 bytes"),
    "millions of values": ("[" + "0," * 3_000_000 + "0]", "500,000 values"),
    "150 levels": ("[" * 150 + "]" * 150, "nested deeper than 100 levels"),
    "10,000 levels": ("[" * 10_000 + "]" * 10_000, "recursion limit exceeded"),
    "100,000 levels of objects": (
        '{"a":' * 100_000 + "0" + "}" * 100_000,
        "nested deeper than 200 levels",
    ),
    "no number": ("NaN", "cannot represent at '/after'"),
    "an infinite number": ("1e999", "cannot represent at '/after'"),
    "a number of 5,000 digits": ("1" * 5_000, "number out of range"),
}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with counting_world() as made:
        yield made


@pytest.fixture(scope="module")
def gateway(world: World) -> Iterator[RawGateway]:
    started = world.installation.start(*ALONE, **QUIET)
    yield started
    assert started.end()[0] == 0


def line(number: int, name: str, argument: str) -> bytes:
    """Write a request of run_workflow around the JSON of an argument."""
    params = {"name": "run_workflow", "arguments": {"workflow": ONE}, "_meta": META}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    whole = json.dumps(message).replace('"@"', json.dumps(name)).replace('"@@"', argument)
    return whole.encode() + b"\n"


@pytest.mark.parametrize(("name", "raw"), RAW.items(), ids=RAW)
def test_arguments_beyond_all_bounds_are_refused_in_one_line_and_all_goes_on(
    world, gateway, name, raw
):
    argument, says = raw
    number = list(RAW).index(name) + 1
    assert gateway.process.stdin is not None
    gateway.process.stdin.write(line(number, name, argument))
    answer = gateway.read()
    while "method" in answer:
        answer = gateway.read()
    assert answer["id"] == number
    error = answer.get("error", {}).get("message") or answer["result"]["content"][0]["text"]
    assert says in error
    assert "error" in answer or error.startswith(("invalid_workflow: ", "arguments_too_costly: "))
    well = chain(f"after {name}", tool="count", tasks=1, delay_ms=0)
    wanted = asked(well, key=name, wait_s=PATIENCE_S)
    assert run(gateway, 100 + number, wanted)["status"] == "succeeded"
    assert name not in world.ledger.names("begun")


def begun(world: World, name: str) -> None:
    eventually(lambda: world.ledger.names("begun")[name] > 0)


def only_once(world: World, name: str, tasks: int) -> None:
    for what in ("begun", "counted"):
        assert times(world, name, tasks, what=what) == [1] * tasks


def times(world: World, name: str, tasks: int, *, what: str) -> list[int]:
    counted = world.ledger.names(what)
    return [counted[f"{name}/t{place}"] for place in range(tasks)]


@pytest.mark.parametrize("how", ["closes its input", "is killed"])
def test_a_client_of_a_shared_gateway_leaves_and_its_run_goes_on(world, tmp_path, how):
    key, gate = f"shared, {how}", tmp_path / "gate"
    workflow = held(chain(key, tool="count", tasks=3, delay_ms=0), gate)
    wanted = asked(workflow, key=key, wait_s=PATIENCE_S)
    first = world.installation.start(**QUIET)
    first.call(1, "search_tools", query="count")
    sockets = world.installation.home / "run"
    eventually(lambda: len(list(sockets.glob("*.sock"))) == 1)
    leaving = world.installation.start(**QUIET)
    send_run(leaving, 1, wanted)
    begun(world, f"{key}/t0")
    if how == "is killed":
        leaving.process.kill()
    assert leaving.process.stdin is not None
    leaving.process.stdin.close()
    leaving.process.stdin = None
    gate.touch()
    leaving.process.communicate(timeout=PATIENCE_S)
    assert run(first, 2, wanted)["status"] == "succeeded"
    only_once(world, key, 3)
    assert first.end()[0] == 0


def test_a_client_takes_its_gateway_with_it_and_the_next_start_goes_on(world):
    """A lone gateway ends with its client, and lets the call under way end before it does."""
    # It gives calls 2 s to end: what takes long is more easily beyond that than amid its call. On
    # a machine that stands still for so long, nobody knows of the call, and there is another try.
    assert any(goes_on_after_a_client(world, f"alone-{number}") for number in range(5))


def goes_on_after_a_client(world: World, key: str) -> bool:
    """Let a client leave amid a run; return whether the next gateway could end it."""
    wanted = asked(chain(key, tool="count", tasks=3, delay_ms=200), key=key, wait_s=PATIENCE_S)
    leaving = world.installation.start(*ALONE, **QUIET)
    send_run(leaving, 1, wanted)
    begun(world, f"{key}/t0")
    assert leaving.end()[0] == 0
    next_one = world.installation.start(*ALONE, **QUIET)
    status = run(next_one, 1, wanted)["status"]
    assert next_one.end()[0] == 0
    assert max(times(world, key, 3, what="begun")) == 1
    if status != "succeeded":
        assert status == "unknown"
        return False
    only_once(world, key, 3)
    return True


async def test_a_connection_over_http_that_breaks_does_not_stop_a_run(world, tmp_path):
    key, gate = "http", tmp_path / "gate"
    workflow = held(chain(key, tool="count", tasks=3, delay_ms=0), gate)
    wanted = asked(workflow, key=key, wait_s=PATIENCE_S)
    ways = ("run_gateway", "--http", "127.0.0.1:0", "--no-auth")
    with process(world.installation, *ways, **QUIET) as (served, said):
        url = said.split()[1]
        asking = asyncio.create_task(post(url, wanted))
        await asyncio.to_thread(begun, world, f"{key}/t0")
        asking.cancel()  # which closes the connection
        await asyncio.wait([asking])
        assert asking.cancelled()
        gate.touch()
        answer = await post(url, wanted)
        assert answer["status"] == "succeeded"
        only_once(world, key, 3)
        served.send_signal(signal.SIGTERM)
        served.communicate(timeout=PATIENCE_S)
        assert served.returncode == 0


def test_two_gateways_ask_for_each_run_at_once_and_each_call_is_made_once(world):
    names = [f"two-{number}" for number in range(10)]
    wanted = {
        name: asked(
            chain(name, tool="count", tasks=TASKS, delay_ms=300), key=name, wait_s=PATIENCE_S
        )
        for name in names
    }
    both = [world.installation.start(*ALONE, **QUIET) for _ in range(2)]
    for number, name in enumerate(names):
        for one in both:
            send_run(one, number, wanted[name])
    runs: dict[int, set[str]] = {}
    for one in both:
        for _ in names:
            answer = one.read()
            assert not answer["result"].get("isError"), answer
            state = answer["result"]["structuredContent"]
            assert state["status"] == "succeeded", state
            runs.setdefault(answer["id"], set()).add(state["run_id"])
        assert one.end()[0] == 0
    assert {len(found) for found in runs.values()} == {1}
    for name in names:
        only_once(world, name, TASKS)


def test_two_gateways_after_the_runs_of_one_that_was_killed_share_them(world, tmp_path):
    names, gate = [f"left-{number}" for number in range(12)], tmp_path / "gate"
    wanted = {
        name: held(chain(name, tool="look", tasks=TASKS, delay_ms=0), gate, "t1") for name in names
    }
    # Who was killed is told by its lock; the others take no runs of each other's.
    said = QUIET | {"FOREGATE_RUN_LEASE_S": str(LEASE_S), "FOREGATE_TASKS_PER_SERVER": "64"}
    killed, *both = [world.installation.start(*ALONE, **said) for _ in range(3)]
    for one in both:
        one.call(1, "search_tools", query="count")
    for number, name in enumerate(names):
        send_run(killed, number, asked(wanted[name], key=name, wait_s=0))
    for name in names:
        begun(world, f"{name}/t1")
    killed.process.kill()
    killed.process.communicate(timeout=PATIENCE_S)
    gate.touch()
    adopted = []
    for number, name in enumerate(names, 2):
        again = asked(wanted[name], key=name, wait_s=PATIENCE_S)
        state = run(both[number % 2], number, again)
        assert state["status"] == "succeeded"
        kinds = world.kinds(state["run_id"])
        adopted.append(kinds.count("run_adopted"))
        assert [kinds.count(f"task_succeeded t{place}") for place in range(TASKS)] == [1] * TASKS
    assert adopted == [1] * len(names)
    for one in both:
        assert one.end()[0] == 0


async def post(url: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Ask for a run over HTTP."""
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"}
    params = {"name": "run_workflow", "arguments": arguments, "_meta": META}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers |= {"Accept": "application/json, text/event-stream", "Mcp-Name": "run_workflow"}
    async with httpx2.AsyncClient(timeout=JOURNEY_S) as client:
        answer = await client.post(url, json=message, headers=headers)
    text = answer.text
    events = [part[5:] for part in text.splitlines() if part.startswith("data:")]
    result = json.loads(events[-1] if events else text)["result"]
    state: dict[str, Any] = result["structuredContent"]
    return state
