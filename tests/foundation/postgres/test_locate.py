"""Where the data lies and as whom the server runs, for each kind of user and home folder."""

import os
import pwd
from pathlib import Path

import pytest

from gateway_project.foundation.postgres import locate as module
from gateway_project.foundation.postgres.cluster import Cluster, ServerError

OWNER = pwd.getpwuid(os.getuid())
SOMEBODY = next(entry for entry in pwd.getpwall() if entry.pw_uid not in (0, os.getuid()))


def locate(home: Path, *, postgres_user: str = SOMEBODY.pw_name) -> Cluster:
    return module.locate_cluster(str(home), postgres_user=postgres_user, linger_s=1.0, log_bytes=1)


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module.os, "geteuid", lambda: 0)
    monkeypatch.setattr(module, "_find_server_uid", lambda home: 0)
    monkeypatch.setattr(module, "SYSTEM_FOLDER", str(tmp_path / "system"))


@pytest.fixture
def as_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.os, "geteuid", lambda: SOMEBODY.pw_uid)


@pytest.mark.usefixtures("as_user")
def test_two_paths_to_one_home_share_a_database(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "home")
    assert locate(tmp_path / "link") == locate(tmp_path / "home")


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("name", ["d" * 100, "one,two"])
def test_a_home_path_too_long_for_a_socket_gets_a_short_folder(tmp_path: Path, name: str) -> None:
    found, other = locate(tmp_path / name), locate(tmp_path / name / "other")
    assert len(found.socket_file) <= module.MAX_SOCKET_PATH
    assert "," not in found.socket_file
    assert found.socket_folder != other.socket_folder


def test_a_user_without_a_passwd_entry_gets_instructions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.os, "geteuid", lambda: 987_654)
    with pytest.raises(ServerError, match=r"user id 987654 .*useradd"):
        locate(tmp_path)


@pytest.mark.usefixtures("as_root")
@pytest.mark.parametrize("is_open", [True, False])
def test_data_that_exists_is_used_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_open: bool
) -> None:
    monkeypatch.setattr(module, "is_reachable", lambda path, account: not is_open)
    existing = locate(tmp_path)
    Path(existing.data_folder).mkdir(parents=True)
    monkeypatch.setattr(module, "is_reachable", lambda path, account: is_open)
    assert locate(tmp_path) == existing


@pytest.mark.usefixtures("as_root")
def test_root_is_refused_as_the_user_to_run_as(tmp_path: Path) -> None:
    root = pwd.getpwuid(0).pw_name
    with pytest.raises(ServerError, match="does not run as root"):
        locate(tmp_path, postgres_user=root)


@pytest.mark.usefixtures("as_root")
def test_a_user_to_run_as_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="there is no user 'nobody-such'"):
        locate(tmp_path, postgres_user="nobody-such")


@pytest.mark.parametrize(
    ("owner", "responsible"), [(SOMEBODY.pw_uid, SOMEBODY.pw_uid), (987_654, 0), (None, 0)]
)
def test_root_runs_the_server_as_the_owner_of_the_home(
    monkeypatch: pytest.MonkeyPatch, owner: int | None, responsible: int
) -> None:
    def stat(path: str) -> os.stat_result:
        if owner is None:
            raise FileNotFoundError
        return os.stat_result((0o700, 0, 0, 0, owner, 0, 0, 0, 0, 0))

    monkeypatch.setattr(module.os, "geteuid", lambda: 0)
    monkeypatch.setattr(module.os, "stat", stat)
    assert module._find_server_uid("/home/of/somebody") == responsible
