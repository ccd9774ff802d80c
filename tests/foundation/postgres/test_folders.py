import os
import stat
from pathlib import Path

import pytest

from gateway_project.foundation.postgres import folders
from gateway_project.foundation.postgres.cluster import Cluster, OsAccount, ServerError


@pytest.fixture
def own(cluster: Cluster) -> Cluster:
    """A cluster whose keeper and server are this process's user."""
    me = OsAccount(uid=os.geteuid(), gid=os.getegid(), name="me")
    return cluster._replace(keeper=me, server=me)


def mode(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def test_makes_private_folders(own: Cluster) -> None:
    folders.prepare_folders(own)
    for path in (own.home, own.base, own.socket_folder, own.configuration_folder, own.log_folder):
        assert mode(path) == 0o700


def test_makes_the_folders_above_a_home(own: Cluster) -> None:
    home = f"{own.home}/deep/er"
    folders.prepare_folders(own._replace(home=home, base=f"{home}/postgres"))
    assert mode(home) == 0o700


def test_lets_the_servers_account_through_roots_own_folders(cluster: Cluster) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives folders away")
    folders.prepare_folders(cluster)
    for path in (cluster.home, cluster.base, cluster.configuration_folder):
        assert (mode(path), os.stat(path).st_uid) == (0o711, 0)
    assert mode(cluster.log_folder) == 0o700
    assert mode(cluster.socket_folder) == 0o700
    assert os.stat(cluster.socket_folder).st_uid == cluster.server.uid


def test_leaves_the_permissions_of_existing_folders_as_they_are(own: Cluster) -> None:
    Path(own.home).mkdir(mode=0o755)
    Path(own.home).chmod(0o755)
    folders.prepare_folders(own)
    assert mode(own.home) == 0o755


def test_says_so_if_the_servers_account_cannot_get_through(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = OsAccount(uid=os.geteuid(), gid=os.getegid(), name="me")
    other = me._replace(name="other")
    monkeypatch.setattr(folders, "is_reachable", lambda path, account: False)
    with pytest.raises(ServerError, match=r"system user 'other'.* cannot reach"):
        folders.prepare_folders(cluster._replace(keeper=me, server=other))


def test_makes_the_systems_folder_where_the_data_lies_there(
    own: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "SYSTEM_FOLDER", str(tmp_path / "system"))
    base = str(tmp_path / "system" / "abc")
    folders.prepare_folders(own._replace(base=base, socket_folder=f"{base}/run"))
    assert mode(str(tmp_path / "system")) == 0o711
    assert mode(base) == 0o700


def test_trusts_no_folder_of_somebody_else(own: Cluster) -> None:
    stranger = own.keeper._replace(uid=own.keeper.uid + 1, name="stranger")
    Path(own.socket_folder).mkdir(parents=True)
    with pytest.raises(ServerError, match=r"belongs to user id .*run Foregate as"):
        folders.prepare_folders(own._replace(server=stranger))


def test_trusts_no_folder_that_others_may_write_to(own: Cluster) -> None:
    folders.prepare_folders(own)
    Path(own.base).chmod(0o770)
    with pytest.raises(ServerError, match=r"others may write to .*chmod go-w"):
        folders.prepare_folders(own)


def test_trusts_no_link(own: Cluster, tmp_path: Path) -> None:
    Path(own.base).mkdir(parents=True)
    Path(own.socket_folder).symlink_to(tmp_path)
    with pytest.raises(ServerError, match="is not a folder"):
        folders.prepare_folders(own)


@pytest.mark.parametrize("place", ["home", "base"])
def test_a_file_in_the_place_of_a_folder_is_named(own: Cluster, place: str) -> None:
    path = Path(getattr(own, place))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    with pytest.raises(ServerError, match=f"cannot use {path}.*: a file is in the place"):
        folders.prepare_folders(own)


def test_a_folder_that_cannot_be_written_to_is_named(
    own: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(folders.os, "mkdir", refuse)
    with pytest.raises(ServerError, match=r"cannot use .*: Permission denied; make the folder"):
        folders.prepare_folders(own)


@pytest.mark.parametrize("content", [[], ["file"]])
def test_concurrent_creation_of_a_folder_succeeds(
    own: Cluster, monkeypatch: pytest.MonkeyPatch, content: list[str]
) -> None:
    real = os.rename

    def overtaken(source: str, target: str) -> None:
        os.mkdir(target, 0o700)
        for name in content:
            Path(target, name).touch()
        real(source, target)

    monkeypatch.setattr(folders.os, "rename", overtaken)
    folders.prepare_folders(own)
    assert os.listdir(own.socket_folder) == content
    assert mode(own.base) == 0o700
    assert not [name for name in os.listdir(own.base) if name.startswith("run.")]


def test_folders_are_created_atomically(own: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    real, seen = os.rename, []

    def rename(source: str, target: str) -> None:
        seen.append((os.path.exists(target), mode(source)))
        real(source, target)

    monkeypatch.setattr(folders.os, "rename", rename)
    folders.prepare_folders(own)
    assert set(seen) == {(False, 0o700)}
