"""Backs up the database to one file, atomically and without interrupting other processes."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from django.db import DEFAULT_DB_ALIAS

from gateway_project.foundation.postgres import archive, client, folders
from gateway_project.foundation.postgres.client import BackupError, DatabaseTarget

TABLE_DUMPED = b"dumping contents of table"
"""What pg_dump says at each table's start."""

Report = Callable[[str, int, int], None]
"""Receives the stage, what is done of it, and the total."""


def create_backup(
    path: Path, *, using: str = DEFAULT_DB_ALIAS, report: Report = lambda *_: None
) -> Path:
    """Write a consistent snapshot of all data to a file that only its owner may read.

    An existing file of that name is replaced once the new one is complete.

    Returns:
        The file's absolute path.

    Raises:
        BackupError: If it cannot be written; an existing file is left unchanged.
        DatabaseUnavailable: If there is no database.
    """
    target = DatabaseTarget(using)
    path = path.absolute()
    if path.is_dir():
        raise BackupError(f"{path} is a folder: name a file in it")
    try:
        descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(descriptor)
        try:
            run_pg_dump(target, partial, path, report=report)
            with open(partial, "r+b") as file:
                archive.seal(file)
                os.fsync(file.fileno())
            os.replace(partial, path)
            folders.fsync_folder(path.parent)
        finally:
            Path(partial).unlink(missing_ok=True)
    except OSError as error:
        raise BackupError(
            f"cannot write {path}: {error.strerror}; name a file in a folder you may write to"
        ) from None
    return path


def save_before(step: str, folder: Path, *, at: datetime, using: str = DEFAULT_DB_ALIAS) -> Path:
    """Back up to `before-<step>-<time>.backup`, and remove what killed steps left of such files.

    Args:
        step: What is about to change the data.
        folder: Where to; made if missing.
        at: Now.
        using: Alias of the database.

    Raises:
        BackupError: If it cannot be saved.
        DatabaseUnavailable: If there is no database.
    """
    prefix = f"before-{step}-"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for partial in folder.glob(f".{prefix}*"):
            partial.unlink()
    except OSError as error:
        raise BackupError(
            f"cannot use {folder}: {error.strerror}; make it writable, or do not save what is "
            "replaced (--no-backup)"
        ) from None
    return create_backup(folder / f"{prefix}{at:%Y%m%dT%H%M%SZ}.backup", using=using)


def run_pg_dump(
    target: DatabaseTarget, partial: str, path: Path, *, report: Report = lambda *_: None
) -> None:
    """Dump a schema.

    Args:
        target: The database.
        partial: File to write.
        path: Its final name, for messages.
        report: Receives how many tables are dumped.

    Raises:
        BackupError: If it cannot be dumped.
    """
    with subprocess.Popen(
        [
            client.find_program("pg_dump"),
            *target.build_arguments(),
            "--format=custom",
            "--no-owner",
            "--no-privileges",
            f'--schema="{target.schema}"',
            "--extension=vector",
            f"--file={partial}",
            "--verbose",
        ],
        env=target.build_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as dumping:
        assert dumping.stderr is not None  # noqa: S101 - a pipe was asked for
        said, tables = [], 0
        for line in dumping.stderr:
            said.append(line)
            if TABLE_DUMPED in line:
                tables += 1
                report("Saving tables", tables, max(tables, target.tables))
    if dumping.returncode:
        raise BackupError(
            f"cannot save the database to {path}: {client.extract_error_line(b''.join(said))}; "
            "the existing file is unchanged"
        )
