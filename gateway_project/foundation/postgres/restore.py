"""Restores a backup in one transaction."""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.loader import MigrationLoader

from gateway_project.foundation.postgres import client, migrate
from gateway_project.foundation.postgres.client import BackupError, DatabaseTarget

MAGIC = b"PGDMP"
CHUNK_BYTES = 256 * 1024
LOCK_WAIT_S = 60

SKIPPED_ENTRIES = re.compile(r"^\d+; \d+ \d+ (COMMENT - )?(EXTENSION|SCHEMA|DATABASE)\b")
"""Entries of a backup that already exist in the target and that its user may not own."""

NEWER_SETTINGS = {17: b"SET transaction_timeout = 0;\n"}
"""Statement that pg_restore writes and older servers reject, by the version that introduced it."""


@dataclass(frozen=True, kw_only=True)
class RestoreResult:
    """A finished restore."""

    path: Path
    size_bytes: int
    migrated: tuple[str, ...]
    """Migrations applied to a backup that an older version wrote."""


def has_data(*, using: str = DEFAULT_DB_ALIAS) -> bool:
    """Whether the database has Foregate's tables, which a restore would replace."""
    return bool(connections[using].introspection.django_table_names(only_existing=True))


def restore_backup(path: Path, *, using: str = DEFAULT_DB_ALIAS) -> RestoreResult:
    """Replace all data by that of a backup, and migrate it to this version.

    Gateways may keep running: their queries wait until the restore has finished.

    Raises:
        BackupError: If the file is not a complete backup or cannot be applied; nothing has
            changed.
        DatabaseUnavailable: If there is no database.
    """
    path = path.absolute()
    contents = _list_contents(path)
    target = DatabaseTarget(using)
    _require_known_migrations(path, using)
    with migrate.lock_schema(using=using):
        _replace_data(path, contents, target, using)
        migrated = migrate.migrate_once(using=using)
    return RestoreResult(path=path, size_bytes=path.stat().st_size, migrated=tuple(migrated))


def _list_contents(path: Path) -> list[str]:
    """List the entries of a backup that are to be restored.

    Raises:
        BackupError: If it is not a backup of Foregate.
    """
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except OSError as error:
        raise BackupError(
            f"cannot read {path}: {error.strerror}; name a file that `manage.py backup` wrote"
        ) from None
    if start != MAGIC:
        raise BackupError(f"{path} is not a backup: name a file that `manage.py backup` wrote")
    listed = _run_pg_restore(path, "--list").decode(errors="replace").splitlines()
    if not any(" TABLE DATA " in line and " django_migrations " in line for line in listed):
        raise BackupError(
            f"{path} is a backup, but not of Foregate: name a file that `manage.py backup` wrote"
        )
    return [line for line in listed if not SKIPPED_ENTRIES.match(line)]


def _require_known_migrations(path: Path, using: str) -> None:
    """Check that this version knows all migrations of the backup.

    Raises:
        BackupError: If a newer version wrote it.
    """
    output = _run_pg_restore(path, "--data-only", "--table=django_migrations", "--file=-")
    rows = output.decode(errors="replace").partition("FROM stdin;\n")[2].partition("\n\\.\n")[0]
    known = MigrationLoader(connections[using]).disk_migrations or {}
    apps = {app for app, _ in known}
    for row in rows.splitlines():
        app, name = row.split("\t")[1:3]
        if app in apps and (app, name) not in known:
            raise BackupError(
                f"{path} was written by a newer Foregate (it has {app}.{name}): upgrade first"
            )


def _run_pg_restore(path: Path, *arguments: str) -> bytes:
    result = subprocess.run(
        [client.find_program("pg_restore"), *arguments, str(path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if result.returncode:
        raise _build_damaged_error(path, result.stderr)
    return result.stdout


def _build_damaged_error(path: Path, output: bytes) -> BackupError:
    return BackupError(
        f"{path} is damaged or incomplete ({client.extract_error_line(output)}): nothing was "
        "changed; use another backup"
    )


def _replace_data(path: Path, contents: list[str], target: DatabaseTarget, using: str) -> None:
    """Pipe the statements of pg_restore into psql, in one transaction.

    The commit is sent only after pg_restore has read the whole file.
    """
    with (
        tempfile.NamedTemporaryFile("w", suffix=".list") as listing,
        tempfile.TemporaryFile() as complaints,
        tempfile.TemporaryFile() as refusals,
    ):
        listing.write("\n".join(contents))
        listing.flush()
        with (
            _start_pg_restore(path, listing.name, complaints) as reader,
            _start_psql(target, refusals) as writer,
        ):
            source, sink = _require_pipe(reader.stdout), _require_pipe(writer.stdin)
            with contextlib.suppress(BrokenPipeError):  # psql reports why it ended
                sink.write(_build_preparation_sql(using).encode())
                _pump_statements(source, sink, target.server_major)
                if reader.wait() == 0:
                    sink.write(b"COMMIT;\n")
            with contextlib.suppress(BrokenPipeError):
                sink.close()
        if writer.returncode:
            raise BackupError(
                f"cannot restore {path}: {client.extract_error_line(_read_from_start(refusals))}; "
                "nothing was changed"
            )
        if reader.returncode:
            raise _build_damaged_error(path, _read_from_start(complaints))


def _start_pg_restore(path: Path, listing: str, complaints: IO[bytes]) -> subprocess.Popen[bytes]:
    options = ["--clean", "--if-exists", "--no-owner", "--no-privileges"]
    return subprocess.Popen(
        [
            client.find_program("pg_restore"),
            *options,
            f"--use-list={listing}",
            "--file=-",
            str(path),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=complaints,
    )


def _start_psql(target: DatabaseTarget, refusals: IO[bytes]) -> subprocess.Popen[bytes]:
    options = ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-"]
    return subprocess.Popen(
        [client.find_program("psql"), *target.build_arguments(), *options],
        env=target.build_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=refusals,
    )


def _build_preparation_sql(using: str) -> str:
    """Return SQL that begins the transaction and drops all of Foregate's tables.

    That includes tables which the backup does not contain.
    """
    wrapper = connections[using]
    tables = wrapper.introspection.django_table_names(only_existing=True, include_views=False)
    names = ", ".join(wrapper.ops.quote_name(table) for table in sorted(tables))
    statements = [
        "SET client_min_messages = warning",
        "CREATE EXTENSION IF NOT EXISTS vector",
        "BEGIN",
        f"SET LOCAL lock_timeout = '{LOCK_WAIT_S}s'",
    ]
    if names:
        statements.append(f"DROP TABLE {names} CASCADE")
    return "".join(f"{statement};\n" for statement in statements)


def _pump_statements(source: IO[bytes], sink: IO[bytes], server_major: int) -> None:
    chunk = source.read(CHUNK_BYTES)
    for major, setting in NEWER_SETTINGS.items():
        if server_major < major:
            chunk = chunk.replace(setting, b"", 1)
    while chunk:
        sink.write(chunk)
        chunk = source.read(CHUNK_BYTES)


def _require_pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # noqa: S101 - a pipe was asked for
    return stream


def _read_from_start(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
