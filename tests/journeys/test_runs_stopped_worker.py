"""A worker that stands still loses its runs to others, and learns so when it goes on."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.journeys.gateways import BASE, JOURNEY_S, PYTHON, Installation, RawGateway, eventually
from tests.journeys.runs import QUIET, World, asked, chain, counting_world, held, run
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

LEASE_S = 2
"""Where two workers live, either may take over from the other that is merely slow: no test says
which of them carries out a run."""
QUEUE = {"FOREGATE_EXECUTION_BACKEND": "queue", "FOREGATE_RUN_LEASE_S": str(LEASE_S)}
PR_SET_PDEATHSIG = 1
"""Of prctl(2)."""
TASKS = 3


@dataclass(frozen=True)
class Worker:
    """A worker, and where its log goes."""

    process: subprocess.Popen[bytes]
    log: Path

    def logged(self, word: str) -> bool:
        return word in self.log.read_text()

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


def _end_with_the_tests() -> None:
    """Have the kernel kill this process when the one that started it ends, however it does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def worker(installation: Installation, name: str) -> Iterator[Worker]:
    """Start a worker and wait until it fetches."""
    log = installation.home / f"{name}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [PYTHON, str(BASE / "manage.py"), "worker"],
            env=installation.env | QUEUE,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            # In ours, the kernel would hang up on all of us when another process ends meanwhile.
            start_new_session=True,
            preexec_fn=_end_with_the_tests,
        )
    made = Worker(process, log)
    try:
        eventually(lambda: made.logged("workflows at once"))
        yield made
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait(PATIENCE_S)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """One whose queue has its tables, which the first worker makes."""
    with counting_world() as made:
        with worker(made.installation, "maker") as maker:
            assert maker.end() == 0, maker.log.read_text()
        yield made


def begun(world: World, name: str) -> bool:
    return world.ledger.names("begun")[name] > 0


def test_its_late_write_is_refused_and_another_completes_the_run(world, tmp_path):
    gate = tmp_path / "gate"
    workflow = held(chain("stopped", tool="look", tasks=TASKS, delay_ms=0), gate, "t1")
    with worker(world.installation, "one") as stopped:
        gateway = world.installation.start("--attach", "never", **QUEUE, **QUIET)
        state = run(gateway, 1, asked(workflow, key="stopped", wait_s=0))
        eventually(lambda: begun(world, "stopped/t1"))
        stopped.process.send_signal(signal.SIGSTOP)
        gate.touch()
        with worker(world.installation, "other") as other:
            done = run(gateway, 2, asked(workflow, key="stopped", wait_s=PATIENCE_S))
            assert (done["run_id"], done["status"]) == (state["run_id"], "succeeded")
            kinds = world.kinds(done["run_id"])
            assert [kinds.count(f"task_succeeded t{place}") for place in range(TASKS)] == [1] * 3
            assert kinds.count("run_adopted") == 1
            stopped.process.send_signal(signal.SIGCONT)
            refused = f"run {done['run_id']} was taken over by another process"
            eventually(lambda: stopped.logged(refused))
            assert world.kinds(done["run_id"]) == kinds
            assert world.ledger.names("counted")["stopped/t2"] == 1
            assert stopped.end() == 0
            assert other.end() == 0
        assert gateway.end()[0] == 0


def test_what_a_killed_worker_leaves_is_taken_over_at_once(world):
    workflow = chain("killed", tool="look", tasks=TASKS, delay_ms=300)
    gateway = world.installation.start("--attach", "never", **QUEUE, **QUIET)
    with (
        worker(world.installation, "first") as first,
        worker(world.installation, "second") as second,
    ):
        for number in range(8):
            made = chain(f"killed{number}", tool="look", tasks=TASKS, delay_ms=300)
            run(gateway, 10 + number, asked(made, key=f"killed{number}", wait_s=0))
        run(gateway, 30, asked(workflow, key="killed", wait_s=0))
        eventually(lambda: begun(world, "killed/t1"))
        first.process.kill()
        for number in range(8):
            made = chain(f"killed{number}", tool="look", tasks=TASKS, delay_ms=300)
            done = run(gateway, 40 + number, asked(made, key=f"killed{number}", wait_s=PATIENCE_S))
            assert done["status"] == "succeeded"
        assert second.end() == 0
    assert gateway.end()[0] == 0


def test_runs_that_no_worker_took_are_taken_by_a_gateway_that_runs_them_itself(world):
    workflow = chain("queued", tool="count", tasks=TASKS, delay_ms=0)
    queueing = world.installation.start("--attach", "never", **QUEUE, **QUIET)
    state = run(queueing, 1, asked(workflow, key="queued", wait_s=0))
    assert state["status"] == "queued"
    assert queueing.end()[0] == 0
    gateway = world.installation.start("--attach", "never", **QUIET)
    done = run(gateway, 1, asked(workflow, key="queued", wait_s=PATIENCE_S))
    assert (done["run_id"], done["status"]) == (state["run_id"], "succeeded")
    assert gateway.end()[0] == 0


def test_a_gateway_whose_queue_has_no_tables_says_so_until_a_worker_makes_them():
    with counting_world() as fresh:
        gateway = fresh.installation.start("--attach", "never", **QUEUE, **QUIET)
        workflow = chain("fresh", tool="look", tasks=1, delay_ms=0)
        refused = gateway.call(1, "run_workflow", **asked(workflow, key="fresh", wait_s=0))
        assert refused["isError"]
        assert "manage.py upgrade" in refused["content"][0]["text"]
        with worker(fresh.installation, "maker") as maker:
            eventually(lambda: served(gateway))
            done = run(gateway, 3, asked(workflow, key="fresh", wait_s=PATIENCE_S))
            assert done["status"] == "succeeded"
            assert maker.end() == 0, maker.log.read_text()
        assert gateway.end()[0] == 0


def served(gateway: RawGateway) -> bool:
    return not gateway.call(2, "search_tools", query="look").get("isError")


@pytest.mark.parametrize("number", range(3))
def test_a_worker_stopped_amid_much_writing_holds_nobody_up(world, number):
    keys = [f"amid-{number}-{place}" for place in range(60)]
    wanted = [chain(key, tool="look", tasks=20, delay_ms=0) for key in keys]
    gateway = world.installation.start("--attach", "never", **QUEUE, **QUIET)
    with (
        worker(world.installation, f"amid-{number}") as stopped,
        worker(world.installation, f"spare-{number}") as spare,
    ):
        for place, (key, workflow) in enumerate(zip(keys, wanted, strict=True)):
            run(gateway, 100 + place, asked(workflow, key=key, wait_s=0))
            if place == 40 + 5 * number:
                stopped.process.send_signal(signal.SIGSTOP)
        # The stopped one goes on only once all have ended.
        deadline = time.monotonic() + JOURNEY_S
        for place, (key, workflow) in enumerate(zip(keys, wanted, strict=True)):
            left_s = max(0.0, deadline - time.monotonic())
            done = run(gateway, 200 + place, asked(workflow, key=key, wait_s=left_s))
            assert done["status"] == "succeeded", done
        stopped.process.send_signal(signal.SIGCONT)
        for one in (stopped, spare):
            assert one.end() == 0
    assert gateway.end()[0] == 0
