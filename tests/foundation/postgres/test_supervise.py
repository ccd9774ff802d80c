"""What a process that uses the database goes through, with real keepers and servers."""

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway_project.foundation.postgres import folders, locks, patience, supervise
from gateway_project.foundation.postgres.cluster import Cluster, ServerError
from tests.foundation.postgres import processes


def test_starts_a_stopped_server_and_leaves_a_running_one(cluster: Cluster) -> None:
    supervise.ensure_running(cluster)
    assert supervise._is_answering(cluster)
    first = processes.postmaster_of(cluster).pid
    supervise.ensure_running(cluster)
    assert processes.postmaster_of(cluster).pid == first


def test_leaves_no_child_behind_and_no_descriptor_in_the_keeper(warm: Cluster) -> None:
    supervise.ensure_running(warm)
    keeper = processes.keeper_of(warm)
    assert keeper.ppid() != os.getpid()
    assert keeper.pid not in {child.pid for child in processes.psutil.Process().children()}
    assert keeper.cwd() == "/"
    its_own = {warm.log_file, warm.keeper_lock}  # others it has for a moment
    processes.until(lambda: {file.path for file in keeper.open_files()} <= its_own)
    assert not {"HOME", "FOREGATE_HOME"} & keeper.environ().keys()


def test_a_killed_keeper_is_replaced_again_and_again(warm: Cluster) -> None:
    supervise.ensure_running(warm)
    server = processes.postmaster_of(warm)
    for _ in range(2):
        keeper = processes.keeper_of(warm)
        _kill(warm, keeper)
        processes.until(lambda: not locks.is_free(warm.keeper_lock))
    assert processes.keeper_of(warm) != keeper
    assert processes.postmaster_of(warm) == server


def test_a_keeper_killed_with_its_guard_is_replaced_by_the_next_user(warm: Cluster) -> None:
    supervise.ensure_running(warm)
    server, keeper = processes.postmaster_of(warm), processes.keeper_of(warm)
    _kill(warm, processes.guard_of(keeper), keeper)
    supervise.ensure_running(warm)
    assert processes.keeper_of(warm) != keeper
    assert processes.postmaster_of(warm) == server


def test_a_server_killed_with_keeper_and_guard_is_started_by_the_next_user(warm: Cluster) -> None:
    supervise.ensure_running(warm)
    keeper = processes.keeper_of(warm)
    _kill(warm, processes.guard_of(keeper), keeper, *processes.server_of(warm))
    supervise.ensure_running(warm)
    assert supervise._is_answering(warm)


def _kill(cluster: Cluster, *victims: processes.psutil.Process) -> None:
    for victim in victims:
        with contextlib.suppress(processes.psutil.NoSuchProcess):
            victim.kill()
    processes.until(lambda: not set(victims) & set(processes.of(cluster)))


def test_a_keeper_that_was_asked_to_stop_is_not_replaced(warm: Cluster) -> None:
    supervise.ensure_running(warm)
    processes.guard_of(processes.keeper_of(warm)).terminate()
    processes.until(lambda: not processes.of(warm))


def test_concurrent_threads_share_one_server(warm: Cluster) -> None:
    failures: list[ServerError] = []

    def ask() -> None:
        try:
            supervise.ensure_running(warm)
        except ServerError as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert processes.postmaster_of(warm)


def test_removing_a_home_ends_its_server_and_it_can_be_recreated(warm: Cluster) -> None:
    supervise.ensure_running(warm)
    old = processes.of(warm)
    for path in (warm.keeper_lock, warm.users_lock):
        os.unlink(path)
    processes.until(lambda: not any(process.is_running() for process in old if _lives(process)))
    supervise.ensure_running(warm)
    assert not set(old) & set(processes.of(warm))


def _lives(process: processes.psutil.Process) -> bool:
    try:
        return process.status() != processes.psutil.STATUS_ZOMBIE
    except processes.psutil.NoSuchProcess:
        return False


