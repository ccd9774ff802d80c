import os
from pathlib import Path

import pytest

from gateway_project.foundation.postgres import cluster as module
from gateway_project.foundation.postgres.cluster import (
    Cluster,
    OsAccount,
    is_reachable,
    is_readable,
)

ME = OsAccount(uid=os.getuid(), gid=os.getgid(), name="me")
COMRADE = OsAccount(uid=ME.uid + 1, gid=ME.gid, name="comrade")
STRANGER = OsAccount(uid=ME.uid + 1, gid=ME.gid + 1, name="stranger")


@pytest.fixture
def open_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder above which every folder counts as open."""
    real = os.stat
    above = {str(parent) for parent in tmp_path.parents}

    def stat(path: str) -> os.stat_result:
        return real("/") if str(path) in above else real(path)

    monkeypatch.setattr(module.os, "stat", stat)
    tmp_path.chmod(0o711)
    return tmp_path


def test_survives_the_keepers_command_line() -> None:
    cluster = Cluster(
        home='/home/ü "x"',
        base="/b",
        socket_folder="/s",
        server=STRANGER,
        keeper=ME,
        linger_s=1.5,
        log_bytes=7,
    )
    assert Cluster.from_json(cluster.to_json()) == cluster


@pytest.mark.parametrize(
    ("mode", "account", "expected"),
    [
        (0o700, ME, True),
        (0o070, ME, False),
        (0o010, COMRADE, True),
        (0o707, COMRADE, False),
        (0o001, STRANGER, True),
        (0o770, STRANGER, False),
    ],
)
def test_access_to_a_folder_follows_its_mode(
    open_above: Path, mode: int, account: OsAccount, *, expected: bool
) -> None:
    folder = open_above / "folder"
    folder.mkdir()
    folder.chmod(mode)
    assert is_reachable(str(folder), account) is expected
    folder.chmod(0o700)


def test_missing_folders_count_as_accessible(open_above: Path) -> None:
    assert is_reachable(str(open_above / "not" / "yet"), STRANGER)


def test_nothing_below_a_file_can_be_reached(open_above: Path) -> None:
    (open_above / "file").write_text("")
    assert not is_reachable(str(open_above / "file" / "x"), ME)


@pytest.mark.parametrize(("mode", "expected"), [(0o604, True), (0o600, False)])
def test_a_file_is_readable_if_its_mode_and_the_way_to_it_allow(
    open_above: Path, mode: int, *, expected: bool
) -> None:
    file = open_above / "file"
    file.write_text("")
    file.chmod(mode)
    assert is_readable(str(file), STRANGER) is expected
    open_above.chmod(0o700)
    assert not is_readable(str(file), STRANGER)


def test_a_missing_file_is_not_readable(open_above: Path) -> None:
    assert not is_readable(str(open_above / "none"), ME)
