"""Creates the data folder and checks its version; part of the keeper."""

from __future__ import annotations

import os
import shutil
import subprocess

from gateway_project.foundation.postgres import binaries, configuration
from gateway_project.foundation.postgres.cluster import NAME, Cluster, OsAccount, ServerError
from gateway_project.foundation.postgres.folders import explain_unusable, fsync_folder

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
        _create_database(cluster, programs, temporary)
        os.rename(temporary, cluster.data_folder)
        fsync_folder(cluster.base)
    except OSError as error:
        raise explain_unusable(cluster.base, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_version(cluster: Cluster, programs: str) -> None:
    """Refuse a data folder of another major version.

    Raises:
        ServerError: If these programs cannot serve it.
    """
    version = read_version(cluster)
    major = binaries.read_major(programs) if cluster.programs else binaries.MAJOR
    if version == major:
        return
    found = f"the data in {cluster.data_folder} was written by PostgreSQL {version} and this "
    if version is not None and version < binaries.MAJOR:
        raise ServerError(
            f"{found}Foregate brings {major}: run `manage.py upgrade`, which moves it"
        )
    raise ServerError(
        f"{found}Foregate brings {major}: use the newer Foregate that wrote it, or move the "
        f"folder away, and what was kept of before ({cluster.data_folder}-{major}) in its place"
    )


def read_version(cluster: Cluster) -> int | None:
    """Return the major version that wrote the data; None: there is no data.

    Raises:
        ServerError: If the folder cannot be read.
    """
    path = os.path.join(cluster.data_folder, "PG_VERSION")
    try:
        with open(path, encoding="utf-8") as file:
            return int(file.read())
    except OSError as error:
        if not os.path.isdir(cluster.data_folder):
            return None
        raise explain_unusable(path, error) from None
    except ValueError:
        raise ServerError(f"{path} holds no version: restore a backup of the folder") from None


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
    _run_program(cluster, words)


def _create_database(cluster: Cluster, programs: str, folder: str) -> None:
    """Create the extension and the database in single-user mode, before any server runs."""
    words = [binaries.program_path(programs, "postgres"), "--single", "-D", folder]
    words += ["-c", "exit_on_error=on", "template1"]
    _run_program(cluster, words, f"CREATE EXTENSION vector\nCREATE DATABASE {NAME}\n")


def _run_program(cluster: Cluster, words: list[str], text: str = "") -> None:
    try:
        subprocess.run(
            words,
            check=True,
            cwd="/",
            env=ENVIRONMENT,
            input=text.encode(),
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