def test_a_server_that_cannot_start_is_explained_by_its_keeper(cluster: Cluster) -> None:
    folders.prepare_folders(cluster)
    Path(cluster.data_folder).mkdir()
    Path(cluster.data_folder, "PG_VERSION").write_text("16\n")
    for _ in range(2):
        with pytest.raises(ServerError, match="written by PostgreSQL 16"):
            supervise.ensure_running(cluster)
    processes.until(lambda: not processes.keepers_of(cluster))


def test_a_server_that_does_not_come_up_in_time_is_named(cluster: Cluster) -> None:
    folders.prepare_folders(cluster)
    held = locks.acquire(cluster.keeper_lock)
    with pytest.raises(ServerError, match=r"did not come up in time; .*postgres\.log"):
        supervise.ensure_running(cluster, timeout_s=0.05)
    os.close(held or 0)


def test_somebody_who_waits_for_a_page_waits_for_no_server_that_does_not_come_up(
    cluster: Cluster,
) -> None:
    folders.prepare_folders(cluster)
    held = locks.acquire(cluster.keeper_lock)
    with patience.limit_wait(0.05), pytest.raises(ServerError, match="did not come up in time"):
        supervise.ensure_running(cluster)
    os.close(held or 0)


@pytest.mark.parametrize("use", [supervise.ensure_running, supervise.register_user])
def test_nobody_waits_longer_for_a_thread_that_waits_for_the_server(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, use: Callable[..., None]
) -> None:
    folders.prepare_folders(cluster)
    monkeypatch.setattr(supervise, "_state_lock", held := threading.Lock())
    with (
        held,
        patience.limit_wait(0.05),
        pytest.raises(ServerError, match="starting or stopping"),
    ):
        use(cluster)
    use(cluster)


def test_a_registered_user_waits_for_no_other_thread(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervise.register_user(cluster)
    monkeypatch.setattr(supervise, "_state_lock", held := threading.Lock())
    with held:
        supervise.register_user(cluster, timeout_s=0.0)


def test_a_server_that_is_starting_is_not_disturbed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(supervise, "PGconn")
    monkeypatch.setattr(supervise.pidfile, "is_starting", lambda cluster: True)
    assert not supervise._is_answering(cluster)


def test_a_server_that_stops_and_does_not_end_is_named(cluster: Cluster) -> None:
    folders.prepare_folders(cluster)
    held = locks.acquire(cluster.users_lock)
    with pytest.raises(ServerError, match="is stopping and does not end"):
        supervise.register_user(cluster, timeout_s=0.05)
    os.close(held or 0)


def test_a_user_counts_until_it_is_unregistered(cluster: Cluster) -> None:
    supervise.register_user(cluster)
    assert locks.acquire(cluster.users_lock) is None
    supervise.unregister_user(cluster)
    supervise.unregister_user(cluster)
    assert locks.acquire(cluster.users_lock) is not None


@pytest.mark.parametrize("path", ["users_lock", "log_file"])
def test_a_file_that_cannot_be_opened_is_named(cluster: Cluster, path: str) -> None:
    folders.prepare_folders(cluster)
    Path(getattr(cluster, path)).mkdir()
    with pytest.raises(ServerError, match=f"cannot use {getattr(cluster, path)}: Is a dir"):
        supervise.ensure_running(cluster)


def test_a_python_that_cannot_be_run_is_named(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/none/python")
    with pytest.raises(ServerError, match="cannot run /none/python: No such file"):
        supervise.ensure_running(cluster)


def test_a_silently_exiting_keeper_is_not_restarted_forever(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\necho started >> {tmp_path}/starts\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with pytest.raises(ServerError, match=r"ends without a message; see .*postgres\.log"):
        supervise.ensure_running(cluster)
    assert (tmp_path / "starts").read_text().count("started") == supervise.MAX_SILENT_KEEPERS
