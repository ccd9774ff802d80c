import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from gateway_project.foundation.postgres import folders, initialise
from gateway_project.foundation.postgres.cluster import Cluster, ServerError


@pytest.fixture
def ready(cluster: Cluster) -> Cluster:
    folders.prepare_folders(cluster)
    return cluster


@pytest.fixture
def scripted(ready: Cluster, tmp_path: Path) -> Callable[[str], str]:
    """Make a folder of programs whose initdb is a script, and whose server notes what it reads."""

    def make(script: str) -> str:
        folder = tmp_path / "programs" / "bin"
        folder.mkdir(parents=True)
        for name, text in (("initdb", script), ("postgres", 'cat > "$3/sql"')):
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)
        for path in (folder, *folder.parents):
            if path.is_relative_to(tmp_path.parents[1]):
                path.chmod(0o755)
        return str(folder.parent)

    return make


@pytest.fixture
def as_oneself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run programs as this process's user, who may reach the scripts of the test."""
    monkeypatch.setattr(initialise, "account_arguments", lambda account: {})


@pytest.mark.usefixtures("as_oneself")
def test_a_failed_start_leaves_no_half_data_folder(
    ready: Cluster, scripted: Callable[[str], str]
) -> None:
    programs = scripted('touch "$2/half"; echo "initdb: error: so it is" >&2; exit 1')
    with pytest.raises(ServerError, match="does not start: error: so it is; see"):
        initialise.create_cluster(ready, programs)
    assert not any(name.startswith("data") for name in os.listdir(ready.base))


@pytest.mark.usefixtures("as_oneself")
def test_leftovers_of_a_killed_start_are_replaced(
    ready: Cluster, scripted: Callable[[str], str]
) -> None:
    Path(f"{ready.data_folder}.new").mkdir()
    Path(f"{ready.data_folder}.new", "half").touch()
    initialise.create_cluster(ready, scripted('touch "$2/whole"'))
    assert set(os.listdir(ready.data_folder)) == {"whole", "sql"}
    assert "CREATE DATABASE foregate" in Path(ready.data_folder, "sql").read_text()


@pytest.mark.usefixtures("as_oneself")
def test_a_start_that_hangs_is_given_up(
    ready: Cluster, scripted: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(initialise, "INIT_TIMEOUT_S", 0.1)
    with pytest.raises(ServerError, match=r"took longer than 0\.1 s"):
        initialise.create_cluster(ready, scripted("exec sleep 60"))


def test_a_disk_without_room_is_named_before_anything_is_written(
    ready: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    nearly_full = SimpleNamespace(free=10 * 2**20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: nearly_full)
    with pytest.raises(ServerError, match="10 MB are free and 128 MB are needed; free some"):
        initialise.create_cluster(ready, "/none")
    assert "data" not in os.listdir(ready.base)


def test_a_folder_that_cannot_be_made_is_named(
    ready: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(initialise.os, "mkdir", refuse)
    with pytest.raises(ServerError, match=f"cannot use {ready.base}: Permission denied"):
        initialise.create_cluster(ready, "/none")


def test_data_of_another_version_is_left_alone_with_instructions(ready: Cluster) -> None:
    Path(ready.data_folder).mkdir()
    Path(ready.data_folder, "PG_VERSION").write_text("16\n")
    with pytest.raises(ServerError, match=r"written by PostgreSQL 16 .*manage.py upgrade"):
        initialise.check_version(ready, "/none")
    Path(ready.data_folder, "PG_VERSION").write_text("99\n")
    with pytest.raises(ServerError, match=r"written by PostgreSQL 99 .*use the newer Foregate"):
        initialise.check_version(ready, "/none")


def test_a_data_folder_without_a_version_is_named(ready: Cluster) -> None:
    Path(ready.data_folder).mkdir()
    with pytest.raises(ServerError, match="PG_VERSION: No such file"):
        initialise.check_version(ready, "/none")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("... PANIC:  could not write: No space left on device\n", "is full: free some space"),
        ('FATAL:  data directory "x" has invalid permissions\n', "mode 0700.*WSL"),
        (
            "2026-11-21 22:45:25.847 UTC [1] LOG:  starting\n"
            "2026-11-21 22:45:25.848 UTC [1] FATAL:  could not map: so: it is\n"
            "2026-11-21 22:45:25.849 UTC [1] LOG:  database system is shut down\n",
            "does not start: could not map: so: it is; see",
        ),
        ("", "it gave no reason"),
    ],
)
def test_condenses_the_servers_last_output_into_one_line(
    cluster: Cluster, text: str, said: str
) -> None:
    with pytest.raises(ServerError, match=said) as caught:
        raise ServerError(initialise.explain_log(text, cluster))
    assert "\n" not in str(caught.value)


def test_only_root_changes_the_account(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initialise.os, "geteuid", lambda: 0)
    assert initialise.account_arguments(cluster.server) == {
        "user": cluster.server.uid,
        "group": cluster.server.gid,
        "extra_groups": [],
    }
    monkeypatch.setattr(initialise.os, "geteuid", lambda: 1000)
    assert initialise.account_arguments(cluster.server) == {}
