"""Creates the data folder and checks its version; part of the keeper."""

from __future__ import annotations

import os
import shutil
import subprocess

from gateway_project.foundation.postgres import binaries, configuration
from gateway_project.foundation.postgres.cluster import NAME, Cluster, OsAccount, ServerError
from gateway_project.foundation.postgres.folders import explain_unusable

MIN_FREE_BYTES = 128 * 2**20
"""Space for a new data folder (40 MB), its first WAL files, and a start."""

INIT_TIMEOUT_S = 120

ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/bin:/bin"}


def create_cluster(cluster: Cluster, programs: str) -> None:
    """Create the data folder atomically.

    Raises:
        ServerError: If there is too little space or initdb fails.
    """
    temporary = f"{cluster.data_folder}.new"
    shutil.rmtree(temporary, ignore_errors=True)
    free = shutil.disk_usage(cluster.base).free
    if free < MIN_FREE_BYTES:
        raise ServerError(
            f"no room for the database in {cluster.base}: {free >> 20} MB are free and "
            f"{MIN_FREE_BYTES >> 20} MB are needed; free some, or set FOREGATE_HOME to another "
            "disk"
        )
    try:
        os.mkdir(temporary, 0o700)
        if os.geteuid() == 0:
            os.chown(temporary, cluster.server.uid, cluster.server.gid, follow_symlinks=False)
        _run_initdb(cluster, programs, temporary)
        os.rename(temporary, cluster.data_folder)
        _fsync_folder(cluster.base)
    except OSError as error:
        raise explain_unusable(cluster.base, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_version(cluster: Cluster) -> None:
    """Refuse a data folder of another major version.

    Raises:
        ServerError: If the installed programs cannot serve it.
    """
    path = os.path.join(cluster.data_folder, "PG_VERSION")
    try:
        with open(path, encoding="utf-8") as file:
            version = file.read().strip()
    except OSError as error:
        raise explain_unusable(path, error) from None
    if version != str(binaries.MAJOR):
        raise ServerError(
            f"the data in {cluster.data_folder} was written by PostgreSQL {version} and this "
            f"Foregate brings {binaries.MAJOR}: save it with the Foregate that wrote it "
            "(`manage.py backup FILE`), move the folder away, then read it back in "
            "(`manage.py restore FILE`)"
        )


def account_arguments(account: OsAccount) -> dict[str, object]:
    """Return arguments for `subprocess` to run a program as an account; only root can switch."""
    if os.geteuid() != 0:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


def _run_initdb(cluster: Cluster, programs: str, folder: str) -> None:
    words = [binaries.program_path(programs, "initdb"), "-D", folder, f"--username={NAME}"]
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
            **account_arguments(cluster.server),  # type: ignore[call-overload]
        )
    except subprocess.CalledProcessError as error:
        raise ServerError(explain_log(error.stderr.decode(errors="replace"), cluster)) from None
    except subprocess.TimeoutExpired:
        raise ServerError(
            f"creating the database in {cluster.base} took longer than {INIT_TIMEOUT_S} s; "
            "check the load of the machine and the disk, and start again"
        ) from None


def explain_log(text: str, cluster: Cluster) -> str:
    """Convert the log of a failed start to one line that says what to do."""
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return (
            f"the disk of {cluster.base} is full: free some space and start again; nothing that "
            "was stored is lost"
        )
    if "has invalid permissions" in text or "has wrong ownership" in text:
        return (
            f"{cluster.data_folder} must belong to {cluster.server.name!r} with mode 0700; on a "
            "disk that knows no owners (a Windows folder in WSL) set FOREGATE_HOME to a Linux "
            "folder"
        )
    reasons = [line for line in text.splitlines() if _is_reason(line)]
    last = reasons[-1].split(": ", 1)[-1].strip() if reasons else "it gave no reason"
    return f"the embedded PostgreSQL does not start: {last}; see {cluster.log_file}"


def _is_reason(line: str) -> bool:
    return any(f"{mark}: " in line for mark in ("FATAL", "PANIC", "error", "could not"))


def _fsync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
