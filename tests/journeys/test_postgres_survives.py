"""The embedded database outlives whatever is killed, whoever started it and wherever it lies."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from gateway_project.foundation.postgres import folders, pidfile
from gateway_project.foundation.postgres.cluster import SYSTEM_FOLDER, Cluster, OsAccount
from gateway_project.foundation.postgres.locate import SHORT_FOLDER
from tests.foundation.postgres import processes
from tests.foundation.postgres.conftest import (  # noqa: F401 - fixtures
    cluster,
    home,
    nobody,
    template,
    user,
    warm,
)
from tests.foundation.postgres.homes import located, temporary_home
from tests.foundation.postgres.processes import User
from tests.patience import PATIENCE_S

StartUser = Callable[..., User]

ONE_ROW = {"rows": [[1]]}


def owners_of(place: Cluster) -> set[str]:
    """Return who runs the processes of a cluster."""
    names = set()
    for process in processes.of(place):
        with contextlib.suppress(psutil.NoSuchProcess):  # some end again at once
            names.add(process.username())
    return names


def file_owners(folder: Path) -> set[int]:
    """Return who owns what is in a folder, in which files come and go."""
    owners = set()
    for parent, inner, files in os.walk(folder):
        for name in (*inner, *files):
            with contextlib.suppress(FileNotFoundError):
                owners.add(os.lstat(os.path.join(parent, name)).st_uid)
    return owners


class Stage:
    """A running database with two users, who stay while servers and keepers are killed."""

    def __init__(self, place: Cluster, users: tuple[User, User]) -> None:
        self.cluster = place
        self.users = users

    def server(self) -> psutil.Process:
        return processes.postmaster_of(self.cluster)

    def keeper(self) -> psutil.Process:
        return processes.keeper_of(self.cluster)

    def kill(self, *victims: psutil.Process) -> None:
        """Kill processes and wait until they are gone, and with a server all that belong to it."""
        going = set(victims)
        if self.server() in going:
            going |= set(processes.server_of(self.cluster))
        for victim in victims:
            victim.kill()
        processes.until(lambda: not going & set(processes.of(self.cluster)), within_s=PATIENCE_S)

    def recovers(self) -> bool:
        """Whether both users work again within the time; a query amid the kill may fail."""
        for one in self.users:
            processes.until(
                lambda one=one: one.ask(within_s=PATIENCE_S) == ONE_ROW, within_s=PATIENCE_S
            )
        return True


def stock(place: Cluster, template: Cluster) -> None:  # noqa: F811
    """Give a cluster the data of one that was started before."""
    folders.prepare_folders(place)
    processes.copy_data(template, place)


@pytest.fixture(scope="module")
def stage(template: Cluster) -> Iterator[Stage]:  # noqa: F811
    with temporary_home() as home:  # noqa: F811
        found = located(home)
        stock(found, template)
        users = User(home, linger_s=60.0), User(home, linger_s=60.0)
        for one in users:
            one.ready().ask()
        yield Stage(found, users)
        for one in users:
            one.kill()


@pytest.fixture
def kept(stage: Stage) -> Iterator[str]:
    """An empty table of numbers."""
    assert stage.recovers()
    one = stage.users[0]
    one.ask("CREATE TABLE kept (number int)")
    yield "kept"
    assert stage.recovers()
    one.ask("DROP TABLE kept")


def test_a_killed_server_is_back_with_every_committed_row(stage: Stage, kept: str) -> None:
    writer, reader = stage.users
    for number in range(20):
        assert "error" not in writer.ask(f"INSERT INTO {kept} VALUES ({number})")
    first = stage.server()
    stage.kill(first)
    assert stage.recovers()
    assert reader.ask(f"SELECT count(*) FROM {kept}") == {"rows": [[20]]}
    assert "error" not in writer.ask(f"INSERT INTO {kept} VALUES (20)")
    assert stage.server() != first


def test_a_server_killed_again_and_again_loses_nothing_it_confirmed(
    stage: Stage, kept: str
) -> None:
    writer, reader = stage.users
    confirmed = []
    for number in range(30):
        if number % 10 == 5:
            writer.send(f"INSERT INTO {kept} VALUES ({number})")
            stage.kill(stage.server())
            answer = writer.receive(within_s=PATIENCE_S)
            assert stage.recovers()
        else:
            answer = writer.ask(f"INSERT INTO {kept} VALUES ({number})")
        if "error" not in answer:
            confirmed.append([number])
    assert len(confirmed) >= 27
    found = reader.ask(f"SELECT number FROM {kept} ORDER BY number")["rows"]
    assert [row for row in confirmed if row not in found] == []


def test_a_server_killed_amid_a_long_query_is_back(stage: Stage) -> None:
    assert stage.recovers()
    busy = stage.users[0]
    busy.send("SELECT count(*) FROM generate_series(1, 1000000000000000)")
    processes.until(
        lambda: any("SELECT" in processes.title_of(p) for p in processes.of(stage.cluster))
    )
    stage.kill(stage.server())
    assert "error" in busy.receive(within_s=PATIENCE_S)
    assert stage.recovers()


def test_a_killed_keeper_costs_nothing_and_is_replaced(
    stage: Stage,
    user: StartUser,  # noqa: F811
) -> None:
    assert stage.recovers()
    server = stage.server()
    stage.kill(stage.keeper())
    assert stage.users[0].ask() == ONE_ROW
    newcomer = user(Path(stage.cluster.home), linger_s=60.0).ready()
    assert newcomer.ask() == ONE_ROW
    processes.until(lambda: processes.keepers_of(stage.cluster))
    assert stage.server() == server
    stage.kill(server)
    assert stage.recovers()
    assert stage.server() != server


def test_keeper_and_server_killed_at_once_are_both_replaced(stage: Stage) -> None:
    assert stage.recovers()
    keeper, server = stage.keeper(), stage.server()
    stage.kill(keeper, server)
    assert stage.recovers()
    assert stage.keeper() != keeper
    assert stage.server() != server


def test_a_stopped_keeper_stops_its_server_cleanly(stage: Stage) -> None:
    assert stage.recovers()
    keeper = stage.keeper()
    keeper.send_signal(signal.SIGTERM)
    processes.until(lambda: keeper not in processes.of(stage.cluster))
    assert "database system is shut down" in Path(stage.cluster.log_file).read_text()
    assert stage.recovers()


def test_nobody_else_gets_in(stage: Stage, nobody: OsAccount) -> None:  # noqa: F811
    assert stage.recovers()
    stranger = OsAccount(uid=nobody.uid - 1, gid=nobody.gid, name="stranger")
    said = subprocess.run(
        [processes.interpreter(stranger), "-c", f"open({stage.cluster.socket_file!r})"],
        user=stranger.uid,
        group=stranger.gid,
        extra_groups=[],
        capture_output=True,
        text=True,
    )
    assert "Permission denied" in said.stderr
    assert os.stat(stage.cluster.data_folder).st_mode & 0o077 == 0


def test_a_killed_user_takes_nobody_with_it_and_the_last_ends_the_server(
    warm: Cluster,  # noqa: F811
    user: StartUser,  # noqa: F811
) -> None:
    one, other = user(linger_s=0.5), user(linger_s=0.5)
    assert one.ready().ask() == ONE_ROW
    assert other.ready().ask() == ONE_ROW
    server = processes.postmaster_of(warm)
    one.kill()
    assert other.ask() == ONE_ROW
    assert processes.postmaster_of(warm) == server
    other.kill()
    processes.until(lambda: not processes.of(warm), within_s=PATIENCE_S)
    assert pidfile.read_pid(warm) is None


@pytest.mark.parametrize("killed_first", [True, False])
def test_a_server_whose_keeper_was_killed_ends_once_its_last_user_is_gone(
    warm: Cluster,  # noqa: F811
    user: StartUser,  # noqa: F811
    *,
    killed_first: bool,
) -> None:
    last = user(linger_s=2.0)
    assert last.ready().ask() == ONE_ROW
    keeper = processes.keeper_of(warm)
    if not killed_first:
        last.close()
    keeper.kill()
    if killed_first:
        last.kill()
    processes.until(lambda: not processes.of(warm))
    assert pidfile.read_pid(warm) is None


FIRST_START = """
import sys
import psycopg
from gateway_project.foundation.postgres import supervise
from gateway_project.foundation.postgres.cluster import Cluster
cluster = Cluster.from_json(sys.argv[1])
sys.stdin.readline()
supervise.ensure_running(cluster)
with psycopg.connect(host=cluster.socket_folder, user="foregate", dbname="foregate") as session:
    print(session.execute("SELECT 1").statusmessage, flush=True)
