"""Save the database to one file, whole or not at all, while everything goes on."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from django.db import DEFAULT_DB_ALIAS

from gateway_project.foundation.postgres import client
from gateway_project.foundation.postgres.client import ClientError, Target


@dataclass(frozen=True, kw_only=True)
class Backup:
    """A finished backup."""

    path: Path
    size_bytes: int


def backup(path: Path, *, using: str = DEFAULT_DB_ALIAS) -> Backup:
    """Write all data as of one moment to a file that only its owner may read.

    An older file of that name is replaced once the new one is complete.

    Raises:
        ClientError: If it cannot be written; an older file stays as it was.
        DatabaseUnavailable: If there is no database.
    """
    target = Target(using)
    path = path.absolute()
    if path.is_dir():
        raise ClientError(f"{path} is a folder: name a file in it")
    try:
        descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(descriptor)
        try:
            _dump(target, partial, path)
            os.replace(partial, path)
            _sync(path.parent)
        finally:
            Path(partial).unlink(missing_ok=True)
        return Backup(path=path, size_bytes=path.stat().st_size)
    except OSError as error:
        raise ClientError(
            f"cannot write {path}: {error.strerror}; name a file in a folder you may write to"
        ) from None


def _dump(target: Target, partial: str, path: Path) -> None:
    done = subprocess.run(
        [
            client.program("pg_dump"),
            *target.arguments(),
            "--format=custom",
            "--no-owner",
            "--no-privileges",
            f'--schema="{target.schema}"',
            "--extension=vector",
            f"--file={partial}",
        ],
        env=target.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        raise ClientError(
            f"cannot save the database to {path}: {client.last_line(done.stderr)}; "
            "what was there before is unchanged"
        )


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
