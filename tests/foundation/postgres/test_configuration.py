import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from gateway_project.foundation.postgres import configuration
from gateway_project.foundation.postgres.cluster import Cluster, OsAccount, ServerError

ALICE = OsAccount(uid=1001, gid=1001, name="alice")
ROOT = OsAccount(uid=0, gid=0, name="root")


@pytest.fixture
def folder(cluster: Cluster) -> Path:
    path = Path(cluster.configuration_folder)
    path.mkdir(parents=True)
    return path


@pytest.mark.parametrize(
    ("keeper", "server", "admitted"),
    [
        (ALICE, ALICE, ['foregate "alice" foregate', 'foregate "root" foregate']),
        (ROOT, ALICE, ['foregate "root" foregate']),
    ],
)
def test_admits_the_owner_and_root_and_nobody_else(
    cluster: Cluster, folder: Path, keeper: OsAccount, server: OsAccount, admitted: list[str]
) -> None:
    configuration.write_configuration(cluster._replace(keeper=keeper, server=server))
    assert (folder / "pg_ident.conf").read_text().splitlines() == admitted
    assert (folder / "pg_hba.conf").read_text() == "local all all peer map=foregate\n"


def test_committed_rows_survive_and_values_stay_out_of_the_log(
    cluster: Cluster, folder: Path
) -> None:
    configuration.write_configuration(cluster)
    lines = (folder / "postgresql.conf").read_text().splitlines()
    assert "synchronous_commit = on" in lines
    assert "log_min_error_statement = panic" in lines
    assert not any(line.startswith(("fsync", "full_page_writes")) for line in lines)


@pytest.mark.parametrize(("megabytes", "parallel"), [(64, False), (1024, True)])
def test_builds_indexes_in_parallel_only_where_shared_memory_allows(
    monkeypatch: pytest.MonkeyPatch, megabytes: int, *, parallel: bool
) -> None:
    room = SimpleNamespace(f_blocks=megabytes * 256, f_frsize=4096)
    monkeypatch.setattr(configuration.os.path, "isdir", lambda path: True)
    monkeypatch.setattr(configuration.os, "statvfs", lambda path: room)
    assert ("max_parallel_maintenance_workers" not in configuration._build_settings()) is parallel


def test_a_linux_without_that_folder_shares_memory_by_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(configuration.os.path, "isdir", lambda path: False)
    monkeypatch.setattr(configuration, "ON_LINUX", True)
    settings = configuration._build_settings()
    assert settings["dynamic_shared_memory_type"] == "mmap"
    assert "max_parallel_maintenance_workers" not in settings


@pytest.mark.parametrize(("linux", "expected"), [(True, "syncfs"), (False, None)])
def test_syncs_the_whole_disk_at_once_where_the_system_can(
    monkeypatch: pytest.MonkeyPatch, expected: str | None, *, linux: bool
) -> None:
    monkeypatch.setattr(configuration, "ON_LINUX", linux)
    assert configuration._build_settings().get("recovery_init_sync_method") == expected


def test_configuration_that_cannot_be_written_is_named(cluster: Cluster) -> None:
    with pytest.raises(ServerError, match=r"postgresql\.conf: No such file"):
        configuration.write_configuration(cluster)


def test_the_server_can_read_what_only_the_keeper_can_write(
    cluster: Cluster, folder: Path
) -> None:
    configuration.write_configuration(cluster)
    assert {os.stat(path).st_mode & 0o777 for path in folder.iterdir()} == {0o644}
