"""Restores a backup in one transaction."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import IO, Any

import psycopg
from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, Error, connections, transaction

from gateway_project.foundation import notify
from gateway_project.foundation.postgres import archive, migrate
from gateway_project.foundation.postgres.archive import Contents
from gateway_project.foundation.postgres.backup import Report, save_before
from gateway_project.foundation.postgres.client import BackupError, DatabaseTarget
from gateway_project.foundation.reasons import summarize_error

LOCK_WAIT_S = 60

SKIPPED_ENTRIES = re.compile(r"^\d+; \d+ \d+ (COMMENT - )?(EXTENSION|SCHEMA|DATABASE)\b")
"""Entries of a backup that already exist in the target and that its user may not own."""

PSQL_COMMANDS = re.compile(rb"^\\(?:un)?restrict \w+\n", re.MULTILINE)
"""Lines of pg_restore's output that are for psql."""

NEWER_SETTINGS = {17: b"SET transaction_timeout = 0;\n"}
"""Statement that pg_restore writes and older servers reject, by the version that introduced it."""

COPY_STATEMENT = re.compile(rb"COPY .* FROM stdin;\n")
SHOWN_ROWS = 1000
"""Rows after which progress is shown."""
END_OF_ROWS = b"\\.\n"

LIST_OBJECTS_SQL = """
    SELECT format('DROP %s IF EXISTS %s CASCADE', kind, name) FROM (
        SELECT 1, CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
            WHEN 'S' THEN 'SEQUENCE' WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END,
            oid::regclass::text, 'pg_class'::regclass, oid, relnamespace, relkind = 'S'
        FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
        UNION ALL
        SELECT 2, 'ROUTINE', oid::regprocedure::text, 'pg_proc'::regclass, oid, pronamespace, true
        FROM pg_proc
        UNION ALL
        SELECT 3, 'TYPE', oid::regtype::text, 'pg_type'::regclass, oid, typnamespace, true
        FROM pg_type WHERE typtype IN ('e', 'd', 'r') OR typrelid IN (
            SELECT oid FROM pg_class WHERE relkind = 'c')
    ) AS object (rank, kind, name, class, oid, namespace, is_owned)
    WHERE namespace = current_schema()::regnamespace AND NOT EXISTS (
        SELECT FROM pg_depend
        WHERE classid = class AND objid = object.oid AND deptype = 'e')
    ORDER BY is_owned, rank
"""
"""Statements that drop all tables, views, functions and types of the schema but those of
extensions. What may belong to a table comes after the tables."""


@dataclass(frozen=True, kw_only=True)
class RestoreResult:
    """A finished restore.

    Attributes:
        migrated: Migrations applied to a backup that an older version wrote.
        replaced: Backup of what was replaced; None if there was nothing, or none was wanted.
        held_runs: Open runs of the backup that are paused now.
    """

    migrated: tuple[str, ...]
    replaced: Path | None
    held_runs: int


def has_data(*, using: str = DEFAULT_DB_ALIAS) -> bool:
    """Whether the database has Foregate's tables, which a restore would replace."""
    return bool(connections[using].introspection.django_table_names(only_existing=True))


def restore_backup(
    path: Path,
    *,
    keep_in: Path | None,
    at: datetime,
    hold_runs: Callable[[], int] = lambda: 0,
    using: str = DEFAULT_DB_ALIAS,
    report: Report = lambda *_: None,
) -> RestoreResult:
    """Replace all data by that of a backup, and migrate it to this version.

    Gateways may keep running: their queries wait until the restore has finished. Dropping,
    loading, migrating, checking and holding runs are one transaction, so that whenever it ends,
    however its process dies, the database holds the old data or the new.

    Args:
        path: The backup.
        keep_in: Folder for a backup of what is replaced; None: it is not saved.
        at: Now, for the name of that backup.
        hold_runs: Pauses the runs that the backup has open; returns how many.
        using: Alias of the database.
        report: Receives how many kilobytes of the backup are loaded.

    Raises:
        BackupError: If the file is not a complete backup, or cannot be applied, or what there is
            cannot be saved; nothing has changed.
        DatabaseUnavailable: If there is no database.
    """
    path = path.absolute()
    with _open_backup(path) as file:
        contents = archive.read_contents(file, path)
        target = DatabaseTarget(using)
        _require_suitable(contents, path, target)
        with migrate.lock_schema(using=using):
            replaced = None
            if keep_in is not None and has_data(using=using):
                replaced = save_before("restore", keep_in, at=at, using=using)
            outcome = "nothing was changed"
            try:
                with transaction.atomic(using=using):
                    _replace_data(file, path, contents, target, using, report)
                    migrated = migrate.migrate_once(using=using, saves=False)
                    _require_all_columns(path, using)
                    held_runs = hold_runs()
                    outcome = "whether it was committed is unknown: look before you repeat it"
            except (psycopg.Error, Error) as error:
                raise BackupError(
                    f"cannot restore {path}: {summarize_error(error)}; {outcome}"
                ) from error
            finally:
                connections[using].close()  # it has pg_restore's settings
    return RestoreResult(migrated=tuple(migrated), replaced=replaced, held_runs=held_runs)


