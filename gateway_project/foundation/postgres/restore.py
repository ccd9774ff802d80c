"""Read a backup back in: all of it in one transaction, or nothing."""

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
from gateway_project.foundation.postgres.client import ClientError, Target

MAGIC = b"PGDMP"
CHUNK_BYTES = 256 * 1024
LOCK_WAIT_S = 60

LEFT_ALONE = re.compile(r"^\d+; \d+ \d+ (COMMENT - )?(EXTENSION|SCHEMA|DATABASE)\b")
"""Entries of a backup's contents that the target has already and its user may not own."""

NEWER_SETTINGS = {17: b"SET transaction_timeout = 0;\n"}
"""By the version that brought it: what pg_restore writes and an older server rejects."""


@dataclass(frozen=True, kw_only=True)
class Restored:
    """A finished restore."""

    path: Path
    size_bytes: int
    migrated: tuple[str, ...]
    """Migrations applied to a backup that an older version wrote."""


def holds_data(*, using: str = DEFAULT_DB_ALIAS) -> bool:
    """Whether the database has tables of Foregate, which a restore would replace."""
    return bool(connections[using].introspection.django_table_names(only_existing=True))


def restore(path: Path, *, using: str = DEFAULT_DB_ALIAS) -> Restored:
    """Replace all data by that of a backup, and bring it up to date.

    Gateways may run on: their queries wait until it is done.

    Raises:
        ClientError: If the file is not a whole backup or cannot be applied; nothing has changed.
        DatabaseUnavailable: If there is no database.
    """
    path = path.absolute()
    contents = _contents(path)
    target = Target(using)
    _refuse_newer(path, using)
    with migrate.exclusively(using=using):
        _replace(path, contents, target, using)
        migrated = migrate.migrate_once(using=using)
    return Restored(path=path, size_bytes=path.stat().st_size, migrated=tuple(migrated))


def _contents(path: Path) -> list[str]:
    """List what to take from the file.

    Raises:
        ClientError: If it is no backup of Foregate.
    """
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except OSError as error:
        raise ClientError(
            f"cannot read {path}: {error.strerror}; name a file that `manage.py backup` wrote"
        ) from None
    if start != MAGIC:
        raise ClientError(f"{path} is not a backup: name a file that `manage.py backup` wrote")
    listed = _pg_restore(path, "--list").decode(errors="replace").splitlines()
    if not any(" TABLE DATA " in line and " django_migrations " in line for line in listed):
        raise ClientError(
            f"{path} is a backup, but not of Foregate: name a file that `manage.py backup` wrote"
        )
    return [line for line in listed if not LEFT_ALONE.match(line)]


def _refuse_newer(path: Path, using: str) -> None:
    """Check that this version knows all migrations of the backup.

    Raises:
        ClientError: If a newer version wrote it.
    """
    output = _pg_restore(path, "--data-only", "--table=django_migrations", "--file=-")
    rows = output.decode(errors="replace").partition("FROM stdin;\n")[2].partition("\n\\.\n")[0]
    known = MigrationLoader(connections[using]).disk_migrations or {}
    apps = {app for app, _ in known}
    for row in rows.splitlines():
        app, name = row.split("\t")[1:3]
        if app in apps and (app, name) not in known:
            raise ClientError(
                f"{path} was written by a newer Foregate (it has {app}.{name}): upgrade first"
            )


def _pg_restore(path: Path, *arguments: str) -> bytes:
    done = subprocess.run(
        [client.program("pg_restore"), *arguments, str(path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise _broken(path, done.stderr)
    return done.stdout


def _broken(path: Path, output: bytes) -> ClientError:
    return ClientError(
        f"{path} is damaged or not complete ({client.last_line(output)}): nothing was changed; "
        "use another backup"
    )


def _replace(path: Path, contents: list[str], target: Target, using: str) -> None:
    """Let pg_restore write statements and psql run them, in one transaction.

    The statement that commits is sent only after pg_restore has read the file to its end.
    """
    with (
        tempfile.NamedTemporaryFile("w", suffix=".list") as listing,
        tempfile.TemporaryFile() as complaints,
        tempfile.TemporaryFile() as refusals,
    ):
        listing.write("\n".join(contents))
        listing.flush()
        with (
            _reader(path, listing.name, complaints) as reader,
            _writer(target, refusals) as writer,
        ):
            source, sink = _pipe(reader.stdout), _pipe(writer.stdin)
            with contextlib.suppress(BrokenPipeError):  # then psql says why it left
                sink.write(_preparation(using).encode())
                _pump(source, sink, target.server_major)
                if reader.wait() == 0:
                    sink.write(b"COMMIT;\n")
            with contextlib.suppress(BrokenPipeError):
                sink.close()
        if writer.returncode:
            raise ClientError(
                f"cannot restore {path}: {client.last_line(_read(refusals))}; nothing was changed"
            )
        if reader.returncode:
            raise _broken(path, _read(complaints))


def _reader(path: Path, listing: str, complaints: IO[bytes]) -> subprocess.Popen[bytes]:
    options = ["--clean", "--if-exists", "--no-owner", "--no-privileges"]
    return subprocess.Popen(
        [client.program("pg_restore"), *options, f"--use-list={listing}", "--file=-", str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=complaints,
    )


def _writer(target: Target, refusals: IO[bytes]) -> subprocess.Popen[bytes]:
    options = ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-"]
    return subprocess.Popen(
        [client.program("psql"), *target.arguments(), *options],
        env=target.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=refusals,
    )


def _preparation(using: str) -> str:
    """Open the transaction and drop Foregate's tables, also those the backup does not know."""
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


def _pump(source: IO[bytes], sink: IO[bytes], server_major: int) -> None:
    chunk = source.read(CHUNK_BYTES)
    for major, setting in NEWER_SETTINGS.items():
        if server_major < major:
            chunk = chunk.replace(setting, b"", 1)
    while chunk:
        sink.write(chunk)
        chunk = source.read(CHUNK_BYTES)


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # noqa: S101 - a pipe was asked for
    return stream


def _read(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
