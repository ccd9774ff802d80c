"""Make a data folder and write the server's configuration; part of the keeper."""

from __future__ import annotations

import os
import shutil
import subprocess

from gateway_project.foundation.postgres import binaries, configuration
from gateway_project.foundation.postgres.cluster import NAME, Account, Cluster, ServerError
from gateway_project.foundation.postgres.folders import unusable

NEEDED_BYTES = 128 * 2**20
"""Room for a new data folder (40 MB), its first logs of changes, and a start with them."""

INIT_TIMEOUT_S = 120

ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/bin:/bin"}


def create(cluster: Cluster, programs: str) -> None:
    """Make the data folder: whole under its name, or not at all.

    Raises:
        ServerError: If there is no room or initdb fails.
    """
    fresh = f"{cluster.data}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    free = shutil.disk_usage(cluster.base).free
    if free < NEEDED_BYTES:
        raise ServerError(
            f"no room for the database in {cluster.base}: {free >> 20} MB are free and "
            f"{NEEDED_BYTES >> 20} MB are needed; free some, or set FOREGATE_HOME to another disk"
        )
    try:
        os.mkdir(fresh, 0o700)
        if os.geteuid() == 0:
            os.chown(fresh, cluster.server.uid, cluster.server.gid, follow_symlinks=False)
        _initdb(cluster, programs, fresh)
        os.rename(fresh, cluster.data)
        _sync(cluster.base)
    except OSError as error:
        raise unusable(cluster.base, error) from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def check_version(cluster: Cluster) -> None:
    """Refuse a data folder of another major version.

    Raises:
        ServerError: If the programs at hand cannot serve it.
    """
    path = os.path.join(cluster.data, "PG_VERSION")
    try:
        with open(path, encoding="utf-8") as file:
            version = file.read().strip()
    except OSError as error:
        raise unusable(path, error) from None
    if version != str(binaries.MAJOR):
        raise ServerError(
            f"the data in {cluster.data} was written by PostgreSQL {version} and this Foregate "
            f"brings {binaries.MAJOR}: save it with the Foregate that wrote it (`manage.py backup "
            "FILE`), move the folder away, then read it back in (`manage.py restore FILE`)"
        )


def as_account(account: Account) -> dict[str, object]:
    """Arguments for `subprocess` to run a program as an account; none but root may change."""
    if os.geteuid() != 0:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


def _initdb(cluster: Cluster, programs: str, folder: str) -> None:
    words = [binaries.program(programs, "initdb"), "-D", folder, f"--username={NAME}"]
    words += ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin"]
    words += ["--builtin-locale=C.UTF-8", "--data-checksums", "--auth=reject", "--no-instructions"]
    words += [f"--sync-method={configuration.SYNC_METHOD}"] if configuration.ON_LINUX else []
    try:
        subprocess.run(
            words,
            check=True,
            cwd="/",
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=INIT_TIMEOUT_S,
            **as_account(cluster.server),  # type: ignore[call-overload]
        )
    except subprocess.CalledProcessError as error:
        raise ServerError(explain_log(error.stderr.decode(errors="replace"), cluster)) from None
    except subprocess.TimeoutExpired:
        raise ServerError(
            f"making the database in {cluster.base} took longer than {INIT_TIMEOUT_S} s; "
            "look at the load of the machine and the disk, and start again"
        ) from None


def explain_log(text: str, cluster: Cluster) -> str:
    """Turn what PostgreSQL wrote before it gave up into one line that says what to do."""
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return (
            f"the disk of {cluster.base} is full: free some room and start again; nothing that "
            "was stored is lost"
        )
    if "has invalid permissions" in text or "has wrong ownership" in text:
        return (
            f"{cluster.data} must belong to {cluster.server.name!r} with mode 0700; on a disk "
            "that knows no owners (a Windows folder in WSL) set FOREGATE_HOME to a Linux folder"
        )
    reasons = [line for line in text.splitlines() if _is_reason(line)]
    last = reasons[-1].split(": ", 1)[-1].strip() if reasons else "it gave no reason"
    return f"the embedded PostgreSQL does not start: {last}; see {cluster.log_file}"


def _is_reason(line: str) -> bool:
    return any(f"{mark}: " in line for mark in ("FATAL", "PANIC", "error", "could not"))


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
