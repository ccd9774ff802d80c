import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway_project.foundation.postgres import locks
from tests.foundation.postgres import processes
from tests.foundation.postgres.processes import ROOT


@contextmanager
def other_process(call: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that makes a call of `locks` and holds what it got until the block ends."""
    script = f"import os, sys; from {locks.__name__} import *; {call}; print(flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "lock")


def test_an_exclusive_lock_excludes_all_others_until_released(path: str) -> None:
    held = locks.acquire(path)
    assert held is not None
    assert locks.acquire(path) is None
    assert locks.acquire(path, shared=True) is None
    assert not locks.is_free(path)
    os.close(held)
    assert locks.is_free(path)


def test_a_shared_lock_has_several_holders_and_excludes_an_exclusive_one(path: str) -> None:
    held = [locks.acquire(path, shared=True) for _ in range(2)]
    assert None not in held
    assert locks.is_free(path)
    assert locks.acquire(path) is None
    for descriptor in held:
        os.close(descriptor or 0)


def test_a_killed_holder_releases_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with other_process("acquire(sys.argv[1])", path) as process:
        assert not locks.is_free(str(path))
        process.kill()
        process.wait()
        assert locks.is_free(str(path))


def test_checking_an_unused_lock_reports_it_free_and_creates_nothing(path: str) -> None:
    assert locks.is_free(path)
    assert not locks.is_record_held(path)
    assert not os.path.exists(path)


def test_notices_that_its_file_was_removed_or_replaced(path: str) -> None:
    held = locks.acquire(path)
    assert held is not None
    assert locks.is_current(held, path)
    os.unlink(path)
    assert not locks.is_current(held, path)
    successor = locks.acquire(path)
    assert successor is not None
    assert not locks.is_current(held, path)
    os.close(held)
    os.close(successor)


def test_locks_the_current_file_not_a_removed_one(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = locks.is_current, []

    def is_current(descriptor: int, name: str) -> bool:
        calls.append(name)
        if len(calls) == 1:
            os.unlink(name)
        return real(descriptor, name)

    monkeypatch.setattr(locks, "is_current", is_current)
    held = locks.acquire(path)
    assert held is not None
    assert real(held, path)
    assert len(calls) == 2
    os.close(held)


def test_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic links"):
        locks.acquire(str(tmp_path / "link"))


def test_lock_files_are_private(path: str) -> None:
    os.close(locks.acquire(path) or 0)
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_a_record_lock_is_not_inherited_by_children(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    hold = "fd = open_record_lock(sys.argv[1]); take_record_lock(fd)"
    with other_process(hold, path):
        assert locks.is_record_held(str(path))
    assert not locks.is_record_held(str(path))
    with other_process(f"{hold}; os.fork() and os._exit(0)", path):
        processes.until(lambda: not locks.is_record_held(str(path)))


def test_files_created_by_root_belong_to_the_given_user(path: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.close(locks.acquire(path, uid=65_534) or 0)
    assert os.stat(path).st_uid == 65_534
