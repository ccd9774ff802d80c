"""A gateway is killed again and again amid runs, and no call is made twice."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.journeys.gateways import RawGateway
from tests.journeys.runs import QUIET, World, asked, counting_world, dag, run, send_run
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.full, pytest.mark.timeout(3_600)]

KILLS = int(os.environ.get("FOREGATE_TEST_KILLS", "25"))
"""At moments spread over the runs; a hundred before a change of how runs are kept is landed."""
TASKS = 20
CALLS = 2 * TASKS
"""Of both runs."""
DELAY_MS = 20
AT_ONCE = 8
"""Calls of one server at once, by default."""
LOOKS_S = 0.002
SEED = 6
TOOLS = {"counters": "count", "twin": "look"}


@dataclass(frozen=True, kw_only=True)
class Kill:
    """A kill, and what became of the two runs it hit.

    Attributes:
        before: How each task stood at the kill, by kind of run; empty where there was no run yet.
        after: What run_workflow answered when asked again, by kind of run.
        number: Of the kill; names in the ledger begin with it.
    """

    number: int
    before: dict[str, dict[str, str]]
    after: dict[str, dict[str, Any]]

    def unknown(self) -> set[str]:
        states = self.after["counters"]["tasks"]
        return {task for task, status in states.items() if status == "unknown"}

    def stood(self, kind: str, status: str) -> set[str]:
        return {task for task, word in self.before[kind].items() if word == status}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with counting_world() as made:
        yield made


@pytest.fixture(scope="module")
def kills(world: World) -> list[Kill]:
    chance = random.Random(SEED)  # noqa: S311 - moments, no secrets
    gateway = unharmed(world)
    # By what has happened rather than by time, so that a slow machine is hit amid runs as well.
    moments = [number * (CALLS + 1) // KILLS for number in range(KILLS)]
    chance.shuffle(moments)
    found = []
    for number, calls in enumerate(moments):
        for place, kind in enumerate(TOOLS):
            send_run(gateway, 10 + place, wanted(kind, number, wait_s=0))
        until_begun(world, number, calls)
        time.sleep(chance.random() * 2 * DELAY_MS / 1_000)  # no condition: any moment will do
        kill(gateway)
        world.left_alone()
        before = world.tasks()
        gateway = start(world)
        after = {
            kind: run(gateway, 20 + place, wanted(kind, number, wait_s=PATIENCE_S))
            for place, kind in enumerate(TOOLS)
        }
        stood = {kind: before.get(state["run_id"], {}) for kind, state in after.items()}
        found.append(Kill(number=number, before=stood, after=after))
    assert gateway.end()[0] == 0
    return found


def start(world: World) -> RawGateway:
    return world.installation.start("--attach", "never", **QUIET)


def unharmed(world: World) -> RawGateway:
    """Start a gateway, and see that both runs succeed where nobody is killed."""
    gateway = start(world)
    for number, kind in enumerate(TOOLS):
        state = run(gateway, number, wanted(kind, "unharmed", wait_s=PATIENCE_S))
        assert state["status"] == "succeeded", state
    return gateway


def until_begun(world: World, number: int, calls: int) -> None:
    """Wait until so many calls of a kill's runs have arrived at their server."""
    names, deadline = f"-{number}/".encode(), time.monotonic() + PATIENCE_S
    while calls:
        lines = world.ledger.file.read_bytes().splitlines()
        if sum(b'"begun"' in line and names in line for line in lines) >= calls:
            return
        assert time.monotonic() < deadline, "the runs stand still"
        time.sleep(LOOKS_S)


def kill(gateway: RawGateway) -> None:
    gateway.process.kill()
    gateway.process.communicate(timeout=PATIENCE_S)


def wanted(kind: str, name: int | str, *, wait_s: float) -> dict[str, Any]:
    key = f"{kind}-{name}"
    workflow = dag(key, tool=TOOLS[kind], tasks=TASKS, delay_ms=DELAY_MS)
    return asked(workflow, key=key, wait_s=wait_s)


def test_each_counter_counts_at_most_once(world, kills):
    counted = world.ledger.names("counted")
    assert max(number for name, number in counted.items() if name.startswith("counters-")) == 1


def test_no_run_is_stuck(world, kills):
    assert {kill.after["counters"]["status"] for kill in kills} <= {"succeeded", "unknown"}
    unfinished = "status NOT IN ('succeeded', 'unknown')"
    assert world.rows(f"SELECT id FROM execution_workflowexecution WHERE {unfinished}") == []


def test_the_read_only_twin_finishes_every_time(kills):
    assert [kill.after["twin"]["status"] for kill in kills] == ["succeeded"] * KILLS
    for kill in kills:
        assert len(kill.after["twin"]["results"]) == TASKS


def test_only_calls_in_flight_at_the_kill_become_unknown(kills):
    for kill in kills:
        assert kill.unknown() <= kill.stood("counters", "running"), kill.number
        assert len(kill.unknown()) <= AT_ONCE, kill.number


def test_what_did_not_need_them_went_on(world, kills):
    for kill in kills:
        states = kill.after["counters"]["tasks"]
        lost = below(kill.unknown(), wanted("counters", kill.number, wait_s=0)["workflow"])
        assert {task for task, word in states.items() if word != "succeeded"} == lost


def test_finished_tasks_are_never_repeated(world, kills):
    counted = world.ledger.names("counted")
    for kill in kills:
        for kind in TOOLS:
            for task in kill.stood(kind, "succeeded"):
                assert counted[f"{kind}-{kill.number}/{task}"] == 1, (kind, kill.number, task)


def test_the_kills_hit_runs_at_all_stages(kills):
    done = [len(kill.stood("counters", "succeeded")) for kill in kills]
    assert sum(0 < number < TASKS for number in done) > KILLS / 4
    assert sum(bool(kill.unknown()) for kill in kills) > KILLS / 10


def test_every_run_has_all_its_events(world, kills):
    for kill in kills:
        for state in kill.after.values():
            kinds = world.kinds(state["run_id"])
            assert kinds[0] == "run_queued"
            assert sum(kind.startswith("task_succeeded") for kind in kinds) == sum(
                word == "succeeded" for word in state["tasks"].values()
            )


def below(unknown: set[str], workflow: dict[str, Any]) -> set[str]:
    """The tasks of a workflow that are unknown or need one that is."""
    lost = set(unknown)
    for task in workflow["tasks"]:
        needs = {*task.get("depends_on", ())}
        if "after" in task["arguments"]:
            needs.add(task["arguments"]["after"]["$ref"])
        if needs & lost:
            lost.add(task["id"])
    return lost
