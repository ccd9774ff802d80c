"""Migrates the database's schema once, however many processes start together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pkgutil import iter_modules

from django.apps import apps
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, ProgrammingError, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from gateway_project.foundation.postgres.failures import DatabaseUnavailable

LOCK_KEY = 0x464F5245_47415445
"""Key of the advisory lock: "FOREGATE" in ASCII."""


class MigrationsPending(Exception):
    """The database lacks migrations of this version; the message says what to do."""


def list_pending_migrations(*, using: str = DEFAULT_DB_ALIAS) -> list[str]:
    """List the migrations of all apps that are not applied yet, such as `tools.0001_initial`."""
    applied = _load_applied(using)
    return [f"{app}.{name}" for app, name in _list_on_disk() if (app, name) not in applied]


def list_unknown_migrations(*, using: str = DEFAULT_DB_ALIAS) -> list[str]:
    """List the applied migrations of installed apps that only a newer version has."""
    known = set(_list_on_disk())
    labels = {app for app, _ in known}
    newer = (item for item in _load_applied(using) if item[0] in labels and item not in known)
    return [f"{app}.{name}" for app, name in sorted(newer)]


def require_migrated(*, using: str = DEFAULT_DB_ALIAS) -> None:
    """Check with one query that all migrations of all apps are applied.

    Raises:
        MigrationsPending: If any is missing.
    """
    if pending := list_pending_migrations(using=using):
        raise MigrationsPending(
            f"the database lacks {len(pending)} migrations of this version, such as "
            f"{pending[0]}; run `manage.py migrate`"
        )


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
        DatabaseUnavailable: If the database's user lacks a permission.
    """
    if not list_pending_migrations(using=using):
        return []
    with lock_schema(using=using):
        pending = list_pending_migrations(using=using)
        if pending:
            try:
                call_command("migrate", database=using, interactive=False, verbosity=0)
            except ProgrammingError as error:
                raise _explain_refused(error) from error
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


def _explain_refused(error: ProgrammingError) -> ProgrammingError | DatabaseUnavailable:
    """Explain an error caused by a missing permission; return others unchanged."""
    reason = str(error).splitlines()[0]
    if "permission denied to create extension" in reason:
        return DatabaseUnavailable(
            f"{reason}: have an administrator run `CREATE EXTENSION vector` in the database"
        )
    if "permission denied" in reason:
        return DatabaseUnavailable(
            f"{reason}: have an administrator run `GRANT ALL ON SCHEMA public` to the user of "
            "DATABASE_URL"
        )
    return error
