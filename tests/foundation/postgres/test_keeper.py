"""The keeper's decisions, with a server that does as told; the real one is in the journeys."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway_project.foundation.postgres import folders, keeper, locks, postmaster
from gateway_project.foundation.postgres.cluster import Cluster, ServerError


class FakeServer:
    """Calls `at_each_look` whenever its keeper looks whether it lives."""

    def __init__(self, at_each_look: Callable[[], bool], *, is_child: bool = True) -> None:
        self._look = at_each_look
        self._is_child = is_child
        self.stops: list[bool] = []

    def is_alive(self) -> bool:
        return self._look()

    def is_child(self) -> bool:
        return self._is_child

    def stop(self, *, immediately: bool = False) -> None:
        self.stops.append(immediately)


class Stage:
    """A keeper's surroundings: the servers it will get, its signals, what it reported."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.reader, self.writer = os.pipe()
        self.reports: list[str] = []
        self.starts: list[FakeServer | Exception] = []
        self.delays: list[float] = []

    def ensure(self, cluster: Cluster, programs: str) -> FakeServer:
        found = self.starts.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    def signal(self, number: int) -> bool:
        os.write(self.writer, bytes([number]))
        return True

    def run(self, *starts: FakeServer | Exception) -> list[str]:
        self.starts = list(starts)
        keeper.keep_server(self.cluster, "/programs", report=self.reports.append, wake=self.reader)
        return self.reports


@pytest.fixture
def stage(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    quick = cluster._replace(linger_s=0.05, server=cluster.keeper)
    folders.prepare_folders(quick)
    stage = Stage(quick)
    monkeypatch.setattr(postmaster, "ensure_server", stage.ensure)
    monkeypatch.setattr(keeper.time, "sleep", stage.delays.append)
    yield stage
    os.close(stage.reader)
    os.close(stage.writer)


def test_stops_the_server_once_nobody_has_used_it_for_a_while(stage: Stage) -> None:
    server = FakeServer(lambda: True)
    assert stage.run(server) == [keeper.READY_REPORT]
    assert server.stops == [False]


def test_a_new_user_waits_until_a_stopping_keeper_is_gone(stage: Stage) -> None:
    stage.run(FakeServer(lambda: True))
    assert locks.acquire(stage.cluster.users_lock, shared=True) is None
    assert locks.is_free(stage.cluster.keeper_lock)


def test_keeps_the_server_while_a_user_lives(stage: Stage) -> None:
    users = [locks.acquire(stage.cluster.users_lock, shared=True)]
    looks = 0

    def look() -> bool:
        nonlocal looks
        looks += 1
        if looks == 4:
            os.close(users.pop() or 0)
        return True

    server = FakeServer(look)
    stage.run(server)
    assert users == []
    assert looks >= 4
    assert server.stops == [False]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stops_the_server_when_asked_to_stop(stage: Stage, number: int) -> None:
    stage.cluster = stage.cluster._replace(linger_s=60.0)
    server = FakeServer(lambda: stage.signal(number))
    stage.signal(signal.SIGCHLD)
    stage.run(server)
    assert server.stops == [False]


def test_restarts_a_dead_server_at_once(stage: Stage) -> None:
    stage.cluster = stage.cluster._replace(linger_s=60.0)
    stage.signal(signal.SIGCHLD)
    second = FakeServer(lambda: stage.signal(signal.SIGTERM))

    def die() -> bool:
        stage.signal(signal.SIGCHLD)
        return False

    stage.run(FakeServer(die), second)
    assert stage.delays == [0.0]
    assert stage.starts == []


def test_retries_starting_a_dead_server_and_then_gives_up(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    failures = [ServerError("the disk is full") for _ in keeper.RESTART_DELAYS_S]
    stage.run(FakeServer(lambda: False), *failures)
    assert stage.delays == list(keeper.RESTART_DELAYS_S)
    assert capsys.readouterr().err.count("the disk is full") == len(failures)
    assert locks.is_free(stage.cluster.keeper_lock)


def test_ends_a_server_whose_folder_was_removed_at_once(stage: Stage) -> None:
    stage.cluster = stage.cluster._replace(linger_s=60.0)

    def remove() -> bool:
        Path(stage.cluster.keeper_lock).unlink()
        return stage.signal(signal.SIGCHLD)

    stage.signal(signal.SIGCHLD)
    server = FakeServer(remove)
    stage.run(server)
    assert server.stops == [True]


def test_a_second_keeper_leaves_the_first_alone(stage: Stage) -> None:
    first = locks.acquire(stage.cluster.keeper_lock)
    assert stage.run() == [keeper.BUSY_REPORT]
    os.close(first or 0)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ServerError("the disk is full"), "failed the disk is full"),
        (OSError(28, "No space left on device", "/f"), "failed cannot use /f: No space left"),
        (OSError(28, "No space left on device"), "failed cannot use /"),
    ],
)
def test_reports_in_one_line_why_there_is_no_server(
    stage: Stage, error: Exception, said: str
) -> None:
    (line,) = stage.run(error)
    assert line.startswith(said)
    assert "\n" not in line
    assert locks.is_free(stage.cluster.keeper_lock)


def test_drops_root_for_a_users_home(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[object, ...]] = []
    for name in ("initgroups", "setgid", "setuid"):
        monkeypatch.setattr(keeper.os, name, lambda *given, name=name: done.append((name, *given)))
    monkeypatch.setattr(keeper.os, "geteuid", lambda: 0)
    keeper._drop_privileges(stage.cluster._replace(keeper=stage.cluster.keeper._replace(uid=0)))
    assert done == []
    alice = stage.cluster.keeper._replace(uid=1001, gid=1002, name="alice")
    keeper._drop_privileges(stage.cluster._replace(keeper=alice))
    assert done == [("initgroups", "alice", 1002), ("setgid", 1002), ("setuid", 1001)]
