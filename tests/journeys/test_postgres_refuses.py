"""The embedded database says plainly why it cannot start, and where there is no room."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway_project.foundation.postgres.cluster import OsAccount
from tests.foundation.postgres import processes
from tests.foundation.postgres.conftest import (  # noqa: F401 - fixtures
    cluster,
    home,
    nobody,
    template,
    user,
    warm,
)
from tests.foundation.postgres.homes import located
from tests.foundation.postgres.processes import User

StartUser = Callable[..., User]


def a_file(home: Path) -> None:  # noqa: F811
    home.write_text("")


def a_file_in_it(home: Path) -> None:  # noqa: F811
    home.mkdir()
    (home / "postgres").write_text("")


def of_another_version(home: Path) -> None:  # noqa: F811
    found = located(home)
    Path(found.data_folder).mkdir(parents=True)
    Path(found.data_folder, "PG_VERSION").write_text("16\n")


def open_to_others(home: Path) -> None:  # noqa: F811
    (home / "postgres").mkdir(parents=True)
    (home / "postgres").chmod(0o777)


@pytest.mark.parametrize(
    ("spoil", "variables", "said"),
    [
        (a_file, {}, "a file is in the place of a folder; move it away"),
        (a_file_in_it, {}, "a file is in the place of a folder; move it away"),
        (of_another_version, {}, "was written by PostgreSQL 16"),
        (open_to_others, {}, "others may write to"),
        (None, {"DATABASE_URL": "postgres://me:hunter2@h:x/db"}, "DATABASE_URL has a port"),
        (
            None,
            {"DATABASE_URL": "postgres://me:hunter2@127.0.0.1:1/db"},
            "cannot reach PostgreSQL at 127.0.0.1:1",
        ),
    ],
)
def test_what_is_wrong_is_one_line_that_says_what_to_do(
    home: Path,  # noqa: F811
    user: StartUser,  # noqa: F811
    spoil: Callable[[Path], None] | None,
    variables: dict[str, str],
    said: str,
) -> None:
    if spoil:
        spoil(home)
    error = failure(user(**variables))
    assert said in error
    assert "hunter2" not in error


def failure(started: User) -> str:
    """The one line that a user process fails with, at its start or at its first query."""
    answer = started.receive()
    if "started" in answer:
        answer = started.ask()
    error = str(answer["error"])
    assert "\n" not in error
    return error


def test_a_system_user_that_does_not_exist_is_named(
    nobody: OsAccount,  # noqa: F811
    user: StartUser,  # noqa: F811
) -> None:
    error = failure(user(FOREGATE_POSTGRES_USER="nobody-such"))
    assert "there is no user 'nobody-such'" in error


def test_a_home_that_may_not_be_written_to_is_named(
    home: Path,  # noqa: F811
    nobody: OsAccount,  # noqa: F811
    user: StartUser,  # noqa: F811
) -> None:
    home.mkdir(mode=0o500)
    os.chown(home, nobody.uid, nobody.gid)
    error = failure(user(account=nobody))
    assert "Permission denied; make the folder writable" in error


def test_a_home_of_somebody_else_is_named(
    home: Path,  # noqa: F811
    nobody: OsAccount,  # noqa: F811
    user: StartUser,  # noqa: F811
) -> None:
    home.mkdir(mode=0o700)
    assert "Permission denied" in failure(user(account=nobody))


@pytest.fixture
def small_disk(home: Path) -> Iterator[Callable[[str], Path]]:  # noqa: F811
    """Mount a memory disk in place of the home folder, of a given size and with options."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a disk")
    home.mkdir()

    def mount(options: str) -> Path:
        done = subprocess.run(
            ["/bin/mount", "-t", "tmpfs", "-o", options, "tmpfs", str(home)], capture_output=True
        )
        if done.returncode:
            pytest.skip(f"no disk can be mounted here: {done.stderr.decode().strip()}")
        home.chmod(0o755) if "ro" not in options.split(",") else None
        return home

    yield mount
    processes.end_all(located(home))
    subprocess.run(["/bin/umount", "-l", str(home)], check=False, capture_output=True)


def test_a_read_only_home_is_named(
    small_disk: Callable[[str], Path],
    user: StartUser,  # noqa: F811
) -> None:
    small_disk("ro,size=1m,mode=755")
    assert "Read-only file system; make the folder writable" in failure(user())


def test_a_disk_too_small_for_the_database_is_named_and_left_empty(
    small_disk: Callable[[str], Path],
    user: StartUser,  # noqa: F811
) -> None:
    disk = small_disk("size=30m,mode=755")
    assert "no room for the database" in failure(user())
    assert not (disk / "postgres" / "data").exists()


def test_a_disk_that_fills_up_costs_nothing_that_was_stored(
    small_disk: Callable[[str], Path],
    user: StartUser,  # noqa: F811
) -> None:
    disk = small_disk("size=160m,mode=755")
    one = user(linger_s=60.0).ready()
    one.ask("CREATE TABLE kept (content text)")
    assert "error" not in one.ask("INSERT INTO kept VALUES ('first')")
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        try:
            while file.write(b"x" * 65_536):
                file.flush()
        except OSError:
            os.truncate(ballast, ballast.stat().st_size)
    error = one.ask(
        "INSERT INTO kept SELECT repeat(md5(i::text), 99) FROM generate_series(1, 99999) i"
    )
    assert "error" in error
    ballast.unlink()
    # A server without room for what it has to write down starts anew first.
    processes.until(lambda: one.ask("SELECT * FROM kept") == {"rows": [["first"]]})
    assert "error" not in one.ask("INSERT INTO kept VALUES ('second')")