sys.stdin.read()
"""


def test_users_that_start_together_for_the_first_time_share_one_server(
    cluster: Cluster,  # noqa: F811
) -> None:
    with contextlib.ExitStack() as stack:
        users = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", FIRST_START, cluster.to_json()],
                    cwd=processes.ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(8)
        ]
        for one in users:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        answers = [one.stdout.readline() for one in users if one.stdout]
        assert answers == ["SELECT 1\n"] * 8
        assert processes.postmaster_of(cluster)
        assert processes.keeper_of(cluster)


def test_an_ordinary_users_server_is_its_own(
    home: Path,  # noqa: F811
    nobody: OsAccount,  # noqa: F811
    user: StartUser,  # noqa: F811
) -> None:
    home.mkdir()
    os.chown(home, nobody.uid, nobody.gid)
    one = user(account=nobody).ready()
    assert one.ask("SELECT current_user")["rows"] == [["foregate"]]
    assert owners_of(located(home)) == {nobody.name}
    assert file_owners(home) == {nobody.uid}
    assert (home / "postgres").stat().st_mode & 0o077 == 0


def test_root_joins_an_ordinary_users_server_and_leaves_it_that_users(
    home: Path,  # noqa: F811
    nobody: OsAccount,  # noqa: F811
    user: StartUser,  # noqa: F811
    template: Cluster,  # noqa: F811
) -> None:
    home.mkdir()
    os.chown(home, nobody.uid, nobody.gid)
    stock(located(home), template)
    root = user().ready()
    assert root.ask() == ONE_ROW
    assert owners_of(located(home)) == {nobody.name}
    assert user(account=nobody).ready().ask() == ONE_ROW
    assert file_owners(home) == {nobody.uid}


def test_roots_server_serves_a_home_that_others_cannot_reach(
    home: Path,  # noqa: F811
    nobody: OsAccount,  # noqa: F811
    user: StartUser,  # noqa: F811
    template: Cluster,  # noqa: F811
) -> None:
    home.parent.chmod(0o700)
    found = located(home)
    assert os.path.dirname(found.base) == SYSTEM_FOLDER
    stock(found, template)
    assert user().ready().ask() == ONE_ROW
    assert home.parent.stat().st_mode & 0o777 == 0o700
    assert processes.postmaster_of(found).username() == nobody.name


def test_a_home_with_a_long_path_works(
    home: Path,  # noqa: F811
    user: StartUser,  # noqa: F811
    template: Cluster,  # noqa: F811
) -> None:
    deep = home / ("d" * 60) / ("e" * 60)
    cluster = located(deep)  # noqa: F811
    stock(cluster, template)
    try:
        assert user(deep).ready().ask() == ONE_ROW
        assert cluster.socket_folder.startswith(SHORT_FOLDER)
        assert os.stat(cluster.socket_folder).st_mode & 0o077 == 0
    finally:
        processes.end_all(cluster)
        shutil.rmtree(cluster.socket_folder, ignore_errors=True)
