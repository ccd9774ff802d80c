import subprocess
import sys

import pytest

from execution.process import owner
from execution.process.owner import ProcessOwner

HOLD = """
import sys, pathlib
from execution.process.owner import ProcessOwner
print(ProcessOwner(pathlib.Path(sys.argv[1])).id, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    """Be another process that owns runs."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield process
        process.kill()


def name_of(process):
    return process.stdout.readline().decode().strip()


def test_an_owner_lives_as_long_as_its_process_and_is_dead_once_that_was_killed(tmp_path, other):
    name = name_of(other)
    assert owner.find_dead_owners(tmp_path, [name]) == set()
    other.kill()
    other.wait()
    assert owner.find_dead_owners(tmp_path, [name]) == {name}


def test_owners_of_another_home_are_of_unknown_liveness(tmp_path):
    here = ProcessOwner(tmp_path / "here")
    here.close(is_owning=True)
    assert owner.find_dead_owners(tmp_path / "there", [here.id]) == set()


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "x" * 32, "a" * 31])
def test_an_invalid_owner_id_is_never_looked_up(tmp_path, name):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "x.lock").touch()
    assert owner.find_dead_owners(tmp_path, [name]) == set()


def test_lock_files_of_dead_owners_are_removed_once_they_own_no_runs(tmp_path):
    dead, owning, live = ProcessOwner(tmp_path), ProcessOwner(tmp_path), ProcessOwner(tmp_path)
    dead.close(is_owning=True)
    owning.close(is_owning=True)
    assert owner.remove_dead_owners(tmp_path, owning={owning.id}) == 1
    left = {path.stem for path in (tmp_path / "runs").iterdir()}
    assert left == {owning.id, live.id}
    live.close(is_owning=False)


def test_an_owner_that_released_all_runs_leaves_no_lock_file(tmp_path):
    ProcessOwner(tmp_path).close(is_owning=False)
    assert list((tmp_path / "runs").iterdir()) == []
