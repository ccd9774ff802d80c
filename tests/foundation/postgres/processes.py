"""Processes that the tests start, and what they find running of the embedded database."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from gateway_project.foundation.postgres.cluster import Cluster, OsAccount, is_reachable
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[3]
SITE = Path(psutil.__file__).resolve().parents[1]
USER_PROCESS = Path(__file__).with_name("user_process.py")


class User:
    """A process of its own that uses the database of a home folder."""

    def __init__(
        self, home: Path, *, linger_s: float = 1.0, account: OsAccount | None = None, **extra: str
    ) -> None:
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{ROOT}{os.pathsep}{SITE}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "FOREGATE_HOME": str(home),
            "FOREGATE_POSTGRES_LINGER_S": str(linger_s),
            **extra,
        }
        identity: dict[str, Any] = {}
        if account is not None:
            identity = {"user": account.uid, "group": account.gid, "extra_groups": []}
        self.process = subprocess.Popen(
            [interpreter(account), str(USER_PROCESS)],
            cwd="/",
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            **identity,
        )

    def ready(self) -> User:
        assert self.receive() == {"started": True}
        return self

    def ask(self, sql: str = "SELECT 1", *, within_s: float = PATIENCE_S) -> dict[str, Any]:
        self.send(sql)
        return self.receive(within_s=within_s)

    def send(self, sql: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{sql}\n")

    def receive(self, *, within_s: float = PATIENCE_S) -> dict[str, Any]:
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], within_s)[0], "no answer in time"
        return json.loads(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.kill()
        self.close()

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        self.process.wait(PATIENCE_S)


def interpreter(account: OsAccount | None) -> str:
    """A Python of this version that the account may run."""
    if account is None or is_reachable(os.path.dirname(os.path.realpath(sys.executable)), account):
        return sys.executable
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return shutil.which(name, path="/usr/local/bin:/usr/bin:/bin") or ""


def nobody() -> OsAccount:
    entry = pwd.getpwnam("nobody")
    return OsAccount(uid=entry.pw_uid, gid=entry.pw_gid, name=entry.pw_name)


def of(cluster: Cluster) -> list[psutil.Process]:
    """All living processes of an embedded database, its keeper among them."""
    return [process for process in psutil.process_iter() if _belongs(process, cluster)]


def keepers_of(cluster: Cluster) -> list[psutil.Process]:
    """All processes of the keeper's program but its guard, which has forked one of the others."""
    found = [process for process in of(cluster) if _is_keeper(process, cluster)]
    guards = {_parent_of(process) for process in found}
    return [process for process in found if process.pid not in guards]


def server_of(cluster: Cluster) -> list[psutil.Process]:
    """All processes of PostgreSQL itself."""
    return [process for process in of(cluster) if not _is_keeper(process, cluster)]


def guard_of(keeper: psutil.Process) -> psutil.Process:
    return psutil.Process(keeper.ppid())


def _parent_of(process: psutil.Process) -> int | None:
    try:
        return process.ppid()
    except psutil.Error:
        return None


def postmasters_of(cluster: Cluster) -> list[psutil.Process]:
    return [process for process in of(cluster) if "-D" in _words(process)]


def title_of(process: psutil.Process) -> str:
    """What the process shows in lists, which PostgreSQL's processes change as they work."""
    return " ".join(_words(process))


def keeper_of(cluster: Cluster) -> psutil.Process:
    """Wait for the only keeper: one that was just started has yet to fork what it will guard."""
    return _only(lambda: [one for one in keepers_of(cluster) if _is_guarded(one, cluster)])


def postmaster_of(cluster: Cluster) -> psutil.Process:
    return _only(lambda: postmasters_of(cluster))


def _only(found: Callable[[], list[psutil.Process]]) -> psutil.Process:
    """Wait until there is exactly one, and return it.

    What a server has just forked looks like it for an instant, and a keeper that came too late
    has still to notice.
    """
    (one,) = until(lambda: one if len(one := found()) == 1 else None)
    return one


def _belongs(process: psutil.Process, cluster: Cluster) -> bool:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return _is_keeper(process, cluster) or process.cwd() == os.path.realpath(
            cluster.data_folder
        )
    except psutil.Error:
        return False


def _is_guarded(keeper: psutil.Process, cluster: Cluster) -> bool:
    try:
        return _is_keeper(guard_of(keeper), cluster)
    except psutil.Error:
        return False


def _is_keeper(process: psutil.Process, cluster: Cluster) -> bool:
    words = _words(process)
    entry, named = f"postgres{os.sep}__main__.py", f'"home": {json.dumps(cluster.home)}'
    return any(word.endswith(entry) for word in words) and any(named in word for word in words)


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def until(condition: Callable[[], Any], *, within_s: float = PATIENCE_S) -> Any:
    """Wait for a condition and return its value."""
    for _ in ticks(within_s):
        if value := condition():
            return value
    raise AssertionError(f"not so within {within_s} s")


def ticks(within_s: float) -> Iterator[None]:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        yield
        select.select([], [], [], 0.02)


def copy_data(source: Cluster, target: Cluster) -> None:
    """Copy a stopped server's data with its owner."""
    subprocess.run(["/bin/cp", "-a", source.data_folder, target.data_folder], check=True)


def end_all(cluster: Cluster) -> None:
    """Stop a database, cleanly if its keeper lives."""
    for _ in ticks(PATIENCE_S):
        # Again and again: one that was killed may only now have been replaced.
        for keeper in keepers_of(cluster):
            with contextlib.suppress(psutil.NoSuchProcess):
                keeper.terminate()
        if not of(cluster):
            return
    for process in of(cluster):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
