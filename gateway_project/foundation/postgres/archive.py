"""Backups as files: a dump of pg_dump, and a last line with a digest of it.

pg_restore ignores what follows the dump, so it reads these files too.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gateway_project import VERSION
from gateway_project.foundation.postgres import client
from gateway_project.foundation.postgres.client import BackupError

DUMP_MAGIC = b"PGDMP"
SEAL = re.compile(rb"\nforegate-backup (\S{1,40}) ([0-9a-f]{64})\n\Z")
"""Version of Foregate that wrote the file, and SHA-256 of everything before the digest."""
MAX_SEAL_BYTES = 128
DIGEST_BYTES = 64
CHUNK_BYTES = 256 * 1024

PROJECT = "gateway_project"
"""Label of an app whose migrations every database of Foregate has."""

DJANGO_MIGRATIONS = re.compile(r" TABLE DATA (\S+) django_migrations ")


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a backup holds.

    Attributes:
        entries: Lines of the dump's table of contents, as `pg_restore --list` writes them.
        schema: Schema that was dumped.
        migrations: App and name of each migration applied to it.
    """

    entries: Sequence[str]
    schema: str
    migrations: frozenset[tuple[str, str]]


def seal(file: IO[bytes]) -> None:
    """Append the last line to a dump that is open for reading and appending."""
    digest = _digest_start(file, file.seek(0, 2))
    start = b"\nforegate-backup %s " % VERSION.encode()
    digest.update(start)
    file.write(b"%s%s\n" % (start, digest.hexdigest().encode()))


def read_contents(file: IO[bytes], path: Path) -> Contents:
    """Check that a file is a complete backup of Foregate, and return what it holds.

    Args:
        file: The open file.
        path: Its name, for messages.

    Raises:
        BackupError: If it is of another program, or damaged.
    """
    file.seek(0)
    if file.read(len(DUMP_MAGIC)) != DUMP_MAGIC:
        raise BackupError(f"{path} is not a backup: name a file that `manage.py backup` wrote")
    is_sealed = _check_seal(file, path)
    entries = _read_text(file, path, "--list").splitlines()
    table = next(filter(None, map(DJANGO_MIGRATIONS.search, entries)), None)
    migrations = _read_migrations(file, path)
    if table is None or PROJECT not in {app for app, _ in migrations}:
        raise BackupError(
            f"{path} is a backup, but not of Foregate: name a file that `manage.py backup` wrote"
        )
    if not is_sealed:
        raise _build_damaged_error(path, "its last line, with the digest, is missing")
    return Contents(entries=entries, schema=table[1], migrations=migrations)


@contextmanager
def read_sql(file: IO[bytes], path: Path, *arguments: str) -> Iterator[IO[bytes]]:
    """Yield what pg_restore writes of a backup.

    It reads the open file instead of opening it by name, which may be another file by now.

    Args:
        file: The open file.
        path: Its name, for messages.
        arguments: Of pg_restore.

    Raises:
        BackupError: At the end of the block, if the file is damaged.
    """
    file.seek(0)
    with tempfile.TemporaryFile() as complaints:
        with subprocess.Popen(
            [client.find_program("pg_restore"), *arguments],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=complaints,
        ) as reader:
            assert reader.stdout is not None  # noqa: S101 - a pipe was asked for
            yield reader.stdout
        if reader.returncode:
            complaints.seek(0)
            raise _build_damaged_error(path, client.extract_error_line(complaints.read()))


def _build_damaged_error(path: Path, reason: str) -> BackupError:
    return BackupError(
        f"{path} is damaged or incomplete ({reason}): nothing was changed; use another backup"
    )


def _check_seal(file: IO[bytes], path: Path) -> bool:
    """Whether a file has a seal.

    Raises:
        BackupError: If the file does not agree with it.
    """
    end = file.seek(0, 2)
    file.seek(max(0, end - MAX_SEAL_BYTES))
    found = SEAL.search(file.read())
    if found is None:
        return False
    if _digest_start(file, end - DIGEST_BYTES - 1).hexdigest() != found[2].decode():
        raise _build_damaged_error(path, "its digest does not agree with its content")
    return True


def _digest_start(file: IO[bytes], size_bytes: int) -> hashlib._Hash:
    digest = hashlib.sha256()
    file.seek(0)
    while chunk := file.read(min(CHUNK_BYTES, size_bytes - file.tell())):
        digest.update(chunk)
    return digest


def _read_migrations(file: IO[bytes], path: Path) -> frozenset[tuple[str, str]]:
    sql = _read_text(file, path, "--data-only", "--table=django_migrations", "--file=-")
    rows = sql.partition("FROM stdin;\n")[2].partition("\n\\.\n")[0].splitlines()
    columns = (row.split("\t") for row in rows)
    return frozenset((row[1], row[2]) for row in columns if len(row) > 2)


def _read_text(file: IO[bytes], path: Path, *arguments: str) -> str:
    with read_sql(file, path, *arguments) as output:
        return output.read().decode(errors="replace")