def _open_backup(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise BackupError(
            f"cannot read {path}: {error.strerror}; name a file that `manage.py backup` wrote"
        ) from None


def _require_suitable(contents: Contents, path: Path, target: DatabaseTarget) -> None:
    """Check that this version can migrate the backup, and where to put its tables.

    Raises:
        BackupError: If a newer version or too old a one wrote it, or its schema has another name.
    """
    if newer := migrate.find_newer(contents.migrations):
        raise BackupError(
            f"{path} was written by a newer Foregate (it has {newer[0]}): upgrade first"
        )
    if migrate.is_too_old(contents.migrations):
        raise BackupError(
            f"{path} was written by an early development version, which this one cannot upgrade: "
            f"restore it with {migrate.LAST_SUPERSEDED_VERSION}, and save it again"
        )
    if contents.schema != target.schema:
        raise BackupError(
            f"{path} is of the schema {contents.schema!r} and the database uses "
            f"{target.schema!r}: set the search_path of its user to {contents.schema!r}"
        )


def _replace_data(
    file: IO[bytes],
    path: Path,
    contents: Contents,
    target: DatabaseTarget,
    using: str,
    report: Report,
) -> None:
    """Drop all that the schema holds and load the backup, in the current transaction.

    Raises:
        BackupError: If the file turns out to be damaged.
        psycopg.Error: If the database refuses a statement.
    """
    connection: psycopg.Connection[Any] = connections[using].connection
    preparation = (
        "SET client_min_messages = warning",
        f"SET lock_timeout = '{LOCK_WAIT_S}s'",
        "CREATE EXTENSION IF NOT EXISTS vector",
    )
    _execute_all(connection, preparation)
    _execute_all(connection, [row[0] for row in connection.execute(LIST_OBJECTS_SQL)])
    with tempfile.NamedTemporaryFile("w", suffix=".list") as listing:
        entries = (line for line in contents.entries if not SKIPPED_ENTRIES.match(line))
        listing.write("\n".join(entries))
        listing.flush()
        size_kb = os.fstat(file.fileno()).st_size // 1000

        def show() -> None:
            # pg_restore reads the same open file, so its place is how far it has come.
            read_kb = os.lseek(file.fileno(), 0, os.SEEK_CUR) // 1000
            report("Loading kilobytes", min(read_kb, size_kb), size_kb)

        options = ("--no-owner", "--no-privileges", f"--use-list={listing.name}", "--file=-")
        for section in ("pre-data", "data", "post-data"):
            with archive.read_sql(file, path, f"--section={section}", *options) as sql:
                _load_section(connection, section, sql, target, show)
    # Without pending checks of constraints, migrations may alter tables that they have filled.
    _execute_all(connection, ("SET search_path TO DEFAULT", "SET CONSTRAINTS ALL IMMEDIATE"))
    connection.execute("SELECT pg_notify(%s, '')", [notify.REPLACED])


def _load_section(
    connection: psycopg.Connection[Any],
    section: str,
    sql: IO[bytes],
    target: DatabaseTarget,
    show: Callable[[], None],
) -> None:
    """Execute what pg_restore writes of a section.

    Rows are only in the section "data", where each statement is one line and functions, whose
    bodies may look like anything, are not.
    """
    unknown = [line for major, line in NEWER_SETTINGS.items() if target.server_major < major]
    if section != "data":
        script = PSQL_COMMANDS.sub(b"", sql.read())
        for line in unknown:
            script = script.replace(line, b"", 1)
        connection.execute(script)
        return
    for line in sql:
        if COPY_STATEMENT.match(line):
            with connection.cursor().copy(line) as copy:
                for number, row in enumerate(takewhile(END_OF_ROWS.__ne__, sql)):
                    copy.write(row)
                    if number % SHOWN_ROWS == 0:
                        show()
        elif line.strip() and not line.startswith((b"--", b"\\")) and line not in unknown:
            connection.execute(line)


def _execute_all(connection: psycopg.Connection[Any], statements: Iterable[str]) -> None:
    connection.execute(";".join(statements).encode())


def _require_all_columns(path: Path, using: str) -> None:
    """Check that the tables of all models have all their columns.

    Raises:
        BackupError: If any is missing.
    """
    with connections[using].cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns "
            "WHERE table_schema = current_schema()"
        )
        present = set(cursor.fetchall())
    models = [model for model in apps.get_models() if model._meta.managed]
    needed = {
        (model._meta.db_table, str(field.column))
        for model in models
        for field in model._meta.local_concrete_fields
    }
    if missing := sorted(needed - present):
        raise BackupError(
            f"{path} lacks {'.'.join(missing[0])} of the tables it should have: nothing was "
            "changed; use another backup"
        )
