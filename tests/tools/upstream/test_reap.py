"""Every process that stems from a server is found and ended, and no other."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tools.upstream import reap

SLEEP = "import time; time.sleep(600)"
FAMILY = (
    "import os, subprocess, sys, time\n"
    "code = 'import time; print(1, flush=True); time.sleep(600)'\n"
    "child = subprocess.Popen([sys.executable, '-I', '-S', '-c', code],"
    " start_new_session={new_session}, stdout=subprocess.PIPE, env={env})\n"
    "child.stdout.readline()\n"
    "print(child.pid, flush=True)\n"
    "time.sleep(600)\n"
)


@pytest.fixture
def start() -> Iterator:
    started: list[subprocess.Popen[str]] = []
    strangers: list[int] = []

    def run(code: str, *, marker: str = "", with_child: bool = False) -> tuple[int, int]:
        env = {reap.MARKER: marker} if marker else {}
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", code],
            start_new_session=True,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        started.append(process)
        child = int(process.stdout.readline()) if with_child else 0
        if child:
            strangers.append(child)
        return process.pid, child

    yield run
    for pid in strangers:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for process in started:
        process.kill()
        process.communicate()


def pids(marker: str, leaders: dict[int, str | None]) -> set[int]:
    return {pid for pid, _ in reap.find_processes(marker, leaders)}


@pytest.mark.skipif(sys.platform != "linux", reason="environments of others are Linux's")
def test_a_marked_grandchild_is_found_in_a_session_of_its_own(start):
    code = FAMILY.format(new_session=True, env="None")
    parent, child = start(code, marker="t1.1.", with_child=True)
    start(SLEEP, marker="t1.11.")
    assert pids("t1.1.", {}) == {parent, child}


def test_a_member_of_the_leaders_session_is_found_without_the_marker(start):
    code = FAMILY.format(new_session=False, env="{}")
    parent, child = start(code, marker="t2.1.", with_child=True)
    assert pids("none", {parent: reap.read_start_time(parent)}) == {parent, child}


def test_a_group_without_its_leader_is_found(start):
    code = FAMILY.format(new_session=False, env="{}")
    parent, child = start(code, with_child=True)
    started = reap.read_start_time(parent)
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    assert pids("none", {parent: started}) == {child}


def test_a_process_that_reused_an_id_is_not_signalled(start):
    parent, _ = start(SLEEP)
    assert pids("none", {parent: "another time"}) == set()
    reap.send_signal((parent, "another time"), signal.SIGKILL)
    assert reap.is_alive((parent, reap.read_start_time(parent)))
    assert not reap.is_alive((parent, "another time"))


def test_this_very_process_is_never_found():
    assert os.getpid() not in pids("none", {os.getpgrp(): None, os.getsid(0): None})


def test_a_zombie_is_neither_alive_nor_found(start):
    parent, _ = start("")
    started = reap.read_start_time(parent)
    os.waitid(os.P_PID, parent, os.WEXITED | os.WNOWAIT)
    assert not reap.is_alive((parent, started))
    assert pids("none", {parent: started}) == set()


def test_a_process_that_is_gone_has_no_start_and_takes_no_signal(start):
    parent, _ = start("")
    target = (parent, reap.read_start_time(parent))
    os.waitpid(parent, 0)
    assert reap.read_start_time(parent) is None
    reap.send_signal(target, signal.SIGTERM)
    assert not reap.is_alive(target)


@pytest.mark.skipif(not Path("/bin/ps").exists(), reason="minimal Linux systems have no ps")
def test_without_proc_processes_are_found_by_ps(start, monkeypatch):
    code = FAMILY.format(new_session=False, env="{}")
    parent, child = start(code, with_child=True)
    monkeypatch.setattr(reap, "_HAS_PROC", False)
    started = reap.read_start_time(parent)
    assert started
    assert reap.is_alive((parent, started))
    assert {parent, child} <= pids("none", {parent: started})
    assert pids("none", {parent: "another time"}) == set()


@pytest.mark.skipif(sys.platform != "linux", reason="children of others are listed on Linux")
def test_descendants_are_found_in_sessions_of_their_own_unless_they_have_ended(start):
    code = FAMILY.format(new_session=True, env="{}")
    parent, child = start(code, with_child=True)
    found = {(parent, reap.read_start_time(parent)), (child, reap.read_start_time(child))}
    assert found <= set(reap.list_descendants(os.getpid()))
    os.kill(child, signal.SIGKILL)
    while reap.read_start_time(child) and reap.is_alive((child, reap.read_start_time(child))):
        os.sched_yield()
    assert child not in dict(reap.list_descendants(os.getpid()))


def test_of_a_process_that_is_gone_there_are_no_children(start):
    parent, _ = start("")
    os.waitpid(parent, 0)
    assert reap.list_children(parent) == []


def test_without_proc_no_children_are_known(start, monkeypatch):
    start(SLEEP)
    monkeypatch.setattr(reap, "_HAS_PROC", False)
    reap.adopt_orphans()
    assert reap.list_children(os.getpid()) == []
