"""Migrates the database's schema once, however many processes start together."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import ClassVar

from django.apps import apps
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, ProgrammingError, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from gateway_project.foundation.postgres import failures
from gateway_project.foundation.postgres.failures import DatabaseUnavailable

LOCK_KEY = 0x464F5245_47415445
"""Key of the advisory lock: "FOREGATE" in ASCII."""


ADDITIVE_SUFFIX = "_additive"
"""End of the names of migrations after which older programs still fit: these neither read what it
adds, nor have to write it. Its name is all that an older program can know of a newer migration."""


class SchemaMismatch(DatabaseUnavailable):
    """Program and database do not fit together; the message says what to do.

    Attributes:
        code: Stable word for programs.
    """

    code: ClassVar[str]


class MigrationsPending(SchemaMismatch):
    """The database lacks migrations of this version."""

    code = "database_unmigrated"


class DatabaseNewer(SchemaMismatch):
    """A newer version has migrated the database, and this one does not fit it any more."""

    code = "database_newer"


def list_pending_migrations(*, using: str = DEFAULT_DB_ALIAS) -> list[str]:
    """List the migrations of all apps that are not applied yet, such as `tools.0001_initial`."""
    return _find_pending(_load_applied(using))


def find_newer(applied: Collection[tuple[str, str]]) -> list[str]:
    """List migrations of installed apps that only a newer version has and that are not additive.

    Args:
        applied: App and name of each applied migration.
    """
    known = set(_list_on_disk())
    labels = {app for app, _ in known}
    newer = {item for item in applied if item[0] in labels and item not in known}
    return [f"{app}.{name}" for app, name in sorted(newer) if not name.endswith(ADDITIVE_SUFFIX)]


def require_migrated(*, using: str = DEFAULT_DB_ALIAS) -> None:
    """Check with one query that program and database fit together.

    Raises:
        MigrationsPending: If migrations of this version are missing, of whatever app.
        DatabaseNewer: If a newer version has applied migrations that are not additive.
    """
    applied = _load_applied(using)
    _require_not_newer(applied)
    if pending := _find_pending(applied):
        raise MigrationsPending(
            f"the database lacks {len(pending)} migrations of this version, such as "
            f"{pending[0]}; run `manage.py migrate`"
        )


def _require_not_newer(applied: Collection[tuple[str, str]]) -> None:
    if newer := find_newer(applied):
        raise DatabaseNewer(
            f"a newer version of Foregate has migrated the database ({newer[-1]}), and this one "
            "cannot use it; upgrade this one"
        )


def _find_pending(applied: Collection[tuple[str, str]]) -> list[str]:
    return [f"{app}.{name}" for app, name in _list_on_disk() if (app, name) not in applied]


def _load_applied(using: str) -> set[tuple[str, str]]:
    return set(MigrationRecorder(connections[using]).applied_migrations())


def _list_on_disk() -> list[tuple[str, str]]:
    """List the migrations of all installed apps by file name, without importing them."""
    labels = [app.label for app in apps.get_app_configs()]
    return [(label, name) for label in labels for name in _list_migration_names(label)]


@cache
def _list_migration_names(label: str) -> tuple[str, ...]:
    """List an app's migrations as of the first call in this process.

    Files that an upgrade adds later belong to code that this process does not run.
    """
    module, _ = MigrationLoader.migrations_module(label)
    spec = None if module is None else find_spec(module)
    folders = (spec and spec.submodule_search_locations) or ()
    return tuple(
        item.name for item in iter_modules(folders) if not item.ispkg and item.name[0] not in "_~"
    )


def migrate_once(*, using: str = DEFAULT_DB_ALIAS) -> list[str]:
    """Apply the pending migrations and return them; of concurrent processes, one does the work.

    Raises:
        DatabaseNewer: If a newer version has migrated the database.
        DatabaseUnavailable: If the database's user lacks a permission.
    """
    applied = _load_applied(using)
    _require_not_newer(applied)
    if not _find_pending(applied):
        return []
    with lock_schema(using=using):
        pending = list_pending_migrations(using=using)
        if pending:
            try:
                call_command("migrate", database=using, interactive=False, verbosity=0)
            except ProgrammingError as error:
                if reason := failures.explain_refused(error):
                    raise DatabaseUnavailable(reason) from error
                raise
        return pending


@contextmanager
def lock_schema(*, using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Hold the lock on changes of the schema; waits for it.

    The lock is released with the connection, even if the process is killed.
    """
    with connections[using].cursor() as cursor:
        cursor.execute("SET lock_timeout = 0")  # a large table may take another process minutes
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK_KEY])
    try:
        yield
    finally:
        if connections[using].connection is not None:
            with connections[using].cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK_KEY])
                cursor.execute("RESET lock_timeout")
